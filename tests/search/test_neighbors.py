"""The graph of nearest neighbors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.cluster import DBSCAN
from sklearn.manifold import Isomap
from sklearn.neighbors import KNeighborsClassifier, KNeighborsTransformer
from sklearn.pipeline import make_pipeline

from mercer import Chi2, InputError, KernelNeighbors


@pytest.fixture(scope="module")
def shares():
    return np.random.default_rng(0).dirichlet(np.full(6, 0.5), size=120).astype(np.float32)


def distances_of(X, Y):
    X, Y = X.astype(np.float64), Y.astype(np.float64)
    cosines = Chi2()(X, Y) / np.sqrt(X.sum(axis=1)[:, None] * Y.sum(axis=1))  # K(x, x) is the sum of x
    return np.sqrt(np.maximum(0, 2 - 2 * cosines))


def rows_of(graph):
    return graph.indices.reshape(graph.shape[0], -1), graph.data.reshape(graph.shape[0], -1)


@pytest.mark.parametrize("mode", ["distance", "connectivity"])
def test_it_is_scikit_learns_graph_of_the_exact_distances(shares, mode):
    base, queries = shares[:100], shares[100:]
    rival = KNeighborsTransformer(mode=mode, n_neighbors=4, metric="precomputed").fit(distances_of(base, base))
    expected = rival.transform(distances_of(queries, base))
    found = KernelNeighbors("chi2", n_neighbors=4, mode=mode, exact=True).fit(base).transform(queries)
    assert_array_equal(rows_of(found)[0], rows_of(expected)[0])
    assert_allclose(found.data, expected.data, atol=1e-7)  # roots of differences of about 1e-14


@pytest.mark.parametrize("is_sparse", [False, True])
def test_every_row_is_its_own_first_neighbor_even_among_equal_rows(shares, is_sparse):
    X = np.repeat(shares[:10], 8, axis=0)
    indices, distances = rows_of(KernelNeighbors(n_neighbors=3).fit_transform(sparse.csr_array(X) if is_sparse else X))
    assert_array_equal(indices[:, 0], np.arange(80))
    assert (distances[:, 0] == 0).all()
    assert all(len(set(row)) == 4 for row in indices.tolist())
    assert (np.diff(distances, axis=1) >= 0).all()


def test_without_distances_the_row_itself_is_left_out(shares):
    graph = KernelNeighbors(n_neighbors=3, mode="connectivity", exact=True).fit_transform(shares)
    indices, values = rows_of(graph)
    assert indices.shape == (120, 3)
    assert (values == 1).all()
    assert not (indices == np.arange(120)[:, None]).any()
    with_self = KernelNeighbors(n_neighbors=3, exact=True).fit_transform(shares)
    assert_array_equal(indices, rows_of(with_self)[0][:, 1:])


def test_blocks_do_not_change_the_graph(shares, monkeypatch):
    whole = KernelNeighbors(n_neighbors=3, exact=True).fit_transform(shares)
    monkeypatch.setattr("mercer.search.neighbors.BLOCK_ROWS", 17)
    parts = KernelNeighbors(n_neighbors=3, exact=True).fit_transform(shares)
    assert_array_equal(whole.indices, parts.indices)
    assert_array_equal(whole.data, parts.data)


def test_rows_that_share_nothing_still_have_as_many_neighbors():
    # scanpy reads the graph as an array of equally long rows
    X = sparse.csr_array(np.eye(12, 20))
    graph = KernelNeighbors("jensen-shannon", n_neighbors=4).fit_transform(X)
    assert_array_equal(np.diff(graph.indptr), 5)
    assert_allclose(rows_of(graph)[1][:, 1:], np.sqrt(2))


def test_it_takes_its_place_in_pipelines(shares):
    y = shares.argmax(axis=1)
    learner = make_pipeline(KernelNeighbors(n_neighbors=5), KNeighborsClassifier(5, metric="precomputed"))
    assert learner.fit(shares[:100], y[:100]).score(shares[100:], y[100:]) > 0.5  # by chance 0.17
    plane = make_pipeline(KernelNeighbors(n_neighbors=10), Isomap(n_neighbors=10, metric="precomputed"))
    assert plane.fit_transform(shares).shape == (120, 2)
    groups = make_pipeline(KernelNeighbors(n_neighbors=10), DBSCAN(eps=0.3, metric="precomputed"))
    assert len(groups.fit_predict(shares)) == 120


def test_more_neighbors_than_rows_are_refused(shares):
    with pytest.raises(InputError, match="`n_neighbors` must be less than the number of rows in fit; got 10 for 10"):
        KernelNeighbors(n_neighbors=10).fit_transform(shares[:10])
