"""Reading a store runs nothing that is named in it, and what names hold is shown, never obeyed."""

import os
import struct
import sys

import matplotlib
import pytest

import sojourn
from command_line import run as sojourn_command
from sojourn.control.database import checksum, transaction
from sojourn.errors import FileError, ParameterError, StoreError
from sojourn.hidden_characters import has_hidden
from sojourn.report.model_path import plot_path
from sojourn.study.merge import merge
from sojourn.study.spec import read_study
from sojourn.study.store import Store
from sojourn.study.study import Study, status
from sojourn.study.words import in_markdown

TRAP = '''
from pathlib import Path
from sojourn.learn import Learner, Plan
Path(__file__).with_name("imported").write_text("")
class Trap(Learner):
    """Plays the first action for ever."""
    needs_events = EVENTS
    shown_the_model = True
    def plan(self):
        return Plan(self.knowledge.pair_action[self.knowledge.pair_start[:-1]])
'''


@pytest.fixture
def trap(tmp_path, monkeypatch):
    """A function: whether it is told events -> a store with a learner whose module leaves a mark when it is imported."""

    def make(events=False):
        (tmp_path / "trap_of_reading.py").write_text(TRAP.replace("EVENTS", str(events)))
        monkeypatch.chdir(tmp_path)
        monkeypatch.syspath_prepend(tmp_path)
        model = "server-switching" if events else "three-state"
        study = Study("trap", models=[model], learners=["trap_of_reading:Trap", "random"], epochs=60, replications=2,
                      checkpoints=8, store=tmp_path / "a.sqlite")
        study.run(workers=1)
        sys.modules.pop("trap_of_reading", None)
        (tmp_path / "imported").unlink()
        return study.store_path

    yield make
    sys.modules.pop("trap_of_reading", None)


@pytest.mark.parametrize("events", [False, True])
def test_reading_a_store_never_imports_the_module_of_a_learner_in_it(trap, tmp_path, events):
    store = trap(events)
    opened = Study.open(store)
    found = opened.summary()
    assert [row.bound for row in found.rows] == (["C_events(M)", "C_u(M)"] if events else ["C_u(M)", "C_u(M)"])
    opened.report(tmp_path / "page.html")
    opened.report(tmp_path / "page.md")
    opened.export(tmp_path / "rows.csv")
    with Store(store) as rows:
        status(rows), rows.verify(), rows.content_hash()
    merge(tmp_path / "merged.sqlite", [store])
    for words in ("status", "summary", "failures"):
        sojourn_command("study", words, str(store))
    assert not (tmp_path / "imported").exists() and "trap_of_reading" not in sys.modules
    assert "random loses" in (tmp_path / "page.md").read_text()  # the trap was shown the model: it cannot win
    opened.run(workers=1)
    assert not (tmp_path / "imported").exists() or "trap_of_reading" in sys.modules  # running may


def test_reading_looks_up_no_entry_points(trap, tmp_path, monkeypatch):
    store = trap()
    monkeypatch.setattr("sojourn.outside.entry_points", lambda **k: pytest.fail("entry points were looked up"))
    monkeypatch.setattr("sojourn.report.study_words.LEARNERS", sojourn.learn.catalogue.Catalogue([]), raising=True)
    Study.open(store).report(tmp_path / "page.html")


HIDDEN = ["up\x1b[31m", "safe\u202ecod.exe", "a\u200bb", "\ufeffx", "x\u2066y", "fill\u3164er"]


@pytest.mark.parametrize("label", HIDDEN)
def test_a_study_file_refuses_labels_that_nobody_can_see_whole(tmp_path, label):
    text = ('[study]\nname = NAME\nepochs = 9\n[[models]]\nzoo = "two-state"\nlabel = MODEL\n'
            '[[learners]]\nname = "random"\nlabel = WHO\n')
    for key in ("NAME", "MODEL", "WHO"):
        given = {"NAME": '"s"', "MODEL": '"m"', "WHO": '"l"', key: '"' + "".join(f"\\U{ord(c):08x}" for c in label) + '"'}
        full = text
        for name, value in given.items():
            full = full.replace(name, value)
        (tmp_path / "study.toml").write_text(full)
        with pytest.raises(ParameterError, match="nobody sees"):
            read_study(tmp_path / "study.toml")


@pytest.mark.parametrize("label", ["".join(HIDDEN)])
def test_a_store_of_before_with_such_labels_opens_and_shows_them_escaped(tmp_path, label):
    path = tmp_path / "old.sqlite"
    Study("old", models=["two-state"], learners=["random"], epochs=30, replications=2, checkpoints=5, store=path).run(workers=1)
    with Store(path, write=True) as store:
        for table in ("models", "learners"):
            for row in store._rows(f"SELECT * FROM {table}"):
                new = (row[0], label, *row[2:-1])
                with transaction(store._database):
                    store._database.execute(f"UPDATE {table} SET label = ?, checksum = ? WHERE id = ?",
                                            (label, checksum(table, *new), row[0]))
    Study.open(path).report(tmp_path / "page.html")
    Study.open(path).report(tmp_path / "page.md")
    for page in ("page.html", "page.md"):
        text = (tmp_path / page).read_text(encoding="utf-8")
        assert not has_hidden(text.replace("\n", "").replace("\t", "")), page
    for words in (["status"], ["summary"], ["summary", "--json"], ["summary", "--latex"], ["failures"]):
        said = sojourn_command("study", words[0], str(path), *words[1:])
        assert not has_hidden(said.out.replace("\n", "")), words


NASTY = ["$\\bad{$ a_b*c*[x](http://x) `code` | <b>&amp;"]


@pytest.mark.parametrize("label", NASTY)
def test_pages_and_pictures_write_every_name_as_it_stands(tmp_path, label):
    matplotlib.use("Agg")
    model = sojourn.make("three-state").replace(name=label)
    store = tmp_path / "nasty.sqlite"
    study = Study(label, models=[model], learners=[{"name": "random", "label": label}, "oracle"], epochs=2000, replications=3,
                  checkpoints=20, store=store)
    study.run(workers=1)
    study.report(tmp_path / "page.html")
    study.report(tmp_path / "page.md")
    text = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert f"# {in_markdown(label)}\n" in text and "<b>" not in text.split("```")[0]
    states = [label, "B", "C"] if model.n_states == 3 else [label, "B"]
    named = model.replace(states=states[: model.n_states], actions=[f"{label} {i}" for i in range(model.n_actions)])
    run = sojourn.simulate(named, "random", max_epochs=200, seed=1, record=True)
    pictures = [named.plot(kind) for kind in ("graph", "curves")]
    pictures += [run.plot(), plot_path(run), sojourn.difficulty(named).plot(), study.plot()]
    for picture in pictures:
        picture.savefig(tmp_path / "p.png")


def test_devices_pipes_and_huge_files_are_no_studies_and_no_stores(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe.toml")
    os.mkfifo(tmp_path / "pipe.sqlite")
    with pytest.raises(FileError, match="not a regular file"):
        read_study(tmp_path / "pipe.toml")
    with pytest.raises(StoreError, match="not a regular file"):
        Store(tmp_path / "pipe.sqlite")
    (tmp_path / "a.sqlite").touch()
    os.mkfifo(tmp_path / "a.sqlite-journal")
    with pytest.raises(StoreError, match=r"a\.sqlite-journal, beside the store .* is not a regular file"):
        Store(tmp_path / "a.sqlite")
    monkeypatch.setattr("sojourn.study.spec.MAX_BYTES", 100)
    (tmp_path / "long.toml").write_text("#" * 101)
    with pytest.raises(FileError, match="more than 100 bytes"):
        read_study(tmp_path / "long.toml")


def test_the_journal_of_another_file_is_not_written_into_a_store(tmp_path):
    study = Study("a", models=["two-state"], learners=["random"], epochs=10, replications=1, store=tmp_path / "a.sqlite")
    study.run(workers=1)
    before = (tmp_path / "a.sqlite").read_bytes()
    head = bytes.fromhex("d9d505f920a163d7") + struct.pack(">5I", 0, 1, 3, 512, 4096)  # of a file of three pages
    (tmp_path / "a.sqlite-journal").write_bytes(head.ljust(512, b"\0"))
    for write in (False, True):
        with pytest.raises(StoreError, match=r"Move a\.sqlite-journal to another folder"):
            Store(tmp_path / "a.sqlite", write=write)
    assert (tmp_path / "a.sqlite").read_bytes() == before


@pytest.mark.parametrize(("table", "column"), [
    ("learners", "label"), ("models", "label"), ("specs", "text"), ("codes", "versions"),
])
def test_a_cell_of_a_type_that_is_never_written_is_named_whatever_its_checksum_says(tmp_path, table, column):
    """SQLite lets a cell of any column hold bytes; such a label was read, and the summary ended in a TypeError."""
    study = Study("cells", models=["three-state"], learners=["random"], epochs=20, replications=1, checkpoints=2,
                  store=tmp_path / "a.sqlite")
    study.run(workers=1)
    with Store(study.store_path, write=True) as store, transaction(store._database):
        names = [row[1] for row in store._rows(f"PRAGMA table_info({table})")]
        row = [b"\xff" if name == column else value for name, value in
               zip(names, store._rows(f"SELECT * FROM {table}")[0], strict=True)][:-1]
        store._database.execute(f"UPDATE {table} SET {column} = ?, checksum = ?", (row[names.index(column)], checksum(table, *row)))
    with Store(study.store_path) as store, pytest.raises(StoreError, match=r"holds b'\\xff', where the type must be str"):
        {"learners": store.learners, "models": store.models, "specs": store.specs, "codes": store.codes}[table]()
