"""The file format: what is written is what is read, by us and by safetensors, and in little memory."""

import hashlib
import json
import os
import stat
import tracemalloc

import numpy as np
import pytest
from safetensors import safe_open

from mercer._base.errors import ModelFileError, NotSaveableError
from mercer._base.files import container

DTYPES = ["?", "i1", "u1", "<i2", "<u2", "<f2", "<i4", "<u4", "<f4", "<i8", "<u8", "<f8", ">f4", ">i8"]


def arrays_in_every_layout(dtype):
    grid = np.arange(1, 61).reshape(5, 12).astype(dtype)
    return {
        "c": grid,
        "fortran": np.asfortranarray(grid),
        "transposed": grid.T,
        "strided": grid[::2, 1::3],
        "reversed": grid[::-1, ::-1],
        "broadcast": np.broadcast_to(grid[0], (3, 12)),
        "zero_d": grid[1, 1].reshape(()),
        "empty": grid[:0],
        "empty_inside": np.zeros((4, 0, 3), dtype),
        "read_only": np.frombuffer(grid.tobytes(), dtype),
    }


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_of_every_layout_come_back_unchanged(tmp_path, dtype, mmap):
    arrays = arrays_in_every_layout(dtype)
    container.write(tmp_path / "a", {}, arrays)
    _, loaded = container.read(tmp_path / "a", mmap=mmap)
    assert loaded.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(loaded[name], array, strict=np.dtype(dtype).isnative)
        assert loaded[name].shape == array.shape
        assert loaded[name].flags.aligned
        assert loaded[name].flags.c_contiguous
        assert loaded[name].flags.writeable is not mmap
        assert type(loaded[name]) is np.ndarray


def test_safetensors_reads_the_same_arrays(tmp_path):
    arrays = {f"{np.dtype(dtype).name}.{dtype}.{name}": array for dtype in DTYPES
              for name, array in arrays_in_every_layout(dtype).items()}  # fmt: skip
    container.write(tmp_path / "a", {"answer": [42, "ü"]}, arrays)
    with safe_open(tmp_path / "a", framework="np") as file:
        assert set(file.keys()) == set(arrays)
        assert json.loads(file.metadata()["mercer"]) == {"format": 1, "answer": [42, "ü"]}
        for name, array in arrays.items():
            np.testing.assert_array_equal(file.get_tensor(name), array)


def test_the_document_comes_back_and_the_digest_is_the_documented_one(tmp_path):
    path = tmp_path / "a"
    document = {"text": 'quotes " and \\ and ünïcode \ud800', "numbers": [1, -0.0, 1e-308, 2**62], "nothing": None}
    digest = container.write(path, document, {"x": np.arange(3)})
    header = container.verify(path)
    assert header.document == document
    raw = path.read_bytes()
    assert raw.count(digest.encode()) == 1
    assert hashlib.sha256(raw.replace(digest.encode(), b"0" * 64)).hexdigest() == digest == header.sha256


def test_the_same_input_gives_the_same_bytes(tmp_path):
    for name in "ab":
        container.write(tmp_path / name, {"x": 1}, arrays_in_every_layout("f4"))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_file_without_arrays_is_a_file(tmp_path):
    container.write(tmp_path / "a", {}, {})
    assert container.read(tmp_path / "a")[1] == container.read(tmp_path / "a", mmap=True)[1] == {}


@pytest.mark.parametrize("array", [np.zeros(2, "S3"), np.array([None]), np.zeros(2, "c8"), np.zeros(1, "M8[D]")])
def test_an_array_of_another_type_is_not_written(tmp_path, array):
    with pytest.raises(NotSaveableError, match="'x' has the unknown type"):
        container.write(tmp_path / "a", {}, {"x": array})
    assert not list(tmp_path.iterdir())


def test_a_header_that_could_not_be_read_again_is_not_written(tmp_path):
    with pytest.raises(NotSaveableError, match="Turn long lists"):
        container.write(tmp_path / "a", {"long": "x" * container.MAX_HEADER_BYTES}, {})
    with pytest.raises(NotSaveableError, match="unprintable name"):
        container.write(tmp_path / "a", {}, {"x" * 2000: np.zeros(1)})
    assert not list(tmp_path.iterdir())


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "a"
    container.write(path, {"version": "old"}, {})
    before = path.read_bytes()

    def full(*args):
        raise OSError(28, "No space left on device")

    for function in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, function, full)
            with pytest.raises(OSError, match="No space left"):
                container.write(path, {"version": "new"}, {"x": np.zeros(9)})
        assert path.read_bytes() == before
        assert os.listdir(tmp_path) == ["a"]


def test_a_write_that_is_interrupted_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a"
    container.write(path, {"version": "old"}, {})

    def interrupted(array):
        yield memoryview(b"some bytes")
        raise KeyboardInterrupt

    monkeypatch.setattr(container, "_byte_chunks", interrupted)
    with pytest.raises(KeyboardInterrupt):
        container.write(path, {"version": "new"}, {"x": np.zeros(9)})
    assert container.read_header(path).document == {"version": "old"}
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.skipif(os.name != "posix", reason="permissions of this kind exist on POSIX systems only")
def test_permissions_are_those_open_would_give(tmp_path):
    path = tmp_path / "a"
    before = os.umask(0o027)
    try:
        container.write(path, {}, {})
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    container.write(path, {}, {})
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


def test_a_symbolic_link_is_written_through(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "target")
    container.write(tmp_path / "link", {"x": 1}, {})
    assert (tmp_path / "link").is_symlink()
    assert container.read_header(tmp_path / "target").document == {"x": 1}


def test_what_cannot_be_written_to_is_named(tmp_path):
    with pytest.raises(IsADirectoryError, match=tmp_path.name):
        container.write(tmp_path, {}, {})
    with pytest.raises(FileNotFoundError, match="nowhere/model"):
        container.write(tmp_path / "nowhere/model", {}, {})
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="pipe"):
        container.write(tmp_path / "pipe", {}, {})
    assert os.listdir(tmp_path) == ["pipe"]


def test_a_mapped_file_may_be_replaced(tmp_path):
    path = tmp_path / "a"
    container.write(path, {}, {"x": np.arange(1000)})
    _, arrays = container.read(path, mmap=True)
    container.write(path, {}, {"x": arrays["x"][::-1]})
    np.testing.assert_array_equal(arrays["x"], np.arange(1000))
    np.testing.assert_array_equal(container.read(path)[1]["x"], np.arange(1000)[::-1])


def test_the_header_is_read_without_the_arrays(tmp_path):
    path = tmp_path / "a"
    container.write(path, {"x": 1}, {"y": np.ones((3, 4), np.float32)})
    with open(path, "r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"!")
    (entry,) = container.read_header(path).arrays
    assert (entry.name, entry.dtype, entry.shape, entry.stop - entry.start) == ("y", np.float32, (3, 4), 48)
    for read in (container.verify, container.read):
        with pytest.raises(ModelFileError, match="checksum does not match"):
            read(path)


def peak_bytes(function):
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_stays_at_one_array_or_none(tmp_path):
    size = 16 * 2**20
    path, slack = tmp_path / "a", 4 * 2**20
    contiguous = {f"x{i}": np.zeros((2, size // 16)) for i in range(3)}
    assert peak_bytes(lambda: container.write(path, {}, contiguous)) < slack
    assert peak_bytes(lambda: container.read(path, mmap=True)) < slack
    assert peak_bytes(lambda: container.read(path)) < 3 * size + slack
    strided = {f"x{i}": np.zeros((2, size // 8))[:, ::2] for i in range(3)}
    assert peak_bytes(lambda: container.write(path, {}, strided)) < size + slack
