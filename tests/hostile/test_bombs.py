"""Files of a few kilobytes that stand for gigabytes: refused by a limit that is named, before the memory is taken."""

import bz2
import gzip
import io
import lzma
import tracemalloc
import zipfile
from contextlib import contextmanager
from inspect import signature

import numpy as np
import pytest
from numpy.lib import format as npy
from scipy import sparse

from mercer import InputError, open_rows
from mercer._base.memory import available_memory
from mercer._base.tables import read_table
from mercer._base.tables.formats import parquet_pages
from mercer._base.tables.limits import Limit
from mercer.cli.framework.labels import labels_of
from mercer.cli.index.parts.ids import read_ids
from tests.command import invoke

LIMIT = "2MB"
PEAK = 15e6  # bytes that refusing may take: the limit, what was unpacked to reach it once more, tables of xz
UNPACKED = 2**25


def refused(path, *words, **rules):
    """Both doors refuse the file in the same words, naming the limit and the way to raise it."""
    for door in (read_table, open_rows):
        with little_memory(), pytest.raises(InputError) as caught:
            door(path, **{"max_unpacked": LIMIT} | rules)
        message = str(caught.value)
        assert all(word in message for word in (str(path), "2 MB", "the limit", "--max-unpacked", *words))


@contextmanager
def little_memory():
    """numpy and Python are traced; arrow is not, whose pages are therefore measured before it runs."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < PEAK
    finally:
        tracemalloc.stop()


def packed(path, opener, unit, n_bytes=2**22):
    with opener(path, "wb") as stream:
        part = unit * (2**20 // len(unit))
        for _ in range(n_bytes // len(part)):
            stream.write(part)
    return path


def npy_header(shape, descr="<f4"):
    stream = io.BytesIO()
    npy.write_array_header_2_0(stream, {"descr": descr, "fortran_order": False, "shape": shape})
    return stream.getvalue()


def zipped(path, members, n_zeros=0):
    """An npz file whose members are these headers, each before so many packed zeros."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, head in members.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as part:
                part.write(head)
                for _ in range(n_zeros // 2**20):
                    part.write(bytes(2**20))
    return path


@pytest.mark.parametrize(("suffix", "opener"), [("gz", gzip.open), ("xz", lzma.open), ("bz2", bz2.open)])
def test_packed_text_is_unpacked_up_to_the_limit_and_no_further(tmp_path, suffix, opener):
    refused(packed(tmp_path / f"a.csv.{suffix}", opener, b"1,2\n"), "more than")
    # an endless line, and one that would be split into a hundred million cells
    refused(packed(tmp_path / f"b.csv.{suffix}", opener, b"1"), "more than")
    refused(packed(tmp_path / f"c.csv.{suffix}", opener, b"1,", 2**20), "would need")


def test_text_within_the_limit_counts_with_the_lines_numbers_and_labels_that_it_becomes(tmp_path):
    refused(packed(tmp_path / "short.csv.gz", gzip.open, b"1\n", 2**20), "would need")
    refused(packed(tmp_path / "short.svm.gz", gzip.open, b"1\n", 2**20), "would need")
    labels = tmp_path / "labels.csv"
    labels.write_text("a,label\n" + "1,x\n" * 1_000 + f"1,{'x' * 10_000}\n")
    refused(labels, "1,001 labels", label="label")


def test_a_column_number_of_svmlight_makes_no_row_of_gigabytes(tmp_path):
    path = tmp_path / "wide.svm"
    path.write_text("1 1:1 2147483647:1\n")
    refused(path, "one row of its 2,147,483,648 columns would need 17.2 GB")


def test_an_npz_member_is_measured_before_it_is_unpacked(tmp_path):
    head = npy_header((UNPACKED // 4, 1))
    refused(zipped(tmp_path / "a.npz", {"X": head}, UNPACKED), "would need 33.6 MB")
    # a member that states more than it holds, and a small one with large labels
    refused(zipped(tmp_path / "labels.npz", {"X": npy_header((1, 1)), "y": head}, UNPACKED), "would need 33.6 MB")


def test_a_sparse_matrix_is_measured_by_its_members_and_its_shape(tmp_path):
    path = tmp_path / "wide.npz"
    sparse.save_npz(path, sparse.coo_matrix(([1.0], ([0], [1])), shape=(2**40, 3)))
    refused(path, "shape (1099511627776, 3)")
    head = npy_header((UNPACKED // 4,))
    members = {"format": npy_header((), "|S3") + b"csr", "shape": npy_header((2,), "<i8"), "data": head}
    refused(zipped(tmp_path / "data.npz", members, UNPACKED), "would need")


@pytest.mark.parametrize("descr", ["|S0", "<U0", []])
def test_values_of_no_bytes_promise_nothing(tmp_path, descr):
    path = tmp_path / "empty.npy"
    path.write_bytes(npy_header((10**12, 1), descr))
    for door in (read_table, open_rows):
        with pytest.raises(InputError, match=r"not an npy array: its header gives the type .* have no bytes"):
            door(path)


def test_lengths_beyond_every_machine_are_refused(tmp_path):
    path = tmp_path / "shape.npy"
    path.write_bytes(npy_header((10**30, 0)))
    with pytest.raises(InputError, match="its header gives the shape"):
        read_table(path)
    path.write_bytes(b"\x93NUMPY\x02\x00" + (2**32 - 1).to_bytes(4, "little"))
    with pytest.raises(InputError, match="its header claims 4294967295 bytes"):
        read_table(path)


def test_a_mapped_file_may_be_large_but_not_a_row_of_it(tmp_path):
    """A file with a hole takes no room on the disk; blocks of it are read, a row beyond the limit is not."""
    tall, wide = tmp_path / "tall.npy", tmp_path / "wide.npy"
    for path, shape in ((tall, (UNPACKED, 4)), (wide, (4, UNPACKED))):
        path.write_bytes(npy_header(shape))
        with open(path, "r+b") as stream:
            stream.truncate(len(npy_header(shape)) + 16 * UNPACKED)
    rows = open_rows(tall, max_unpacked=LIMIT)
    assert next(rows.blocks())[0].shape == (8192, 4)
    with pytest.raises(InputError, match="would need 537 MB"):
        read_table(tall, max_unpacked=LIMIT)
    refused(wide, "of memory unpacked")
    fvecs = tmp_path / "wide.fvecs"
    fvecs.write_bytes((2**28).to_bytes(4, "little"))
    with open(fvecs, "r+b") as stream:
        stream.truncate(4 + 4 * 2**28)
    refused(fvecs, "of memory unpacked")


def test_a_parquet_page_is_measured_before_it_is_unpacked(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "page.parquet"
    table = arrow.table({"a": np.zeros(UNPACKED // 8)})
    one_page = {"data_page_size": 2**30, "row_group_size": 2**30, "write_batch_size": 2**30}
    if "max_rows_per_page" in signature(parquet.ParquetWriter).parameters:
        one_page["max_rows_per_page"] = 2**30
    parquet.write_table(table, path, compression="zstd", use_dictionary=False, **one_page)
    assert path.stat().st_size < UNPACKED / 1000
    refused(path, "one page of each column of row group 0 would need")
    # the same rows in small pages are read in blocks, and refused as a whole
    parquet.write_table(table, path, compression="zstd", use_dictionary=False, row_group_size=2**16)
    assert sum(len(block) for block, _ in open_rows(path, max_unpacked=LIMIT).blocks()) == UNPACKED // 8
    with pytest.raises(InputError, match=r"would need 33.6 MB"):
        read_table(path, max_unpacked=LIMIT)


def test_lists_and_words_of_parquet_that_a_dictionary_repeats_are_measured(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    lists, words = tmp_path / "lists.parquet", tmp_path / "words.parquet"
    parquet.write_table(arrow.table({"a": [np.zeros(UNPACKED // 16)]}), lists)
    refused(lists, "column 'a.list.element' of row group 0")
    codes = arrow.DictionaryArray.from_arrays(np.zeros(2_000, np.int32), ["x" * 10_000])
    parquet.write_table(arrow.table({"a": np.ones(2_000), "word": codes}), words)
    rows = open_rows(words, label="word", max_unpacked=LIMIT)
    assert next(rows.blocks())[0].shape == (2_000, 1)
    with pytest.raises(InputError, match="2,000 labels, the longest of 10,000 characters"):
        _ = rows.y


def test_headers_of_pages_are_read_as_arrow_writes_them(tmp_path):
    """The walk ends where the column does and counts its values: nothing is measured by a header misread."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rng = np.random.default_rng(0)
    table = arrow.table({"a": rng.random(50_000), "b": rng.integers(0, 5, 50_000), "c": list(rng.random((50_000, 3)))})
    for version in ("1.0", "2.0"):
        path = tmp_path / f"{version}.parquet"
        parquet.write_table(table, path, data_page_version=version, data_page_size=2**14, compression="snappy")
        group = parquet.ParquetFile(path).metadata.row_group(0)
        with open(path, "rb") as stream:
            walked = [parquet_pages._walked(stream, group.column(i)) for i in range(3)]
            assert stream.tell() > group.column(2).data_page_offset
        assert [values for _, values in walked] == [50_000, 50_000, 150_000]
        assert all(0 < page < 2**21 for page, _ in walked)


def test_files_of_labels_and_ids_are_measured_too(tmp_path):
    class Data:
        shape, name, y, n_rows_in_file = (1, 1), "rows", None, 1

    rules = {"label": None, "header": None, "delimiter": None, "max_unpacked": LIMIT}
    path = zipped(tmp_path / "y.npz", {"y": npy_header((UNPACKED // 4,))}, UNPACKED)
    with pytest.raises(InputError, match=r"y.npz::y would need 33.6 MB .* --max-unpacked"):
        labels_of(Data, str(path), rules)
    ids = tmp_path / "ids.npy"
    ids.write_bytes(npy_header((2**60,), "|S0"))
    with pytest.raises(InputError, match="values have no bytes"):
        read_ids(str(ids))


def test_boxes_nested_beyond_reason_are_refused(tmp_path):
    from mercer import read_boxes

    path = tmp_path / "boxes.json"
    path.write_text("[" * 100_000)
    with pytest.raises(InputError, match="not a COCO file"):
        read_boxes(path)


def test_the_limit_is_a_quarter_of_the_memory_or_what_is_said(tmp_path):
    assert Limit.of(None).n_bytes == pytest.approx(available_memory() / 4, rel=0.2)
    assert 2**20 < available_memory() < 2**50
    path = packed(tmp_path / "a.csv.gz", gzip.open, b"1,2\n", 2**20)
    assert read_table(path, max_unpacked="1GB").X.shape == (2**18, 2)
    for size in ("much", "0", "-1GB", True, "1XB", "nan"):
        with pytest.raises(InputError, match="max_unpacked must be a size such as 500MB or 8GB, or a number of bytes"):
            open_rows(path, max_unpacked=size)


def test_the_command_names_the_option_and_obeys_it(tmp_path):
    path = packed(tmp_path / "a.csv.gz", gzip.open, b"1,2\n", 2**20)
    result = invoke("kernel", path, "--max-unpacked", "100kB")
    assert result.exit_code == 1
    assert "--max-unpacked" in result.stderr
