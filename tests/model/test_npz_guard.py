"""Arrays in a zip are read by what is there: no inflation without end, no objects, no packing that numpy does not write."""

import io
import os
import resource
import zipfile

import numpy as np
import pytest

import sojourn
from sojourn.errors import FileError
from sojourn.model.npz_guard import BESIDES, SHARE, Guard
from sojourn.model.pack import pack, unpack
from sojourn.simulation.simulate import simulate
from sojourn.zoo.catalogue import make

RUN = simulate(make("three-state"), "random", max_epochs=300, seed=1, record=True)


@pytest.fixture
def members(tmp_path):
    RUN.save(tmp_path / "good.npz")
    with zipfile.ZipFile(tmp_path / "good.npz") as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def header(shape, kind="<f8", data=b""):
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


def zipped(path, members, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def test_a_run_that_would_inflate_beyond_its_share_is_refused_before_it_does(tmp_path, members):
    path = zipped(tmp_path / "bomb.npz", {**members, "time.npy": header("(15000000,)", data=bytes(120_000_000))})
    size = os.path.getsize(path)
    assert size < 250_000 and SHARE * size + BESIDES < 120_000_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(FileError, match=r"time\.npy declares 120000000 bytes .* `max_bytes="):
        sojourn.Run.load(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 80_000  # kB


def test_what_is_allowed_may_be_raised_and_lowered(tmp_path):
    model = make("three-state")
    for suffix in ("npz", "json"):
        model.save(tmp_path / f"m.{suffix}")
        assert sojourn.load(tmp_path / f"m.{suffix}", max_bytes=10**6).equals(model)
        with pytest.raises(FileError, match="max_bytes="):
            sojourn.load(tmp_path / f"m.{suffix}", max_bytes=100)
    RUN.save(tmp_path / "run.npz")
    assert np.array_equal(sojourn.Run.load(tmp_path / "run.npz", max_bytes=10**6).visits, RUN.visits)
    with pytest.raises(FileError, match="max_bytes="):
        sojourn.Run.load(tmp_path / "run.npz", max_bytes=8000)
    sojourn.Session("ct-ucrl", "A", knowledge=model.knowledge()).save(tmp_path / "a.session")
    with pytest.raises(FileError, match="max_bytes="):
        sojourn.Session.load(tmp_path / "a.session", max_bytes=100)
    for wrong in (0, -1, 1.5, "many", True):
        with pytest.raises(FileError, match="max_bytes is"):
            sojourn.load(tmp_path / "m.npz", max_bytes=wrong)


BAD = {
    "declares 2^40 entries": {"time.npy": header("(1099511627776,)")},
    "declares an empty table of 2^62 columns": {"time.npy": header("(0, 4611686018427387904)")},
    "objects": {"time.npy": header("(1,)", "|O", b"\x80\x04N.")},
    "three axes": {"time.npy": header("(1, 1, 1)", data=bytes(8))},
    "another length": {"time.npy": header("(1,)", data=bytes(8))},
    "no whole": {"whole.npy": None},
    "texts": {"gain.npy": header("()", "<U2", bytes(8))},
}


@pytest.mark.parametrize("change", BAD.values(), ids=BAD)
def test_arrays_that_lie_or_are_none_are_refused_in_words(tmp_path, members, change):
    changed = {name: data for name, data in {**members, **change}.items() if data is not None}
    with pytest.raises(FileError, match=r"bad\.npz"):
        sojourn.Run.load(zipped(tmp_path / "bad.npz", changed))


@pytest.mark.parametrize("method", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_packings_that_numpy_does_not_write_are_refused(tmp_path, members, method):
    with pytest.raises(FileError, match=r"packed by method .* Save the run again"):
        sojourn.Run.load(zipped(tmp_path / "bad.npz", members, method))


def test_what_is_no_file_or_no_zip_is_refused(tmp_path):
    np.save(tmp_path / "bare.npy", np.zeros(3))
    os.rename(tmp_path / "bare.npy", tmp_path / "bare.npz")
    os.mkfifo(tmp_path / "pipe.npz")
    os.mkfifo(tmp_path / "pipe.session")
    (tmp_path / "folder.npz").mkdir()
    for name, words in {"bare.npz": "not a whole", "pipe.npz": "not a regular file", "folder.npz": "a folder"}.items():
        with pytest.raises(FileError, match=words):
            sojourn.Run.load(tmp_path / name)
    for place in (tmp_path / "pipe.session", tmp_path, "/dev/zero"):
        with pytest.raises(FileError, match=r"folder|regular file"):
            sojourn.Session.load(place)


def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path):
    """With a hole in it, a file of 5 GB takes no room on a disk; 4 GB of it were read before it was refused."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for name, load in {"a.npz": sojourn.Run.load, "a.session": sojourn.Session.load}.items():
        with open(tmp_path / name, "wb") as file:
            file.truncate(5 * 2**30)
        with pytest.raises(FileError, match="more than 4,294,967,296 bytes"):
            load(tmp_path / name)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 80_000  # kB


def test_packed_trees_hold_sizes_that_exist():
    data = pack({"a": np.zeros(3)})
    for wrong in (b'"shape":[3,"x"]', b'"shape":[1180591620717411303424,0]', b'"shape":[-3,-1]', b'"shape":[3.0]'):
        text = data[8:-24].replace(b'"shape":[3]', wrong)
        with pytest.raises(sojourn.errors.StoreError, match="cannot be read back"):
            unpack(data[:4] + len(text).to_bytes(4, "big") + text + data[-24:])
    for kind in (b"|O", b"<U3", b"f8,f8", b"(2,)f8", b","):
        text = data[8:-24].replace(b"<f8", kind)
        with pytest.raises(sojourn.errors.StoreError, match="cannot be read back"):
            unpack(data[:4] + len(text).to_bytes(4, "big") + text + data[-24:])
    deep = b"[" * 100_000
    with pytest.raises(sojourn.errors.StoreError, match="cannot be read back"):
        unpack(data[:4] + len(deep).to_bytes(4, "big") + deep)


def test_an_array_that_was_written_by_columns_is_read_as_it_was(tmp_path):
    out = io.BytesIO()
    table = np.arange(6.0).reshape(2, 3, order="F")
    np.savez_compressed(out, a=np.asfortranarray(table), b=np.float64(2.5))
    guard = Guard(out)
    assert np.array_equal(guard.read("a"), table) and guard.read("b") == 2.5
