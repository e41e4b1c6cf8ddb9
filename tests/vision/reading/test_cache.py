"""The cache on disk: what a key depends on, and what happens to damaged entries and among several processes."""

import hashlib
import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from mercer import HomogeneousMap, InputError
from mercer.vision import DenseSIFT
from mercer.vision.reading.cache import ArrayCache, fingerprint

KEY = hashlib.sha256(b"image").hexdigest()


@pytest.fixture
def cache(tmp_path):
    return ArrayCache(tmp_path / "deep" / "cache", "Bag")


def entry(cache):
    (file,) = cache.folder.rglob("*.npy")
    return file


def test_what_is_put_in_comes_out(cache, rng):
    for array in (rng.normal(size=(3, 4)).astype("f4"), np.arange(6).reshape(2, 3).T, np.zeros((0, 5), "f4")):
        cache.put(KEY, array)
        found = cache.get(KEY)
        np.testing.assert_array_equal(found, array)
        assert found.dtype == array.dtype
    assert cache.get("0" * 64) is None
    np.testing.assert_array_equal(np.load(entry(cache), allow_pickle=False), array)  # numpy reads it too


def test_no_damage_goes_unnoticed(cache, rng):
    cache.put(KEY, rng.normal(size=8).astype("f4"))
    content = entry(cache).read_bytes()
    for place in range(0, len(content), 7):
        damaged = bytearray(content)
        damaged[place] ^= 4
        entry(cache).write_bytes(damaged)
        assert cache.get(KEY) is None
    for length in (0, 5, 32, 100, len(content) - 1):
        entry(cache).write_bytes(content[:length])
        assert cache.get(KEY) is None
    body = b"no array at all"
    entry(cache).write_bytes(body + hashlib.sha256(body).digest())
    assert cache.get(KEY) is None


def test_pickles_are_neither_written_nor_read(cache):
    with pytest.raises(ValueError, match="Object arrays"):
        cache.put(KEY, np.array([{}], dtype=object))
    assert cache.get(KEY) is None
    buffer = io.BytesIO()
    np.save(buffer, np.array([{}], dtype=object), allow_pickle=True)
    file = cache.folder / KEY[:2] / f"{KEY[2:]}.npy"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(buffer.getvalue() + hashlib.sha256(buffer.getvalue()).digest())
    assert cache.get(KEY) is None


@pytest.mark.process
def test_processes_share_a_folder(cache, tmp_path):
    code = """
import sys, numpy as np
from mercer.vision.reading.cache import ArrayCache
cache = ArrayCache(sys.argv[1], "Bag")
for i in range(40):
    key = f"{i % 4:064x}"
    found = cache.get(key)
    assert found is None or (found == i % 4).all()
    cache.put(key, np.full(5000, i % 4, dtype="f4"))
"""
    runs = [subprocess.Popen([sys.executable, "-c", code, cache.folder], cwd=Path.cwd()) for _ in range(2)]
    assert [run.wait(timeout=100) for run in runs] == [0, 0]
    assert len(list(cache.folder.rglob("*"))) == 5  # four entries in one folder, nothing half-written beside them


def test_a_folder_that_cannot_be_used_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below", 3):
        with pytest.raises(InputError, match="Bag cannot use cache="):
            ArrayCache(folder, "Bag")


def test_fingerprints_tell_values_apart():
    values = [
        *(None, 1, 1.0, "1", b"1", True, (1,), [1], (1, 1), ((1,), 1), {"a": 1}, {"b": 1}, [[1], []], [[], [1]]),
        *(np.array([1]), np.array([1.0]), np.array([[1]]), np.array([1], dtype="i4"), sparse.csr_array([[1.0, 0]])),
        *(Path("1"), DenseSIFT(), DenseSIFT(step=5), HomogeneousMap(), HomogeneousMap("intersection")),
        HomogeneousMap().fit(np.ones((2, 3))),
    ]
    assert len({fingerprint(value) for value in values}) == len(values)
    assert fingerprint("ab", "c") != fingerprint("a", "bc")


def test_fingerprints_pass_over_what_does_not_matter():
    assert fingerprint(DenseSIFT(n_jobs=1)) == fingerprint(DenseSIFT(n_jobs=2))
    assert fingerprint(np.float64(0.5), np.int32(3)) == fingerprint(0.5, 3)
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    assert fingerprint(np.asfortranarray(np.eye(3)[:2])) == fingerprint(np.eye(3)[:2])


def test_objects_that_cannot_be_compared_are_refused():
    for value in (object(), lambda: 0, np.array([object()])):
        with pytest.raises(InputError, match="cache needs a descriptor with comparable parameters"):
            fingerprint(value)
