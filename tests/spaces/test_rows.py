"""Rows against the full matrix they stand for."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from mercer._base.errors import InputError
from mercer._base.threads import thread_limit
from mercer.spaces import BitRows, CodeRows, CSRRows, DenseRows, StackedRows, as_rows, hstack
from mercer.spaces import blocks as cutting
from mercer.spaces.coded_rows import FEW_ROWS
from tests.spaces.samples import DTYPES, ROW_KINDS, class_shapes, make_rows

kinds = pytest.mark.parametrize("kind", ROW_KINDS)
dtypes = pytest.mark.parametrize("dtype", DTYPES)


def close(actual, expected, dtype):
    """Equal up to the rounding of sums of a few dozen numbers of size 1."""
    np.testing.assert_allclose(actual, expected, rtol=0, atol=3e-5 if dtype == np.float32 else 1e-12)


@kinds
@dtypes
@settings(max_examples=25, deadline=None)
@given(n=st.integers(0, 40), D=st.integers(0, 35), tail=class_shapes, seed=st.integers(0, 99))
def test_products_are_those_of_the_full_matrix(kind, dtype, n, D, tail, seed):
    rows, full = make_rows(kind, n, D, dtype, seed)
    assert rows.shape == full.shape
    rng = np.random.default_rng(seed)
    v = rng.standard_normal((full.shape[1], *tail)).astype(dtype)
    r = rng.standard_normal((n, *tail)).astype(dtype)
    scores, sums = rows.scores(v), rows.accumulate(r)
    assert scores.dtype == sums.dtype == dtype
    close(scores, full.astype(np.float64) @ v, dtype)
    close(sums, full.T.astype(np.float64) @ r, dtype)
    np.testing.assert_array_equal(rows.toarray(), full)


@kinds
def test_mixed_types_are_widened(kind):
    rows, full = make_rows(kind, 9, 12, np.float32)
    v = np.arange(full.shape[1])  # integers count as float64
    assert rows.scores(v).dtype == np.float64
    close(rows.scores(v), full.astype(np.float64) @ v, np.float64)
    assert rows.accumulate(np.ones(9)).dtype == np.float64
    close(rows.accumulate(np.ones(9)), full.sum(axis=0, dtype=np.float64), np.float64)


@kinds
@pytest.mark.parametrize("tail", [(), (3,), (40,)])
def test_results_have_the_same_bits_on_one_and_two_threads(kind, tail, monkeypatch):
    monkeypatch.setattr(cutting, "TASK_ROWS", 64)
    rows, full = make_rows(kind, 1000, 40, np.float32)
    rng = np.random.default_rng(1)
    v = rng.standard_normal((full.shape[1], *tail)).astype(np.float32)
    r = rng.standard_normal((1000, *tail)).astype(np.float32)
    results = []
    for n_threads in (1, 2):
        with thread_limit(n_threads):
            results.append((rows.scores(v), rows.accumulate(r)))
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)
    close(results[0][1] / 1000, full.T.astype(np.float64) @ r / 1000, np.float32)


@pytest.mark.parametrize("round_entries", [2**24, 700])
@pytest.mark.parametrize("strip_entries", [20, 1, 10**6])
@pytest.mark.parametrize(("most", "partial_bytes"), [(16, 2**28), (4, 2**28), (16, 1)])
def test_sums_do_not_depend_on_how_rows_and_classes_are_cut(
    most, partial_bytes, strip_entries, round_entries, monkeypatch
):
    monkeypatch.setattr(cutting, "STRIP_ENTRIES", strip_entries)
    monkeypatch.setattr(cutting, "ROUND_ENTRIES", round_entries)
    monkeypatch.setattr(cutting, "TASK_ROWS", 10)
    monkeypatch.setattr(cutting, "MOST_STRIPS", most)
    monkeypatch.setattr(cutting, "PARTIAL_BYTES", partial_bytes)
    rows, full = make_rows("csr", 500, 20)
    r = np.random.default_rng(0).standard_normal((500, 70))
    close(rows.accumulate(r), full.T @ r, np.float64)


def test_long_float32_sums_stay_accurate():
    n = 300_000
    codes = CodeRows(np.zeros((n, 1), np.uint8), 2)
    third = np.float32(1 / 3)
    # added one by one in float32 the sum would be wrong in the third digit
    assert codes.accumulate(np.full(n, third))[0] == np.float32(n * float(third))
    dense = DenseRows(np.ones((n, 1), np.float32))
    assert dense.accumulate(np.full(n, third))[0] == pytest.approx(n * float(third), rel=1e-6)


@kinds
@pytest.mark.parametrize(
    "which",
    [slice(2, 7), slice(0, 0), np.array([5, 1, 1, 8]), np.arange(9) % 2 == 0],
    ids=["slice", "none", "list", "mask"],
)
def test_rows_that_are_taken_are_rows_of_the_matrix(kind, which):
    rows, full = make_rows(kind, 9, 20)
    taken = rows.take(which)
    assert type(taken) is type(rows)
    np.testing.assert_array_equal(taken.toarray(), full[which])
    close(taken.scores(np.ones(full.shape[1])), full[which].sum(axis=1), np.float64)


@kinds
def test_blocks_cover_the_rows_once_at_fixed_boundaries(kind):
    rows, full = make_rows(kind, 23, 10)
    blocks = list(rows.blocks(size=10))
    assert [part for _, part in blocks] == [slice(0, 10), slice(10, 20), slice(20, 23)]
    np.testing.assert_array_equal(np.vstack([block.toarray() for block, _ in blocks]), full)
    assert [part for _, part in rows.blocks()] == [slice(0, 23)]


@kinds
def test_entries_rebuild_a_row(kind):
    rows, full = make_rows(kind, 6, 20)
    with pytest.raises(IndexError):
        rows.entries(6)
    for i in (*range(6), -1):
        columns, values = rows.entries(i)
        assert np.all(np.diff(columns) > 0)
        row = np.zeros(full.shape[1])
        row[columns] = values
        np.testing.assert_array_equal(row, full[i])


@kinds
def test_rows_survive_a_pickle(kind):
    rows, full = make_rows(kind, 6, 20)
    copy = pickle.loads(pickle.dumps(rows))
    assert copy.nbytes == rows.nbytes > 0
    np.testing.assert_array_equal(copy.scores(np.ones(full.shape[1])), rows.scores(np.ones(full.shape[1])))


def test_stacks_are_flat_and_know_their_slices():
    stack = hstack(hstack(np.ones((2, 3)), sparse.eye_array(2)), CodeRows(np.zeros((2, 1), np.uint8), 4))
    assert [type(part) for part in stack.parts] == [DenseRows, CSRRows, CodeRows]
    assert stack.slices == (slice(0, 3), slice(3, 5), slice(5, 9))
    assert isinstance(hstack(np.ones((2, 3))), DenseRows)
    assert isinstance(stack, StackedRows)


def test_unsorted_and_duplicate_entries_are_put_in_order():
    X = sparse.csr_array((np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    rows = CSRRows(X)
    assert rows.entries(0)[0].tolist() == [0, 2]
    assert rows.toarray().tolist() == [[2.0, 0.0, 5.0]]
    assert X.nnz == 3, "the caller's matrix was changed"


def test_bits_are_scored_as_signs():
    packed = np.packbits([[1, 0, 1, 1, 0, 0, 0, 1, 1, 0]], axis=1, bitorder="little")
    assert BitRows(packed, 10).scores(2.0 ** np.arange(10)).tolist() == [1 - 2 + 4 + 8 - 16 - 32 - 64 + 128 + 256 - 512]


@dtypes
@settings(max_examples=25, deadline=None)
@given(n=st.integers(1, 40), D=st.integers(0, 70), tail=class_shapes, seed=st.integers(0, 99))
def test_a_row_of_bits_has_one_score_in_every_bit_however_many_rows_come_with_it(dtype, n, D, tail, seed):
    """Few rows are scored bit by bit, many through byte tables."""
    rng = np.random.default_rng(seed)
    rows = BitRows(rng.integers(0, 256, (n, -(-D // 8))).astype(np.uint8), D, value=0.3)
    v = (rng.standard_normal((D, *tail)) * 10.0 ** rng.integers(-6, 6, (D, *tail))).astype(dtype)
    together = rows.take(np.arange(n * (FEW_ROWS + 1)) % n).scores(v)
    alone = np.concatenate([rows.take(slice(i, i + 1)).scores(v) for i in range(n)])
    np.testing.assert_array_equal(together[:n], alone)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DenseRows(np.ones(3)), "shape .rows, features., got .3,."),
        (lambda: CodeRows(np.zeros((2, 3)), 4), "uint8 or uint16, got .2, 3. of type float64"),
        (lambda: CodeRows(np.zeros((2, 3), np.uint8), [4, 4]), "or 3 integers, one per block"),
        (lambda: CodeRows(np.zeros((2, 3), np.uint8), 1.5), "to be an integer"),
        (lambda: CodeRows(np.array([[0, 4]], np.uint8), 4), "the word 4 in block 1, whose words range from 0 to 3"),
        (lambda: BitRows(np.zeros((2, 3), np.uint8), 25), "n_bits=25 needs packed bits"),
        (lambda: hstack(np.ones((2, 1)), np.ones((3, 1))), "the same number of rows"),
        (lambda: hstack(), "got nothing"),
        (lambda: as_rows(np.ones((2, 3))).scores(np.ones(2)), "v of shape .3,. or .3, classes.*got .2,."),
        (lambda: as_rows(np.ones((2, 3))).accumulate(np.ones((2, 3, 1))), "r of shape .2,. or .2, classes."),
        (lambda: list(as_rows(np.ones((2, 3))).blocks(size=0)), "size >= 1, got 0"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_indices_outside_the_matrix_never_reach_a_loop():
    X = sparse.csr_array(np.eye(3))
    X.indices[1] = 70
    with pytest.raises(InputError, match="valid CSR matrix"):
        CSRRows(X)
