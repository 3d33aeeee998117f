"""The compile decorator where the disk does not help."""

from pathlib import Path

from numba.core import caching

from sojourn.kernels import jit


def add_one(x: int) -> int:
    return x + 1


def test_a_kernel_compiles_where_no_folder_can_be_written(monkeypatch):
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    assert jit.kernel(add_one)(2) == 3


def test_a_user_without_a_home_has_no_cache_folder(monkeypatch):
    def nobody(cls: type) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", classmethod(nobody))
    assert jit._cache_directory() == ""


def test_a_kernel_is_kept_once_it_has_been_compiled(tmp_path, monkeypatch):
    monkeypatch.setattr(jit.numba.config, "CACHE_DIR", str(tmp_path))
    assert not jit.is_kept("walk_fast")
    folder = tmp_path / "kernels_0"
    folder.mkdir()
    (folder / "fast_walk.walk_fast-77.py311.nbi").touch()
    assert jit.is_kept("walk_fast") and not jit.is_kept("walk_samples")
    monkeypatch.setattr(jit.numba.config, "CACHE_DIR", "")
    assert not jit.is_kept("walk_fast")
