"""exact_knn against a naive search in float64, and against itself with the work cut differently."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from mercer import InputError, thread_limit
from mercer.kernels import KERNELS, get_kernel
from mercer.search import exact_knn
from mercer.search.exact import oracle as _oracle
from tests.pairs import all_pairs
from tests.reference.kernels import pairs
from tests.search.index_samples import as_storage, histograms

# name -> (K(x, y) summed over bins of a textbook formula, what becomes of the sum)
TEXTBOOK = {
    "chi2": lambda x, y: pairs.chi2_pair(x, None, y, None, None).sum(axis=-1),
    "jensen-shannon": lambda x, y: pairs.jensen_shannon_double_pair(x, None, y, None, None).sum(axis=-1),
    "intersection": lambda x, y: np.minimum(x, y).sum(axis=-1),
    "hellinger": lambda x, y: np.sqrt(x * y).sum(axis=-1),
    "linear": lambda x, y: (x * y).sum(axis=-1),
    "rbf": lambda x, y: np.exp(-((x - y) ** 2).sum(axis=-1)),
    "laplacian": lambda x, y: np.exp(-np.abs(x - y).sum(axis=-1)),
    "min-max": lambda x, y: np.minimum(x, y).sum(axis=-1) / np.maximum(x, y).sum(axis=-1),
}


def naive(name, X, Q, normalize, measure):
    """All values, (queries, rows), in float64."""
    kernel = TEXTBOOK[name]
    X, Q = X.astype(np.float64), Q.astype(np.float64)
    values, own_q, own_x = kernel(Q[:, None], X[None]), kernel(Q, Q)[:, None], kernel(X, X)[None]
    if normalize:
        values, own_q, own_x = values / np.sqrt(own_q * own_x), 1.0, 1.0
    return values if measure == "similarity" else np.sqrt(np.maximum(own_q + own_x - 2 * values, 0))


@pytest.mark.parametrize(
    ("name", "normalize", "measure", "dtype", "is_sparse"),
    all_pairs(list(TEXTBOOK), [True, False], ["similarity", "distance"], [np.float32, np.float64], [False, True]),
)
def test_the_nearest_are_those_of_a_naive_search(name, normalize, measure, dtype, is_sparse):
    scales = np.random.default_rng(1).uniform(0.5, 2, (200, 1))
    X, Q = (histograms(200) * scales).astype(dtype), (histograms(9, seed=1) * scales[:9]).astype(dtype)
    found, values = exact_knn(
        name, as_storage(X, is_sparse), as_storage(Q, is_sparse), 12, normalize=normalize, measure=measure
    )
    every = naive(name, X, Q, normalize, measure)
    order = np.argsort(every if measure == "distance" else -every, axis=1, kind="stable")[:, :12]
    # the nearest of these rows differ by more than the rounding of a value
    np.testing.assert_array_equal(found, order)
    np.testing.assert_allclose(values, np.take_along_axis(every, order, axis=1), rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize("name", KERNELS)
def test_how_the_work_is_cut_changes_no_bit(name, monkeypatch):
    X, Q = histograms(100), histograms(7, seed=2)
    X[60:90] = X[10:40]
    with thread_limit(1):
        whole = exact_knn(name, X, Q, 7, normalize=False)
    monkeypatch.setattr(_oracle, "BLOCK_ROWS", 16)
    monkeypatch.setattr(_oracle, "FIRST_BLOCKS", 1)
    monkeypatch.setattr(_oracle, "QUERIES_AT_ONCE", 3)
    for n_jobs in (1, 2):
        cut = exact_knn(name, X, Q, 7, normalize=False, n_jobs=n_jobs)
        for got, want in zip(cut, whole, strict=True):
            np.testing.assert_array_equal(got, want)
    single, double = (exact_knn(name, X.astype(dtype), Q, 7, normalize=False) for dtype in (np.float32, np.float64))
    np.testing.assert_array_equal(single[0], double[0])
    np.testing.assert_array_equal(single[1], double[1])


def test_equal_rows_come_in_their_order_and_rows_one_bit_apart_do_not():
    x = histograms(1)[0]
    nearer = x.copy()
    nearer[1] = np.nextafter(x[1], np.float32(2))
    X = np.stack([x] * 20 + [nearer] + [x] * 20)
    found, _ = exact_knn("intersection", X, nearer[None], 3, normalize=False)
    assert found.tolist() == [[20, 0, 1]]
    found, _ = exact_knn("chi2", X[:20], nearer[None], 20)
    assert found.tolist() == [list(range(20))]


@pytest.mark.parametrize("name", ["rbf", "laplacian"])
def test_rows_far_from_the_origin(name, rng):
    X, Q = 1e6 + rng.random((400, 5)), 1e6 + rng.random((20, 5))
    order = np.argsort(-naive(name, X, Q, True, "similarity"), axis=1)[:, :5]
    np.testing.assert_array_equal(exact_knn(name, X, Q, 5)[0], order)


@settings(max_examples=60)
@given(data=st.data())
def test_few_levels_and_many_ties(data):
    name = data.draw(st.sampled_from(sorted(KERNELS)))
    n, d = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 6))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**16)))
    X = rng.integers(0, 3, (n, d)).astype(np.float32)
    measure = data.draw(st.sampled_from(["similarity", "distance"]))
    normalize = data.draw(st.booleans())
    k = data.draw(st.integers(1, n))
    found, values = exact_knn(name, X, X[:3], k, normalize=normalize, measure=measure)
    for row, value in zip(found, values, strict=True):
        assert len(set(row)) == k
        cost = value if measure == "distance" else -value
        assert all(cost[i] < cost[i + 1] or (cost[i] == cost[i + 1] and row[i] < row[i + 1]) for i in range(k - 1))
    kernel = get_kernel(name).normalized() if normalize else get_kernel(name)
    gram = kernel.distance(X[:3].astype(float), X.astype(float)) if measure == "distance" else -kernel(X[:3], X)
    worst = np.sort(gram, axis=1)[:, k - 1 : k]
    # a distance is the root of a difference, which is right to 1e-15 of the energies
    chosen = values if measure == "distance" else -values
    assert (chosen <= worst + 1e-5 * np.abs(gram).max(initial=1)).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 0}, "needs 1 <= k <= 120, the number of rows of X; got k=0"),
        ({"k": 121}, "got k=121"),
        ({"k": True}, "got k=True"),
        ({"k": 2.0}, "got k=2.0"),
        ({"measure": "angle"}, "measure to be 'similarity' or 'distance', got measure='angle'"),
        ({"Q": histograms(3, d=9)}, "10.* 9|9.* 10"),
        ({"Q": -histograms(3)}, r"Q\[0, 0\] is -"),
        ({"X": np.full((3, 10), np.nan)}, "NaN"),
        ({"kernel": "chi3"}, "no kernel 'chi3'"),
    ],
)
def test_what_cannot_be_is_refused_by_name(change, message):
    given = {"kernel": "chi2", "X": histograms(), "Q": histograms(3), "k": 3, **change}
    with pytest.raises((InputError, ValueError), match=message):
        exact_knn(given.pop("kernel"), given.pop("X"), given.pop("Q"), **given)


def test_lists_whole_numbers_and_mixed_storage():
    X = [[3, 0, 1], [0, 2, 2], [1, 1, 1]]
    assert exact_knn("intersection", X, [[0, 3, 3]], 2, normalize=False)[0].tolist() == [[1, 2]]
    dense, mixed = histograms(50), sparse.csr_matrix(histograms(50))
    np.testing.assert_array_equal(exact_knn("chi2", dense, mixed[:4], 3)[0], exact_knn("chi2", dense, dense[:4], 3)[0])


@pytest.mark.filterwarnings("ignore:.*not positive definite")
def test_a_function_with_negative_diagonal_is_ranked_all_the_same():
    X = histograms(30)
    found, values = exact_knn(lambda A, B: A @ B.T - 0.25, X, X[:4], 3, normalize=False)
    assert 0 < np.count_nonzero((X**2).sum(axis=1) < 0.25) < 30
    every = X[:4].astype(float) @ X.T.astype(float) - 0.25
    np.testing.assert_array_equal(found, np.argsort(-every, axis=1)[:, :3])
    np.testing.assert_allclose(values, -np.sort(-every, axis=1)[:, :3])


@pytest.mark.parametrize(
    ("kernel", "scale"), [("chi2", 1e300), ("hellinger", 1e300), ("linear", 1e150), ("rbf", 1e300)]
)
def test_rows_of_any_size_are_found(rng, kernel, scale):
    X = rng.random((30, 4)) * scale
    for normalize in (True, False):
        with np.errstate(all="raise", under="ignore"):
            positions, distances = exact_knn(kernel, X, X[:5], k=1, normalize=normalize, measure="distance")
        assert positions.ravel().tolist() == [0, 1, 2, 3, 4]
        assert (distances <= 1e-7 * np.sqrt(scale) ** (2 if kernel == "linear" else 1)).all()
