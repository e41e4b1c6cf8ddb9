"""Honest files that were cut, lengthened or altered, and files that are something else."""

import io
import os
import pickle

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save

import mercer
from tests.base.toys import Toy


@pytest.fixture
def honest(tmp_path):
    """The bytes of a small model with arrays, strings and padding."""
    model = Toy(value={"a": (1.5, None)}, inner=Toy(value=np.array(["x", "yy"])))
    model.table_ = np.arange(6, dtype=np.float32).reshape(2, 3)
    model.mask_ = np.array([True, False])
    mercer.save(model, tmp_path / "honest.mercer")
    return (tmp_path / "honest.mercer").read_bytes()


def test_a_file_cut_at_any_byte_is_refused(honest, assert_refused):
    assert_refused(b"", "is empty")
    for size in range(1, len(honest)):
        assert_refused(honest[:size], "is truncated" if size > 8 else "is not a model file")


def test_a_file_with_more_bytes_is_refused(honest, assert_refused):
    assert_refused(honest + b"\0", "its arrays end at byte")
    assert_refused(honest + honest, "its arrays end at byte")


def test_one_bit_flipped_in_any_byte_is_refused(honest, assert_refused):
    for position in range(len(honest)):
        altered = bytearray(honest)
        altered[position] ^= 1 << position % 8
        assert_refused(bytes(altered))


def test_an_altered_array_or_padding_fails_the_checksum(honest, assert_refused):
    header_end = 8 + int.from_bytes(honest[:8], "little")
    assert honest[header_end - 1 : header_end] == b" "
    for position, byte in [(header_end - 1, b"\t"), (header_end, b"!"), (len(honest) - 1, b"\1")]:
        assert_refused(honest[:position] + byte + honest[position + 1 :], "checksum does not match")


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
)
@given(data=st.data())
def test_any_stretch_of_altered_bytes_is_refused(honest, assert_refused, data):
    start = data.draw(st.integers(0, len(honest) - 1))
    replacement = data.draw(st.binary(min_size=1, max_size=20))
    altered = honest[:start] + replacement + honest[start + len(replacement) :]
    if altered != honest:
        assert_refused(altered)


class Bomb:
    """Raises the alarm when it is unpickled."""

    def __reduce__(self):
        return os.mkdir, ("executed",)


def npz():
    buffer = io.BytesIO()
    np.savez(buffer, x=np.ones(3))
    return buffer.getvalue()


def npy():
    buffer = io.BytesIO()
    np.save(buffer, np.ones(3))
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (npz(), "is a zip or npz archive"),
        (npy(), "is an npy array"),
        (save({"x": np.ones(3)}), "is a safetensors file without Mercer's document"),
        (save({"x": np.ones(3)}, metadata={"format": "np"}), "is a safetensors file without Mercer's document"),
        (b"label,a,b\n1,2,3\n", "is not a model file"),
        (b'{"__metadata__":{"sha256":"' * 50, "is not a model file"),
        (b"\0" * 100_000, "is not a model file"),
    ],
)
def test_a_file_of_another_kind_is_called_by_its_name(assert_refused, content, reason):
    assert_refused(content, reason)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_pickle_is_refused_and_not_executed(assert_refused, tmp_path, monkeypatch, protocol):
    monkeypatch.chdir(tmp_path)
    assert_refused(pickle.dumps([Bomb(), "some more bytes" * 10], protocol), "is a pickle, which Mercer never loads")
    assert not (tmp_path / "executed").exists()


def test_what_is_not_a_regular_file_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name, reason in [("missing", "does not exist"), ("", "is a folder"), ("pipe", "is not a regular file")]:
        with pytest.raises(mercer.ModelFileError, match=f"{tmp_path.name}.* {reason}"):
            mercer.load(tmp_path / name)


def test_a_file_that_cannot_be_read_says_why(tmp_path, monkeypatch, honest):
    def denied(*args, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", denied)
    with pytest.raises(mercer.ModelFileError, match=r"honest\.mercer' cannot be read: Permission denied"):
        mercer.load(tmp_path / "honest.mercer")


def test_a_file_larger_than_memory_is_refused_by_name(tmp_path, monkeypatch, honest):
    def no_memory(*args, **options):
        raise MemoryError

    monkeypatch.setattr(np, "empty", no_memory)
    with pytest.raises(mercer.ModelFileError, match=r"honest\.mercer' does not fit in memory. Try .*mmap=True"):
        mercer.load(tmp_path / "honest.mercer")
