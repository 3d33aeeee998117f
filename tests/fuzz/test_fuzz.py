"""The fuzzing scripts of `benchmarks/` in a short form: damaged files and random command lines end in words, not in tracebacks."""

import importlib
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def script(monkeypatch):
    """A function: name -> the script of that name as a module."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    names = ("_damage", "_seal", "fuzz_files", "fuzz_commands")
    yield importlib.import_module
    for name in names:
        sys.modules.pop(name, None)


def test_damaged_files_of_every_kind_are_read_or_refused_in_words(script, monkeypatch):
    module = script("fuzz_files")
    monkeypatch.setattr(module, "LEARNERS", module.LEARNERS[:3])
    monkeypatch.setattr(module, "SHARES", {kind: 1 if kind in ("store", "controller", "toml") else 3 for kind in module.KINDS})
    counts, failures = module.fuzz(count=150, seconds=None, seed=11)
    assert not failures, "\n".join(failures)
    assert counts.total() == 150
    for kind in module.KINDS:
        assert counts[kind, "refused"] and (counts[kind, "loaded"] or kind in ("gz", "parquet")), kind


def test_a_child_that_dies_is_one_failure_and_the_others_are_read(script, monkeypatch, tmp_path):
    module = script("fuzz_files")
    seen = iter(range(10**6))

    def dies(path, folder):
        if next(seen) == 8:  # five good files are read first, here; then each child goes on from there
            module.os._exit(11)

    monkeypatch.setitem(module.CHECKS, "policy", dies)
    counts, failures = module.fuzz(count=12, seconds=None, seed=1, kinds=("policy",), blocks=8)
    assert counts.total() == 12 and counts["policy", "failed"] == len(failures) == 3, failures  # every child dies at its fourth
    assert all("the interpreter died" in failure for failure in failures)


def test_a_file_that_raises_takes_long_or_is_spoken_of_poorly_is_a_failure(script, monkeypatch, tmp_path):
    module = script("fuzz_files")

    def check(wrong):
        monkeypatch.setitem(module.CHECKS, "json", wrong)
        return module.try_one("json", b"{}", tmp_path)

    def lasts(path, folder):
        while True:
            pass

    monkeypatch.setattr(module, "LIMIT_SECONDS", 0.05)
    assert "KeyError" in check(lambda path, folder: {}["x"])
    assert "more than 0.05 s" in check(lasts)

    def mumbles(path, folder):
        raise module.SojournError("no")

    assert "a poor sentence" in check(mumbles)


def test_memory_counts_for_the_file_that_took_it_and_for_no_later_one(script, monkeypatch, tmp_path):
    module = script("fuzz_files")
    monkeypatch.setattr(module, "LIMIT_BYTES", 30_000_000)
    monkeypatch.setitem(module.CHECKS, "json", lambda path, folder: len(b"x" * int(path.read_text())))
    assert [module.try_one("json", size, tmp_path) for size in (b"10", b"99000000", b"20")][::2] == ["loaded", "loaded"]
    assert module.try_one("json", b"99000000", tmp_path) == "99 MB of memory"
    len(b"x" * 99_000_000)  # as it takes to make a file
    assert module.try_one("json", b"20", tmp_path) == "loaded"


@pytest.mark.slow
def test_random_command_lines_end_with_a_known_exit_code(script, monkeypatch):
    module = script("fuzz_commands")
    counts, failures = module.fuzz(count=60, seconds=None, seed=3)
    assert not failures, "\n".join(failures)
    assert counts.total() == 60 and {code for _, code in counts} >= {0, 1, 2}


def test_random_quick_command_lines_end_with_a_known_exit_code(script):
    module = script("fuzz_commands")
    counts, failures = module.fuzz(count=80, seconds=None, seed=4, only={"solve", "check", "convert", "zoo", "learners"})
    assert not failures, "\n".join(failures)
    assert counts.total() == 80


@pytest.mark.parametrize("name", ["column-sizes.parquet", "number-of-no-text.parquet", "rewards-beyond-floats.session",
                                  "infinite-unit.session", "max-late-is-a-list.controller", "imported-table.controller",
                                  "not-utf-8.parquet", "exposure-beyond-floats.session"])
def test_files_that_once_ended_in_a_traceback_are_refused_in_words(script, tmp_path, name):
    """Each was found by the long form: its sizes, types or numbers cannot be, under checksums that are right."""
    module = script("fuzz_files")
    path = Path(__file__).parents[1] / "data" / "damaged" / name
    assert module.try_one(path.suffix[1:], path.read_bytes(), tmp_path, seconds=60) == "refused"
