"""The graph in the hands of those that it is for: scikit-learn's estimators, UMAP and scanpy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.cluster import DBSCAN
from sklearn.manifold import TSNE, Isomap, SpectralEmbedding
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from mercer import KernelNeighbors


@pytest.fixture(scope="module")
def groups():
    """(counts, group): compositions around three centers, each row with a total of its own."""
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], 40)
    shares = np.stack([rng.dirichlet(30 * np.roll([8, 4, 2, 1, 1, 1], 2 * g) / 17 + 0.1) for g in group])
    return rng.poisson(shares * rng.uniform(200, 900, (120, 1))).astype(np.float32), group


def separates(points, group):
    """Whether most rows have a row of their own group nearest."""
    return KNeighborsClassifier(1).fit(points[::2], group[::2]).score(points[1::2], group[1::2]) > 0.9


@pytest.mark.parametrize("is_sparse", [False, True])
def test_manifolds_take_it_as_precomputed(groups, is_sparse):
    X, group = groups
    X = sparse.csr_array(X) if is_sparse else X
    for n_neighbors, manifold in [
        (60, Isomap(n_neighbors=60, metric="precomputed")),  # enough for one component
        (46, TSNE(metric="precomputed", init="random", perplexity=15, max_iter=300, random_state=0)),
        (60, SpectralEmbedding(affinity="precomputed_nearest_neighbors", n_neighbors=60, random_state=0)),
    ]:
        plane = make_pipeline(KernelNeighbors("bray-curtis", n_neighbors=n_neighbors), manifold)
        assert separates(plane.fit_transform(X), group)


def test_clusters_and_classes_take_it_as_precomputed(groups):
    X, group = groups
    found = make_pipeline(KernelNeighbors(n_neighbors=10), DBSCAN(eps=0.4, metric="precomputed")).fit_predict(X)
    assert adjusted_rand_score(group, found) > 0.8
    learner = make_pipeline(KernelNeighbors(n_neighbors=5), KNeighborsClassifier(5, metric="precomputed"))
    assert learner.fit(X[::2], group[::2]).score(X[1::2], group[1::2]) > 0.9


@pytest.mark.process  # umap is slow to import and to compile
def test_umap_takes_it_as_neighbors_that_are_known(groups):
    umap = pytest.importorskip("umap", reason="umap-learn is not installed")
    X, group = groups
    X = np.concatenate([X, np.repeat(X[:1], 20, axis=0)])  # equal rows: distances of 0, which must not get lost
    graph = KernelNeighbors("chi2", n_neighbors=14).fit_transform(X)
    known = graph.indices.reshape(len(X), 15), graph.data.reshape(len(X), 15)
    plane = umap.UMAP(n_neighbors=15, precomputed_knn=(*known, None), random_state=0, n_epochs=100)
    assert separates(plane.fit_transform(X)[:120], group)


@pytest.mark.process
@pytest.mark.parametrize("is_sparse", [False, True])
def test_scanpy_takes_it_as_a_transformer(groups, is_sparse):
    scanpy = pytest.importorskip("scanpy", reason="scanpy is not installed")
    X, group = groups
    X = np.concatenate([X, np.repeat(X[:1], 30, axis=0)])
    table = scanpy.AnnData(sparse.csr_matrix(X) if is_sparse else X)
    neighbors = KernelNeighbors("bray-curtis", n_neighbors=12)
    scanpy.pp.neighbors(table, n_neighbors=12, transformer=neighbors, use_rep="X")
    graph = neighbors.fit_transform(table.X)
    found = table.obsp["distances"]
    assert_allclose(found.toarray(), graph[:, :].toarray(), atol=1e-6)
    assert_array_equal(found.shape, (150, 150))
    scanpy.tl.diffmap(table, n_comps=5)
    assert separates(table.obsm["X_diffmap"][:120, 1:], group)
