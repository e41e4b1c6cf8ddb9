"""A compile cache that fails costs time, never a result."""

import subprocess
import sys

import pytest

USE = """
import numpy as np
from mercer import Chi2
print(Chi2()(np.ones((1, 3))).item(), Chi2()(np.ones((1, 3), dtype="f4")).item())
"""
NO_FOLDER = """
import numba.core.caching as caching
caching.CacheImpl._locator_classes = []
"""
FULL_DISK = """
import errno, numba.core.caching as caching
def full(self, name, data):
    raise OSError(errno.ENOSPC, "No space left on device")
caching.IndexDataCacheFile._save_data = full
"""
DAMAGED = """
import numba.core.caching as caching
def cut_short(self, *args):
    raise EOFError("Ran out of input")
caching.IndexDataCacheFile._load_index = cut_short
"""


@pytest.mark.parametrize("accident", [NO_FOLDER, FULL_DISK, DAMAGED])
def test_the_result_is_right_and_one_warning_says_what_to_do(accident, tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", accident + USE],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "", "PYTHONPATH": ":".join(sys.path), "NUMBA_CACHE_DIR": str(tmp_path)},
    )
    assert run.stdout.split() == ["3.0", "3.0"]
    assert run.stderr.count("RuntimeWarning: Mercer cannot keep compiled code on disk") == 1
    assert "Set NUMBA_CACHE_DIR" in run.stderr


def test_a_second_process_finds_the_compiled_code(tmp_path):
    def files_after_a_run():
        environment = {"PATH": "", "PYTHONPATH": ":".join(sys.path), "NUMBA_CACHE_DIR": str(tmp_path)}
        subprocess.run([sys.executable, "-c", USE], capture_output=True, check=True, env=environment)
        return {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb?")}

    first = files_after_a_run()
    assert first
    assert files_after_a_run() == first


def test_an_edited_formula_is_compiled_again(tmp_path):
    code = """
from mercer._native import jit
jit.BUILD = {sources!r}
import numpy as np
from mercer._native.kernels.selection import keep_best
keep_best(np.ones((1, 1)), 0, np.zeros((1, 1)), np.full((1, 1), -1))
print(sum(keep_best.stats.cache_hits.values()))
"""

    def cache_hits(sources):
        environment = {"PATH": "", "PYTHONPATH": ":".join(sys.path), "NUMBA_CACHE_DIR": str(tmp_path)}
        command = [sys.executable, "-c", code.format(sources=sources)]
        return int(subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout)

    assert [cache_hits("before"), cache_hits("before"), cache_hits("after")] == [0, 1, 0]


def test_the_cache_of_another_version_is_replaced(tmp_path):
    code = """
import types, sys
import numpy as np
from mercer._native.kernels.selection import keep_best
keep_best(np.ones((1, 1)), 0, np.zeros((1, 1)), np.full((1, 1), -1))
print(sum(keep_best.stats.cache_hits.values()))
{after}
"""
    # an index that names a class of a module which the next process has not
    foreign = """
gone = types.ModuleType("mercer_gone")
gone.Form = type("Form", (), {"__module__": "mercer_gone"})
sys.modules["mercer_gone"] = gone
keep_best._cache._cache_file._source_stamp = gone.Form()
keep_best._cache.flush()
"""

    def cache_hits(after=""):
        environment = {"PATH": "", "PYTHONPATH": ":".join(sys.path), "NUMBA_CACHE_DIR": str(tmp_path)}
        command = [sys.executable, "-c", code.format(after=after)]
        run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        assert not run.stderr
        return int(run.stdout)

    assert [cache_hits(foreign), cache_hits(), cache_hits()] == [0, 0, 1]
