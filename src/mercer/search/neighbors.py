"""KernelNeighbors: the nearest rows of every row under a kernel, as the sparse graph that scikit-learn's tools take.

d(x, y) = sqrt(K(x, x) + K(y, y) - 2 K(x, y)), of the normalized kernel unless ``normalize=False``. Rows are asked in
blocks of a fixed size, so memory grows with the number of rows and not with its square.
"""

__all__ = ["KernelNeighbors"]

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer._base.errors import InputError
from mercer._base.parameters import check_parameters
from mercer._base.parameters.search import KERNEL_NEIGHBORS
from mercer._base.progress import told, track
from mercer.kernels import get_kernel, needs_non_negative
from mercer.search.index import KernelIndex

BLOCK_ROWS = 4096  # rows that are asked at once


class KernelNeighbors(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Transform rows into the graph of their nearest neighbors under a kernel.

    Follows the contract of scikit-learn's KNeighborsTransformer, so that it takes its place in pipelines with
    ``metric="precomputed"``: manifold learning, clustering, neighbors-based learners, UMAP, and scanpy's
    ``sc.pp.neighbors(transformer=...)``. Give histogram kernels counts or shares, not signed PCA scores.

    Parameters
    ----------
    kernel : str or Kernel
        What rows are compared by.
    n_neighbors : int
        Neighbors of each row. With ``mode="distance"`` every row also lists one more, which is the row itself when the
        rows are those of `fit`.
    mode : {"distance", "connectivity"}
        Whether the graph holds distances or ones.
    exact : bool
        Whether neighbors are proven to be those that brute force finds among the rows as they are kept, in float32.
        Sparse rows are always searched exactly where inverted lists serve the kernel.
    normalize : bool
        Compare by K(x, y) / sqrt(K(x, x) K(y, y)).
    random_state : int, RandomState or None
    n_jobs : int or None
    verbose : int
        Above 0, show progress on the standard error.

    Attributes
    ----------
    index_ : KernelIndex
        The rows of `fit`, numbered from 0.
    n_samples_fit_ : int

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).dirichlet(np.ones(8), size=50)
    >>> graph = KernelNeighbors("chi2", n_neighbors=3).fit_transform(X)
    >>> graph.shape, graph.nnz
    ((50, 50), 200)
    >>> graph.indices[:1], graph.data[:1]  # a row is its own first neighbor
    (array([0], dtype=int32), array([0.]))
    """

    _table = KERNEL_NEIGHBORS

    def __init__(
        self,
        kernel="chi2",
        *,
        n_neighbors=15,
        mode="distance",
        exact=False,
        normalize=True,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.mode = mode
        self.exact = exact
        self.normalize = normalize
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X, y=None):
        """Keep the rows among which neighbors are looked for. ``y`` is ignored."""
        check_parameters(self, KERNEL_NEIGHBORS, "KernelNeighbors")
        shared = {name: getattr(self, name) for name in ("normalize", "random_state", "n_jobs", "verbose")}
        index = KernelIndex(self.kernel, measure="distance", **shared).fit(X)
        self.index_ = index.add(X)
        self.n_samples_fit_ = self._n_features_out = len(index)
        self.n_features_in_ = index.n_features_in_
        if hasattr(index, "feature_names_in_"):
            self.feature_names_in_ = index.feature_names_in_
        return self

    def transform(self, X):
        """The graph of the neighbors of rows X among the rows of `fit`.

        Returns
        -------
        CSR matrix of shape (n, n_samples_fit_), with the same number of entries in each row, nearest first; zeros are
        stored
        """
        check_is_fitted(self)
        return self._graph(X, is_own=False)

    def fit_transform(self, X, y=None):
        """The graph of all rows, in which every row is its own first neighbor, even among equal rows."""
        self.fit(X)
        return self._graph(X, is_own=True)

    def _graph(self, X, is_own):
        k = self.n_neighbors + (self.mode == "distance")
        wanted = k + (is_own and self.mode == "connectivity")  # the row itself is found as well, and left out
        if wanted > self.n_samples_fit_:
            raise InputError(
                f"KernelNeighbors: `n_neighbors` must be less than the number of rows in fit; got {self.n_neighbors} "
                f"for {self.n_samples_fit_} rows."
            )
        is_frame = hasattr(X, "iloc")  # asked as it is: its columns have names
        X = X.iloc if is_frame else self.index_.model_.validated(X)
        n = len(X.obj) if is_frame else X.shape[0]
        exact = "stored" if self.exact else False
        indices, data = [np.empty((0, k), dtype=np.int32)], [np.empty((0, k))]
        with told(self.verbose):
            for start in track(range(0, n, BLOCK_ROWS), "Neighbors"):
                ids, distances = self.index_.search(X[start : start + BLOCK_ROWS], wanted, exact=exact)
                if is_own:
                    ids, distances = _self_first(ids, distances, np.arange(start, start + len(ids)))
                indices.append(ids[:, wanted - k :].astype(np.int32))
                data.append(distances[:, wanted - k :])
        values = np.concatenate(data)
        if self.mode == "connectivity":
            values = np.ones_like(values)
        starts = np.arange(len(values) + 1) * k
        shape = len(values), self.n_samples_fit_
        return sparse.csr_matrix((values.ravel(), np.concatenate(indices).ravel(), starts), shape=shape)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = needs_non_negative(lambda: get_kernel(self.kernel))
        return tags


def _self_first(ids, distances, own):
    """Neighbors with the row itself in front, at distance 0; where it was not found, the farthest makes room."""
    found = ids == own[:, None]
    at = np.where(found.any(axis=1), found.argmax(axis=1), ids.shape[1] - 1)[:, None]
    columns = np.arange(ids.shape[1])
    source = np.where(columns <= at, np.maximum(columns - 1, 0), columns)
    ids, distances = np.take_along_axis(ids, source, axis=1), np.take_along_axis(distances, source, axis=1)
    ids[:, 0], distances[:, 0] = own, 0.0
    return ids, distances
