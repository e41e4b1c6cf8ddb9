"""The graph of nearest neighbors."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.neighbors import KNeighborsTransformer

from mercer import Chi2, InputError, KernelIndex, KernelNeighbors
from mercer.search.neighbors.pairs import AllRows


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


def test_with_ones_the_row_itself_is_one_of_the_neighbors_as_in_scikit_learn(shares):
    found = KernelNeighbors(n_neighbors=3, mode="connectivity", exact=True).fit_transform(shares)
    rival = KNeighborsTransformer(n_neighbors=3, mode="connectivity", metric="precomputed")
    assert_array_equal(found.toarray(), rival.fit_transform(distances_of(shares, shares)).toarray())
    assert (found.diagonal() == 1).all()


@pytest.mark.parametrize("mode", ["distance", "connectivity"])
def test_asked_without_rows_it_leaves_every_row_out_of_its_own_neighbors(shares, mode):
    X = np.concatenate([shares, np.repeat(shares[:3], 9, axis=0)])
    found = KernelNeighbors(n_neighbors=4, exact=True).fit(X)
    rival = KNeighborsTransformer(n_neighbors=4, metric="precomputed").fit(distances_of(X, X))
    graph, expected = found.kneighbors_graph(mode=mode), rival.kneighbors_graph(mode=mode)
    assert_array_equal(np.diff(graph.indptr), 4)
    assert_allclose(graph.data, expected.data, atol=1e-7)
    assert not (rows_of(graph)[0] == np.arange(len(X))[:, None]).any()
    distances, indices = found.kneighbors(n_neighbors=2)
    assert_array_equal(indices, rows_of(graph)[0][:, :2])
    assert_array_equal(indices, found.kneighbors(n_neighbors=2, return_distance=False))
    assert distances.shape == (len(X), 2)


def test_too_few_candidates_are_made_up_for_by_comparing_all_rows(shares):
    class Forgetful(KernelIndex):
        """Of every third query, all but one are lost, unless it is asked for the truth."""

        def search(self, Q, k=10, *, exact=False, **how):
            ids, values = super().search(Q, k, exact=exact, **how)
            if not exact:
                ids[::3, 1:], values[::3, 1:] = -1, np.inf
            return ids, values

    index = Forgetful("chi2", measure="distance", bytes_per_item=2, effort="low", random_state=0).fit(shares)
    numbers, distances = AllRows(index.add(shares), "the test").nearest(5)
    assert np.isfinite(distances).all()
    assert all(len({i, *row}) == 6 for i, row in enumerate(numbers.tolist()))


def test_blocks_do_not_change_the_graph(shares, monkeypatch):
    whole = KernelNeighbors(n_neighbors=3, exact=True).fit_transform(shares)
    monkeypatch.setattr("mercer.search.neighbors.pairs.BLOCK_ROWS", 17)
    parts = KernelNeighbors(n_neighbors=3, exact=True).fit_transform(shares)
    assert_array_equal(whole.indices, parts.indices)
    assert_array_equal(whole.data, parts.data)


def test_rows_that_share_nothing_still_have_as_many_neighbors():
    # scanpy reads the graph as an array of equally long rows
    X = sparse.csr_array(np.eye(12, 20))
    graph = KernelNeighbors("jensen-shannon", n_neighbors=4).fit_transform(X)
    assert_array_equal(np.diff(graph.indptr), 5)
    assert_allclose(rows_of(graph)[1][:, 1:], np.sqrt(2))


def test_more_neighbors_than_rows_are_refused(shares):
    for ask in (
        lambda: KernelNeighbors(n_neighbors=10).fit_transform(shares[:10]),
        lambda: KernelNeighbors().fit(shares[:10]).kneighbors(n_neighbors=10),
    ):
        with pytest.raises(InputError, match="at most 9 neighbors among 10 rows of fit; got 10"):
            ask()
    with pytest.raises(InputError, match="at most 10 neighbors among 10 rows of fit; got 11"):
        KernelNeighbors(n_neighbors=10).fit(shares[:10]).transform(shares[10:])
    with pytest.raises(InputError, match="`n_neighbors` must be"):
        KernelNeighbors(n_neighbors=2).fit(shares).kneighbors(n_neighbors=0)


def test_named_columns_are_asked_by_their_names(shares):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(shares, columns=list("abcdef"))
    neighbors = KernelNeighbors(n_neighbors=3, exact=True).fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph = neighbors.fit_transform(frame)
        assert_array_equal(neighbors.transform(frame).indices, graph.indices)
    assert_array_equal(KernelNeighbors(n_neighbors=3, exact=True).fit_transform(shares).toarray(), graph.toarray())
