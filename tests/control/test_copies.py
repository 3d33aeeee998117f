"""Copies of a controller's file: with its log, without it, made while it runs, and put back after the plant has gone on."""

import errno
import json
import os
import resource
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from control_plant import MODEL, Plant, drive
from sojourn.control import lock, wal
from sojourn.control.controller import Controller
from sojourn.errors import ControlError, ReportError

DATA = Path(__file__).parents[1] / "data" / "control"


def copied(path: str, target: Path, log: bool = True) -> str:
    """Copy the files of a running controller as they are, as a crash would leave them."""
    for suffix in ("", "-wal") if log else ("",):
        shutil.copy(f"{path}{suffix}", f"{target}{suffix}")
    return str(target)


def reports(path: str, **how: bool) -> int:
    """How many reports are there, everything verified."""
    with Controller.open(path, **how) as controller:
        return controller.verify()["reports"]


@pytest.fixture
def running(controller) -> Controller:
    drive(controller, Plant(MODEL, ("up", 0)), 9)
    return controller


def test_a_copy_of_a_crashed_controller_without_its_log_is_refused_and_left_alone(running, path, tmp_path):
    copy = copied(path, tmp_path / "copy", log=False)
    before = Path(copy).read_bytes()
    for write in (True, False, True):
        with pytest.raises(ControlError, match=r"its log, copy-wal, is not beside it.*after number 0.*accept_loss=True"):
            Controller.open(copy, write=write)
    assert Path(copy).read_bytes() == before
    shutil.copy(f"{path}-wal", f"{copy}-wal")
    assert reports(copy) == 9


def test_a_file_that_the_system_does_not_let_us_read_is_refused_in_words(running, path, monkeypatch):
    """Without the permission, say, or on a broken disk: of the file itself, and of the log beside it."""
    running.close()
    for module in (lock, wal):
        with monkeypatch.context() as patch:
            patch.setattr(module, "open", refusing, raising=False)
            with pytest.raises(ControlError, match=r"cannot open .*plant\.control(-wal)? \(Permission denied\)"):
                Controller.open(path)
    assert reports(path) == 9


def refusing(name: str, *_):
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(name))


def test_an_empty_log_is_none(running, path, tmp_path):
    copy = copied(path, tmp_path / "copy", log=False)
    Path(f"{copy}-wal").touch()
    with pytest.raises(ControlError, match="is not beside it"):
        Controller.open(copy)


@pytest.mark.parametrize("size", [1, 31, wal.HEAD, wal.HEAD + wal.FRAME, 500, wal.HEAD + wal.FRAME + 4095])
def test_a_log_that_was_cut_off_before_its_first_page_is_refused_and_can_be_accepted(running, path, tmp_path, size):
    copy = copied(path, tmp_path / "copy")
    with open(f"{copy}-wal", "r+b") as log:
        log.truncate(size)
    for write in (False, True):
        with pytest.raises(ControlError, match=rf"its log, copy-wal, is cut off after {size} bytes.*after number 0"):
            Controller.open(copy, write=write)
    assert os.path.getsize(f"{copy}-wal") == size
    with Controller.open(copy, accept_loss=True) as left:
        assert left.alarms[-1].kind == "lost log" and f"was cut off after {size} bytes" in left.alarms[-1].text
    assert reports(copy) == 0


def test_a_log_that_was_cut_off_within_a_page_is_an_alarm(running, path, tmp_path):
    copy = copied(path, tmp_path / "copy")
    with open(f"{copy}-wal", "r+b") as log:
        log.truncate(os.path.getsize(log.name) - 100)
    with Controller.open(copy) as left:
        assert left.status()["next_seq"] == 9 and left.alarms[-1].kind == "torn write"


@pytest.mark.parametrize("settled", [False, True])
def test_the_log_of_another_controller_of_the_same_kind_is_not_read_into_the_file(running, path, tmp_path, settled):
    """Both were made alike, so SQLite and the chain found nothing wrong: one became the other without a word."""
    with Controller.create(tmp_path / "other", MODEL.knowledge(), "ct-ce", ("up", 0)) as other:
        drive(other, Plant(MODEL, ("up", 0), seed=2), 12)
        if settled:
            running._journal._settle()
            drive(running, Plant(MODEL, running.status()["state"]), 1)
        copy = copied(path, tmp_path / "copy")
        shutil.copy(f"{other.path}-wal", f"{copy}-wal")
    before = Path(copy).read_bytes()
    for how in ({}, {"write": False}, {"accept_loss": True}):
        with pytest.raises(ControlError, match=r"copy-wal, is not its own.*move copy-wal to another folder.*accept_loss=True"):
            Controller.open(copy, **how)
    assert Path(copy).read_bytes() == before
    os.unlink(f"{copy}-wal")
    assert reports(copy, accept_loss=True) == (9 if settled else 0)


def test_a_log_keeps_its_name_through_checkpoints_and_crashes(running, path, tmp_path):
    name = wal.named(Path(path))
    for k in range(3):
        running._journal._settle()
        drive(running, Plant(MODEL, running.status()["state"], seed=k), 2)
        assert wal.named(Path(path)) == name != ""
    with Controller.open(copied(path, tmp_path / "copy")) as again:
        assert wal.named(tmp_path / "copy") == name and again.verify()["reports"] == 15
        with Controller.open(copied(again.path, tmp_path / "third")) as third:
            assert third.verify()["reports"] == 15


def test_the_mark_is_there_from_before_the_first_report_until_the_end(path, tmp_path):
    with Controller.create(path, MODEL.knowledge(), "ct-ce", ("up", 0)) as controller:
        with pytest.raises(ControlError, match="is not beside it"):
            Controller.open(copied(path, tmp_path / "0", log=False))
        assert reports(copied(path, tmp_path / "0")) == 0
        drive(controller, Plant(MODEL, ("up", 0)), 3)
    assert reports(copied(path, tmp_path / "3", log=False)) == 3


def test_a_controller_that_was_killed_has_two_files_and_loses_nothing_with_both(tmp_path):
    path = tmp_path / "plant.control"
    code = ("import os, sys; from control_plant import *\n"
            "c = Controller.create(sys.argv[1], MODEL.knowledge(), 'ct-ce', ('up', 0))\n"
            "drive(c, Plant(MODEL, ('up', 0)), 5); os.kill(os.getpid(), 9)")
    ended = subprocess.run([sys.executable, "-c", code, path], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert ended.returncode == -signal.SIGKILL
    alone = copied(str(path), tmp_path / "alone", log=False)
    with pytest.raises(ControlError, match="is not beside it"):
        Controller.open(alone)
    assert reports(copied(str(path), tmp_path / "both")) == 5 and reports(str(path)) == 5


def test_a_process_that_ends_without_closing_leaves_one_whole_file(tmp_path):
    path = tmp_path / "plant.control"
    code = ("import sys; from control_plant import *\n"
            "c = Controller.create(sys.argv[1], MODEL.knowledge(), 'ct-ce', ('up', 0)); drive(c, Plant(MODEL, ('up', 0)), 5)")
    subprocess.run([sys.executable, "-c", code, path], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=True)
    assert [file.name for file in tmp_path.iterdir()] == ["plant.control"] and reports(str(path)) == 5


def test_after_an_error_the_log_stays_with_the_file(running, path):
    running._drop()  # as after a failed commit
    assert os.path.getsize(f"{path}-wal") > 0
    assert running.status()["epochs"] == 9


def test_a_link_leads_to_the_file_and_its_log(running, path, tmp_path):
    """SQLite keeps the log beside the file itself; one who looked through a link was told that the log is not there."""
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link"
    link.symlink_to(path)
    with Controller.open(link, write=False) as reader:
        assert reader.status()["next_seq"] == 10
    running.close()
    with Controller.open(link) as again:
        drive(again, Plant(MODEL, again.status()["state"]), 2)
    assert reports(path) == 11 and os.listdir(tmp_path / "elsewhere") == ["link"]


@pytest.mark.parametrize("suffix", ["-wal", "-journal", "-shm"])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "link to nothing"])
def test_what_is_no_file_beside_a_controller_is_refused_and_not_waited_for(running, path, tmp_path, suffix, kind):
    copy = copied(path, tmp_path / "copy", log=False)
    beside = Path(f"{copy}{suffix}")
    {"pipe": os.mkfifo, "device": lambda place: place.symlink_to("/dev/zero"), "folder": os.mkdir,
     "link to nothing": lambda place: place.symlink_to(tmp_path / "nothing")}[kind](beside)
    for write in (False, True):
        with pytest.raises(ControlError, match=rf"copy{suffix}, beside the controller .* is not a regular file"):
            Controller.open(copy, write=write)


def test_a_log_takes_no_memory_whatever_its_size(running, path, tmp_path):
    copy = copied(path, tmp_path / "copy")
    with open(f"{copy}-wal", "r+b") as log:
        log.truncate(2**30)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert wal.examine(Path(copy)).frames == wal.examine(Path(path)).frames > 0 and not wal.examine(Path(copy)).lost
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 80_000  # kB


# ---- a log that is lost for good -----------------------------------------------------------------------------------


def test_a_lost_log_can_be_accepted_once_with_a_note_and_an_alarm(running, path, tmp_path):
    running.close()
    with Controller.open(path) as again:
        drive(again, Plant(MODEL, again.status()["state"], seed=2), 4)
        copy = copied(path, tmp_path / "copy", log=False)
    with Controller.open(copy, write=False, accept_loss=True) as looked:
        assert looked.status()["next_seq"] == 10
    with pytest.raises(ControlError, match="is not beside it"):
        Controller.open(copy)  # looking accepted nothing
    with Controller.open(copy, accept_loss=True) as left:
        assert left.status()["next_seq"] == 10
        assert left.alarms[-1].kind == "lost log" and "behind report 9" in left.alarms[-1].text
        assert left.verify()["notes"] == 1
        drive(left, Plant(MODEL, left.status()["state"], seed=3), 2)
    with Controller.open(copy) as left:
        assert (left.status()["next_seq"], left.status()["alarms"]) == (12, 1)
        left.verify()


def test_accepting_a_loss_where_nothing_is_lost_changes_nothing(running, path):
    running.close()
    with Controller.open(path, accept_loss=True) as again:
        assert not again.alarms and again.verify()["notes"] == 0


def test_what_is_left_without_the_log_is_not_accepted_where_it_is_no_whole(running, path, tmp_path):
    running.close()
    with Controller.open(path) as again:
        drive(again, Plant(MODEL, again.status()["state"], seed=2), 4)
        copy = copied(path, tmp_path / "copy", log=False)
    other = sqlite3.connect(copy)
    other.execute("PRAGMA journal_mode = DELETE")
    other.execute("UPDATE reports SET holding_time = 7.0 WHERE seq = 2")  # a page that is not of the others' time
    other.commit()
    other.close()
    with pytest.raises(ControlError, match="does not follow from those before"):
        Controller.open(copy, accept_loss=True)


def test_a_damaged_log_is_refused_or_accepted_for_its_sound_part_and_kept(running, path, tmp_path):
    copy = copied(path, tmp_path / "copy")
    log = Path(f"{copy}-wal")
    broken = bytearray(log.read_bytes())
    broken[len(broken) // 2] ^= 1
    log.write_bytes(broken)
    with pytest.raises(ControlError, match=r"does not match its checksum.*accept_loss=True"):
        Controller.open(copy)
    with Controller.open(copy, accept_loss=True) as left:
        assert 1 < left.status()["next_seq"] < 10
        assert "copy-wal.damaged" in left.alarms[-1].text
        left.verify()
    assert Path(f"{copy}-wal.damaged").read_bytes() == broken


def test_a_damaged_log_is_damaged_for_one_who_looks_and_for_a_backup_too(running, path, tmp_path):
    """A backup of it was whole, checked, and shorter."""
    copy = copied(path, tmp_path / "copy")
    log = Path(f"{copy}-wal")
    broken = bytearray(log.read_bytes())
    broken[len(broken) // 2] ^= 1
    log.write_bytes(broken)
    with pytest.raises(ControlError, match=r"does not match its checksum.*accept_loss=True"):
        Controller.open(copy, write=False)
    with Controller.open(copy, write=False, accept_loss=True) as looked:
        assert 1 < looked.status()["next_seq"] < 10
        with pytest.raises(ControlError, match="does not match its checksum"):
            looked.backup(tmp_path / "kept")
    assert log.read_bytes() == broken and not Path(f"{log}.damaged").exists() and not (tmp_path / "kept").exists()


@pytest.mark.parametrize("later", [1, 150])
def test_a_file_and_a_log_that_were_copied_at_different_times_are_no_whole(path, tmp_path, later):
    """With 1 report the log says nothing of how large the file is; with 150 it does, and pages between are missing."""
    with Controller.create(path, MODEL.knowledge(), "ct-ce", ("up", 0)) as controller:
        shutil.copy(path, tmp_path / "copy")
        drive(controller, Plant(MODEL, ("up", 0)), 150)
        controller._journal._settle()  # as SQLite does of its own accord when the log is long
        drive(controller, Plant(MODEL, controller.status()["state"]), later)
        shutil.copy(f"{path}-wal", tmp_path / "copy-wal")
    whole = (tmp_path / "copy-wal").read_bytes()
    frames = wal.examine(tmp_path / "copy").frames
    (tmp_path / "copy-wal").write_bytes(whole[:wal.HEAD + frames * (wal.FRAME + 4096)])
    log = wal.examine(tmp_path / "copy")
    assert log.gap and log.fits((tmp_path / "copy").read_bytes()[:100]) == (later > 1)
    with pytest.raises(ControlError, match=r"copied (one after the other|at the same time).*damaged"):
        Controller.open(tmp_path / "copy")


# ---- backups -------------------------------------------------------------------------------------------------------


def test_a_backup_is_one_whole_file_and_reports_go_on(running, path, tmp_path):
    made = running.backup(tmp_path / "kept")
    drive(running, Plant(MODEL, running.status()["state"]), 3)
    assert made["reports"] == 9 and made["chain"] != running.verify()["chain"]
    kept = tmp_path / "kept"
    assert not [file for file in tmp_path.iterdir() if file.name.startswith("kept-") or file.name.endswith(".new")]
    moved = shutil.copy(kept, tmp_path / "elsewhere")
    with Controller.open(moved) as again:
        assert again.verify() == {"reports": 9, "notes": 0, "answers_that_differ": 0, "chain": made["chain"]}
    assert list(Controller.open(kept, write=False).observations()) == list(running.observations())[:9]


def test_a_reader_can_make_the_backup_while_another_owns_the_file(running, path, tmp_path):
    with Controller.open(path, write=False) as reader:
        assert reader.backup(tmp_path / "kept")["reports"] == 9
    drive(running, Plant(MODEL, running.status()["state"]), 3)
    assert reports(str(tmp_path / "kept")) == 9 and running.verify()["reports"] == 12


def test_a_backup_replaces_nothing_and_leaves_nothing_behind_where_it_fails(running, tmp_path):
    (tmp_path / "there").write_text("mine")
    with pytest.raises(ControlError, match="exists already"):
        running.backup(tmp_path / "there")
    with pytest.raises(ControlError, match=r"unable to open|cannot write"):
        running.backup(tmp_path / "nowhere" / "kept")
    for place in (tmp_path / "there" / "kept", tmp_path / ("kept" * 100)):  # a folder that is a file, a name that is too long
        with pytest.raises(ControlError, match=r"unable to open|cannot write"):
            running.backup(place)
    running._journal.database.execute("UPDATE reports SET answer = '\"rush\"' WHERE seq = 3")
    with pytest.raises(ControlError, match="does not follow from those before"):
        running.backup(tmp_path / "kept")
    assert sorted(file.name for file in tmp_path.iterdir() if "kept" in file.name) == []
    assert (tmp_path / "there").read_text() == "mine"


def test_a_backup_for_which_there_is_no_room_says_so_and_reports_go_on(running, path, tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
        with pytest.raises(ControlError, match="make the copy; the controller itself goes on"):
            running.backup(tmp_path / "kept")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, old)
    assert not [file for file in tmp_path.iterdir() if "kept" in file.name]
    drive(running, Plant(MODEL, running.status()["state"]), 3)
    assert running.backup(tmp_path / "kept")["reports"] == 12


def test_an_older_copy_whose_plant_has_gone_on_is_noticed_at_the_first_report(running, path, tmp_path):
    running.backup(tmp_path / "kept")
    drive(running, Plant(MODEL, running.status()["state"]), 6)
    last = list(running.observations())[-1]
    running.close()
    os.replace(tmp_path / "kept", path)
    with Controller.open(path) as older:
        with pytest.raises(ReportError, match=r"next report is number 10.*is an older copy of the controller.*from number 10 on"):
            older.report(16, 0.5, ("up", 0))
        with pytest.raises(ReportError, match="older copy"):
            older.report(last.seq, last.holding_time, last.next_state)
        older.missed(("up", 0))
        drive(older, Plant(MODEL, ("up", 0)), 1)
        with pytest.raises(ReportError, match="next report is number 11") as told:
            older.report(16, 0.5, ("up", 0))
        assert "older copy" not in str(told.value)


def test_the_log_of_the_file_whose_place_a_backup_took_is_not_read_into_it(running, path, tmp_path):
    running.backup(tmp_path / "kept")
    drive(running, Plant(MODEL, running.status()["state"]), 6)
    crashed = copied(path, tmp_path / "crashed")
    shutil.copy(tmp_path / "kept", crashed)
    before = Path(crashed).read_bytes()
    with pytest.raises(ControlError, match="Move crashed-wal to another folder"):
        Controller.open(crashed)
    assert Path(crashed).read_bytes() == before
    os.rename(f"{crashed}-wal", tmp_path / "old")
    assert reports(crashed) == 9


def journal_of(path: str | Path) -> bytes:
    """The rollback journal that SQLite has made of `path` when a kill meets it at changing the journal's mode."""
    first, length, nonce = Path(path).read_bytes()[:4096], os.path.getsize(path), 12345
    mark = (nonce + sum(first[i] for i in range(4096 - 200, 0, -200))) % 2**32
    head = bytes.fromhex("d9d505f920a163d7") + struct.pack(">5I", 1, nonce, length // 4096, 512, 4096)
    return head.ljust(512, b"\0") + struct.pack(">I", 1) + first + struct.pack(">I", mark)


def test_the_journal_of_the_file_whose_place_a_backup_took_is_not_written_into_it(running, path, tmp_path):
    """A kill while a controller is closed leaves its first page in FILE-journal; SQLite would cut or lengthen the backup by it."""
    running.backup(tmp_path / "kept")
    with Controller.open(tmp_path / "kept") as grown:
        drive(grown, Plant(MODEL, grown.status()["state"]), 300)
        grown.backup(tmp_path / "large")
    for copy, other in (("kept", "large"), ("large", "kept")):
        copy = shutil.copy(tmp_path / copy, tmp_path / f"restored {copy}")
        (tmp_path / f"{copy.name}-journal").write_bytes(journal_of(running.path if other == "kept" else tmp_path / other))
        before = copy.read_bytes()
        for write in (False, True):
            with pytest.raises(ControlError, match=f"Move {copy.name}-journal to another folder.*Nothing was changed"):
                Controller.open(copy, write=write)
        assert copy.read_bytes() == before
        (tmp_path / f"{copy.name}-journal").unlink()
        assert reports(str(copy)) in (9, 309)


def test_the_journal_that_a_kill_at_opening_or_closing_leaves_is_no_obstacle(running, path, tmp_path):
    running.close()
    for header in (b"\1", b"\2"):  # the kill came before, or after, the first page was written
        journal, old = journal_of(path), Path(path).read_bytes()
        Path(f"{path}-journal").write_bytes(journal)
        Path(path).write_bytes(old[:18] + header * 2 + old[20:27] + bytes([old[27] + 1]) + old[28:])
        assert reports(path) == 9 and not os.path.exists(f"{path}-journal")


@pytest.mark.parametrize("wrong", ["another page", "another content", "two pages", "another length"])
def test_a_journal_of_more_than_the_mode_is_not_written_into_the_file(running, path, tmp_path, wrong):
    running.close()
    journal, before = journal_of(path), Path(path).read_bytes()
    at = 512 + 4 + 200
    journal = {"another page": journal[:515] + b"\2" + journal[516:], "two pages": journal + journal[512:],
               "another content": journal[:at] + b"\xff" + journal[at + 1:],
               "another length": journal[:16] + struct.pack(">I", 3) + journal[20:]}[wrong]
    Path(f"{path}-journal").write_bytes(journal)
    with pytest.raises(ControlError, match=r"plant\.control-journal, beside the controller"):
        Controller.open(path)
    assert Path(path).read_bytes() == before


@pytest.mark.parametrize("torn", ["no journal at all", "an odd size of pages", "an odd size of sectors", "a wrong mark",
                                  "half a page"])
def test_a_journal_that_sqlite_passes_over_is_no_obstacle(running, path, torn):
    """As a loss of power can leave it."""
    running.close()
    journal = journal_of(path)
    other = journal[:516] + bytes(4096) + journal[-4:]
    Path(f"{path}-journal").write_bytes({
        "no journal at all": b"none" * 2000, "an odd size of pages": other[:24] + struct.pack(">I", 100) + other[28:],
        "an odd size of sectors": other[:20] + struct.pack(">I", 16) + other[24:], "a wrong mark": other,
        "half a page": journal[:2000]}[torn])
    assert reports(path) == 9


@pytest.mark.parametrize("suffix", ["-wal", "-journal"])
def test_a_new_file_is_not_made_where_what_another_one_left_would_be_read_into_it(running, path, tmp_path, suffix):
    """It was made, and the next opening refused it, or wrote the leftovers into it."""
    (tmp_path / f"new{suffix}").write_bytes(Path(f"{path}-wal").read_bytes())
    for make in (lambda: Controller.create(tmp_path / "new", MODEL.knowledge(), "ct-ce", ("up", 0)),
                 lambda: running.backup(tmp_path / "new")):
        with pytest.raises(ControlError, match=f"new{suffix} lies where .* would be made.*Move it.*Nothing was changed"):
            make()
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith("new")] == [f"new{suffix}"]


def test_what_a_killed_process_of_the_same_number_left_half_made_is_made_anew(running, path, tmp_path):
    """In a container every process is number 1: `create` ended with "table meta already exists", `backup` with "not a database"."""
    for name, left in (("made", Path(path).read_bytes()), ("kept", b"half of something" * 999)):
        for number in (f"{os.getpid()}.{threading.get_native_id()}", os.getpid()):
            (tmp_path / f"{name}.{number}.new").write_bytes(left)
    Controller.create(tmp_path / "made", MODEL.knowledge(), "ct-ce", ("up", 0)).close()
    running.backup(tmp_path / "kept")
    assert reports(str(tmp_path / "made")) == 0 and reports(str(tmp_path / "kept")) == 9


def test_a_backup_can_be_made_where_the_last_report_found_no_room(running, path, tmp_path):
    """On another disk, say; it was refused because "the controller is closed", which it was not."""
    before = list(running.observations())
    running._drop()
    assert running.backup(tmp_path / "kept")["reports"] == 9
    running._drop()
    assert list(running.observations()) == before
    running._drop()
    assert running.replay()["reports"] == 9


# ---- files of the releases before there was a mark -----------------------------------------------------------------


@pytest.mark.parametrize(("name", "found"), [
    ("format-2", (17, 1, "")), ("format-2-crashed", (24, 1, "4ea1c4b798b0a9c1b172915126a73f02"))])
def test_files_without_the_mark_open_with_everything_that_was_acknowledged(tmp_path, name, found):
    path = copied(str(DATA / f"{name}.control"), tmp_path / "plant.control", log=name.endswith("crashed"))
    with Controller.open(path, write=False) as reader:
        assert reader.status()["next_seq"] == found[0] + 1
    with Controller.open(path) as again:
        said = again.verify()
        assert (said["reports"], said["notes"], said["answers_that_differ"]) == (*found[:2], 0)
        assert said["chain"].startswith(found[2])
        drive(again, Plant(MODEL, again.status()["state"]), 2)
        with pytest.raises(ControlError, match="is not beside it"):  # marked from now on
            Controller.open(copied(path, tmp_path / "copy", log=False))
    assert reports(path) == found[0] + 2


def test_an_older_release_s_entry_without_a_mark_is_no_claim_to_a_log(running, path, tmp_path):
    """An owner that ended without closing left one whole file, and said nothing of a log."""
    running.close()
    from sojourn.control.database import checksum

    other = sqlite3.connect(path)
    for key, value in (("owner", json.dumps({"token": 5, "who": "process 1"})), ("closed", "null")):
        other.execute("UPDATE meta SET value = ?, checksum = ? WHERE key = ?", (value, checksum(key, value), key))
    other.execute("PRAGMA journal_mode = WAL")
    other.commit()
    other.close()
    assert reports(path) == 9
