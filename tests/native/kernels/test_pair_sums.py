"""Sums for single pairs of rows: the textbook formulas, one fixed order, the same bits dense and sparse."""

import math

import numpy as np
import pytest
from scipy import sparse

from mercer._native.kernels import pair_sums as native
from mercer.kernels.engine import pair_sums
from tests.reference.kernels import pair_sums as reference

PARAMETER = 3.0
CASES = [(name, signed) for name in native.PAIRS for signed in (False, True) if not (signed and name == "common-part")]


def rows(rng, n, d, signs):
    X = rng.random((n, d)) * (rng.random((n, d)) < 0.6) * 10.0 ** (np.arange(n) % 13 - 6.0)[:, None]
    X[n // 2] = 0
    return X * rng.choice([-1, 1], size=X.shape) if signs else X


def csr(X):
    """Rows as CSR that also hold some zeros outright."""
    made = sparse.csr_array(X)
    made.data[::7] = 0
    return made


@pytest.mark.parametrize(("name", "signed"), CASES)
def test_sums_are_those_of_the_textbook_formula(rng, name, signed):
    signs = signed or name in ("product", "common-part")
    X, Y = rows(rng, 30, 37, signs), rows(rng, 30, 37, signs)
    logs = [native.logarithms(X), native.logarithms(Y)]
    got, want = np.empty(30), np.empty(30)
    native.dense_pair_sums(name, signed)(X, logs[0], Y, logs[1], PARAMETER, got)
    reference.dense_pair_sums(name, signed)(X, None, Y, None, PARAMETER, want)
    # 37 terms, each right to a few units in the last place; with signs they cancel
    size = np.empty(30)
    reference.dense_pair_sums(name)(abs(X), None, abs(Y), None, PARAMETER, size)
    assert (abs(got - want) <= 64 * np.finfo(float).eps * size).all()


@pytest.mark.parametrize(("name", "signed"), CASES)
def test_sparse_rows_give_the_bits_of_dense_ones(rng, name, signed):
    signs = signed or name in ("product", "common-part")
    X, Y = csr(rows(rng, 30, 37, signs)), csr(rows(rng, 30, 37, signs))
    dense = pair_sums(name, X.toarray(), Y.toarray(), param=PARAMETER, signed=signed)
    np.testing.assert_array_equal(pair_sums(name, X, Y, param=PARAMETER, signed=signed), dense)
    want = np.empty(30)
    logs = [native.logarithms(X.data), native.logarithms(Y.data)]
    arguments = (X.indptr, X.indices, X.data, logs[0], Y.indptr, Y.indices, Y.data, logs[1], PARAMETER, want)
    reference.sparse_pair_sums(name, signed)(*arguments)
    assert (abs(dense - want) <= 1e-12 * abs(want).max()).all()


@pytest.mark.parametrize(("name", "signed"), CASES)
def test_the_shared_entries_of_one_row_give_the_bits_of_all_of_them(rng, name, signed):
    signs = signed or name in ("product", "common-part")
    X, Y = csr(rows(rng, 30, 37, signs)), csr(rows(rng, 30, 37, signs).astype(np.float32))
    x = sparse.csr_array(X[3:4])
    x.eliminate_zeros()
    n, m, picked = 5, x.nnz, np.array([2, 29, 15, 3, 4])
    found = []
    for module in (native, reference):
        places, entries, stops = np.full(n * m, -1, np.int32), np.full(n * m, -1), np.empty(n, np.int64)
        begins, ends = Y.indptr[picked].astype(np.int64), Y.indptr[picked + 1].astype(np.int64)
        count = module.shared_entries(x.indices, Y.indices, Y.data, begins, ends, places, entries, stops)
        found.append((places[:count].tolist(), entries[:count].tolist(), stops.tolist()))
    assert found[0] == found[1]
    places, entries, stops = map(np.array, found[0])
    y = Y.data[entries].astype(float)
    logs = native.logarithms(x.data), native.logarithms(y)
    got, want = np.empty(n), np.empty(n)
    native.shared_sums(name, signed)(x.data, logs[0], places, y, logs[1], stops, PARAMETER, got)
    reference.shared_sums(name, signed)(x.data, logs[0], places, y, logs[1], stops, PARAMETER, want)
    alone = pair_sums(
        name, sparse.csr_array(x[[0] * n]), sparse.csr_array(Y[picked], dtype=float), param=PARAMETER, signed=signed
    )
    np.testing.assert_array_equal(got, alone)
    assert (abs(got - want) <= 1e-12 * abs(want).max()).all()


def test_bins_are_added_in_ascending_order(rng):
    X, Y = rng.random((20, 50)), rng.random((20, 50))
    in_order = [0.0] * 20
    for k in range(50):
        in_order = [total + min(x, y) for total, x, y in zip(in_order, X[:, k], Y[:, k], strict=True)]
    np.testing.assert_array_equal(pair_sums("minimum", X, Y), in_order)
    assert (np.minimum(X, Y).sum(axis=1) != in_order).any()  # another order has other last digits


@pytest.mark.parametrize("name", ["chi2", "jensen-shannon", "power-mean", "minimum"])
def test_values_far_apart_neither_overflow_nor_vanish(name):
    X, Y = np.array([[1e300, 1e-300, 5e-324]]), np.array([[1e-300, 1e300, 1.0]])
    total = pair_sums(name, X, Y, param=PARAMETER)
    # min(x, y) <= k(x, y) <= 2 min(x, y) for chi2 and power means; Jensen-Shannon grows like min log(ratio)
    assert 2e-300 <= total[0] <= 2e-300 * (2 if name != "jensen-shannon" else 1001)


def test_logarithms_of_magnitudes(rng):
    X = rng.normal(size=(9, 13))
    X[0, :3] = 0
    np.testing.assert_array_equal(native.logarithms(X), reference.logarithms(X))
    assert math.isclose(native.product_pair(2.0, 0.0, 3.5, 0.0, 0.0), reference.product_pair(2.0, 0.0, 3.5, 0.0, 0.0))
