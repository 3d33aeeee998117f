"""Reading logs: every form gives the same rows, and what cannot be is refused with its row."""

import subprocess
import sys
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from sojourn.control import log_columns, log_parquet
from sojourn.control.log import read_log
from sojourn.errors import FileError, ParameterError
from sojourn.model.knowledge import Knowledge

GOOD = {"state": ["a", "b", "a", "c"], "action": ["x", "y", "x", "y"], "holding_time": [1.0, 0.5, 2.0, 0.25],
        "next_state": ["b", "a", "c", "a"], "reward": [0.0, 1.0, 0.0, 2.0]}


def as_csv(columns: dict[str, list[object]]) -> str:
    return "\n".join([",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values()))]) + "\n"


def rows(log: object) -> list[tuple[object, ...]]:
    found = read_log(log)
    return [(found.states[s], found.actions[a], t, found.states[j])
            for s, a, t, j in zip(found.state, found.action, found.holding_time, found.next_state)]


def test_files_frames_and_columns_give_the_same_rows(tmp_path):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    right = list(zip(GOOD["state"], GOOD["action"], GOOD["holding_time"], GOOD["next_state"]))
    (tmp_path / "log.csv").write_text(as_csv(GOOD))
    pandas.DataFrame(GOOD).to_parquet(tmp_path / "log.parquet")
    for log in (GOOD, pandas.DataFrame(GOOD), polars.DataFrame(GOOD), tmp_path / "log.csv", str(tmp_path / "log.parquet")):
        assert rows(log) == right
        assert read_log(log).reward.tolist() == GOOD["reward"]


@pytest.mark.parametrize("head", ["", "state,action,holding_time,next_state\n"])
def test_a_csv_file_without_ends_of_lines_is_not_read_into_memory(tmp_path, head):
    """64 GB of nothing that take no place on the disk were read until no memory was left."""
    path = tmp_path / "log.csv"
    path.write_text(head)
    with open(path, "r+b") as file:
        file.truncate(1 << 36)
    with pytest.raises(FileError, match="a line of more than 1,000,000 characters"):
        read_log(path)


def test_a_csv_file_of_very_many_columns_is_refused(tmp_path):
    """7 MB took 3.7 GB."""
    (tmp_path / "log.csv").write_text(",".join(map(str, range(2000))) + "\n")
    with pytest.raises(FileError, match="has 2,000 columns; a log may have 1,000"):
        read_log(tmp_path / "log.csv")
    (tmp_path / "log.csv").write_text("state," * 900 + "\n")
    with pytest.raises(FileError, match="each once") as told:
        read_log(tmp_path / "log.csv")
    assert len(str(told.value)) < 500


def test_whole_numbers_in_a_file_are_whole_numbers_and_columns_can_be_renamed(tmp_path):
    (tmp_path / "log.csv").write_text("from,action,duration,to\n10,go,1,9\n9,go,2,10\n")
    found = read_log(tmp_path / "log.csv", columns={"from": "state", "to": "next_state", "duration": "holding_time"})
    assert list(found.states) == [9, 10] and found.state.tolist() == [1, 0]


def test_time_stamps_become_sojourns_and_the_last_one_is_unfinished():
    found = read_log({"time": [0.0, 1.0, 3.0, 10.0, 12.0, 15.0], "state": ["a", "b", "a", "a", "b", "a"],
                      "action": ["x", "y", "x", "x", "y", ""], "trajectory": [1, 1, 1, 2, 2, 2]})
    assert found.holding_time.tolist() == [1.0, 2.0, 2.0, 3.0] and len(found.censored_time) == 0 and found.trajectories == 2
    found = read_log({"time": [0.0, 1.0, 3.0], "state": ["a", "b", "b"], "action": ["x", "y", None]})
    assert found.holding_time.tolist() == [1.0] and found.censored_time.tolist() == [2.0]
    assert found.states[int(found.censored_state[0])] == "b" and found.actions[int(found.censored_action[0])] == "y"


@pytest.mark.parametrize(("change", "words"), [
    ({"holding_time": [1.0, float("nan"), 2.0, 0.25]}, r"row 2 has holding_time nan"),
    ({"holding_time": [1.0, 0.5, -2.0, 0.25]}, r"row 3 has holding_time -2; it must be a number above 0"),
    ({"holding_time": [1.0, 0.5, 2.0, float("inf")]}, r"row 4 has holding_time inf"),
    ({"holding_time": ["1", "soon", 2, 3]}, r"row \d has holding_time '\w+', which is no number"),
    ({"state": ["a", None, "a", "c"]}, r"row 2 has no state"),
    ({"reward": [0.0, float("nan"), 0.0, 0.0]}, r"row 2 has no reward"),
    ({"state": GOOD["next_state"], "next_state": GOOD["state"]}, r"row 3 begins .*state and next_state seem to be swapped"),
    ({"state": GOOD["action"], "action": GOOD["state"]}, r"row 2 begins in state 'y'.*rename|rename"),
    ({"holding_time": GOOD["next_state"], "next_state": GOOD["holding_time"]}, r"row 1 has holding_time 'b'.*swapped"),
    ({"action": ["x", "y"]}, r"different lengths"),
    ({"action": ["x", "NaN", "x", "y"]}, r"row 2 has no action"),
    ({"next_state": ["b", "a", "c", "nan"]}, r"row 4 has no next_state"),
])
@pytest.mark.parametrize("form", ["columns", "csv"])
def test_what_cannot_be_is_refused_with_its_row(tmp_path, change, words, form):
    columns = {**GOOD, **change}
    if form == "csv":
        if len({len(values) for values in columns.values()}) > 1:
            pytest.skip("a file has rows of one length")
        path = tmp_path / "log.csv"
        path.write_text(as_csv({name: ["" if v is None else v for v in values] for name, values in columns.items()}))
        columns = path
    with pytest.raises(FileError, match=words):
        read_log(columns)


def test_one_wrong_state_of_two_in_turn_is_not_taken_for_swapped_columns():
    turns = {"state": ["a", "b"] * 10, "action": ["x"] * 20, "holding_time": [1.0] * 20, "next_state": ["b", "a"] * 10}
    turns["state"][7] = "c"
    with pytest.raises(FileError, match="row 8 begins in state 'c'") as refused:
        read_log(turns)
    assert "seem to be swapped" not in str(refused.value)


def test_actions_that_are_holding_times_are_refused():
    rng = np.random.default_rng(0)
    log = {"state": [0, 1] * 10, "action": rng.exponential(size=20), "holding_time": [1, 2] * 10, "next_state": [1, 0] * 10}
    with pytest.raises(FileError, match=r"row 1 .*action and holding_time seem to be swapped"):
        read_log(log)


@pytest.mark.parametrize(("change", "words"), [({"state": ["a", ["b"], "a", "c"]}, "row 2 has a state that cannot be a name"),
                                               ({"state": "a"}, "the column state is 'a'"),
                                               ({"holding_time": 1.0}, "holding_time is 1.0")])
def test_what_is_no_column_is_refused_in_words(change, words):
    with pytest.raises(FileError, match=words):
        read_log({**GOOD, **change})


def test_dates_and_durations_are_taken_in_seconds_whatever_unit_they_are_kept_in(tmp_path):
    pandas = pytest.importorskip("pandas")
    begin = datetime(2026, 1, 1, 12)
    plain = [begin, begin + timedelta(hours=1), begin + timedelta(hours=3)]
    others = {"state": ["a", "b", "a"], "action": ["x", "x", "x"]}
    kept = [plain, np.array(plain, dtype="datetime64[s]"), np.array(plain, dtype="datetime64[ns]"),
            pandas.Series(plain).dt.tz_localize("UTC")]
    for times in kept:
        frame = pandas.DataFrame({"time": times, **others})
        frame.to_parquet(tmp_path / "log.parquet")
        for log in (frame, tmp_path / "log.parquet", {"time": times, **others}):
            assert read_log(log).holding_time.tolist() == [3600.0, 7200.0]
    lasting = {**GOOD, "holding_time": [timedelta(minutes=i) for i in (1, 2, 3, 4)]}
    for log in (lasting, pandas.DataFrame(lasting)):
        assert read_log(log).holding_time.tolist() == [60.0, 120.0, 180.0, 240.0]
        log["holding_time"] = [timedelta(1), timedelta(2), None, timedelta(1)]
        with pytest.raises(FileError, match="row 3 has holding_time nan"):
            read_log(log)


def test_a_state_that_the_model_does_not_have_is_named_with_its_row():
    known = Knowledge.from_arrays(np.zeros((2, 2)), (0.1, 10.0), states=["a", "b"], actions=["x", "y"])
    with pytest.raises(FileError, match="row 3 has next_state 'c'"):
        read_log(GOOD, known)


@pytest.mark.parametrize(("text", "words"), [("", "first line must name"),
                                             ("state,action\na,b\n", "it needs state, action, "
                                                                                                   "holding_time"),
                                             ("state,action,holding_time,next_state\na,x,1\n", "row 1 .* has 3 cells"),
                                             ("state,action,holding_time,next_state\n", "nothing to learn"),
                                             ("time,state,action\n1,a,x\n0.5,b,x\n", "row 2 has time 0.5"),
                                             ("time,state,action\n1,a,x\n2,a,x\n3,b,x\n", "row 2 repeats the state"),
                                             ("time,state,action\n1,a,\n2,b,x\n", "row 1 has no action")])
def test_a_file_that_is_no_log_is_refused_in_words(tmp_path, text, words):
    (tmp_path / "log.csv").write_text(text)
    with pytest.raises(FileError, match=words):
        read_log(tmp_path / "log.csv")
    with pytest.raises(FileError, match="no file"):
        read_log(tmp_path / "none.csv")
    with pytest.raises(FileError, match="a int"):
        read_log(3)


@pytest.mark.parametrize("text", [
    "state,action,holding_time,next_state\na,x,0.5,b\nb,x,1e-3,a\n",
    "\ufeff state , action,holding_time,next_state\na,x,0.5,b\n\nb,x,10.5,a\n",
    'state,action,holding_time,next_state\n"a, 1",x,0.5,"b ""q"""\n"b ""q""",x, 2 ,"a, 1"\n',
    "state,action,holding_time,next_state,reward\r\nnull,N/A,0.5,NA,1\r\nNA,N/A,2,null,2\r\n",
    "state,action,holding_time,next_state\n1,007,0.5,2\n2,007,3,1\n",
    "state,action,holding_time,next_state\n\u00fc,\u03bb,0.5,\u65e5\n\u65e5,\u03bb,3,\u00fc\n",
])
def test_the_quick_way_to_read_a_csv_file_reads_what_the_slow_one_reads(tmp_path, text, monkeypatch):
    pytest.importorskip("pyarrow")
    path = tmp_path / "log.csv"
    path.write_bytes(text.encode())
    quick = read_log(path)
    monkeypatch.setattr(log_columns, "_quick_csv", lambda path, renamed: None)
    slow = read_log(path)
    assert list(quick.states) == list(slow.states) and list(quick.actions) == list(slow.actions)
    for name in ("state", "action", "holding_time", "next_state"):
        assert getattr(quick, name).tolist() == getattr(slow, name).tolist()


def test_texts_of_parquet_files_may_be_missing_where_they_need_not_be(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {"time": [0.0, 1.0, 2.0, 3.0], "state": ["a", "b", "a", "a"], "action": ["x", "x", "y", None]}
    parquet.write_table(pyarrow.table(columns), tmp_path / "log.parquet")
    found = read_log(tmp_path / "log.parquet")
    assert len(found) == 2 and list(found.actions) == ["x", "y"] and found.censored_time.tolist() == [1.0]
    parquet.write_table(pyarrow.table({**columns, "state": ["a", None, "a", "a"]}), tmp_path / "log.parquet")
    with pytest.raises(FileError, match="row 2 has no state"):
        read_log(tmp_path / "log.parquet")


# ---- what is a number ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["1_5", "1_000", "\u0663", "\uff11", "1e1_0", "0x10", "1,5", "1 5", "--5", "infinitely"])
@pytest.mark.parametrize("form", ["columns", "array", "slow csv", "quick csv", "parquet"])
def test_a_number_in_a_log_is_written_in_decimal_digits(tmp_path, text, form, monkeypatch):
    columns = {**GOOD, "holding_time": ["1", "2.5", text, "1e-3"]}
    if form == "array":
        columns = {name: np.array(values) for name, values in columns.items()}
    elif form == "parquet":
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(pyarrow.table(columns), tmp_path / "log.parquet")
        columns = tmp_path / "log.parquet"
    elif form != "columns":
        if form == "slow csv":
            monkeypatch.setattr(log_columns, "_quick_csv", lambda path, renamed: None)
        quoted = {name: [f'"{value}"' for value in values] for name, values in columns.items()}
        (tmp_path / "log.csv").write_text(as_csv(quoted), encoding="utf-8")
        columns = tmp_path / "log.csv"
    with pytest.raises(FileError, match="row 3 has holding_time"):
        read_log(columns)


def test_texts_of_decimal_digits_are_numbers_in_memory_as_in_a_file(tmp_path):
    texts = {**GOOD, "holding_time": [" 1", "+2.5", ".5", "1e-3"]}
    (tmp_path / "log.csv").write_text(as_csv(texts))
    for log in (texts, {name: np.array(values) for name, values in texts.items()}, tmp_path / "log.csv"):
        assert read_log(log).holding_time.tolist() == [1.0, 2.5, 0.5, 1e-3]
    for odd in (1 + 0j, b"1_5", 10**400, [1]):
        with pytest.raises(FileError, match="row 2 has holding_time"):
            read_log({**GOOD, "holding_time": [1.0, odd, 1.0, 1.0]})


@pytest.mark.parametrize("name", ["\u00b2", "--5", "-", "1" * 5000])
def test_names_that_look_like_numbers_are_names(name):
    found = read_log({**GOOD, "state": ["1", name, "1", name], "next_state": [name, "1", name, "1"]})
    assert set(found.states) == {"1", name}


@pytest.mark.parametrize("time", [1e-320, 5e-324, 1e-160, 1e160, 1e308])
def test_times_whose_squares_are_no_numbers_are_refused(time):
    with pytest.raises(FileError, match=r"row 2 has holding_time.*from 1e-150 to 1e"):
        read_log({**GOOD, "holding_time": [1.0, time, 1.0, 1.0]})
    with pytest.raises(FileError, match="row 2 has reward" if time > 1 else "nothing"):
        read_log({**GOOD, "reward": [1.0, time, 1.0, 1.0]})
        raise FileError("nothing")  # a small reward is a reward


def test_time_stamps_in_whole_nanoseconds_keep_every_digit():
    begin = 1_700_000_000_000_000_001
    stamps = {"time": [begin, begin + 3, begin + 10], "state": ["a", "b", "a"], "action": ["x", "x", "x"]}
    for times in (stamps["time"], np.array(stamps["time"])):
        assert read_log({**stamps, "time": times}).holding_time.tolist() == [3.0, 7.0]
    with pytest.raises(FileError, match=f"row 2 has time {begin - 3}, row 1 has {begin}"):
        read_log({**stamps, "time": [begin, begin - 3, begin + 10]})


# ---- time zones ----------------------------------------------------------------------------------------------------


def test_dates_with_a_time_zone_are_subtracted_by_the_clock_of_the_world(tmp_path):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    zone = ZoneInfo("Europe/Berlin")
    spring = [datetime(2026, 3, 29, 1, 30, tzinfo=zone), datetime(2026, 3, 29, 3, 30, tzinfo=zone),
              datetime(2026, 3, 29, 4, 30, tzinfo=zone)]  # at 2 the clock goes on to 3
    autumn = [datetime(2026, 10, 25, 2, 30, tzinfo=zone), datetime(2026, 10, 25, 2, 30, tzinfo=zone, fold=1),
              datetime(2026, 10, 25, 3, 30, tzinfo=zone)]  # at 3 it goes back to 2
    others = {"state": ["a", "b", "a"], "action": ["x", "x", "x"]}
    for times in (spring, autumn):
        utc = [moment.astimezone(UTC) for moment in times]
        mixed = [utc[0], times[1], times[2].astimezone(ZoneInfo("Asia/Tokyo"))]
        in_zone = pandas.Series(utc).dt.tz_convert("Europe/Berlin")
        frame = pandas.DataFrame({"time": in_zone, **others})
        frame.to_parquet(tmp_path / "log.parquet")
        table = polars.DataFrame({"time": utc, **others}).with_columns(polars.col("time").dt.convert_time_zone("Europe/Berlin"))
        logs = [{"time": kept, **others} for kept in (times, utc, mixed, np.array(times, dtype=object), list(in_zone))]
        for log in (*logs, frame, tmp_path / "log.parquet", table):
            assert read_log(log).holding_time.tolist() == [3600.0, 3600.0]


def test_dates_without_a_time_zone_beside_some_with_one_are_refused():
    times = [datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2), datetime(2026, 1, 3, tzinfo=UTC)]
    for log in (times, np.array(times, dtype=object)):
        with pytest.raises(FileError, match=r"row 2 has time .*without a time zone.* and row 1"):
            read_log({"time": log, "state": ["a", "b", "a"], "action": ["x"] * 3})
    for odd in (timedelta(1), 3.0, "2026-01-02"):
        with pytest.raises(FileError, match="row 2 has time"):
            read_log({"time": [times[0], odd, times[2]], "state": ["a", "b", "a"], "action": ["x"] * 3})
    days = [date(2026, 1, 1), date(2026, 1, 2), date(2026, 1, 4)]
    assert read_log({"time": days, "state": ["a", "b", "a"], "action": ["x"] * 3}).holding_time.tolist() == [86400.0, 172800.0]


def test_missing_values_of_nullable_columns_are_missing():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({**GOOD, "holding_time": pandas.array([1, None, 3, 4], dtype="Int64")})
    with pytest.raises(FileError, match="row 2 has holding_time nan"):
        read_log(frame)


# ---- Parquet -------------------------------------------------------------------------------------------------------


def test_a_parquet_file_that_unpacks_to_far_more_than_its_size_is_refused_before_it_is_read(tmp_path, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    n, path = 1_000_000, tmp_path / "log.parquet"
    table = pyarrow.table({"state": pyarrow.array(["a"] * n).dictionary_encode(), "holding_time": np.ones(n)})
    parquet.write_table(table, path, compression="zstd")
    assert path.stat().st_size < 20_000  # sixteen million bytes in memory; two hundred times as many are as easily written
    monkeypatch.setattr(log_parquet, "ROOM", 2**20)
    monkeypatch.setattr(parquet, "read_table", None)
    with pytest.raises(FileError, match=r"says that it has 1,000,000 rows, which need 16,000,000 bytes .*: max_bytes"):
        read_log(path)
    monkeypatch.undo()
    with pytest.raises(FileError, match="it needs state"):
        read_log(path)  # a small file may be so large
    with pytest.raises(FileError, match="may unpack to 15,999,999"):
        read_log(path, max_bytes=15_999_999)
    with pytest.raises(ParameterError, match="max_bytes is -1"):
        read_log(path, max_bytes=-1)


def test_a_parquet_file_whose_columns_contradict_themselves_is_refused_and_does_not_end_the_interpreter():
    """pyarrow calls `terminate` where the metadata of such a column are looked at, so that this runs in a process of its own."""
    pytest.importorskip("pyarrow")
    path = Path(__file__).parents[1] / "data" / "damaged" / "column-sizes.parquet"
    code = f"from sojourn.control.log import read_log\ntry: read_log({str(path)!r})\nexcept Exception as error: print(repr(error))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.startswith("FileError") and "cannot be read as Parquet" in done.stdout


def test_texts_of_a_parquet_file_are_kept_once_each_however_long(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    n, long = 50_000, "x" * 10_000  # 250 million characters a column if each row had its own
    codes = pyarrow.array(np.arange(n, dtype=np.int32) % 2)
    table = pyarrow.table({"state": pyarrow.DictionaryArray.from_arrays(codes, [long, "b"]), "action": ["x"] * n,
                           "holding_time": np.ones(n), "next_state": pyarrow.DictionaryArray.from_arrays(codes, ["b", long])})
    parquet.write_table(table, tmp_path / "log.parquet", store_schema=False)  # so it says that they are texts
    assert log_parquet.read_parquet(tmp_path / "log.parquet").nbytes < 2e6
    found = read_log(tmp_path / "log.parquet")
    assert len(found) == n and set(found.states) == {long, "b"}


def test_lists_in_a_parquet_file_are_refused(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({**GOOD, "state": [["a"], ["b"], ["a"], ["c"]]}), tmp_path / "log.parquet")
    with pytest.raises(FileError, match=r"the column state .* holds lists"):
        read_log(tmp_path / "log.parquet")


def two_machines() -> dict[str, list[object]]:
    """Time stamps of two machines, each left at rate 0.5 whatever its state, watched until time 500."""
    rng, found = np.random.default_rng(1), []
    for machine in ("first", "second"):
        time, state = 0.0, "up"
        while time < 500:
            found.append((time, state, "x", machine))
            time, state = time + rng.exponential(2.0), "down" if state == "up" else "up"
        found.append((500.0, found[-1][1], None, machine))
    return {name: [row[i] for row in found] for i, name in enumerate(("time", "state", "action", "trajectory"))}


def test_time_stamps_of_several_systems_that_stand_mixed_are_refused():
    """Read as they stood, only neighbouring rows of one system made sojourns, and these are the short ones."""
    sorted_rows = two_machines()
    found = read_log(sorted_rows)
    assert found.trajectories == 2 and float(found.holding_time.sum() + found.censored_time.sum()) == pytest.approx(1000)
    order = np.argsort(sorted_rows["time"], kind="stable")
    with pytest.raises(FileError, match=r"row \d+ goes on with trajectory '(first|second)', after rows of another.* Sort the rows"):
        read_log({name: [values[i] for i in order] for name, values in sorted_rows.items()})


@pytest.mark.parametrize("empty", [None, float("nan"), ""])
def test_a_row_that_does_not_say_which_trajectory_it_is_of_is_refused(empty):
    """Each empty cell was taken for a trajectory of its own, and what happened there was left out."""
    log = two_machines()
    log["trajectory"] = np.array([empty if i > 3 else "first" for i in range(len(log["time"]))], dtype=object)
    with pytest.raises(FileError, match=r"row 5 has no trajectory"):
        read_log(log)


@pytest.mark.parametrize("told", [None, Knowledge(pair_start=np.arange(4), pair_action=np.array([0, 1, 1]), reward=np.zeros(3),
                                                  running=np.zeros(3), states=["a", "b", "c"], actions=["x", "y"], rate_min=0.1,
                                                  rate_max=9.0)])
def test_a_sojourn_whose_end_was_not_seen_is_not_to_be_dropped(told):
    with pytest.raises(FileError, match=r"row 4 has no next_state.*do not drop it.*as time stamps"):
        read_log({**GOOD, "next_state": ["b", "a", "c", None]}, told)
    with pytest.raises(FileError, match=r"row 2 has holding_time 0; .*rounded to 0, give finer ones"):
        read_log({**GOOD, "holding_time": [1.0, 0.0, 2.0, 0.25]}, told)


@pytest.mark.parametrize(("log", "columns", "words"), [
    ({**GOOD, "minutes": [60.0, 30.0, 120.0, 15.0]}, {"minutes": "holding_time"}, "two columns for holding_time: 'hold"),
    ({**{name: GOOD[name] for name in GOOD if name != "state"}, "from": GOOD["state"], "at": GOOD["state"]},
     {"from": "state", "at": "state"}, "two columns for state: 'from' and 'at'"),
    ({**GOOD, 1: [1] * 4, "1": [2] * 4}, None, "2 columns named '1'"),
])
def test_no_column_stands_twice(log, columns, words):
    """The last one was taken, without a word."""
    with pytest.raises(FileError, match=words):
        read_log(log, columns=columns)


def test_frames_with_two_columns_of_one_name_are_refused_and_lazy_ones_computed():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    with pytest.raises(FileError, match="2 columns named 'state'"):
        read_log(pandas.concat([pandas.DataFrame(GOOD), pandas.DataFrame({"state": GOOD["state"]})], axis=1))
    assert rows(polars.DataFrame(GOOD).lazy()) == rows(GOOD)


def test_masked_entries_are_empty_cells():
    with pytest.raises(FileError, match="row 2 has holding_time nan"):
        read_log({**GOOD, "holding_time": np.ma.array(GOOD["holding_time"], mask=[0, 1, 0, 0])})


@pytest.mark.parametrize(("column", "words"), [
    (np.array([1, 2, 3, 4], dtype="timedelta64[M]"), "a duration in months"), (np.ones((4, 2)), "give a list or an array"),
    ({1, 2, 3, 4}, "give a list or an array"), (dict.fromkeys(range(4), 1.0), "give a list or an array"),
    ([Decimal("sNaN")] * 4, "is no number"), ([datetime(2024, 1, 1 + i) for i in range(4)], "which is a date; it must be a number"),
    (np.array(["2024-01-01"] * 4, dtype="datetime64[D]"), "which is a date; it must be a number"),
])
def test_holding_times_that_are_no_numbers_are_refused_in_words(column, words):
    with pytest.raises(FileError, match=f"(row 1 has|the column) holding_time .*{words}"):
        read_log({**GOOD, "holding_time": column})


def test_dates_are_no_payments_and_months_begin_on_days():
    for paid in ([datetime(2024, 1, 1)] * 4, np.array([1, 2, 3, 4], dtype="timedelta64[s]")):
        with pytest.raises(FileError, match=r"row 1 has reward .* it must be a number"):
            read_log({**GOOD, "reward": paid})
    months = np.array(["2024-01", "2024-02", "2024-03"], dtype="datetime64[M]")
    found = read_log({"time": months, "state": ["a", "b", "a"], "action": ["x", "x", None]})
    assert found.holding_time.tolist() == [31 * 86400, 29 * 86400]


def test_times_as_integers_may_lie_anywhere():
    times = np.array([-2**62 - 5, 0, 2**62], dtype=np.int64)
    assert read_log({"time": times, "state": ["a", "b", "a"], "action": ["x"] * 3}).holding_time.tolist() == [2.0**62 + 5, 2.0**62]


@pytest.mark.parametrize(("unit", "times", "seconds"), [
    ("as", [0, 10**18, 3 * 10**18], [1, 2]), ("ns", [-2**62, 0, 2**62], [2**62 / 1e9] * 2), ("7D", [0, 1, 3], [604800, 1209600]),
    ("25s", [0, 1, 3], [25, 50]), ("W", [0, 1, 3], [604800, 1209600]), ("m", [-1, 0, 2], [60, 120]),
])
def test_dates_and_durations_of_every_unit_are_taken_in_seconds(unit, times, seconds):
    """Attoseconds, and nanoseconds more than 292 years apart, overflowed."""
    names = {"state": ["a", "b", "a"], "action": ["x"] * 3}
    for kind in ("<M8", ">M8", "<m8"):
        found = read_log({"time": np.array(times).astype(f"{kind}[{unit}]"), **names}).holding_time
        assert found == pytest.approx(seconds, rel=1e-12)


def test_dates_as_texts_are_refused_with_what_to_do(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("time,state,action\n2024-03-31T01:30:00+01:00,a,x\n2024-03-31T03:30:00+02:00,b,\n", encoding="utf-8")
    with pytest.raises(FileError, match=r"row 1 has time '2024-03-31T01.*A date that is a text is not read: write seconds"):
        read_log(log)


def test_a_parquet_file_with_two_columns_of_one_name_is_refused_in_one_line(tmp_path):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    arrays = [pyarrow.array(values) for values in (*GOOD.values(), GOOD["state"])]
    parquet.write_table(pyarrow.Table.from_arrays(arrays, names=[*GOOD, "state"]), tmp_path / "log.parquet")
    with pytest.raises(FileError, match=r"has 2 columns named 'state'; name each once\.$"):
        read_log(tmp_path / "log.parquet")


def test_a_missing_payment_of_a_sojourn_between_time_stamps_is_named_by_its_row():
    """It was called row 1 whichever it was, and nothing said what to do."""
    log = {"time": [0.0, 1.0, 2.0, 3.0, 4.0], "state": ["a", "b", "a", "b", "b"], "action": ["x"] * 4 + [None],
           "reward": [1.0, 2.0, None, None, None]}
    with pytest.raises(FileError, match="row 3 has no reward; give one in every row whose sojourn was seen to end, or leave the"):
        read_log(log)
    assert np.isnan(read_log({**log, "reward": [1.0, 2.0, 3.0, None, None]}).censored_reward).all()


def test_tables_of_pyarrow_are_read_and_lists_in_them_refused():
    """A TypeError of pyarrow, in whose tables `columns` are no names."""
    pyarrow = pytest.importorskip("pyarrow")
    assert rows(pyarrow.table(GOOD)) == rows(pyarrow.RecordBatch.from_pydict(GOOD)) == rows(GOOD)
    assert rows(pyarrow.concat_tables([pyarrow.table(GOOD)] * 2)) == rows(GOOD) * 2
    zone = ZoneInfo("Europe/Berlin")
    autumn = [datetime(2026, 10, 25, 2, 30, tzinfo=zone, fold=fold) for fold in (0, 1)]
    times = pyarrow.array(autumn, pyarrow.timestamp("us", "Europe/Berlin"))
    log = pyarrow.table({"time": times, "state": ["a", "b"], "action": ["x"] * 2})
    assert read_log(log).holding_time.tolist() == [3600.0]
    with pytest.raises(FileError, match="the column reward holds lists or records"):
        read_log(pyarrow.table({**GOOD, "reward": [[1.0]] * 4}))
    with pytest.raises(FileError, match="2 columns named 'state'"):
        read_log(pyarrow.Table.from_arrays([pyarrow.array(GOOD["state"])] * 2, names=["state", "state"]))


def test_dates_and_durations_of_numpy_in_a_list_keep_every_digit():
    """They were cut to whole microseconds: 1,500 ns made 1 microsecond, and 500 ns were refused as 0."""
    names = {"state": ["a", "b", "a"], "action": ["x"] * 3}
    stamps = [np.datetime64(1_500, "ns"), np.datetime64(2_100, "ns"), np.datetime64(1, "s")]
    assert read_log({"time": stamps, **names}).holding_time.tolist() == pytest.approx([6e-7, 1 - 2.1e-6], rel=1e-15)
    far = [np.datetime64(f"20000-01-0{day}") for day in (1, 2, 4)]
    assert read_log({"time": far, **names}).holding_time.tolist() == [86400.0, 172800.0]
    months = [np.datetime64("2024-01"), np.datetime64("2024-02-01T00:00:01"), np.datetime64("2024-03")]
    assert read_log({"time": months, **names}).holding_time.tolist() == [31 * 86400 + 1, 29 * 86400 - 1]
    lasting = {**GOOD, "holding_time": [np.timedelta64(1_500, "ns"), np.timedelta64(500, "ns"), np.timedelta64(2, "h"),
                                        np.timedelta64(3, "W")]}
    assert read_log(lasting).holding_time.tolist() == [1.5e-6, 5e-7, 7200.0, 1814400.0]
    for odd in (datetime(2026, 1, 1), np.timedelta64(1, "s")):  # beside dates of Python nothing finer than theirs, nor durations
        with pytest.raises(FileError, match=r"row [123] has time .* in one form"):
            read_log({"time": [np.datetime64(1_500, "ns"), np.datetime64(2_100, "ns"), odd], **names})


@pytest.mark.parametrize("time", ["2026-W12-1", "20261025T023000Z", "2026-101", "00:10", "25 Oct 2026", time(1, 30), 1j])
def test_whatever_a_time_is_that_cannot_be_read_the_refusal_says_what_to_do_with_dates(time):
    with pytest.raises(FileError, match=r"row 1 has time .* write seconds, or give a data frame or a Parquet file"):
        read_log({"time": [time] * 2, "state": ["a", "b"], "action": ["x"] * 2})
