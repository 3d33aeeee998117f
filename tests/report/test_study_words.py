"""The report speaks plainly, its captions agree with its pictures, and nothing in it looks like a beaten bound."""

import re
from dataclasses import replace

import numpy as np
import pytest

from sojourn.instance.difficulty import difficulty
from sojourn.report.curves import draw_slope, in_picture, linear_figure, slope_figure
from sojourn.report.figures import FIGURES
from sojourn.report.look import new_figure
from sojourn.report.policy_names import policy_name
from sojourn.report.study_page import write_report
from sojourn.report.study_words import about_bound, caption, findings, model_sentences, opening, too_short
from sojourn.study.growth import WHAT_IT_EXCLUDES, slopes
from sojourn.study.store import Store
from sojourn.study.study import Study
from sojourn.study.summary import summarize
from sojourn.zoo.catalogue import make


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    study = Study("words", models=["three-state"], epochs=20_000, replications=3, checkpoints=40,
                  learners=[{"name": "ct-kl-ucrl", "label": "my learner"}, "random"],
                  store=tmp_path_factory.mktemp("words") / "s.sqlite")
    return study.run(workers=1).store_path


@pytest.fixture(scope="module")
def summary(store):
    with Store(store) as opened:
        return summarize(opened)


def pictures(summary):
    for name, draw in FIGURES.items():
        yield name, draw(summary, "three-state")


def test_a_slope_is_the_growth_per_log_over_two_decades():
    epochs = np.geomspace(1, 1e6, 61)
    values = np.array([3.0 * np.log(epochs) + 7.0, np.sqrt(epochs)])
    found = slopes(epochs, values)
    assert np.isnan(found[:, epochs < 99]).all() and np.isfinite(found[:, epochs > 101]).all()
    np.testing.assert_allclose(found[0, epochs > 101], 3.0, rtol=1e-9)
    assert found[1, -1] == pytest.approx((1e3 - 1e2) / np.log(100), rel=1e-9)


def test_a_row_holds_the_slope_of_its_runs(summary):
    for row, c in zip(summary.rows, summary.curves, strict=True):
        ends = [(run[-1] - np.interp(np.log(c.epochs[-1] / 100), np.log(c.epochs), run)) / np.log(100) for run in c.values]
        assert row.slope == pytest.approx(np.mean(ends)) and row.slope_low < row.slope < row.slope_high


def test_the_bound_is_drawn_only_beside_what_can_be_compared_with_it(summary):
    constant = difficulty(make("three-state")).lower_bound_constant_unknown  # neither learner is told the supports
    for name, figure in pictures(summary):
        lines = [line for line in figure.axes[0].lines if "(M)" in str(line.get_label())]
        assert len(lines) == (name in ("growth", "slope"))
        assert all(line.get_ydata()[0] == constant for line in lines)


def test_every_caption_agrees_with_its_picture(summary):
    for name, figure in pictures(summary):
        _, text = caption(summary, name, "three-state", figure)
        dashed = [line for line in figure.axes[0].lines if str(line.get_label()) in ("C_u(M), the long-run bound", "log N / K")]
        assert ("ashed" in text) == bool(dashed) and "otted" not in text
        assert ("Both axes are logarithmic" in text) == (name == "regret" and figure.axes[0].get_yscale() == "log")
        assert str(summary.regret) in text.lower() or name in ("linear", "debt", "policies")


def test_no_learner_is_hidden(summary):
    """`random` loses far more: it leaves the plain picture, which says so, and stands in all others with the rest."""
    assert in_picture(summary, "three-state") == ["my learner"]
    plain = linear_figure(summary, "three-state").axes[0]
    assert plain.get_title(loc="left") == "zoomed in: random leaves the picture"
    for name in ("regret", "growth", "slope"):
        panel = FIGURES[name](summary, "three-state").axes[0]
        low, high = panel.get_ylim()
        for c in summary.curves:
            (line,) = [line for line in panel.lines if line.get_label() == c.learner]
            assert low < line.get_ydata()[-1] < high
            if panel.get_yscale() == "log":
                assert line.get_ydata()[-1] > low * (high / low) ** 0.03


def test_who_loses_nothing_does_not_flatten_the_others(summary):
    """An oracle ends at 0, which no logarithmic axis holds: the picture says so and stays logarithmic."""
    perfect = replace(summary.curves[0], learner="oracle", values=np.zeros_like(summary.curves[0].values))
    panel = FIGURES["regret"](replace(summary, curves=[*summary.curves, perfect]), "three-state").axes[0]
    assert panel.get_yscale() == "log" and panel.get_title(loc="left") == "oracle: 0 at the end, below the picture"
    assert in_picture(replace(summary, curves=[*summary.curves, perfect]), "three-state") == ["my learner", "oracle"]


def test_a_slope_needs_two_decades_of_checkpoints(summary):
    late = [replace(c, epochs=c.epochs[-3:], times=c.times[-3:], values=c.values[:, -3:]) for c in summary.curves]
    short = replace(summary, curves=late)
    assert slope_figure(short, "three-state") is None
    _, axes = new_figure(4, 3)
    draw_slope(axes[0][0], short, "three-state")
    assert "no slope" in axes[0][0].texts[0].get_text()


def test_policies_are_named_by_what_differs_from_the_optimal_one():
    model = make("customer-selection")
    best = (0, 3, 3, 7)
    assert policy_name(model, best, best) == "the optimal policy"
    assert policy_name(model, (0, 3, 3, 3), best) == "3 free: admit {1,2} instead of admit {1,2,3}"
    assert policy_name(model, (0, 1, 1, 1), best).endswith("; and 1 more state")
    gaps = np.zeros(model.n_pairs)
    assert policy_name(model, (0, 3, 3, 3), best, gaps).startswith("also optimal: 3 free")
    gaps[model.pair(3, 3)] = 0.1
    assert policy_name(model, (0, 3, 3, 3), best, gaps).startswith("3 free")


def test_the_report_opens_in_plain_words_and_keeps_the_names_as_typed(store, summary):
    text = " ".join(opening(summary, 2, 3))
    assert text.startswith("2 learners had to control 1 model, 3 times each") and "The regret is what a learner earned less" in text
    with Store(store) as opened:
        (sentence,) = findings(summary, opened.learners())
        ((label, words),) = model_sentences(summary, opened.models())
    assert sentence.startswith("On three-state, my learner loses least:") and "per unit of log N" in sentence
    assert "times C(M)" not in sentence and "C(M) log N" not in sentence
    assert label == "three-state" and "The best policy earns 1.94 per unit of time: quick in A" in words


def test_what_the_bound_excludes_and_what_not_is_said_once(store, summary, tmp_path):
    assert about_bound(summary)[0] == WHAT_IT_EXCLUDES
    page = write_report(store, tmp_path / "r.html").read_text(encoding="utf-8")
    assert page.count("not a floor at every N") == 1
    assert len(re.findall("may lie below its bound for long", page)) == 2


def test_a_study_that_is_too_short_for_the_bound_says_so(summary):
    assert too_short(summary) == []
    bounds = {"three-state": _with_meaningful(summary.bounds["three-state"], 1e9)}
    (sentence,) = too_short(replace(summary, bounds=bounds))
    assert "20,000 decisions are too few" in sentence and "1e+09" in sentence


def _with_meaningful(bounds, epochs):
    return replace(bounds, floors={kind: replace(floor, meaningful=epochs) for kind, floor in bounds.floors.items()})


def test_every_learner_is_set_against_the_bound_for_what_it_was_told(tmp_path):
    """C(M) for one that is told the supports, C_u(M) for one that is not, each with its own critical pairs and K."""
    study = Study("told", models=["three-state", "river-swim:length=4"], epochs=5_000, replications=2, checkpoints=40,
                  learners=[{"name": "ct-kl-ucrl", "label": "told", "supports": True}, "ct-kl-ucrl", "random"],
                  store=tmp_path / "s.sqlite").run(workers=1)
    found = study.summary()
    for model, card in ((label, difficulty(found.models[label])) for label in found.bounds):
        known, unknown = card.lower_bound_constant, card.lower_bound_constant_unknown
        assert known < unknown and found.floors(model) == {"C(M)": known, "C_u(M)": unknown}
        for learner, name, constant, k in (("told", "C(M)", known, card.divergences),
                                           ("random", "C_u(M)", unknown, card.divergences_unknown)):
            row = found.row(model, learner)
            assert (row.bound, row.constant) == (name, constant)
            assert row.ratio == pytest.approx(row.mean / (constant * np.log(5000)))
            debts = [d for d in found.debts if (d.model, d.learner) == (model, learner)]
            assert sorted(d.divergence for d in debts) == pytest.approx(sorted(k.k[k.critical]))
            assert sum(d.gap / d.divergence for d in debts) == pytest.approx(constant)
    text = str(found)
    assert "C(M), the long-run bound on the slope for learners that are told the supports" in text and "C_u(M) (" in text
    page = study.report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Dashed: C(M) (short), C_u(M) (long);" in page and "set against the bound for what it was told" in page
