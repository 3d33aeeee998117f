"""The compile decorator: where the disk does not help, and what it says while it compiles."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
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


@jit.inner
def twice(x: int) -> int:
    return 2 * x


@jit.kernel
def four_times(x: int) -> int:
    return twice(twice(x))


@pytest.mark.skipif(jit.numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_an_inner_function_refuses_to_be_called_from_python_before_and_after_a_kernel_has_compiled_it():
    for _ in range(2):
        with pytest.raises(TypeError, match=r"twice can only be called by kernels; from_python\(twice\)"):
            twice(3)
        assert four_times(3) == 12
    assert jit.from_python(twice)(4) == 8


class Happening:
    """A compile event as numba reports it."""

    def __init__(self, function: object):
        self.data = {"dispatcher": function}


def announced(capsys: pytest.CaptureFixture, function: object, seconds: float, patience: float) -> str:
    announcer = jit.Announcer()
    announcer.patience = patience
    announcer.on_start(Happening(function))
    announcer.on_start(Happening(max))  # something that it calls
    announcer.on_end(Happening(max))
    time.sleep(seconds)
    announcer.on_end(Happening(function))
    return capsys.readouterr().err


def test_compiling_is_announced_where_it_takes_a_while_and_only_then(capsys):
    ours = jit.kernel(add_one)
    said = announced(capsys, ours, 0.3, 0.01)
    assert "sojourn: compiling for this machine" in said and "sojourn: compiled in 0 s" in said
    assert announced(capsys, ours, 0.0, 5.0) == ""
    assert announced(capsys, max, 0.3, 0.01) == ""  # somebody else's function


def test_what_compiling_is_about_is_said_once(capsys):
    announcer = jit.Announcer()
    said = []
    for _ in range(2):
        announcer.say()
        said.append(capsys.readouterr().err)
    assert "once" in said[0] and said[1] == "sojourn: compiling a further part ...\n"


def test_a_first_result_from_python_says_that_it_compiles_and_a_second_is_silent(tmp_path):
    code = """
import time
from sojourn.kernels import jit
jit.Announcer.patience = 0.05
from sojourn.kernels.walk import holding_time
import numpy as np
holding_time(np.random.default_rng(1), 2, 1.0, 2.0, 0.0)
"""
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    env.pop("NUMBA_CACHE_DIR", None)
    said = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env).stderr
            for _ in range(2)]
    assert "compiling" in said[0] and said[1] == ""
