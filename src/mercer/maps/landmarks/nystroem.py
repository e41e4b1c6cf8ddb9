"""The Nystroem map: features that reproduce a kernel exactly on landmarks, for any kernel. [williams01using]

    phi(x) = S^-1/2 U' K(Z, x)         with K_ZZ = U S U' of the landmarks Z, eigenvalues descending
    phi(x)' phi(y) = K(x, Z) K_ZZ^+ K(Z, y)

K_ZZ^+ is never formed: eigenvalues at the level of rounding are left out.

With thousands of landmarks the eigenvectors would take longer than learning. A triangular factor takes their place,

    phi(x) = L^-1 K(Z, x)              with K_ZZ + jitter I = L L'

made when it is first needed; and a learner is not given phi(x) but K(x, Z), computed in every pass over the rows, with
the inner product (K_ZZ + jitter I)^-1: the same factor space, and no n x M matrix.
"""

__all__ = ["NystroemMap"]

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._base.cholesky import solve_lower
from mercer._base.files.loaded import check_kind, check_matrix
from mercer._base.parameters import keep_arguments
from mercer._base.parameters.maps import NYSTROEM
from mercer.kernels import Kernel
from mercer.maps.landmarks.base import LandmarkMap, fit_landmarks, landmark_blocks, orthonormal_functions
from mercer.maps.landmarks.choice import check_rule, given_landmarks
from mercer.maps.landmarks.per_dimension import fit_tables
from mercer.maps.tables import TablePredictor, check_tables, encode_by_tables, fold_tables
from mercer.spaces import Identity, LandmarkPredictor
from mercer.spaces.landmarks.inner import LandmarkProduct
from mercer.spaces.landmarks.rows import LandmarkRows, Landmarks

LANDMARKS = 512
MOST_EIGENVECTORS = 2048  # of landmarks; with more, a triangular factor
LANDMARKS_PER_DIMENSION = 64
COMPONENTS_PER_DIMENSION = 3


class NystroemMap(LandmarkMap):
    """Features based on landmarks, for any kernel; or on tables per column, for additive kernels.

    Parameters
    ----------
    kernel : str or Kernel
        Kernel to approximate.
    n_components : int or None
        Number of features to keep, those of the largest eigenvalues of the landmarks' Gram matrix; None keeps all above
        rounding errors. With ``per_dimension``, the number of features per column; None uses 3.
    n_landmarks : int or None
        Number of landmarks that every row is compared with; more landmarks are closer to the kernel and slower. None
        uses 512. If there are fewer training rows, all of them are used. With ``per_dimension``, the number of values
        that represent a column; None uses 64.
    landmarks : {"rpcholesky", "kmeans++", "uniform"}, array of integers, or rows
        How landmarks are chosen: by randomly pivoted Cholesky [chen22randomly], by k-means++ seeding in feature space,
        or as a uniform sample; or row numbers of X; or the landmarks themselves, as an array or a sparse matrix. With
        ``per_dimension``, each rule uses quantiles of the nonzero values of each column.
    per_dimension : bool
        For additive kernels only: compute eigenfunctions of the kernel on single values, one set per column, tabulated
        and interpolated ([perronnin10large]). The cost per value does not depend on the number of landmarks, zero maps
        to zero, and CSR stays CSR. Values beyond twice the largest training value of a column are clipped to it, with a
        warning.
    max_candidates : int or None
        Maximum number of rows to choose landmarks from, a uniform sample of X. None uses as many as fit in 256 MiB of
        working memory: 65,536 rows for 512 landmarks.
    random_state : int, RandomState or None
    n_jobs : int or None

    Attributes
    ----------
    landmarks_ : ndarray or csr_array of shape (n_landmarks, n_features)
        The landmarks in the order in which they were chosen; fewer than requested if these already represent all rows.
    landmark_indices_ : ndarray or None
        Their positions in X; None if the landmarks were given as rows.
    normalization_ : ndarray of shape (n_landmarks, n_components)
        phi(x) is ``normalization_.T @ K(landmarks_, x)``. None if more than 2,048 landmarks are kept with all their
        components: phi(x) is then ``L^-1 K(landmarks_, x)``, with a Cholesky factor L that is computed when needed.
    eigenvalues_ : ndarray of shape (n_components,)
        Of the landmarks' Gram matrix; None as above.
    points_, tables_ : ndarrays of shape (n_features, T) and (sides, n_features, T, n_components)
        With ``per_dimension``: eigenfunctions of each column at T points; the second side is for negative values. The
        attributes above are None in that case; otherwise, these are None.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).dirichlet(np.ones(8), size=300)
    >>> nystroem = NystroemMap("chi2", n_landmarks=50, random_state=0).fit(X)
    >>> Z = nystroem.landmarks_
    >>> np.allclose(nystroem.approximate_kernel(Z, X), nystroem.kernel_(Z, X))
    True
    >>> NystroemMap("chi2", per_dimension=True).fit_transform(X).shape
    (300, 24)
    """

    _table = NYSTROEM

    def __init__(
        self,
        kernel="chi2",
        n_components=None,
        n_landmarks=None,
        landmarks="rpcholesky",
        per_dimension=False,
        max_candidates=None,
        random_state=None,
        n_jobs=None,
    ):
        keep_arguments(self, locals())

    def fit(self, X, y=None):
        """Choose the landmarks, or the landmarks of each column, from X. ``y`` is ignored."""
        X = self._checked(X, reset=True)
        self._fit_columns(X) if self.per_dimension else self._fit_rows(X)
        self.inner_ = Identity(self._n_features_out)
        return self

    def fold(self, v):
        """The predictor x -> phi(x)' v on raw input: coefficients of landmarks, or one function per column."""
        check_is_fitted(self)
        if self.has_many_landmarks:
            return self.fold_kept(self._product.lift(self._checked_weights(v)))
        if self.tables_ is None:
            return super().fold(v)
        return TablePredictor(self.points_, fold_tables(self.tables_, self._checked_weights(v)))

    def rows_to_learn(self, X, is_validated=False):
        if not self.has_many_landmarks:
            return super().rows_to_learn(X, is_validated)
        X = self.admit(X, fitting=False) if is_validated else self._checked(X, reset=False)
        return LandmarkRows(X, self._landmarks), self.inner_to_learn

    @property
    def inner_to_learn(self):
        return self._product if self.has_many_landmarks else self.inner_

    def kept_weights(self, u):
        """Coefficients of landmarks where these are many: a model that is loaded then needs no factor of K_ZZ."""
        return self._product.lift(u) if self.has_many_landmarks else u

    def fold_kept(self, kept):
        return (
            LandmarkPredictor(self.kernel_, self.landmarks_, kept)
            if self.has_many_landmarks
            else super().fold_kept(kept)
        )

    @property
    def has_many_landmarks(self):
        """Whether a triangular factor takes the place of eigenvectors."""
        return self.tables_ is None and self.normalization_ is None

    @property
    def _landmarks(self):
        return self._made("_compared", lambda: Landmarks.of(self.kernel_, self.landmarks_))

    @property
    def _product(self):
        return self._made("_triangular", lambda: LandmarkProduct(self.kernel_, self.landmarks_))

    def _made(self, name, make):
        """What follows from the landmarks, made once for them."""
        kept = getattr(self, name, None)
        if kept is None or kept[0] is not self.landmarks_:
            kept = self.landmarks_, make()
            setattr(self, name, kept)
        return kept[1]

    @property
    def _n_features_out(self):
        if self.has_many_landmarks:
            return self.landmarks_.shape[0]
        if self.tables_ is None:
            return super()._n_features_out
        return self.tables_.shape[1] * self.tables_.shape[3]

    @property
    def _features_per_column(self):
        return None if self.has_many_landmarks or self.tables_ is None else self.tables_.shape[3]

    def encode_rows(self, X):
        if self.has_many_landmarks:
            return self._encode_many(X)
        if self.tables_ is None:
            return super().encode_rows(X)
        return encode_by_tables(X, self.points_, self.tables_, self.n_jobs)

    def _fit_rows(self, X):
        """Landmarks that are rows, and the functions that they span."""
        fit_landmarks(self, X, LANDMARKS if self.n_landmarks is None else self.n_landmarks)
        self.points_ = self.tables_ = None
        if self.n_components is None and self.landmarks_.shape[0] > MOST_EIGENVECTORS:
            self.eigenvalues_ = self.normalization_ = None
            return
        values, functions = orthonormal_functions(self.kernel_, self.landmarks_, self.n_jobs)
        self.eigenvalues_ = values[: self.n_components]
        self.normalization_ = functions[:, : self.n_components].copy()

    def _encode_many(self, X):
        """L^-1 K(Z, x) of each row."""
        out = np.empty((X.shape[0], self._n_features_out), dtype=X.dtype)
        L = self._product.factor

        def project(rows, kernel_values):
            out[rows] = solve_lower(L, kernel_values.T).T

        landmark_blocks(project, self.kernel_, X, self.landmarks_, self.n_jobs)
        return out

    def _fit_columns(self, X):
        """Landmarks that are values of a column, and their eigenfunctions as tables."""
        who = "NystroemMap(per_dimension=True)"
        n_components = COMPONENTS_PER_DIMENSION if self.n_components is None else self.n_components
        n_landmarks = LANDMARKS_PER_DIMENSION if self.n_landmarks is None else self.n_landmarks
        self.kernel_ = self.resolved_kernel()
        is_rule = check_rule(self.landmarks, who)
        self.points_, self.tables_ = fit_tables(
            self.kernel_,
            X,
            n_components,
            n_landmarks,
            given=None if is_rule else given_landmarks(self.kernel_, X, self.landmarks, who)[0],
            random_state=check_random_state(self.random_state),
            n_jobs=self.n_jobs,
        )
        self.landmarks_ = self.landmark_indices_ = self.normalization_ = self.eigenvalues_ = None

    def _check_loaded(self):
        if getattr(self, "tables_", None) is None:
            self._check_many() if getattr(self, "normalization_", ()) is None else super()._check_loaded()
            return
        check_tables(self.points_, self.tables_, self.n_features_in_)
        if check_kind(self, "inner_", Identity).n_features != self._n_features_out:
            raise ValueError("tables_ and inner_ are inconsistent.")
        check_kind(self, "kernel_", Kernel)

    def _check_many(self):
        kernel = check_kind(self, "kernel_", Kernel)
        Z = check_matrix(self, "landmarks_", shape=(None, self.n_features_in_))
        if check_kind(self, "inner_", Identity).n_features != Z.shape[0] or not Z.shape[0]:
            raise ValueError("landmarks_ and inner_ are inconsistent.")
        kernel.check_values(Z, "landmarks_")
