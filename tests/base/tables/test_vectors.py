"""The formats fvecs, bvecs and ivecs: what was written is read, in blocks too, and damage is named."""

import gzip
import io
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from mercer._base.errors import InputError
from mercer._base.tables import ArgumentError, open_rows, read_table
from mercer._base.tables.formats.vectors import VECTOR_FORMATS, parse_vectors

FORMATS = list(VECTOR_FORMATS)


def packed(X):
    """A file of rows, written the slow and obvious way."""
    little = X.astype(X.dtype.newbyteorder("<"))
    return b"".join(len(row).to_bytes(4, "little") + row.tobytes() for row in little)


def rows_of(format, n=50, width=6):
    X = np.random.default_rng(0).integers(0, 200, size=(n, width))
    return X.astype(VECTOR_FORMATS[format])


@pytest.fixture(params=FORMATS)
def saved(request, tmp_path):
    """(path, rows) of a file of each format."""
    X = rows_of(request.param)
    path = tmp_path / f"t.{request.param}"
    path.write_bytes(packed(X))
    return path, X


@given(data=st.data(), format=st.sampled_from(FORMATS))
def test_what_is_written_reads_back_bit_for_bit(data, format):
    shape = arrays.array_shapes(min_dims=2, max_dims=2, max_side=9)
    X = data.draw(arrays.arrays(VECTOR_FORMATS[format], shape))
    found = parse_vectors(packed(X), "t", format)
    assert (found.dtype, found.shape) == (X.dtype, X.shape)
    assert found.tobytes() == X.tobytes()  # NaN has many bit patterns, and all are kept
    assert found.flags.c_contiguous


def test_tables_and_blocks_hold_the_rows(saved):
    path, X = saved
    table, rows = read_table(path), open_rows(path)
    assert (rows.shape, rows.dtype, rows.y) == (X.shape, table.X.dtype, None) == (X.shape, np.float32, None)
    np.testing.assert_array_equal(table.X, X)
    blocks = list(rows.blocks(size=20))
    assert [part for _, part in blocks] == [slice(0, 20), slice(20, 40), slice(40, 50)]
    np.testing.assert_array_equal(np.vstack([block for block, _ in blocks]), X)
    np.testing.assert_array_equal(rows.sample(1000), X)
    assert hasattr(rows._stored, "_mmap"), "the file is mapped, not read"


def test_a_column_of_labels_is_no_feature(saved):
    path, X = saved
    for found in (read_table(path, label=-1), open_rows(path, label=-1)):
        assert found.y.tolist() == X[:, -1].tolist()
    np.testing.assert_array_equal(next(open_rows(path, label=-1).blocks())[0], X[:, :-1])


def test_a_packed_file_is_read_as_a_whole(saved, caplog):
    path, X = saved
    small = path.with_name(path.name + ".gz")
    small.write_bytes(gzip.compress(path.read_bytes()))
    np.testing.assert_array_equal(read_table(small).X, X)
    with caplog.at_level("INFO", logger="mercer"):
        np.testing.assert_array_equal(next(open_rows(small).blocks())[0], X)
    assert "read as a whole" in caplog.text
    small.write_bytes(gzip.compress(path.read_bytes())[:-9])
    with pytest.raises(InputError, match=r"not a complete \.gz file"):
        read_table(small)


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux's account of memory")
def test_one_block_of_a_file_is_in_memory_at_a_time(tmp_path):
    path = tmp_path / "t.fvecs"
    records = np.zeros(2**15, dtype=[("length", "<i4"), ("row", "<f4", 2**8)])  # 32 MiB
    records["length"] = 2**8
    path.write_bytes(records.tobytes())
    rows = open_rows(path)

    def mapped():
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("RssFile")) / 1024

    start = mapped()
    assert max(mapped() - start for _ in rows.blocks(size=1024)) < 8, "MiB stay mapped of a file of 32"


def test_large_whole_numbers_become_float64(tmp_path):
    X = np.array([[1, 0], [2**24 + 1, -3]], dtype="<i4")
    (tmp_path / "t.ivecs").write_bytes(packed(X))
    for found in (read_table(tmp_path / "t.ivecs").X, open_rows(tmp_path / "t.ivecs").sample(9)):
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, X)


def test_a_number_that_is_not_finite_is_named_by_row_and_column(tmp_path):
    X = rows_of("fvecs")
    X[33, 4] = np.nan
    (tmp_path / "t.fvecs").write_bytes(packed(X))
    with pytest.raises(InputError, match=r"t\.fvecs, row 33, column 4.*nan"):
        list(open_rows(tmp_path / "t.fvecs").blocks(size=20))


def test_a_row_of_another_length_is_named_when_it_is_read(saved):
    path, X = saved
    content = bytearray(path.read_bytes())
    size = len(content) // len(X)
    content[33 * size : 33 * size + 4] = (5).to_bytes(4, "little")
    path.write_bytes(content)
    words = rf"{path.name}, row 33 \(counted from 0\) has 5 numbers by its header, but row 0 has 6"
    with pytest.raises(InputError, match=words):
        read_table(path)
    blocks = open_rows(path, dtype="float32").blocks(size=20)  # without it, all of ivecs is read to choose the type
    next(blocks)
    with pytest.raises(InputError, match=words):
        next(blocks)
    with pytest.raises(InputError, match=words):
        open_rows(path).sample(50)
    with pytest.raises(InputError, match=words):
        _ = open_rows(path, label=0).y


def test_ragged_rows_are_told_from_a_file_that_is_cut_short(saved):
    path, X = saved
    whole, longer = path.read_bytes(), packed(X[:1, :-1])
    for read in (read_table, open_rows):
        path.write_bytes(whole[:-1])
        with pytest.raises(InputError, match=rf"{path.name} is truncated: after 49 complete rows"):
            read(path)
        path.write_bytes(longer + whole)
        with pytest.raises(InputError, match=rf"{path.name}, row 1 "):
            read(path)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    "content", [b"", b"\x01", b"\x01\0\0\0", b"\0\0\0\0" * 9, b"\xff" * 40, b"\xff\xff\xff\x7f" * 9, b"plain text\n"]
)
def test_what_is_no_such_file_is_refused_by_name_and_without_allocating(tmp_path, format, content):
    path = tmp_path / f"t.{format}"
    path.write_bytes(content)
    for read in (read_table, open_rows):
        with pytest.raises(InputError, match=rf"t\.{format} is (empty|not a file of {format}).*\.$"):
            read(path)


@given(data=st.data(), format=st.sampled_from(FORMATS))
def test_a_damaged_file_is_read_or_refused_but_nothing_else(data, format):
    whole = packed(rows_of(format, n=4, width=3))
    position = data.draw(st.integers(0, len(whole)))
    damaged = whole[:position] + data.draw(st.binary(max_size=5)) + whole[position + data.draw(st.integers(0, 5)) :]
    try:
        table = read_table(io.BytesIO(damaged), format=format)
    except InputError:
        return
    row_bytes = 4 + table.X.shape[1] * np.dtype(VECTOR_FORMATS[format]).itemsize
    assert len(damaged) == table.X.shape[0] * row_bytes


def test_files_that_are_not_there_and_members_are_answered_as_for_other_formats(saved, tmp_path):
    with pytest.raises(ArgumentError, match="There is no file"):
        open_rows(tmp_path / "nowhere.fvecs")
    with pytest.raises(ArgumentError, match="only npz files have members"):
        open_rows(saved[0], array="X")
