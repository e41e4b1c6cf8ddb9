"""KernelNeighbors: the nearest rows of every row under a kernel, as the sparse graph that scikit-learn's tools take.

d(x, y) = sqrt(K(x, x) + K(y, y) - 2 K(x, y)), of the normalized kernel unless ``normalize=False``.
"""

__all__ = ["KernelNeighbors"]

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from mercer._base.errors import InputError
from mercer._base.parameters import check_parameters, named
from mercer._base.parameters.search import KERNEL_NEIGHBORS
from mercer._base.progress import told, track
from mercer.kernels import TakesKernel, get_kernel, needs_non_negative
from mercer.search.index import KernelIndex
from mercer.search.neighbors.pairs import BLOCK_ROWS, AllRows, asked


class KernelNeighbors(TakesKernel, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Transform rows into their nearest-neighbor graph under a kernel.

    Follows the contract of scikit-learn's KNeighborsTransformer, so that it works in pipelines with
    ``metric="precomputed"``: manifold learning, clustering, neighbors-based learners, UMAP, and scanpy's
    ``sc.pp.neighbors(transformer=...)``. Use histogram kernels with counts or shares, not with signed PCA scores. Rows
    are processed in blocks, so memory grows with their number, not with its square.

    Parameters
    ----------
    kernel : str or Kernel
        Kernel that compares rows.
    n_neighbors : int
        Number of neighbors of each row, including the row itself for the rows of `fit`. With ``mode="distance"`` there
        is one more, as in KNeighborsTransformer.
    mode : {"distance", "connectivity"}
        Entries of the graph: distances, or ones.
    exact : bool
        Guarantee the neighbors that brute force finds among the stored float32 rows. Sparse rows are always searched
        exactly if inverted lists support the kernel.
    normalize : bool
        Compare by K(x, y) / sqrt(K(x, x) K(y, y)).
    random_state : int, RandomState or None
    n_jobs : int or None
    verbose : int
        If greater than 0, show progress on standard error.

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
        """Store the rows to search among. ``y`` is ignored."""
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
        """Compute the neighbor graph of rows X among the rows of `fit`.

        Returns
        -------
        CSR matrix of shape (n, n_samples_fit_), with the same number of entries in each row, nearest first; zeros are
        stored
        """
        return self.kneighbors_graph(X, self.n_neighbors + (self.mode == "distance"), self.mode)

    def fit_transform(self, X, y=None):
        """Compute the graph of all rows. Each row is its own first neighbor, even if other rows equal it."""
        self.fit(X)
        with_others = self.n_neighbors + (self.mode == "distance")
        if with_others == 1:
            numbers, distances = np.empty((self.n_samples_fit_, 0), dtype=np.int64), np.empty((self.n_samples_fit_, 0))
        else:
            distances, numbers = self.kneighbors(None, with_others - 1)
        own = np.arange(self.n_samples_fit_)[:, None]
        return self._graph(np.hstack([own, numbers]), np.hstack([np.zeros(own.shape), distances]), self.mode)

    def kneighbors(self, X=None, n_neighbors=None, return_distance=True):
        """Find the nearest rows of `fit` for each row, nearest first.

        Parameters
        ----------
        X : rows, or None
            None uses the rows of `fit`; no row is then its own neighbor.
        n_neighbors : int or None
            None uses that of the estimator.
        return_distance : bool

        Returns
        -------
        distances : float64 array of shape (n, n_neighbors), if ``return_distance``
        indices : int64 array of shape (n, n_neighbors)
        """
        check_is_fitted(self)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        named(KERNEL_NEIGHBORS)["n_neighbors"].check(k, "KernelNeighbors")
        self._check_enough(k, self.n_samples_fit_ - (X is None))
        with told(self.verbose):
            numbers, distances = self._of_rows(k) if X is None else self._of_others(X, k)
        return (distances, numbers) if return_distance else numbers

    def kneighbors_graph(self, X=None, n_neighbors=None, mode="connectivity"):
        """Return the neighbors as a CSR matrix of distances or ones, nearest first in every row."""
        named(KERNEL_NEIGHBORS)["mode"].check(mode, "KernelNeighbors")
        distances, numbers = self.kneighbors(X, n_neighbors)
        return self._graph(numbers, distances, mode)

    def _of_rows(self, k):
        return AllRows(self.index_, "KernelNeighbors", self.exact).nearest(k)

    def _of_others(self, X, k):
        """(numbers, distances) of the nearest rows of others, block by block."""
        is_frame = hasattr(X, "iloc")  # asked as it is: its columns have names
        X = X.iloc if is_frame else self.index_.model_.validated(X)
        n = len(X.obj) if is_frame else X.shape[0]
        numbers, distances = np.empty((n, k), dtype=np.int64), np.empty((n, k))
        for start in track(range(0, n, BLOCK_ROWS), "Neighbors"):
            part = slice(start, start + BLOCK_ROWS)
            numbers[part], distances[part] = asked(self.index_, X[part], k, exact=self.exact)
        return numbers, distances

    def _check_enough(self, k, most):
        if k > most:
            raise InputError(
                f"KernelNeighbors can find at most {most} neighbors among {self.n_samples_fit_} rows of fit; got {k}. "
                'With mode="distance", a row counts as its own neighbor.'
            )

    def _graph(self, numbers, distances, mode):
        """CSR of equally long rows. Indices are int32, as long as that holds them: half the memory."""
        n, k = numbers.shape
        kind = np.int32 if max(n * k, self.n_samples_fit_) < 2**31 else np.int64
        starts = np.arange(n + 1, dtype=kind) * k
        values = np.ones(n * k) if mode == "connectivity" else distances.ravel()
        return sparse.csr_matrix((values, numbers.ravel().astype(kind), starts), shape=(n, self.n_samples_fit_))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = needs_non_negative(lambda: get_kernel(self.kernel))
        return tags
