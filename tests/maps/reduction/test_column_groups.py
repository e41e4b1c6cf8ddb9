"""Groups of columns: what belongs together is found, at every number of groups."""

import numpy as np
import pytest
from scipy import sparse

from mercer import InputError
from mercer.maps.reduction.column_groups import ColumnTree
from mercer.maps.reduction.reduced_columns import ReducedPredictor, check_groups, reduce_columns
from mercer.spaces import MapPredictor


def tree(X, labels=None, columns=None):
    columns = np.arange(X.shape[1]) if columns is None else columns
    return ColumnTree(X, labels, columns, np.random.RandomState(0))


def partition(groups):
    return {frozenset(np.flatnonzero(groups == g)) for g in np.unique(groups[groups >= 0])}


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_multiples_of_a_column_go_together(kind, rng):
    family = np.array([0, 1, 2, 0, 1, 2, 0, 3])
    X = rng.random((60, 4))[:, family] * rng.uniform(0.1, 10, 8)
    np.testing.assert_array_equal(tree(kind(X)).groups(4), family)


def test_there_are_as_many_groups_as_asked_for_and_larger_ones_are_made_of_smaller(rng):
    X = rng.integers(0, 2, size=(6, 40)).astype(float)  # many distances are equal
    found = tree(X)
    before = partition(found.groups(40))
    assert len(before) == 40
    for n_groups in range(39, 0, -1):
        now = partition(found.groups(n_groups))
        assert len(now) == n_groups
        assert all(any(small <= large for large in now) for small in before)
        before = now


def test_groups_agree_with_scipy(rng):
    from scipy.cluster.hierarchy import fcluster, linkage

    X = rng.random((30, 25))
    roots = np.sqrt(X) - np.sqrt(X).mean(axis=0)
    profiles = (roots / np.linalg.norm(roots, axis=0)).T
    for n_groups in (3, 10, 20):
        expected = fcluster(linkage(profiles, "ward"), n_groups, "maxclust")
        assert partition(tree(X).groups(n_groups)) == partition(expected)


def test_constant_columns_go_together_and_others_are_left_out_by_name(rng):
    X = rng.random((20, 6))
    X[:, [1, 4]] = [0.3, 0.7]
    groups = tree(X, columns=np.array([0, 1, 2, 4, 5])).groups(4)
    assert groups[1] == groups[4]
    assert groups[3] == -1
    assert len(partition(groups)) == 4


def test_with_labels_columns_of_the_same_classes_go_together(rng):
    y = np.repeat([0, 1, 2], 40)
    speaks_for = np.array([0, 1, 2, 0, 1, 2])
    X = rng.random((120, 6)) * (1 + 3 * (y[:, None] == speaks_for))  # independent within a class
    np.testing.assert_array_equal(tree(X, y).groups(3), speaks_for)


@pytest.mark.parametrize("groups", [[0, -1, 1, 0, 2], [-1, 0, -1, 1, 2], [2, 1, 0, -1, 2]])
def test_columns_are_added_up_times_a_factor(groups, rng):
    X, groups, factors = rng.random((7, 5)).astype("f4"), np.array(groups), np.array([2.0, 1.0, 0.5])
    expected = np.stack([X[:, groups == g].sum(axis=1) * factors[g] for g in range(3)], axis=1)
    dense, csr = (reduce_columns(rows, groups, factors) for rows in (X, sparse.csr_array(X)))
    assert dense.dtype == csr.dtype == np.float32
    assert csr.has_sorted_indices
    np.testing.assert_allclose(dense, expected, rtol=1e-6)
    np.testing.assert_allclose(csr.toarray(), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("groups", "factors"),
    [
        ([0, 2], [1.0, 1.0, 1.0]),
        ([0, -2], [1.0]),
        ([0, 1], [1.0]),
        ([-1, -1], []),
        ([0, 1], [1.0, -1.0]),
        ([0, 1], [1.0, np.nan]),
        ([0.0, 1.0], [1.0, 1.0]),
    ],
)
def test_groups_that_are_none_are_refused(groups, factors):
    with pytest.raises(InputError, match="must be"):
        check_groups(np.array(groups), np.array(factors, dtype=np.float64))


def test_a_predictor_of_other_rows_is_refused(rng):
    from mercer import HomogeneousMap

    inner = MapPredictor(HomogeneousMap("linear").fit(np.ones((1, 3))), np.ones(3))
    with pytest.raises(InputError, match="2 columns, but its predictor needs 3"):
        ReducedPredictor(np.array([0, 1]), np.ones(2), inner)
    with pytest.raises(InputError, match="needs a predictor"):
        ReducedPredictor(np.array([0, 1]), np.ones(2), None)
