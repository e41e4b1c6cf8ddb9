"""A compile cache that fails costs time, never a result.

Each test compiles a loop of three lines in a file of its own; reading the file again stands for the next process, which
knows nothing but what is on the disk.
"""

import errno
import importlib.util
import subprocess
import sys
import types
import warnings

import numba.core.caching as caching
import numpy as np
import pytest
from numba.core import config

from mercer._native import jit

pytestmark = pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled, so nothing is kept")

LOOP = """
from mercer._native.jit import jit

@jit
def total(x):
    found = 0.0
    for value in x:
        found += value
    return found
"""
IN_A_PROCESS = """
import numpy as np
from loop import total
print(total(np.ones(3)), sum(total.stats.cache_hits.values()))
"""


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Reads the file of the loop as if in a new process."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(jit, "_warned", False)
    (tmp_path / "loop.py").write_text(LOOP, encoding="utf-8")

    def load():
        spec = importlib.util.spec_from_file_location("loop", tmp_path / "loop.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "loop", module)
        spec.loader.exec_module(module)
        return module.total

    return load


def hits(total):
    assert total(np.ones(3)) == 3.0
    return sum(total.stats.cache_hits.values())


def _full(self, name, data):
    raise OSError(errno.ENOSPC, "No space left on device")


def _cut_short(self, *args):
    raise EOFError("Ran out of input")


ACCIDENTS = {
    "no folder": (caching.CacheImpl, "_locator_classes", []),
    "full disk": (caching.IndexDataCacheFile, "_save_data", _full),
    "damaged": (caching.IndexDataCacheFile, "_load_index", _cut_short),
}


@pytest.mark.parametrize("accident", ACCIDENTS)
def test_the_result_is_right_and_one_warning_says_what_to_do(accident, read, monkeypatch):
    monkeypatch.setattr(*ACCIDENTS[accident])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        first, second = read(), read()
        assert [first(np.ones(3)), first(np.ones(3, dtype="f4")), second(np.ones(3))] == [3.0, 3.0, 3.0]
    (message,) = [str(warning.message) for warning in said]
    assert message.startswith("Mercer cannot store compiled code on disk")
    assert "Set NUMBA_CACHE_DIR" in message


def test_compiled_code_is_found_again_and_written_once(read, tmp_path):
    def files():
        return {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob("*.nb?")}

    assert hits(read()) == 0
    first = files()
    assert first
    assert hits(read()) == 1
    assert files() == first


@pytest.mark.process
def test_a_second_process_finds_the_compiled_code(tmp_path):
    (tmp_path / "loop.py").write_text(LOOP, encoding="utf-8")
    paths = ":".join([str(tmp_path), *sys.path])
    environment = {"PATH": "", "PYTHONPATH": paths, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-c", IN_A_PROCESS]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True, env=environment) for _ in range(2)]
    assert [run.stdout for run in runs] == ["3.0 0\n", "3.0 1\n"]


def test_an_edited_formula_is_compiled_again(read, monkeypatch):
    found = []
    for sources in ("before", "before", "after"):
        monkeypatch.setattr(jit, "BUILD", (sources,))
        found.append(hits(read()))
    assert found == [0, 1, 0]


def test_the_build_knows_every_file_of_every_folder_and_its_checks(tmp_path, monkeypatch):
    monkeypatch.setattr(jit, "_FOLDER", tmp_path)
    (tmp_path / "folder").mkdir()
    seen = {jit._digest()}
    for name, text in [("a.py", "1"), ("folder/b.py", "1"), ("folder/b.py", "2"), ("c.py", "1")]:
        (tmp_path / name).write_text(text, encoding="utf-8")
        seen.add(jit._digest())
    assert len(seen) == 5
    assert [name for name, _ in jit.BUILD[1:]] == ["BOUNDSCHECK", "OPT"]


def test_the_cache_of_another_version_is_replaced(read, monkeypatch):
    gone = types.ModuleType("mercer_gone")
    gone.Form = type("Form", (), {"__module__": "mercer_gone"})
    total = read()
    assert hits(total) == 0
    # an index that names a class of a module which the next process has not
    with monkeypatch.context() as here:
        here.setitem(sys.modules, "mercer_gone", gone)
        total._cache._cache_file._source_stamp = gone.Form()
        total._cache.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [hits(read()), hits(read())] == [0, 1]
