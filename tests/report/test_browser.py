"""The report in a real browser: nothing moves sideways, nothing is said on the console, nobody is asked for anything."""

import pytest

from browser import PROGRAM, SMALLEST, look_at
from sojourn.report.study_page import write_report
from sojourn.study.study import Study

pytest.importorskip("playwright", reason="the report was not looked at in a browser: pip install playwright")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason="the report was not looked at in a browser: apt-get install chromium"),
]


@pytest.fixture(scope="module")
def looks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    study = Study("A study with a name that is much longer than the narrowest of all windows: " + "x" * 60,
                  models=["three-state", {"zoo": "customer-selection", "label": "customers-who-are-admitted-or-not-" + "y" * 40}],
                  learners=["random", {"name": "ct-kl-ucrl", "label": "a learner, and what it is called " + "z" * 40}],
                  epochs=2000, replications=3, checkpoints=20, store=folder / "s.sqlite").run(workers=1)
    return look_at(write_report(study.store_path, folder / "r.html"))


def test_the_page_fits_every_window_and_is_quiet(looks):
    assert [line for look in looks for line in look.complaints] == []


def test_the_page_turns_dark(looks):
    papers = {look.name: look.paper for look in looks}
    assert papers["1280-light"] == papers["390-light"] == "rgb(255, 255, 255)"
    assert papers["1280-dark"] == papers["390-dark"] == "rgb(21, 24, 28)"


def test_charts_are_legible_on_a_telephone(looks):
    """The smallest letters of the charts are set in 8 points."""
    (narrow, *_) = [look for look in looks if look.width == 390]
    assert min(narrow.charts) * 8 >= SMALLEST
