"""Files: what is saved comes back number for number; what is hostile is refused in one clear sentence."""

import io
import json
import os
import stat
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sojourn
from sojourn.errors import FileError
from sojourn.model import files
from sojourn.model.ctmdp import CTMDP

SUFFIXES = [".json", ".npz"]
GOOD = {
    "format": "sojourn/ctmdp",
    "version": 1,
    "name": "swap",
    "states": ["a", "b"],
    "rate_bounds": [1, 5],
    "choices": [
        {"state": "a", "action": "go", "rate": 2, "reward": 1.5, "running": -1, "next": {"b": 1}},
        {"state": "b", "action": "back", "rate": 4.0, "next": {"a": 0.25, "b": 0.75}},
        {"state": "b", "action": "go", "rate": 5, "next": {"a": 1.0}},
    ],
}


def edited(**changes):
    return {**json.loads(json.dumps(GOOD)), **changes}


def with_choice(i=0, **changes):
    top = edited()
    top["choices"][i].update(changes)
    return top


def read(tmp_path, content, name="model.json"):
    path = tmp_path / name
    path.write_bytes(
        content if isinstance(content, bytes) else (content if isinstance(content, str) else json.dumps(content)).encode()
    )
    return sojourn.load(path)


def test_the_documented_json_is_read(tmp_path):
    model = read(tmp_path, GOOD)
    assert model.name == "swap" and model.states == ("a", "b") and model.actions == ("go", "back") and model.rate_bounds == (1, 5)
    assert model.rate.tolist() == [2, 5, 4] and model.reward.tolist() == [1.5, 0, 0] and model.running.tolist() == [-1, 0, 0]
    assert model.dense()["transition"][1].tolist() == [[1, 0], [0.25, 0.75]]


def test_the_json_written_has_the_documented_keys(tmp_path, golden_model):
    golden_model("three_state").save(tmp_path / "m.json")
    top = json.loads((tmp_path / "m.json").read_text())
    assert list(top) == ["format", "version", "name", "states", "rate_bounds", "choices"]
    assert (top["format"], top["version"], top["states"]) == ("sojourn/ctmdp", 2, [0, 1, 2])
    assert list(top["choices"][0]) == ["state", "action", "rate", "reward", "running", "next"]
    assert top["choices"][0]["next"] == {"1": 0.5, "2": 0.5}


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", ["two_state", "three_state", "ties", "boundary_cases", "miller_n3_m3", "machine_maintenance"])
def test_reference_models_round_trip(tmp_path, golden_model, name, suffix):
    model = golden_model(name)
    model.save(tmp_path / f"m{suffix}")
    assert sojourn.load(str(tmp_path / f"m{suffix}")).equals(model)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_odd_but_valid_models_round_trip(tmp_path, golden_model, suffix):
    model = golden_model("three_state")
    jumps = len(model.next_state)
    for i, odd in enumerate(
        [
            model.replace(actions=("é", "\u4e2d \u00a0x"), states=('"', "\\", "{"), name="naïve [bold]"),
            model.replace(transition_reward=np.zeros(jumps)),
            model.replace(transition_reward=np.linspace(-1, 1, jumps)),
            model.uniformized(),
            model.replace(rate_bounds=None, name=""),
            model.replace(actions=("0", "1", "never")),
            CTMDP.from_pairs([0, 1, 1], [4, 2, 4], [[0, 1], [1, 0], [1, 0]], [1, 1e-200, 1e300]),
            model.replace(reward=[5e-324, -1.7e308, 0.1 + 0.2, -0.0, 1 / 3, 1e22]),
        ]
    ):
        path = tmp_path / f"{i}{suffix}"
        odd.save(path)
        assert sojourn.load(path).equals(odd), i


@st.composite
def models(draw):
    n = draw(st.integers(1, 4))
    labels = st.lists(st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), min_size=1, max_size=4), unique=True)
    pairs = sorted(draw(st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, 3)), min_size=1)) | {(s, 0) for s in range(n)})
    number = st.floats(-1e9, 1e9)
    weight = st.one_of(st.just(0.0), st.floats(1e-6, 1))
    rows = [draw(st.lists(weight, min_size=n, max_size=n).filter(any)) for _ in pairs]
    rate = [draw(st.floats(1e-9, 1e9)) for _ in pairs]
    return CTMDP.from_pairs(
        [s for s, _ in pairs],
        [a for _, a in pairs],
        rows,
        rate,
        [draw(number) for _ in pairs],
        [draw(number) for _ in pairs],
        states=draw(labels.filter(lambda x: len(x) >= n))[:n] if draw(st.booleans()) else None,
        transition_reward=draw(st.none() | st.just([[draw(number)] * n for _ in pairs])),
        normalize_rows=True,
        rate_bounds=draw(st.none() | st.just((min(rate), max(rate)))),
        name=draw(st.sampled_from(["", "m", "µ/M"])),
    )


@settings(max_examples=60)
@given(models())
def test_any_model_round_trips_through_both_formats(tmp_path_factory, model):
    folder = tmp_path_factory.mktemp("files", numbered=True)
    for suffix in SUFFIXES:
        model.save(folder / f"m{suffix}")
        assert sojourn.load(folder / f"m{suffix}").equals(model)


def test_the_same_model_gives_the_same_bytes(tmp_path, golden_model):
    for suffix in SUFFIXES:
        for name in "xy":
            golden_model("ties").save(tmp_path / f"{name}{suffix}")
        assert (tmp_path / f"x{suffix}").read_bytes() == (tmp_path / f"y{suffix}").read_bytes()


NAN, INF = float("nan"), float("inf")
BAD = [
    ([], "holds \\[\\]"),
    (3, "holds 3"),
    (None, "holds None"),
    ('"text"', "holds 'text'"),
    ({}, "format is None"),
    (edited(format="other"), "'other'"),
    (edited(version=3), "version is 3; .*upgrade"),
    (edited(version=True), "version is True"),
    (edited(version="1"), "'1'"),
    (edited(version=1.0), "version is 1.0"),
    (edited(stats=[]), "did you mean 'states'"),
    ({k: v for k, v in GOOD.items() if k != "choices"}, "lacks 'choices'"),
    (edited(states="ab"), "states is 'ab'"),
    (edited(states=[]), "0 states"),
    (edited(states=["a", "a", "b"]), "'a' stands twice"),
    (edited(states=["a", 1]), "label 1 is 1"),
    (edited(states=["a", "b", "c"]), "state 'c' has 0 admissible"),
    (edited(states=["a"]), "choices\\[0\\].next is 'b': no state named 'b'"),
    (edited(states=["a", "b\x00"]), "control"),
    (edited(choices={}), "choices is {}"),
    (edited(choices=[]), "choices is \\[\\]"),
    (edited(choices=[1]), "choices\\[0\\] is 1"),
    (edited(rate_bounds=[5, 1]), "Swap"),
    (edited(rate_bounds=[1, NAN]), "nan"),
    (edited(rate_bounds=[True, 5]), "True"),
    (edited(rate_bounds=[1, 2, 5]), "\\[1, 2, 5\\]"),
    (edited(rate_bounds=[1, 3]), "\\[1.0, 3.0\\]"),
    (edited(rate_bounds=7), "is 7"),
    (edited(rate_bounds="15"), "'15'"),
    (edited(name=5), "name is 5"),
    (edited(name=None), "None"),
    (edited(holding="fixed"), "'fixed'"),
    (edited(holding=1), "holding is 1"),
    (edited(actions=["go"]), "'back': no action named"),
    (edited(actions="go"), "actions is 'go'"),
    (edited(actions=[]), "0 actions"),
    (with_choice(state="c"), "choices\\[0\\].state is 'c': no state"),
    (with_choice(state=0), "state is 0"),
    (with_choice(state=None), "None"),
    (with_choice(state=["a"]), "\\['a'\\]"),
    (with_choice(action=1), "action label 0 is 1; in version 1"),
    (with_choice(action={}), "action is {}"),
    (edited(version=2, states=["a", {}]), "cannot be looked up"),
    (edited(version=2, states=["a", "b", 1, "1"]), "'1' stands twice"),
    (edited(version=2, state_labels=["a"]), "1 state labels for 2"),
    (edited(version=2, state_labels=["a", "a"]), "'a' stands twice"),
    (with_choice(action=""), "label 0 is ''"),
    (with_choice(rate=True), "choices\\[0\\].rate is True"),
    (with_choice(rate="2"), "'2'"),
    (with_choice(rate=None), "None"),
    (with_choice(rate=0), "rate\\[a, go\\] is 0.0"),
    (with_choice(rate=-1), "-1"),
    (with_choice(rate=NAN), "choices\\[0\\].rate is nan"),
    (with_choice(rate=INF), "inf"),
    (with_choice(rate=9), "rate\\[a, go\\] is 9.0"),
    (with_choice(rate=10**400), "400 digits"),
    (with_choice(rate=[2]), "choices\\[0\\].rate is \\[2\\] .a list.; it must be one real number"),
    (with_choice(reward="1"), "reward is '1'"),
    (with_choice(reward=INF), "inf"),
    (with_choice(running=False), "running is False"),
    (with_choice(running={}), "{}"),
    (with_choice(next={}), "next is {}"),
    (with_choice(next=["b"]), "next is \\['b'\\]"),
    (with_choice(next={"b": "1"}), "next\\['b'\\] is '1'"),
    (with_choice(next={"b": True}), "next\\['b'\\] is True"),
    (with_choice(next={"b": NAN}), "nan"),
    (with_choice(next={"b": 0.5}), "sums to 0.5"),
    (with_choice(next={"b": 1.5, "a": -0.5}), "-0.5"),
    (with_choice(next={"b": 0}), "has 0 next states"),
    (with_choice(next={"B": 1}), "'B'"),
    (with_choice(next_reward={"a": 1}), "no next state of this choice named 'a'"),
    (with_choice(next_reward={"b": NAN}), "nan"),
    (with_choice(next_reward=[1]), "next_reward is \\[1\\]"),
    (with_choice(2, action="back"), "choices\\[2\\] repeats .* of choices\\[1\\]"),
    (with_choice(rewards=1), "did you mean 'reward'"),
    (edited(choices=[{"state": "a"}]), "lacks 'action'"),
]


@pytest.mark.parametrize(("content", "shown"), BAD, ids=[str(i) for i in range(len(BAD))])
def test_bad_json_is_refused_naming_file_entry_and_value(tmp_path, content, shown):
    with pytest.raises(FileError, match=shown) as caught:
        read(tmp_path, content)
    assert "model.json" in str(caught.value) and "\n" not in str(caught.value) and len(str(caught.value)) < 600


RAW = {
    "empty": (b"", "not JSON"),
    "nul": (b"\0" * 100, "not JSON"),
    "nul inside": (json.dumps(GOOD).replace("swap", "\0").encode(), "not JSON"),
    "binary": (bytes(range(256)), "not"),
    "not utf-8": (json.dumps(GOOD).replace("swap", "\xff").encode("latin-1"), "0xff.*UTF-8"),
    "cut short": (json.dumps(GOOD).encode()[:-40], "Is the file complete"),
    "two objects": (json.dumps(GOOD).encode() * 2, "Extra data"),
    "deep lists": (b"[" * 200_000 + b"]" * 200_000, "too deep"),
    "deep open": (b"[" * 200_000, "too deep"),
    "deep objects": (b'{"a":' * 200_000 + b"1" + b"}" * 200_000, "too deep"),
    "deep inside": (json.dumps(GOOD).replace('"swap"', "[" * 200_000 + "]" * 200_000).encode(), "too deep"),
    "duplicate key": (json.dumps(GOOD).replace('"version": 1', '"version": 1, "version": 1').encode(), "'version' stands twice"),
    "duplicate next": (json.dumps(GOOD).replace('{"b": 1}', '{"b": 0.5, "b": 0.5}').encode(), "'b' stands twice"),
    "1e400": (json.dumps(GOOD).replace("1.5", "1e400").encode(), "reward is inf"),
    "huge integer": (json.dumps(GOOD).replace("1.5", "9" * 5000).encode(), "number that cannot be read"),
    "minus infinity": (json.dumps(GOOD).replace("1.5", "-Infinity").encode(), "reward is -inf"),
    "lone surrogate": (json.dumps(edited(name="\ud800")).encode(), "ud800"),
    "a zip": (b"PK\x03\x04" + b"\x80" * 50, "UTF-8"),
}


@pytest.mark.parametrize(("content", "shown"), RAW.values(), ids=RAW)
def test_hostile_bytes_are_refused(tmp_path, content, shown):
    with pytest.raises(FileError, match=shown) as caught:
        read(tmp_path, content)
    assert "model.json" in str(caught.value) and len(str(caught.value)) < 600


def test_a_byte_order_mark_is_forgiven(tmp_path):
    assert read(tmp_path, b"\xef\xbb\xbf" + json.dumps(GOOD).encode()).name == "swap"


# ---- npz -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def packed(tmp_path) -> dict[str, bytes]:
    """The members of a good .npz file."""
    path = tmp_path / "good.npz"
    path.write_bytes(b"")
    read_model = CTMDP.from_arrays([[[0, 1]], [[0.5, 0.5]]], [[2], [3]], states=["x", "y"], name="n")
    read_model.save(path)
    with zipfile.ZipFile(path) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def zipped(members, method=zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def npy(array, allow_pickle=False) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, np.asarray(array), allow_pickle=allow_pickle)
    return out.getvalue()


def claims(shape: str, descr: str = "'<f8'", data: bytes = b"") -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


def head(**changes) -> bytes:
    top = {
        "format": "sojourn/ctmdp",
        "version": 1,
        "name": "n",
        "holding": "exponential",
        "rate_bounds": None,
        "states": ["x", "y"],
        "actions": 1,
        **changes,
    }
    return npy(np.frombuffer(json.dumps(top).encode(), np.uint8))


NPZ = {
    "object array": ("rate", lambda: npy(np.array([{}, None], dtype=object), allow_pickle=True), "declares .*'\\|O'.*never read"),
    "absurd size": ("rate", lambda: claims("(1000000000000000,)"), "declares 1000000000000000 entries and has 0 bytes"),
    "absurd shape": ("rate", lambda: claims("(99999999999999999999999,)"), "flat array"),
    "negative size": ("rate", lambda: claims("(-1,)"), "flat array"),
    "too short": ("rate", lambda: claims("(2,)", data=b"\0" * 8), "2 entries"),
    "two axes": ("rate", lambda: npy(np.ones((2, 1))), "flat array"),
    "integers": ("rate", lambda: npy([1, 2]), "'<i8'.*type '<f8'"),
    "big endian": ("rate", lambda: npy(np.ones(2, ">f8")), "'>f8'"),
    "booleans": ("rate", lambda: npy([True, True]), "b1"),
    "structured": ("rate", lambda: npy(np.zeros(2, [("a", "<f8")])), "flat array"),
    "strings": ("rate", lambda: npy(["a", "b"]), "U1"),
    "not numpy": ("rate", lambda: b"\0" * 200, "starts with"),
    "empty member": ("rate", lambda: b"", "starts with b''"),
    "code in header": ("rate", lambda: claims("(__import__('os').getpid(),)"), "flat array"),
    "nan rate": ("rate", lambda: npy([np.nan, 1]), "rate\\[x, 0\\] is nan"),
    "negative rate": ("rate", lambda: npy([1.0, -1]), "-1.0"),
    "wrong length": ("rate", lambda: npy(np.ones(3)), "\\(3,\\)"),
    "wild index": ("next_state", lambda: npy([1, 0, 10**9]), "1000000000"),
    "negative index": ("next_state", lambda: npy([1, -5, 1]), "-5"),
    "wild start": ("row_start", lambda: npy([0, 1, 10**12]), "row_start"),
    "falling start": ("pair_start", lambda: npy([0, 3, 2]), "pair_start"),
    "bad sum": ("probability", lambda: npy([1.0, 0.5, 0.25]), "0.75"),
    "wrong version": ("header", lambda: head(version=9), "version is 9"),
    "states too many": ("header", lambda: head(states=10**9), "1000000000"),
    "states a float": ("header", lambda: head(states=2.0), "2.0"),
    "labels twice": ("header", lambda: head(states=["x", "x"]), "twice"),
    "bounds": ("header", lambda: head(rate_bounds=5), "is 5"),
    "name": ("header", lambda: head(name=[]), "name is"),
    "holding": ("header", lambda: head(holding={}), "holding is"),
    "extra key": ("header", lambda: head(more=1), "more"),
    "header not json": ("header", lambda: npy(np.frombuffer(b"{", np.uint8)), "not JSON"),
    "header deep": ("header", lambda: npy(np.frombuffer(b"[" * 200_000, np.uint8)), "too deep"),
    "unknown array": ("extra", lambda: npy([1.0]), "'extra.npy'"),
}


@pytest.mark.parametrize(("name", "data", "shown"), NPZ.values(), ids=NPZ)
def test_a_hostile_array_is_refused_by_name(tmp_path, packed, name, data, shown):
    with pytest.raises(FileError, match=shown) as caught:
        read(tmp_path, zipped({**packed, f"{name}.npy": data()}), "model.npz")
    assert "model.npz" in str(caught.value) and len(str(caught.value)) < 600


def test_a_missing_array_is_named(tmp_path, packed):
    del packed["rate.npy"]
    with pytest.raises(FileError, match="lacks 'rate'"):
        read(tmp_path, zipped(packed), "model.npz")


def test_a_zip_bomb_is_refused_before_it_is_unpacked(tmp_path, packed):
    packed["rate.npy"] = claims("(12000000,)", data=bytes(96_000_000))
    with pytest.raises(FileError, match=r"rate\.npy declares 96.* bytes in a file of \d+, above"):
        read(tmp_path, zipped(packed), "model.npz")


@pytest.mark.parametrize(("method", "kind"), [(zipfile.ZIP_BZIP2, "bzip2"), (zipfile.ZIP_LZMA, "LZMA")])
def test_only_what_numpy_writes_is_unpacked(tmp_path, packed, method, kind):
    good = zipped(packed, method)
    with pytest.raises(FileError, match=rf"model\.npz.*header\.npy is packed by method {method} \({kind}\).*stored or deflated"):
        read(tmp_path, good, "model.npz")
    damaged = bytearray(good)
    damaged[60:80] = bytes(20)
    with pytest.raises(FileError):
        read(tmp_path, bytes(damaged), "model.npz")
    assert read(tmp_path, zipped(packed, zipfile.ZIP_STORED), "model.npz").states == ("x", "y")


def test_a_small_file_takes_little_memory_whatever_it_declares(tmp_path, packed):
    packed["rate.npy"] = claims("(2,)", data=bytes(60_000_000))  # declares 16 bytes below, and unpacks to so much more
    hostile = [zipped(packed, method).replace(struct.pack("<I", 60_000_128), struct.pack("<I", 128 + 16))
               for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)]
    packed["rate.npy"] = claims("(400000000,)", data=bytes(3_200_000))  # declares far more than there is
    hostile.append(zipped(packed).replace(struct.pack("<I", 3_200_128), struct.pack("<I", 3_200_000_128)))
    tracemalloc.start()
    try:
        for data in hostile:
            with pytest.raises(FileError):
                read(tmp_path, data, "model.npz")
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_labels_that_shrink_too_much_are_refused(tmp_path, packed):
    text = b'{"format": ' + b"[]," * 2_000_000
    packed["header.npy"] = claims(f"({len(text)},)", "'|u1'", text)
    with pytest.raises(FileError, match=r"header\.npy declares 6\d+ bytes in a file of \d+; labels shrink less than 100-fold"):
        read(tmp_path, zipped(packed), "model.npz")


@pytest.mark.parametrize("cut", [0, 1, 4, 30, 100, 500, -1, -20, -100])
def test_a_truncated_npz_is_refused(tmp_path, packed, cut):
    with pytest.raises(FileError, match=r"not a whole \.npz"):
        read(tmp_path, zipped(packed)[:cut], "model.npz")


def test_flipping_any_byte_gives_the_model_or_a_file_error(tmp_path, packed):
    whole = zipped(packed, zipfile.ZIP_STORED)
    for at in range(0, len(whole), 7):
        data = bytearray(whole)
        data[at] ^= 0x55
        try:
            read(tmp_path, bytes(data), "model.npz")
        except FileError as error:
            assert "model.npz" in str(error)


def test_an_ordinary_npz_of_someone_else_is_refused(tmp_path):
    np.savez(tmp_path / "theirs.npz", a=np.ones(3))
    with pytest.raises(FileError, match=r"'a.npy'"):
        sojourn.load(tmp_path / "theirs.npz")


# ---- paths and atomic replacement ----------------------------------------------------------------------------------


def test_paths_that_cannot_be_read_are_named(tmp_path):
    (tmp_path / "folder.json").mkdir()
    os.mkfifo(tmp_path / "pipe.json")
    for path, shown in [
        ("nowhere.json", "No such file"),
        ("folder.json", "is a folder"),
        ("model.txt", "'.txt'"),
        ("model", "''"),
        ("pipe.json", "not a regular file"),
        ("a" * 300 + ".json", "too long"),
        ("x\0.json", "NUL"),
    ]:
        with pytest.raises(FileError, match=shown):
            sojourn.load(f"{tmp_path}/{path}")
    for path in (None, 3, b"x.json", ""):
        with pytest.raises(FileError, match="path is"):
            sojourn.load(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_path_with_a_lone_surrogate_is_refused(tmp_path, golden_model, suffix):
    model, path = golden_model("two_state"), str(tmp_path / f"\ud800{suffix}")
    for act in (lambda: sojourn.load(path), lambda: model.save(path)):
        with pytest.raises(FileError, match=r"lone surrogate\); no file can have that name"):
            act()
    undecodable = tmp_path / f"\udcff{suffix}"  # a byte that is not UTF-8: unusual, and a name all the same
    model.save(undecodable)
    assert sojourn.load(undecodable).equals(model)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, golden_model, suffix, monkeypatch):
    path = tmp_path / f"m{suffix}"
    golden_model("ties").save(path)
    before = path.read_bytes()

    def torn(model, stream):
        stream.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(files.FORMATS, suffix, (files.FORMATS[suffix][0], torn))
    with pytest.raises(FileError, match=f"cannot write .*m{suffix}.*No space left"):
        golden_model("two_state").save(path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == [path.name]


def test_writing_keeps_permissions_follows_links_and_obeys_the_umask(tmp_path, golden_model):
    model = golden_model("two_state")
    old = os.umask(0o027)
    try:
        model.save(tmp_path / "new.json")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "new.json").stat().st_mode) == 0o640
    os.chmod(tmp_path / "new.json", 0o666)
    (tmp_path / "link.json").symlink_to("new.json")
    golden_model("ties").save(tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink() and sojourn.load(tmp_path / "new.json").name == "ties"
    assert stat.S_IMODE((tmp_path / "new.json").stat().st_mode) == 0o666
    assert sorted(os.listdir(tmp_path)) == ["link.json", "new.json"]


def test_whoever_has_the_old_file_open_reads_it_to_the_end(tmp_path, golden_model):
    path = tmp_path / "m.json"
    golden_model("ties").save(path)
    before = path.read_bytes()
    with open(path, "rb", buffering=0) as reader:
        first = reader.read(10)
        golden_model("two_state").save(path)
        assert first + reader.read() == before


def test_a_model_is_not_written_to_odd_places(tmp_path, golden_model):
    (tmp_path / "folder.json").mkdir()
    for path, shown in [
        ("no/such/m.json", "No such file"),
        ("folder.json", "not a regular file"),
        ("m.pkl", "'.pkl'"),
        ("m", "''"),
    ]:
        with pytest.raises(FileError, match=shown):
            golden_model("two_state").save(f"{tmp_path}/{path}")
    assert os.listdir(tmp_path) == ["folder.json"]


def test_json_beyond_a_size_is_refused_both_ways_with_the_remedy(tmp_path, monkeypatch):
    model = sojourn.make("admission", capacity=20)
    model.save(tmp_path / "whole.json")
    monkeypatch.setattr("sojourn.model.json_file.MAX_BYTES", 2000)
    with pytest.raises(FileError, match=r"model\.json.*Save it as \.npz"):
        model.save(tmp_path / "model.json")
    assert not (tmp_path / "model.json").exists()
    with pytest.raises(FileError, match=r"Save the model as \.npz"):
        sojourn.load(tmp_path / "whole.json")


def test_a_name_beyond_floats_is_refused_since_it_would_come_back_as_a_text(tmp_path):
    path = tmp_path / "far.json"
    CTMDP.from_arrays([[[0, 1.0]], [[1.0, 0]]], [[1.0], [2.0]]).save(path)
    path.write_text(path.read_text().replace('"action": 0', '"action": 1e400', 1))
    with pytest.raises(FileError, match="a name in the file is inf"):
        sojourn.load(path)
