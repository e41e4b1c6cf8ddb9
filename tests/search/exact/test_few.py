"""Few dense rows are all compared by the exact kernel: the answer of brute force, in every bit."""

import numpy as np
import pytest
from scipy import sparse

from mercer import KernelIndex
from mercer.kernels import RBF, Chi2, Hellinger, Intersection, JensenShannon, Linear, MinMax, PowerMean
from mercer.search import exact_knn
from mercer.search.rows import derived as _derived

KERNELS = [
    Linear(), Hellinger(), Chi2(), Intersection(), JensenShannon(), PowerMean(-2.0), PowerMean(-1.0), MinMax(),
    RBF(2.0), Chi2() + RBF(1.0),
]  # fmt: skip
MEASURES = [(True, "similarity"), (True, "distance"), (False, "similarity"), (False, "distance")]


def histograms(n, d=20, seed=0):
    """Rows with zeros, one of them empty, some equal."""
    rng = np.random.default_rng(seed)
    X = rng.gamma(0.5, 1.0, (n, d)) * (rng.random((n, d)) < 0.6)
    X[3], X[5:8] = 0, X[4]
    return X.astype(np.float32)


X, Q = histograms(150), np.concatenate([histograms(8, seed=1), histograms(150)[:6]])


def index(kernel="chi2", **how):
    return KernelIndex(kernel, bytes_per_item=2, effort="low", n_components=2, random_state=0, **how).fit(X).add(X)


def assert_same(found, wanted):
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(("normalize", "measure"), MEASURES)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_answers_are_those_of_brute_force(kernel, normalize, measure):
    how = {"normalize": normalize, "measure": measure}
    made = index(kernel, **how)
    for k in (1, 9, 150):
        assert_same(made.search(Q, k), exact_knn(kernel, X, Q, k, **how))
    values = np.sort(made.search(Q[:4], 150)[1].ravel())
    limit = {"min_similarity" if measure == "similarity" else "max_distance": float(values[len(values) // 3])}
    for ours, exact in zip(
        made.range_search(Q[:4], **limit), made.range_search(Q[:4], **limit, exact=True), strict=True
    ):
        assert_same(ours, exact)


def test_filters_and_removed_rows_count():
    made = index().remove(np.arange(0, 150, 2))
    ids, values = made.search(Q, 10, filter=[1, 3, 5, 9])
    assert set(ids.ravel().tolist()) == {1, 3, 5, 9, -1}
    assert (values[ids < 0] == -np.inf).all()
    left = np.arange(1, 150, 2)
    positions, wanted = exact_knn("chi2", X[left], Q, 10)
    assert_same(made.search(Q, 10), (left[positions], wanted))


def test_rows_that_come_later_are_found():
    made = index()
    made.search(Q[:1], 1)
    made.add(Q[:2], [700, 800])
    assert made.search(Q[:2], 1)[0].ravel().tolist() == [700, 800]


@pytest.mark.parametrize("scale", [1e-25, 1e20])
def test_numbers_far_from_one_change_nothing(scale):
    far = (X * np.float32(scale)).astype(np.float32)
    made = KernelIndex("js", bytes_per_item=2, effort="low", n_components=2, random_state=0).fit(X).add(far)
    assert_same(made.search(far[:5], 10), exact_knn("js", far, far[:5], 10))
    assert_same(made.search(X[:5].astype(float), 10), exact_knn("js", far, X[:5].astype(float), 10))


@pytest.mark.parametrize("how", ["few", "codes", "lists"])
@pytest.mark.parametrize("kernel", [Chi2(), JensenShannon(), Linear(), RBF(1.0)], ids=repr)
def test_one_by_one_is_as_in_a_batch(how, kernel, monkeypatch):
    monkeypatch.setattr(_derived, "FEW_VALUES", 2**18 if how == "few" else 0)
    rows, asked = (sparse.csr_array(X), sparse.csr_array(Q)) if how == "lists" else (X, Q)
    made = KernelIndex(kernel, effort="low", random_state=0).fit(rows).add(rows)
    together = made.search(asked, 10)
    alone = [made.search(asked[i : i + 1], 10) for i in range(len(Q))]
    assert_same([np.concatenate(part) for part in zip(*alone, strict=True)], together)
