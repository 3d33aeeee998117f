"""Exports are the same bytes for the same study; shards put together are the whole."""

import csv

import numpy as np
import pytest

from sojourn.errors import FileError, ParameterError, StoreError
from sojourn.study.export import export
from sojourn.study.merge import merge
from sojourn.study.store import Store
from sojourn.study.task import Replication

HONEST = Replication.columns


def exported(study, path):
    study.export(path)
    return path.read_bytes()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_equal_studies_export_equal_bytes_in_whatever_order_they_were_run(small_study, tmp_path, kind):
    one = small_study("one").run(workers=1)
    other = small_study("other", models=[{"zoo": "two-state"}]).run(workers=1, replications=range(2, 3))
    other = small_study("other").run(workers=1)
    assert exported(one, tmp_path / f"one.{kind}") == exported(other, tmp_path / f"other.{kind}")


def test_csv_parquet_pandas_and_polars_agree_to_the_last_bit(small_study, tmp_path):
    import pandas
    import polars

    study = small_study().run(workers=1)
    study.export(tmp_path / "x.csv")
    study.export(tmp_path / "x.parquet")
    frame = study.frame()
    assert list(frame.columns)[:6] == ["model", "learner", "replication", "checkpoint", "epoch", "time"]
    assert len(frame) == 6 * frame["checkpoint"].nunique()
    pandas.testing.assert_frame_equal(pandas.read_parquet(tmp_path / "x.parquet"), frame, check_exact=True, check_dtype=False)
    with open(tmp_path / "x.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["pseudo_regret"]) for row in rows] == frame["pseudo_regret"].tolist()
    assert study.frame("polars").equals(polars.read_parquet(tmp_path / "x.parquet"))
    with pytest.raises(ParameterError, match="engine is 'excel'"):
        study.frame("excel")


def test_a_label_with_commas_and_quotes_survives_the_csv(small_study, tmp_path):
    study = small_study(models=[{"zoo": "two-state", "label": 'a, "b";c'}]).run(workers=1)
    study.export(tmp_path / "x.csv")
    with open(tmp_path / "x.csv", newline="") as file:
        assert {row["model"] for row in csv.DictReader(file)} == {'a, "b";c'}


def test_a_partial_store_exports_what_is_finished_and_says_what_is_missing(small_study, tmp_path):
    study = small_study().run(workers=1, replications=range(1))
    assert study.export(tmp_path / "x.csv") == (2, 4)
    assert study.frame()["replication"].unique().tolist() == [0]


def test_an_export_that_fails_leaves_the_old_file(small_study, tmp_path, monkeypatch):
    study = small_study().run(workers=1)
    (tmp_path / "x.csv").write_text("old")
    monkeypatch.setattr("os.replace", lambda a, b: (_ for _ in ()).throw(OSError("no space left")))
    with pytest.raises(FileError, match=r"x\.csv.*no space"):
        study.export(tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text() == "old" and len(list(tmp_path.glob("*.partial"))) == 0
    with pytest.raises(ParameterError, match=r"ends in '\.xlsx'"):
        study.export(tmp_path / "x.xlsx")


def test_shards_put_together_are_the_whole(small_study, tmp_path):
    whole = small_study("whole").run(workers=1)
    parts = [small_study(f"part{i}").run(workers=1, replications=range(i, i + 1)) for i in range(3)]
    done = merge(tmp_path / "merged.sqlite", [p.store_path for p in parts])
    assert (done.copied, done.known) == (6, 0)
    again = merge(tmp_path / "merged.sqlite", [parts[0].store_path, whole.store_path])
    assert (again.copied, again.known) == (0, 8)
    with Store(tmp_path / "merged.sqlite") as merged, Store(whole.store_path) as store:
        assert merged.content_hash() == store.content_hash() and merged.verify() == 6
        export(merged, tmp_path / "merged.csv")
    assert (tmp_path / "merged.csv").read_bytes() == exported(whole, tmp_path / "whole.csv")
    small_study("merged").run(workers=1)  # and it is a store like any other


def test_a_merged_replication_keeps_the_program_that_computed_it(small_study, tmp_path, monkeypatch):
    for number in range(3):
        monkeypatch.setattr("sojourn.study.adopt.fingerprint", lambda number=number: str(number) * 64)
        study = small_study("grown").run(workers=1, replications=range(number, number + 1))
    merge(tmp_path / "merged.sqlite", [study.store_path])
    with Store(tmp_path / "merged.sqlite") as merged:
        codes = {number: print_[0] for number, print_, _ in merged.codes()}
        assert [codes[result.code] for result in merged.results()] == [str(result.replication) for result in merged.results()]


def test_stores_of_different_studies_are_not_merged(small_study, tmp_path):
    one = small_study("one").run(workers=1)
    other = small_study("other", seed=6).run(workers=1)
    with pytest.raises(StoreError, match=r"seed = 6.*only stores of one study"):
        merge(tmp_path / "out.sqlite", [one.store_path, other.store_path])
    third = small_study("third", models=[{"zoo": "admission", "label": "two-state"}], replications=1).run(workers=1)
    with pytest.raises(StoreError, match=r"the model 'two-state' of .* is not that of"):
        merge(tmp_path / "out2.sqlite", [one.store_path, third.store_path])
    with pytest.raises(StoreError, match="is the store that is written"):
        merge(one.store_path, [one.store_path])


def test_two_stores_that_disagree_about_one_replication_are_not_merged(small_study, tmp_path, monkeypatch):
    one = small_study("one").run(workers=1)
    monkeypatch.setattr(Replication, "columns", lambda self: {k: v + (k == "rewards") for k, v in HONEST(self).items()})
    liar = small_study("liar").run(workers=1)
    with pytest.raises(StoreError, match="different numbers"):
        merge(tmp_path / "out.sqlite", [one.store_path, liar.store_path])


def test_the_columns_are_those_that_the_docs_list(small_study):
    from pathlib import Path

    text = (Path(__file__).parents[2] / "docs" / "studies.md").read_text(encoding="utf-8")
    frame = small_study().run(workers=1, replications=range(1)).frame()
    for column in frame.columns:
        assert f"| `{column}` |" in text, column
    assert np.isfinite(frame["regret"]).all()


def test_regrets_that_differ_in_their_last_digits_merge_and_other_differences_do_not(small_study, tmp_path, monkeypatch):
    first = small_study("first", models=["three-state"]).run(workers=1).store_path
    small, large = 1 + 1e-12, 1 + 1e-3
    for changed, factor, merges in (("regret", small, True), ("pseudo_regret", small, True), ("pseudo_regret", large, False),
                                    ("times", 1 + 1e-15, False), ("rewards", 1 + 1e-15, False)):
        monkeypatch.setattr(
            Replication, "columns", lambda self, c=changed, f=factor: {k: v * (f if k == c else 1) for k, v in HONEST(self).items()}
        )
        other = small_study(f"{changed}-{factor}", models=["three-state"]).run(workers=1).store_path
        out = tmp_path / f"all-{changed}-{factor}.sqlite"
        if merges:
            assert merge(out, [first, other]).known == 3
        else:
            with pytest.raises(StoreError, match=rf"different numbers \({changed}, checkpoint \d+\)"):
                merge(out, [first, other])
