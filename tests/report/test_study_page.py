"""The report is one page that asks nobody for anything, holds the study, and comes out the same every time."""

import itertools
import re
import tomllib
from html import unescape
from html.parser import HTMLParser

import pytest

from sojourn.errors import ParameterError, StoreError
from sojourn.report.figures import plot_store, regret_figure, write_figures
from sojourn.report.look import COLORS, DASHES, HATCHES, MARKERS
from sojourn.report.study_page import write_report
from sojourn.study.study import Study


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    made = Study(
        'A <b>bold</b> & "quoted" study',
        models=["three-state", "customer-selection"],
        epochs=3000,
        replications=4,
        checkpoints=30,
        learners=["ct-ucrl", {"name": "ct-kl-ucrl", "label": "KL <i>"}, "random"],
        store=folder / "s.sqlite",
    )
    return made.run(workers=1)


@pytest.fixture(scope="module")
def page(study, tmp_path_factory):
    return write_report(study.store_path, tmp_path_factory.mktemp("html") / "r.html").read_text(encoding="utf-8")


class Looker(HTMLParser):
    """Collects the tags and addresses of a page."""

    def __init__(self):
        super().__init__()
        self.tags, self.addresses, self.images, self.open, self.ids = set(), [], [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        given = dict(attributes)
        self.addresses += [given[key] for key in ("src", "href", "data", "action", "poster", "srcset") if given.get(key)]
        self.ids += [given["id"]] if "id" in given else []
        if tag == "svg":
            self.images.append(given)
        if tag not in ("img", "meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if self.open and self.open[-1] == tag:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_needs_no_script_and_no_other_host(page):
    text = page
    looker = Looker()
    looker.feed(text)
    assert looker.open == [] and "script" not in looker.tags and "link" not in looker.tags
    inside = {"#" + name for name in looker.ids}
    own = [address in inside or address.startswith("data:image/png;base64,") for address in looker.addresses]
    assert own and all(own)
    assert set(re.findall(r"url\(([^)]*)\)", text)) <= inside
    assert len(set(looker.ids)) == len(looker.ids)
    assert not re.search(r"https?://|@import", re.sub(r"data:[^\"]*", "", text))
    assert len(looker.images) == 14 and all(image["aria-label"] for image in looker.images)
    assert "<b>bold</b>" not in text and "KL &lt;i&gt;" in text


def test_the_page_holds_the_study_file_the_versions_and_what_each_learner_knew(study, page):
    text = page
    (shown,) = re.findall(r"<h2>To run it again</h2>.*?<pre>(.*?)</pre>", text, flags=re.S)
    assert tomllib.loads(unescape(shown))["study"]["name"] == study.spec.name and unescape(shown) == study.spec.text
    for expected in ("numpy", "rewards, rate bounds", "the admissible pairs", "95 % band", "Holm", r"\toprule", "C(M)"):
        assert expected in text, expected


def test_equal_stores_give_equal_pages(study, page, tmp_path):
    assert page == write_report(study.store_path, tmp_path / "b.html").read_text(encoding="utf-8")
    assert len(page) < 4_000_000


def test_the_page_as_markdown_has_its_figures_beside_it(study, tmp_path):
    text = write_report(study.store_path, tmp_path / "r.md").read_text(encoding="utf-8")
    files = re.findall(r"!\[[^\]]*\]\(([^)]*)\)", text)
    assert len(files) == 14 and all((tmp_path / file).stat().st_size > 5000 for file in files)
    assert "| three-state | ct-ucrl | 4 |" in text and "```toml" in text


def test_a_report_needs_a_known_ending_and_a_finished_replication(study, tmp_path):
    with pytest.raises(ParameterError, match=r"'r\.pdf' does not say what to write"):
        write_report(study.store_path, tmp_path / "r.pdf")
    empty = Study("none", models=["two-state"], learners=["random"], epochs=10, store=tmp_path / "e.sqlite")
    empty.run(workers=1, replications=range(0))
    with pytest.raises(StoreError, match="no finished replication yet"):
        write_report(empty.store_path, tmp_path / "r.html")


def test_figures_are_written_as_pdf_svg_and_png_with_embedded_fonts(study, tmp_path, monkeypatch):
    monkeypatch.setattr("sojourn.report.figures.FIGURES", {"regret": regret_figure})
    for kind in ("pdf", "svg", "png"):
        assert len(write_figures(study.store_path, tmp_path / kind, kind, regret="completed")) == 2
    assert b"Type3" not in (tmp_path / "pdf" / "three-state-regret.pdf").read_bytes()
    assert "<text" not in (tmp_path / "svg" / "three-state-regret.svg").read_text(encoding="utf-8")
    with pytest.raises(ParameterError, match="format is 'bmp'"):
        write_figures(study.store_path, tmp_path, "bmp")


def test_a_study_plots_itself(study):
    figure = study.plot()
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["three-state", "", "customer-selection", ""]
    assert figure.axes[0].get_yscale() == figure.axes[0].get_xscale() == "log"
    assert study.plot(log=False).axes[0].get_xscale() == "linear"
    assert plot_store(study.store_path, regret="regret").axes[0].get_ylabel() == "regret (reward)"


def lightness(color):
    """Return CIE L* of a colour."""
    linear = [
        (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4) for v in (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    ]
    y = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return 116 * y ** (1 / 3) - 16


def test_learners_differ_in_dashes_and_markers_and_neighbours_in_lightness():
    assert (
        len(set(map(str, DASHES))) == len(DASHES) >= 8
        and len(set(MARKERS)) == len(MARKERS) >= 8
        and len(set(HATCHES)) == len(HATCHES)
    )
    assert all(abs(lightness(a) - lightness(b)) > 6 for a, b in itertools.pairwise(COLORS))


def test_a_page_holds_the_model_file_and_the_earlier_study_files(tmp_path):
    from sojourn.model.files import load
    from sojourn.zoo.catalogue import make

    given = {"models": [make("three-state")], "epochs": 60, "checkpoints": 5, "store": tmp_path / "s.sqlite"}
    Study("s", learners=["random"], replications=2, **given).run(workers=1)
    study = Study("s", learners=["ct-ucrl"], replications=3, **given).run(workers=1)
    page = study.report(tmp_path / "r.html").read_text(encoding="utf-8")
    blocks = [unescape(text) for text in re.findall(r"<pre>(.*?)</pre>", page, re.S)]
    (named,) = tomllib.loads(blocks[0])["models"]
    assert f"The model file {named['file']}" in page
    (tmp_path / named["file"]).write_text(blocks[1])
    assert load(tmp_path / named["file"]).equals(make("three-state"))
    assert [entry["name"] for entry in tomllib.loads(blocks[2])["learners"]] == ["random"]
    assert named["file"] in study.report(tmp_path / "r.md").read_text(encoding="utf-8")
