"""The loops of intersection coordinate descent against their twins, which keep every table in full."""

import numpy as np
import pytest
from scipy import sparse

from mercer._native.codes import levels
from mercer._native.learners.descent import level as loops
from tests.native.learners.descent.test_dual import FORMS, GOAL, KEY, forms, make_targets
from tests.pairs import all_pairs
from tests.reference.codes import levels as level_twins
from tests.reference.learners.descent import level as twins

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in scalar")
N = 40
HEIGHTS = np.array([3, 1, 20, 9])  # a column of one level; one that fills no multiple of eight
dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def make_codes(rng, dtype=np.uint8):
    codes = np.stack([rng.integers(0, height, N) for height in HEIGHTS], axis=1).astype(dtype)
    codes[0], codes[1] = 0, HEIGHTS - 1
    return codes


def run(rng, name, rows, norms, size, n_sums, form, dtype, numbers=np.int8):
    """Both sides on one problem from zero weights, with caps of 0 among the rows.

    Targets are independent of the rows: those of real numbers with one kind of rows are enough.
    """
    targets = make_targets(rng, form, N, numbers)
    caps = rng.uniform(0.01, 0.2, N)
    caps[5] = 0.0
    found = []
    for module in (loops, twins):
        order, b, state = np.arange(N, dtype=np.int32), np.zeros(N), (np.zeros(size, dtype), np.zeros(n_sums))
        best, values = np.zeros(N), np.array([np.inf, 0.0])
        counts = getattr(module, f"descend_{name}")(
            rows, 0.5, norms, targets, caps, form, order, N, KEY, 2, GOAL, b, best, values, state
        )
        found.append((counts, b, best, values, state[1], state[0]))
    assert np.abs(found[1][1]).max() > 0
    if dtype == np.float64:
        assert found[0][0][:2] == found[1][0][:2], "not the same number of visits and sweeps"
    # float32 may set a row aside a visit earlier or later
    tolerance = 1e-9 if dtype == np.float64 else 2e-3
    for mine, theirs in zip(found[0][1:], found[1][1:], strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance * (1 + np.abs(theirs).max()))


@pytest.mark.parametrize(
    ("name", "dtype", "codes_dtype"), all_pairs(list(FORMS), [np.float32, np.float64], [np.uint8, np.uint16])
)
def test_intersection_of_dense_levels(rng, name, dtype, codes_dtype):
    form = FORMS[name]
    codes = make_codes(rng, codes_dtype)
    rooms = -(-HEIGHTS // 8) * 8
    starts = np.cumsum(rooms) - rooms
    run(rng, "intersection_dense", (codes, starts), codes.sum(axis=1, dtype=float), rooms.sum(), 2, form, dtype)


@dtypes
@forms
def test_intersection_of_tall_tables_is_that_of_others(rng, dtype, form):
    """Blocks of levels are another way of writing the same tables."""
    heights = np.array([3, 200, 64, 129])
    codes = np.stack([rng.integers(0, height, N) for height in heights], axis=1).astype(np.uint16)
    codes[0], codes[1] = 0, heights - 1
    rooms = -(-heights // 64) * 64
    starts, size = np.cumsum(rooms) - rooms, rooms.sum()
    targets = make_targets(rng, form, N, np.int8)
    caps, norms, found = rng.uniform(0.001, 0.02, N), codes.sum(axis=1, dtype=float), []
    for module in (loops, twins):
        order, b, best, values = np.arange(N, dtype=np.int32), np.zeros(N), np.zeros(N), np.array([np.inf, 0.0])
        state = np.zeros(size, dtype), np.zeros(2), np.zeros(size // 64), np.zeros(size // 64)
        module.descend_intersection_tall(
            (codes, starts), 0.5, norms, targets, caps, form, order, N, KEY, 2, GOAL, b, best, values, state
        )
        table, sums, offsets, slopes = state
        levels = np.arange(size) - np.repeat(starts, rooms)
        found.append((b, sums, table + np.repeat(slopes, 64) * levels - np.repeat(offsets, 64)))
    tolerance = 1e-9 if dtype == np.float64 else 2e-3
    below = levels < np.repeat(heights, rooms)  # what stands in the room above the last level is never looked up
    for mine, theirs in zip(found[0], found[1], strict=True):
        mine, theirs = (a[below] if len(a) == size else a for a in (mine, theirs))
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance * (1 + np.abs(theirs).max()))


def sparse_rows(codes):
    """CSR positions on the words of levels that occur, zero having none; and the words. Some entries are shares."""
    words = [np.unique(column[column > 0]) for column in codes.T]
    starts = np.cumsum([0, *map(len, words)])
    onehot = np.hstack([codes[:, [j]] == words[j] for j in range(codes.shape[1])])
    csr = sparse.csr_array(onehot.astype(np.float32))
    csr.data[::5] = 0.25
    owners = np.repeat(np.arange(len(words), dtype=np.int32), np.diff(starts))
    return csr, np.concatenate(words), owners, starts


@dtypes
@forms
def test_intersection_of_sparse_levels(rng, dtype, form):
    codes = make_codes(rng) * 3
    csr, points, owners, starts = sparse_rows(codes)
    rows = csr.indptr, csr.indices, csr.data, points.astype(dtype), owners, starts
    norms = csr.toarray() ** 2 @ points.astype(float)
    run(rng, "intersection_csr", rows, norms, starts[-1], 1 + len(HEIGHTS), form, dtype, np.float64)


def chi2(levels):
    total = np.add.outer(levels, levels)
    return 2 * np.divide(np.multiply.outer(levels, levels), total, out=np.zeros(total.shape), where=total > 0)


@dtypes
@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_another_kernel_of_levels(rng, dtype, kind):
    codes, form = make_codes(rng), FORMS["squared hinge"]
    csr, points, owners, starts = sparse_rows(codes)
    words = [points[owners == j] for j in range(4)] if kind == "csr" else [np.arange(h) for h in HEIGHTS]
    grams = [chi2(column.astype(float)) for column in words]
    sizes = np.array([len(gram) for gram in grams])
    flat = np.concatenate([gram.ravel() for gram in grams]).astype(dtype)
    gram_starts, starts = np.cumsum(sizes**2) - sizes**2, np.concatenate([[0], np.cumsum(sizes)])
    norms = codes.sum(axis=1, dtype=float)  # chi2 of equal levels is the level
    rows = (codes, starts, flat, gram_starts)
    if kind == "csr":
        norms = csr.toarray() ** 2 @ points.astype(float)
        rows = (csr.indptr, csr.indices, csr.data, owners, starts, flat, gram_starts)
    run(rng, f"gram_{kind}", rows, norms, starts[-1], 1, form, dtype)


@dtypes
@pytest.mark.parametrize("codes_dtype", [np.uint8, np.uint16])
def test_values_become_levels(rng, dtype, codes_dtype):
    X = (10 * rng.standard_normal((30, 5))).astype(dtype)
    lows, widths = np.array([-5.0, 0.0, 3.0, 0.0, -1e300]), np.array([10.0, 1e-300, 0.0, 7.0, 1e300])
    tops = np.array([100, 200, 50, 3, 100])
    found, expected = (np.full((30, 5), 9, dtype=codes_dtype) for _ in range(2))
    for module, codes in ((levels, found), (level_twins, expected)):
        module.quantize_rows(X, lows, widths, 100.0, tops, 2, 29, codes)
    np.testing.assert_array_equal(found, expected)
    assert (found[2:29, 0] > 0).any()
    assert (found[:2] == 9).all(), "rows outside the range were written"
