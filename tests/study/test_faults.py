"""Whatever happens to the file or the disk: a clear error, nothing acknowledged lost, never a wrong number."""

import os
import resource
import sqlite3
import subprocess
import sys

import numpy as np
import pytest

from sojourn.errors import FileError, StoreError
from sojourn.study import schema
from sojourn.study.export import export
from sojourn.study.merge import merge, salvage
from sojourn.study.store import Result, Store

REPLICATIONS = 30


@pytest.fixture
def finished(small_study, tmp_path):
    """A finished store, its bytes, and its export."""
    study = small_study(models=["three-state"], replications=REPLICATIONS, epochs=300, checkpoints=200).run(workers=1)
    study.export(tmp_path / "good.csv")
    return study, study.store_path.read_bytes(), (tmp_path / "good.csv").read_bytes()


def test_a_store_is_one_file_when_it_is_closed(finished):
    study = finished[0]
    beside = {path.name for path in study.store_path.parent.glob("store.sqlite*")}
    assert beside == {"store.sqlite", "store.sqlite.lock"}


def test_flipped_bits_are_noticed_or_do_not_matter_and_the_rest_is_recoverable(finished, tmp_path):
    _study, good, table = finished
    rng = np.random.default_rng(11)
    noticed = 0
    for trial in range(60):
        data = bytearray(good)
        place = int(rng.integers(0, len(data)))
        data[place] ^= 1 << int(rng.integers(0, 8))
        path = tmp_path / f"flipped{trial}.sqlite"
        path.write_bytes(bytes(data))
        try:
            with Store(path) as store:
                store.verify()
                export(store, tmp_path / "flipped.csv")
            assert (tmp_path / "flipped.csv").read_bytes() == table, f"byte {place}: a wrong number was read without a word"
        except StoreError as error:
            noticed += 1
            assert str(path) in str(error)
    assert noticed > 30  # most bytes are payload


def test_what_is_intact_of_a_damaged_store_is_saved_and_the_rest_computed_again(finished, tmp_path):
    study, good, table = finished
    data = bytearray(good)
    where = [i for i in range(len(good)) if good[i : i + 4] == b"SJP1"]
    for place in where[5], where[17]:  # two packed results (or the model): the middle of their numbers
        data[place + 900] ^= 0x10
    damaged = tmp_path / "damaged.sqlite"
    damaged.write_bytes(bytes(data))
    with Store(damaged) as store, pytest.raises(StoreError, match=r"does not match its checksum.*--salvage"):
        store.verify()
    with pytest.raises(StoreError, match="damaged"):
        study.__class__.run(_at(study, damaged), workers=1)
    new = tmp_path / "new.sqlite"
    done = salvage(new, damaged, study.spec)
    assert (done.copied, done.damaged) == (REPLICATIONS - 2, 2)
    again = _at(study, new).run(workers=1)
    assert again.tally.replications == 2
    again.export(tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == table


def _at(study, path):
    other = study.__class__.__new__(study.__class__)
    other.spec, other.store_path, other.tally = study.spec, path, study.tally
    return other


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.7, 0.98])
def test_a_truncated_store_is_refused_and_what_is_left_is_saved(finished, tmp_path, share):
    study, good, table = finished
    cut = tmp_path / "cut.sqlite"
    cut.write_bytes(good[: int(len(good) * share)])
    with pytest.raises(StoreError, match=r"cut\.sqlite"), Store(cut) as store:
        store.verify()
    if share >= 0.3:
        new = tmp_path / "new.sqlite"
        done = salvage(new, cut, study.spec)
        assert done.copied >= (share - 0.25) * REPLICATIONS
        again = _at(study, new).run(workers=1)
        again.export(tmp_path / "again.csv")
        assert (tmp_path / "again.csv").read_bytes() == table


def test_a_store_in_a_folder_that_cannot_be_written_is_read_and_not_written(finished, tmp_path):
    study, _, _table = finished
    folder = tmp_path / "readonly"
    folder.mkdir()
    (folder / "s.sqlite").write_bytes(study.store_path.read_bytes())
    code = (
        "import sys\nfrom sojourn.study.store import Store\nfrom sojourn.errors import StoreError\n"
        "import os\nos.setgroups([]) if os.getuid() == 0 else None\nos.setgid(65534) if os.getuid() == 0 else None\n"
        "os.setuid(65534) if os.getuid() == 0 else None\n"
        "with Store(sys.argv[1]) as store: print(store.verify())\n"
        "try:\n    Store(sys.argv[1], write=True)\nexcept StoreError as error: print(error)\n"
        "try:\n    Store(sys.argv[1] + '.other', write=True)\nexcept StoreError as error: print(error)\n"
    )
    folder.chmod(0o555)
    for parent in (folder, *folder.parents):
        if parent.stat().st_uid == os.getuid() and parent != folder and str(parent).startswith("/tmp/"):
            parent.chmod(parent.stat().st_mode | 0o055)
    try:
        ran = subprocess.run([sys.executable, "-c", code, folder / "s.sqlite"], capture_output=True, text=True, timeout=60)
    finally:
        folder.chmod(0o755)
    lines = ran.stdout.splitlines()
    assert lines[0] == str(REPLICATIONS), ran.stderr
    assert len(lines) == 3 and all("Permission denied" in line and "--store" in line for line in lines[1:])


def test_a_full_disk_stops_the_study_with_a_clear_error_and_what_was_written_stays(small_study, tmp_path):
    study = small_study(models=["three-state"], replications=40, epochs=60)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, limit[1]))  # files may not grow beyond this: the disk is full
    try:
        with pytest.raises(StoreError, match="What was written before is safe"):
            study.run(workers=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    with Store(study.store_path) as store:
        kept = store.verify()
    assert 0 < kept < 40
    assert study.run(workers=1).tally.replications == 40 - kept
    whole = small_study("whole", models=["three-state"], replications=40, epochs=60).run(workers=1)
    with Store(study.store_path) as a, Store(whole.store_path) as b:
        assert a.content_hash() == b.content_hash()


def test_a_store_held_by_another_process_says_who_holds_it_and_can_be_read(finished):
    study, _, _ = finished
    with Store(study.store_path, write=True):
        with pytest.raises(StoreError, match=rf"written by process {os.getpid()} on .* since "):
            study.run(workers=1)
        with Store(study.store_path) as reader:
            assert reader.verify() == REPLICATIONS
        with pytest.raises(StoreError, match="written by process"):
            Store(study.store_path, write=True, wait=0.15)
    assert study.run(workers=1).tally.replications == 0


def test_a_file_that_is_no_store_is_refused_and_left_alone(tmp_path):
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as database:
        database.execute("CREATE TABLE mine (x)")
    before = other.read_bytes()
    for write in (False, True):
        with pytest.raises(StoreError, match="not the store of a study"):
            Store(other, write=write)
    assert b"mine" in other.read_bytes() and len(other.read_bytes()) == len(before)
    text = tmp_path / "text.sqlite"
    text.write_text("not a database at all, but long enough to be looked at" * 20)
    with pytest.raises(StoreError, match="not a database"):
        Store(text)
    with pytest.raises(StoreError, match="there is no store"):
        Store(tmp_path / "none.sqlite")
    with pytest.raises(StoreError, match="is a folder"):
        Store(tmp_path)


def test_a_newer_store_is_refused_and_an_older_one_is_migrated_or_refused(finished, monkeypatch):
    study, _, _ = finished
    monkeypatch.setattr(schema, "FORMAT", schema.FORMAT + 1)
    with pytest.raises(StoreError, match=r"no way from format 1 to 2"):
        Store(study.store_path, write=True)
    monkeypatch.setattr(schema, "MIGRATIONS", {1: lambda database: database.execute("CREATE TABLE fresh (x)")})
    with pytest.raises(StoreError, match="older format 1; open it once"):
        Store(study.store_path)
    with Store(study.store_path, write=True) as store:
        assert store.verify() == REPLICATIONS
    monkeypatch.setattr(schema, "FORMAT", 1)
    with pytest.raises(StoreError, match="format 2, made by a newer Sojourn"):
        Store(study.store_path)


def test_a_failed_migration_leaves_the_old_store(finished, monkeypatch):
    study, _good, _ = finished

    def half(database):
        database.execute("DROP TABLE checkpoints")
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(schema, "FORMAT", 2)
    monkeypatch.setattr(schema, "MIGRATIONS", {1: half})
    with pytest.raises(StoreError, match="full"):
        Store(study.store_path, write=True)
    monkeypatch.setattr(schema, "FORMAT", 1)
    with Store(study.store_path) as store:
        assert store.verify() == REPLICATIONS


def test_a_result_is_never_replaced(finished):
    study, _, _ = finished
    with Store(study.store_path, write=True) as store:
        first = store.result(1)
        again = Result(first.model, first.learner, first.replication, first.key, b"SJP1 something else", 1.0)
        assert store.add_results([again], code=1) == 0
        assert store.result(1).payload == first.payload


def test_a_damaged_checkpoint_within_a_replication_is_not_used(finished):
    study, _, _ = finished
    with Store(study.store_path, write=True) as store:
        store.set_checkpoint("key", 10, 1, b"state")
        assert store.checkpoint("key", 1) == (10, b"state")
        assert store.checkpoint("key", 2) is None  # another program wrote it
        store._database.execute("UPDATE checkpoints SET payload = ?", (b"statf",))
        assert store.checkpoint("key", 1) is None


@pytest.mark.parametrize(("place", "bit"), [(0, 1), (17, 0x20), (100, 4), (1500, 0x80)])
def test_a_store_whose_first_page_is_damaged_is_saved_whole(finished, tmp_path, place, bit):
    study, good, table = finished
    data = bytearray(good)
    data[place] ^= bit
    data[3000:4096] = bytes(1096)  # and the list of tables with it
    (tmp_path / "head.sqlite").write_bytes(bytes(data))
    with pytest.raises(StoreError, match=r"head\.sqlite"), Store(tmp_path / "head.sqlite") as store:
        store.verify()
    done = salvage(tmp_path / "new.sqlite", tmp_path / "head.sqlite", study.spec)
    assert (done.copied, done.damaged) == (REPLICATIONS, 0)
    with Store(tmp_path / "new.sqlite") as store:
        export(store, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == table


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_store_reached_through_a_link_has_one_writer(finished, tmp_path, link):
    study = finished[0]
    (tmp_path / "elsewhere").mkdir()
    other = tmp_path / "elsewhere" / "link.sqlite"
    link(study.store_path, other)
    for first, second in ((study.store_path, other), (other, study.store_path)):
        with Store(first, write=True), pytest.raises(StoreError, match=r"is being written by (another )?process"):
            Store(second, write=True)
        with Store(second, write=True) as store:
            assert store.verify() == REPLICATIONS


def test_a_merge_that_fails_leaves_nothing_new_behind(finished, small_study, tmp_path):
    study, good, _ = finished
    other = small_study("other", models=["three-state"], seed=77).run(workers=1)
    (tmp_path / "torn.sqlite").write_bytes(good[:5000])
    before = {path.name for path in tmp_path.iterdir()}
    out = tmp_path / "out.sqlite"
    for inputs in ([tmp_path / "none.sqlite"], [tmp_path / "torn.sqlite"], [study.store_path, other.store_path]):
        with pytest.raises(StoreError):
            merge(out, inputs)
        assert {path.name for path in tmp_path.iterdir()} == before
    with pytest.raises(StoreError):
        salvage(out, tmp_path / "none.sqlite", study.spec)
    assert {path.name for path in tmp_path.iterdir()} == before
    with pytest.raises(StoreError):  # what was there before stays
        merge(study.store_path, [other.store_path])
    with Store(study.store_path) as store:
        assert store.verify() == REPLICATIONS


@pytest.mark.parametrize("path", ["", "a\0b", "\ud800.sqlite"])
def test_a_path_that_no_file_can_have_is_refused(path):
    for write in (False, True):
        with pytest.raises(FileError, match="the path is "):
            Store(path, write=write)
