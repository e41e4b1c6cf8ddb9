"""Crammer-Singer descent against its twin, which finds every step by bisection, on all kinds of rows."""

import numpy as np
import pytest
from scipy import sparse

from mercer._native.learners.descent import joint as loops
from tests.native.learners.descent.test_level import HEIGHTS, N, chi2, make_codes, sparse_rows
from tests.reference.learners.descent import joint as twins

pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in scalar")
K = 4


def rows_of(kind, rng):
    """(rows, norms, D, S)"""
    codes = make_codes(rng)
    csr, points, owners, starts = sparse_rows(codes)
    levels = codes.sum(axis=1, dtype=float)
    if kind in ("dense", "csr"):
        X = codes.astype(np.float64)
        whole = sparse.csr_array(X)
        rows = (X,) if kind == "dense" else (whole.indptr, whole.indices, whole.data)
        return rows, (X**2).sum(axis=1), X.shape[1], 1
    if kind == "intersection_dense":
        rooms = -(-HEIGHTS // 8) * 8
        return (codes, np.cumsum(rooms) - rooms), levels, rooms.sum(), 2
    if kind == "intersection_csr":
        rows = csr.indptr, csr.indices, csr.data, points.astype(np.float64), owners, starts
        return rows, csr.toarray() ** 2 @ points.astype(float), starts[-1], 1 + len(HEIGHTS)
    words = [points[owners == j] for j in range(4)] if kind == "gram_csr" else [np.arange(h) for h in HEIGHTS]
    sizes = np.array([len(column) for column in words])
    flat = np.concatenate([chi2(column.astype(float)).ravel() for column in words])
    gram_starts, starts = np.cumsum(sizes**2) - sizes**2, np.concatenate([[0], np.cumsum(sizes)])
    if kind == "gram_csr":
        norms = csr.toarray() ** 2 @ points.astype(float)
        return (csr.indptr, csr.indices, csr.data, owners, starts, flat, gram_starts), norms, starts[-1], 1
    return (codes, starts, flat, gram_starts), levels, starts[-1], 1


@pytest.mark.parametrize("scale", [0.5, 0.0])
@pytest.mark.parametrize("kind", ["dense", "csr", "intersection_dense", "intersection_csr", "gram_dense", "gram_csr"])
def test_a_few_sweeps(rng, kind, scale):
    rows, norms, D, S = rows_of(kind, rng)
    labels, caps = rng.integers(0, K, N), rng.uniform(0.001, 0.02, N)
    caps[5] = 0.0
    found = []
    for module in (loops, twins):
        order, a, state = np.arange(N, dtype=np.int32), np.zeros((N, K)), (np.zeros((K, D)), np.zeros((K, S)))
        descend = getattr(module, f"descend_joint_{kind}")
        counts = descend(rows, scale, norms, labels, caps, order, N, np.uint64(5), 2, 3 * N, a, state)
        found.append((counts, a, state[1][:, 0]))
    for mine, theirs in zip(found[0][1:], found[1][1:], strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-7, atol=1e-9)
    assert np.abs(found[0][1]).max() > 0
    np.testing.assert_allclose(found[0][1].sum(axis=1), 0, atol=1e-12)


def test_objectives_and_rows_that_can_move(rng):
    scores, labels, caps = rng.standard_normal((N, K)), rng.integers(0, K, N), rng.uniform(0.1, 1, N)
    a = np.zeros((N, K))
    for i in range(0, N, 2):
        a[i] = twins.best_row(rng.standard_normal(K), 1.0, labels[i], caps[i])
    for i in range(0, N, 4):  # the best there is at these scores, which cannot move
        best = np.argmax(scores[i] + (np.arange(K) != labels[i]))
        a[i] = 0
        if best != labels[i]:
            a[i, [labels[i], best]] = caps[i], -caps[i]
    caps[7] = 0.0
    arguments = scores, labels, caps, a
    np.testing.assert_allclose(loops.sum_objectives_joint(*arguments), twins.sum_objectives_joint(*arguments))
    orders = np.zeros((2, N), dtype=np.int32)
    counts = [one.keep_movable_joint(*arguments, order) for one, order in zip((loops, twins), orders, strict=True)]
    assert counts[0] == counts[1]
    assert 0 < counts[0] <= N - N // 4
    np.testing.assert_array_equal(orders[0], orders[1])
