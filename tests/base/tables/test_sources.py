"""Rows in blocks: the same numbers as reading the whole file, in the memory of one block."""

import logging
import os
from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp

from mercer._base.errors import InputError
from mercer._base.tables import ArgumentError, open_rows, read_table
from mercer._base.tables.sources import rows as sources

N_ROWS, N_FEATURES = 50, 6
LABELS = np.arange(N_ROWS) % 3


def numbers(dtype=np.float32):
    return np.random.default_rng(0).random((N_ROWS, N_FEATURES)).astype(dtype)


def save_parquet(path, columns, row_group_size=17, **options):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pa.table(columns), path, row_group_size=row_group_size, **options)


def save_columns(path, X):
    save_parquet(path, {"kind": LABELS, **{f"f{j}": X[:, j] for j in range(X.shape[1])}})


def save_lists(path, X):
    save_parquet(path, {"kind": LABELS, "v": list(X)})


def save_with_labels(path, X):
    np.save(path, np.column_stack([LABELS.astype(X.dtype), X]))


SAVED = {
    "rows.npy": (lambda path, X: np.save(path, X), {}),
    "columns first.npy": (lambda path, X: np.save(path, np.asfortranarray(X)), {}),
    "labelled.npy": (save_with_labels, {"label": 0}),
    "members.npz": (lambda path, X: np.savez(path, X=X, y=LABELS), {}),
    "named.npz": (lambda path, X: np.savez(path, train=X, kind=LABELS), {"array": "train", "label": "kind"}),
    "small.npz": (lambda path, X: np.savez_compressed(path, X=X, y=LABELS), {}),
    "sparse.npz": (lambda path, X: sp.save_npz(path, sp.csr_matrix(X * (X > 0.5))), {}),
    "columns.parquet": (save_columns, {"label": "kind"}),
    "lists.parquet": (save_lists, {"label": "kind"}),
    "text.csv": (lambda path, X: np.savetxt(path, np.column_stack([X, LABELS]), "%.9g", ","), {"label": -1}),
}


def dense(X):
    return X.toarray() if sp.issparse(X) else X


@contextmanager
def refused(kind, *words):
    with pytest.raises(kind) as caught:
        yield
    message = str(caught.value)
    assert caught.type is kind, message
    assert all(word in message for word in words), message
    assert message.endswith(".")


# ---- what is read


@pytest.mark.parametrize("name", SAVED)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_hold_what_reading_the_whole_file_gives(tmp_path, name, dtype):
    save, rules = SAVED[name]
    save(tmp_path / name, numbers(dtype))
    table = read_table(tmp_path / name, **rules)
    rows = open_rows(tmp_path / name, **rules)
    assert (rows.shape, rows.dtype, len(rows)) == (table.X.shape, table.X.dtype, N_ROWS)
    assert rows.feature_names == table.feature_names
    assert name in rows.name
    for _ in range(2):  # as often as one likes
        blocks = list(rows.blocks(size=20))
        assert [part for _, part in blocks] == [slice(0, 20), slice(20, 40), slice(40, 50)]
        assert all(block.dtype == table.X.dtype and sp.issparse(block) == sp.issparse(table.X) for block, _ in blocks)
        np.testing.assert_array_equal(np.vstack([dense(block) for block, _ in blocks]), dense(table.X))
    assert table.y is rows.y is None or rows.y.tolist() == table.y.tolist() == LABELS.tolist()


@pytest.mark.parametrize("name", SAVED)
def test_a_sample_is_different_rows_in_their_order_and_repeats_with_its_seed(tmp_path, name, monkeypatch):
    monkeypatch.setattr(sources, "BLOCK_ROWS", 8)
    save, rules = SAVED[name]
    X = numbers()
    X[:, 0] = 0.6 + np.arange(N_ROWS) / 256  # tells the rows apart, exactly
    save(tmp_path / name, X)
    rows = open_rows(tmp_path / name, **rules)
    sample = rows.sample(20, random_state=0)
    chosen = np.round((dense(sample)[:, 0] - 0.6) * 256).astype(int)
    assert len(set(chosen)) == 20
    assert (np.diff(chosen) > 0).all()
    np.testing.assert_array_equal(dense(sample), dense(read_table(tmp_path / name, **rules).X)[chosen])
    np.testing.assert_array_equal(dense(rows.sample(20, random_state=0)), dense(sample))
    assert not np.array_equal(dense(rows.sample(20, random_state=1)), dense(sample))
    assert rows.sample(1000).shape == (N_ROWS, N_FEATURES)


def test_a_sample_skips_the_parts_of_a_parquet_file_that_hold_none_of_its_rows(tmp_path):
    save_columns(tmp_path / "t.parquet", numbers())
    rows = open_rows(tmp_path / "t.parquet", label="kind")
    read, groups = rows._batches, []

    def watched(file, size, **which):
        groups.append(which["row_groups"])
        return read(file, size, **which)

    rows._batches = watched
    row = rows.sample(1, random_state=0)
    assert len(groups) == 1
    assert row[0].tolist() in numbers().tolist()


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        (np.array([[1, 255]], np.uint8), np.float32),
        (np.array([[1, 65535]], np.uint16), np.float32),
        (np.array([[1, 2**24]], np.int64), np.float32),
        (np.array([[1, 0], [2**24 + 1, 0]], np.int64), np.float64),
        (np.array([[True, False]]), np.float32),
        (np.array([[0.1, 0.2]], np.float16), np.float32),
        (np.array([[0.1, 0.2]], ">f8"), np.float64),
    ],
)
def test_the_type_of_the_numbers_is_that_of_the_whole_file(tmp_path, stored, expected):
    native = stored.astype(stored.dtype.newbyteorder("="))
    np.save(tmp_path / "t.npy", stored)
    save_parquet(tmp_path / "t.parquet", {f"f{j}": native[:, j] for j in (0, 1)})
    save_parquet(tmp_path / "u.parquet", {"v": list(native)}, write_statistics=False)
    arrays = (
        [stored] if stored.dtype in (np.float16, ">f8") else [stored, sp.csr_array(stored)]
    )  # scipy has no such types
    for rows in map(open_rows, [*sorted(tmp_path.iterdir()), *arrays]):
        (block, _), *others = rows.blocks(size=1)
        assert rows.dtype == block.dtype == expected
        assert block.dtype.isnative
        np.testing.assert_array_equal(np.vstack([dense(b) for b, _ in [(block, 0), *others]]), stored)
    assert open_rows(tmp_path / "t.npy", dtype="float64").sample(1).dtype == np.float64


def test_arrays_in_memory_are_not_copied():
    X = numbers()
    for block, part in open_rows(X).blocks(size=20):
        assert np.shares_memory(block, X[part])
    rows = open_rows(X, label=-1)
    np.testing.assert_array_equal(next(rows.blocks())[0], X[:, :-1])
    np.testing.assert_array_equal(rows.y, X[:, -1])
    matrix = sp.csc_matrix(X * (X > 0.5))
    (block, _), *_ = open_rows(matrix, label=1).blocks()
    np.testing.assert_array_equal(block.toarray(), np.delete(matrix.toarray(), 1, axis=1))
    assert open_rows(rows) is rows


def test_blocks_are_smaller_where_rows_are_long():
    wide = open_rows(np.lib.stride_tricks.as_strided(np.zeros(1), (100, 2**20), (0, 0)))
    assert wide.default_size() == 8
    sparse = open_rows(sp.random_array((1000, 2**20), density=1e-6, random_state=np.random.default_rng(0)))
    assert sparse.default_size() == sources.BLOCK_ROWS


def test_what_has_no_blocks_is_read_as_a_whole_and_that_is_noted(tmp_path, caplog):
    np.savez_compressed(tmp_path / "t.npz", X=numbers())
    np.savez(tmp_path / "u.npz", X=numbers())
    with caplog.at_level(logging.INFO, logger="mercer"):
        open_rows(tmp_path / "u.npz")
        assert not caplog.records
        open_rows(tmp_path / "t.npz")
    assert "t.npz was read as a whole" in caplog.text


# ---- memory


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs Linux's account of memory")
@pytest.mark.parametrize("kind", ["npy", "npz", "memmap", "columns first"])
def test_one_block_of_a_mapped_file_is_in_memory_at_a_time(tmp_path, kind):
    path, shape = tmp_path / f"t.{'npz' if kind == 'npz' else 'npy'}", (2**15, 2**8)  # 32 MiB of float32
    X = np.lib.format.open_memmap(tmp_path / "t.npy", "w+", np.float32, shape, fortran_order=kind == "columns first")
    X[:] = 1
    if kind == "npz":
        np.savez(path, X=X)
    del X
    rows = open_rows(np.load(path, mmap_mode="r") if kind == "memmap" else path, label=0)

    def mapped():
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("RssFile")) / 1024

    start, peak = mapped(), 0
    for block, _ in rows.blocks(size=1024):  # 1 MiB
        peak = max(peak, mapped() - start)
        assert block.base is None or isinstance(block.base, np.ndarray)
    assert rows.y.sum() == 2**15
    rows.sample(5000, random_state=0)
    peak = max(peak, mapped() - start)
    assert peak < 8, "MiB stay mapped of a file of 32"


def test_changes_to_a_copy_on_write_map_are_seen_and_kept(tmp_path):
    np.save(tmp_path / "t.npy", numbers())
    X = np.load(tmp_path / "t.npy", mmap_mode="c")
    X[3] = 7.0
    for _ in range(2):
        (block, _), *_ = open_rows(X).blocks()
        assert (block[3] == 7.0).all()
    assert (X[3] == 7.0).all()


# ---- what is refused


@pytest.mark.parametrize("name", ["rows.npy", "columns first.npy", "members.npz", "columns.parquet", "lists.parquet"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_number_that_is_not_finite_is_named_by_file_row_and_column(tmp_path, name, value):
    save, rules = SAVED[name]
    X = numbers()
    X[33, 4] = value
    save(tmp_path / name, X)
    rows = open_rows(tmp_path / name, **rules)
    blocks = rows.blocks(size=20)
    next(blocks)
    with refused(
        InputError, name, "row 33, column 4", str(value), *([rows.feature_names[4]] if rows.feature_names else [])
    ):
        next(blocks)
    with refused(InputError, name, "row 33, column 4"):
        rows.sample(N_ROWS)


def test_a_number_of_a_sparse_matrix_and_one_beyond_float32_are_named_too():
    X = numbers(np.float64)
    X[X < 0.5] = 0
    X[33, 4] = 1e39
    with refused(InputError, "the array, row 33, column 4", "1e+39, too large for float32"):
        list(open_rows(X, dtype="float32").blocks(size=7))
    X[33, 4] = np.nan
    with refused(InputError, "the array, row 33, column 4", "nan"):
        list(open_rows(sp.csr_array(X)).blocks(size=7))


def test_what_a_parquet_file_lacks_is_named_by_its_row(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    whole = [float(i) for i in range(10)]
    for columns, words in [
        ({"a": [*whole[:8], None, 9.0]}, ["'a'", "row 8", "missing"]),
        ({"v": [*[[1.0, 2.0]] * 8, [3.0, None], [4.0, 5.0]]}, ["'v[1]'", "row 8", "missing"]),
        ({"v": [*[[1.0, 2.0]] * 8, [3.0], [4.0, 5.0]]}, ["'v'", "row 8 holds 1 numbers", "row 0 holds 2"]),
    ]:
        save_parquet(path, columns, row_group_size=4)
        with refused(InputError, "t.parquet", *words):
            list(open_rows(path).blocks(size=3))
    save_parquet(path, {"a": whole, "word": ["x"] * 10})
    with refused(InputError, "'word'", "string"):
        open_rows(path)
    save_parquet(path, {"a": whole, "kind": [*["x"] * 9, None]})
    with refused(InputError, "row 9", "no label", "drop-rows"):
        _ = open_rows(path, label="kind").y


@pytest.mark.parametrize("suffix", ["npy", "npz", "parquet"])
@pytest.mark.parametrize("content", [b"", b"plain text\n", b"\x93NUMPY\x01\x00", b"PK\x03\x04PAR1"])
def test_a_file_of_another_format_is_refused_by_name(tmp_path, suffix, content):
    (tmp_path / f"t.{suffix}").write_bytes(content)
    with refused(InputError, f"t.{suffix}"):
        open_rows(tmp_path / f"t.{suffix}")


def test_files_that_are_cut_short_are_refused_before_they_are_mapped(tmp_path):
    np.save(tmp_path / "t.npy", numbers())
    content = (tmp_path / "t.npy").read_bytes()
    for end in (-1, 60):
        (tmp_path / "t.npy").write_bytes(content[:end])
        with refused(InputError, "t.npy"):
            open_rows(tmp_path / "t.npy")
    save_columns(tmp_path / "t.parquet", numbers())
    content = (tmp_path / "t.parquet").read_bytes()
    (tmp_path / "t.parquet").write_bytes(content[:40] + b"\xff" * 200 + content[240:])
    with refused(InputError, "t.parquet"):
        list(open_rows(tmp_path / "t.parquet", label="kind").blocks())


def test_arguments_that_cannot_be_followed_say_what_can(tmp_path):
    path = tmp_path / "t.npy"
    np.save(path, numbers())
    rows = open_rows(path)
    with refused(ArgumentError, "no file", "nowhere.npy"):
        open_rows(tmp_path / "nowhere.npy")
    with refused(ArgumentError, "no file", "nowhere.parquet"):
        open_rows(tmp_path / "nowhere.parquet")
    with refused(ArgumentError, "directory"):
        open_rows(tmp_path, format="npy")
    with refused(ArgumentError, "only npz files have members"):
        open_rows(path, array="X")
    with refused(ArgumentError, "6 columns", "column 9"):
        open_rows(path, label=9)
    with refused(ArgumentError, "already open"):
        open_rows(rows, label=0)
    with refused(TypeError, "no option named colour"):
        open_rows(path, colour=0)
    with refused(InputError, "size >= 1, got 0"):
        next(rows.blocks(size=0))
    with refused(InputError, "n >= 1, got 0"):
        rows.sample(0)
    np.savez(tmp_path / "t.npz", X=numbers(), y=LABELS[:-1])
    with refused(InputError, "50 rows and labels of shape (49,)"):
        open_rows(tmp_path / "t.npz")
    for array, words in [
        (np.zeros(3), ["(3,)", "two dimensions"]),
        (np.zeros((0, 3)), ["no data", "0 rows"]),
        (np.zeros((2, 2), complex), ["complex128", "real numbers"]),
        (np.array([["a", "b"]]), ["<U1", "real numbers"]),
    ]:
        np.save(path, array)
        with refused(InputError, "t.npy", *words):
            open_rows(path)
    np.save(path, np.array([[{}]]), allow_pickle=True)
    with refused(InputError, "t.npy", "pickled"):
        open_rows(path)


def test_a_row_is_named_by_its_number_in_the_file_after_others_were_dropped():
    X = np.array([[np.nan, 1.0], [1.0, 2.0], [np.inf, 3.0]])
    with pytest.raises(InputError, match="row 2, column 0"):
        list(open_rows(X, missing="drop-rows").blocks())
