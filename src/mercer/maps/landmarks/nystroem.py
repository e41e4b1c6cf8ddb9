"""The Nystroem map: features that reproduce a kernel exactly on landmarks, for any kernel. [williams01using]

    phi(x) = S^-1/2 U' K(Z, x)         with K_ZZ = U S U' of the landmarks Z, eigenvalues descending
    phi(x)' phi(y) = K(x, Z) K_ZZ^+ K(Z, y)

K_ZZ^+ is never formed: eigenvalues at the level of rounding are left out.
"""

__all__ = ["NystroemMap"]

from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._base.files.loaded import check_kind
from mercer.kernels import Kernel
from mercer.maps.landmarks.base import LandmarkMap, orthonormal_functions
from mercer.maps.landmarks.choice import check_count, check_rule, given_landmarks
from mercer.maps.landmarks.per_dimension import fit_tables
from mercer.maps.tables import TablePredictor, check_tables, encode_by_tables, fold_tables
from mercer.spaces import Identity

LANDMARKS = 512
LANDMARKS_PER_DIMENSION = 64
COMPONENTS_PER_DIMENSION = 3


class NystroemMap(LandmarkMap):
    """Features through landmarks, for any kernel; or column by column through tables, for additive kernels.

    Parameters
    ----------
    kernel : str or Kernel
        What to approximate.
    n_components : int or None
        Features to keep, those of the largest eigenvalues of the landmarks' Gram matrix; None keeps all that are above
        rounding. With ``per_dimension``, features per column; None means 3.
    n_landmarks : int or None
        Rows that every row is compared with; None means 512. All training rows are taken when there are no more than
        that. With ``per_dimension``, values that represent a column; None means 64.
    landmarks : {"rpcholesky", "kmeans++", "uniform"}, array of integers, or rows
        How landmarks are found: by randomly pivoted Cholesky [chen22randomly], by k-means++ seeding in feature space,
        as a uniform sample; or row numbers of X; or the landmarks themselves, as an array or a sparse matrix. With
        ``per_dimension``, a rule means quantiles of the non-zero values of each column.
    per_dimension : bool
        Additive kernels only: eigenfunctions of the kernel on single values, one set per column, tabulated and
        interpolated ([perronnin10large]). A value costs the same whatever the number of landmarks, zero maps to zero,
        and CSR stays CSR. Values beyond twice the largest training value of a column are encoded as that, with a
        warning.
    max_candidates : int or None
        Rows among which landmarks are looked for, a uniform sample of X. None: as many as 256 MiB of working memory
        allow, 65,536 rows for 512 landmarks.
    random_state : int, RandomState or None
    n_jobs : int or None

    Attributes
    ----------
    landmarks_ : ndarray or csr_array of shape (n_landmarks, n_features)
        In the order in which they were chosen. Fewer than asked for if these already represent all rows.
    landmark_indices_ : ndarray or None
        Their positions in X; None if the rows were given.
    normalization_ : ndarray of shape (n_landmarks, n_components)
        phi(x) is ``normalization_.T @ K(landmarks_, x)``.
    eigenvalues_ : ndarray of shape (n_components,)
        Of the landmarks' Gram matrix.
    points_, tables_ : ndarrays of shape (n_features, T) and (sides, n_features, T, n_components)
        With ``per_dimension``: eigenfunctions of each column at T points; the second side is for negative values. The
        attributes above are then None, otherwise these are.

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
        self.kernel = kernel
        self.n_components = n_components
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.per_dimension = per_dimension
        self.max_candidates = max_candidates
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y=None):
        """Choose landmarks (or the landmarks of each column) from X. ``y`` is ignored."""
        X = self._checked(X, reset=True)
        self._fit_columns(X) if self.per_dimension else self._fit_rows(X)
        self.inner_ = Identity(self._n_features_out)
        return self

    def fold(self, v):
        """The predictor x -> phi(x)' v on raw input: coefficients of landmarks, or one function per column."""
        check_is_fitted(self)
        if self.tables_ is None:
            return super().fold(v)
        return TablePredictor(self.points_, fold_tables(self.tables_, self._checked_weights(v)))

    @property
    def _n_features_out(self):
        if self.tables_ is None:
            return super()._n_features_out
        return self.tables_.shape[1] * self.tables_.shape[3]

    def encode_rows(self, X):
        if self.tables_ is None:
            return super().encode_rows(X)
        return encode_by_tables(X, self.points_, self.tables_, self.n_jobs)

    def _fit_rows(self, X):
        """Landmarks that are rows, and the functions that they span."""
        self._fit_landmarks(X, LANDMARKS if self.n_landmarks is None else self.n_landmarks)
        values, functions = orthonormal_functions(self.kernel_, self.landmarks_, self.n_jobs)
        self.eigenvalues_ = values[: self.n_components]
        self.normalization_ = functions[:, : self.n_components].copy()
        self.points_ = self.tables_ = None

    def _fit_columns(self, X):
        """Landmarks that are values of a column, and their eigenfunctions as tables."""
        who = "NystroemMap(per_dimension=True)"
        n_components = COMPONENTS_PER_DIMENSION if self.n_components is None else self.n_components
        n_landmarks = LANDMARKS_PER_DIMENSION if self.n_landmarks is None else self.n_landmarks
        check_count(n_components, "n_components", who)
        check_count(n_landmarks, "n_landmarks", who)
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
            super()._check_loaded()
            return
        check_tables(self.points_, self.tables_, self.n_features_in_)
        if check_kind(self, "inner_", Identity).n_features != self._n_features_out:
            raise ValueError("tables_ and inner_ do not fit together.")
        check_kind(self, "kernel_", Kernel)
