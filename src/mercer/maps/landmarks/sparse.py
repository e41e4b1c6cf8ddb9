"""Sparse features for any kernel: each row on a few of many landmarks. [vedaldi12sparse] Sec. 2.1

    phi(x) = argmin |Psi(x) - sum_i phi_i Psi(z_i)|^2   over phi with at most P non-zeros                (7)

Which landmarks may be non-zero is found greedily, from K(x, Z) and K_ZZ alone. Given them, S, the coefficients follow:

    phi_S = K_SS^+ K_Sx                                                                                  (5)

Notation
    paper    code             meaning                                       shape
    Z        landmarks_       representative points, dense or CSR           (M, d)
    P        n_nonzero        landmarks per row, at most
    K_ZZ     inner_           through a rank-revealing factor               (M, M)
Deviation from the paper: none. Coefficients are those of (5) for every method, also after matching pursuit and the
lasso, whose own coefficients are only used to choose.
"""

__all__ = ["SparseMap"]


import numpy as np
from scipy import sparse

from mercer._base.errors import InputError
from mercer._base.files.loaded import check_kind, check_matrix, checked_array
from mercer._base.parameters import keep_arguments
from mercer._base.parameters.maps import ALPHA, SPARSE
from mercer._base.validation import narrow
from mercer._native.kernels.selection import keep_best
from mercer._native.maps import pursuit as loops
from mercer.kernels import Kernel
from mercer.maps.base import FeatureMap
from mercer.maps.landmarks.base import fit_landmarks, landmark_blocks, landmark_gram
from mercer.spaces import Factor, InnerProduct

# What counts as rounding, by the type of the kernel values: squared distances of landmarks of norm 1 from the span of
# others, and inner products relative to the largest one.
TOLERANCE = {"f": 1e-6, "d": 1e-12}
STEPS_PER_ATOM = 4  # matching pursuit comes back to landmarks it has: steps before it ends, per landmark
LASSO_RATIO = 0.7  # of each penalty to the one before
LASSO_SWEEPS = 100  # per penalty, at most
LASSO_TOLERANCE = 1e-4  # coefficients only rank the landmarks: they need not be exact


class SparseMap(FeatureMap):
    """Sparse features for any kernel: at most ``n_nonzero`` of the landmarks represent each row.

    The features form a CSR matrix, one column per landmark, with the geometry ``inner_`` of the landmarks' Gram matrix:
    K(x, y) ~ phi(x)' K_ZZ phi(y). If ``n_nonzero`` equals the number of landmarks, this is the kernel of
    :class:`NystroemMap`; with a smaller ``n_nonzero``, a row takes less memory, and additional landmarks do not
    increase it.

    Parameters
    ----------
    kernel : str or Kernel
        Kernel to approximate.
    n_landmarks : int
        Number of landmarks to select from. If there are fewer training rows, all of them are used.
    n_nonzero : int
        Maximum number of landmarks per row.
    method : {"omp", "mp", "nearest", "lasso"}
        How the landmarks of each row are selected: by orthogonal matching pursuit, by matching pursuit, as the nearest
        landmarks in feature space, or as the largest coefficients of a lasso. For each method, the coefficients are
        those of the projection of the row on the span of its landmarks.
    landmarks : {"rpcholesky", "kmeans++", "uniform"}, array of integers, or rows
        How landmarks are chosen, as for :class:`NystroemMap`.
    alpha : float
        Smallest penalty that the lasso tries, relative to the penalty that makes every coefficient zero. Penalties
        decrease to it and stop once ``n_nonzero`` coefficients are nonzero.
    max_candidates : int or None
        Maximum number of rows to choose landmarks from, a uniform sample of X. None uses as many as fit in 256 MiB.
    random_state : int, RandomState or None
    n_jobs : int or None

    Attributes
    ----------
    landmarks_ : ndarray or csr_array of shape (n_landmarks, n_features)
        The landmarks; fewer than requested if these already represent all rows.
    landmark_indices_ : ndarray or None
        Their positions in X; None if the landmarks were given as rows.
    gram_ : ndarray of shape (n_landmarks, n_landmarks)
        K_ZZ, in float64.

    See Also
    --------
    SparseAdditiveMap : for additive kernels, without landmarks to compare with.
    NystroemMap : the dense projection on all landmarks.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).dirichlet(np.ones(8), size=300)
    >>> for n_nonzero in (1, 4, 16):
    ...     map = SparseMap("chi2", n_landmarks=100, n_nonzero=n_nonzero, random_state=0).fit(X)
    ...     print(map.transform(X).shape, round(map.residual(X).mean(), 2))
    (300, 100) 0.24
    (300, 100) 0.12
    (300, 100) 0.04
    """

    _any_range = True

    _table = SPARSE

    def __init__(
        self,
        kernel="chi2",
        n_landmarks=512,
        n_nonzero=8,
        method="omp",
        landmarks="rpcholesky",
        alpha=ALPHA,
        max_candidates=None,
        random_state=None,
        n_jobs=None,
    ):
        keep_arguments(self, locals())

    def fit(self, X, y=None):
        """Choose landmarks from X. ``y`` is ignored."""
        X = self._checked(X, reset=True)
        if self.method != "lasso" and self.alpha != ALPHA:
            raise InputError(
                f"SparseMap uses alpha only with method='lasso'; got alpha={self.alpha!r} with "
                f"method={self.method!r}. Remove alpha."
            )
        fit_landmarks(self, X, self.n_landmarks)
        self.gram_ = landmark_gram(self.kernel_, self.landmarks_, self.n_jobs)
        self.inner_ = Factor.of_gram(self.gram_)
        return self

    def residual(self, X):
        """r(x) = sqrt(K(x, x) - phi(x)' H phi(x)), the norm of what the features lose of each row, float64.

        It bounds the error of the kernel: |phi(x)' H phi(y) - K(x, y)| <= r(x) R(y) + r(y) R(x) + r(x) r(y), where
        R(x) = sqrt(phi(x)' H phi(x)).
        """
        X = self._checked(X, reset=False).astype(np.float64)
        _, _, energies = self._code(X)
        return np.sqrt(np.maximum(self.kernel_.diagonal(X) - energies, 0.0))

    @property
    def _n_features_out(self):
        return self.landmarks_.shape[0]

    def encode_rows(self, X):
        selected, coefficients, _ = self._code(X)
        return _as_csr(selected, coefficients.astype(X.dtype), self._n_features_out)

    def _code(self, X):
        """(landmarks, coefficients, squared norm of the projection) of each row, shapes (n, P), (n, P) and (n,)."""
        n, M = X.shape[0], self.landmarks_.shape[0]
        P = min(self.n_nonzero, M)
        selected, coefficients, energies = np.empty((n, P), dtype=np.int64), np.empty((n, P)), np.empty(n)
        norms = np.sqrt(np.maximum(np.diag(self.gram_), 0.0))
        inverse = np.divide(1.0, norms, out=np.zeros(M), where=norms > 0)
        gram = self.gram_ * inverse * inverse[:, None]
        select = getattr(self, f"_select_{self.method}")

        def code(rows, kernel_values):
            tolerance = TOLERANCE[kernel_values.dtype.char]
            cross = kernel_values * inverse  # float64
            if P < M:
                select(cross, gram, norms, tolerance, selected[rows])
            else:  # nothing to choose: the dense projection
                selected[rows] = np.arange(M)
            loops.solve_selected(cross, gram, tolerance, selected[rows], coefficients[rows], energies[rows])
            coefficients[rows] *= inverse[np.maximum(selected[rows], 0)]  # back to landmarks of their own norm

        landmark_blocks(code, self.kernel_, X, self.landmarks_, self.n_jobs)
        return selected, coefficients, energies

    def _select_omp(self, cross, gram, norms, tolerance, selected):
        loops.orthogonal_pursuit(cross, gram, tolerance, selected)

    def _select_mp(self, cross, gram, norms, tolerance, selected):
        loops.matching_pursuit(cross, gram, tolerance, STEPS_PER_ATOM * selected.shape[1], selected)

    def _select_lasso(self, cross, gram, norms, tolerance, selected):
        loops.lasso_pursuit(cross, gram, LASSO_TOLERANCE, float(self.alpha), LASSO_RATIO, LASSO_SWEEPS, selected)

    def _select_nearest(self, cross, gram, norms, tolerance, selected):
        # |Psi(x) - Psi(z)|^2 = K(x, x) - (2 K(x, z) - K(z, z))
        closeness = 2 * cross * norms - norms**2
        selected[:] = -1
        keep_best(closeness, 0, np.full(selected.shape, -np.inf), selected)

    def _check_loaded(self):
        if not hasattr(self, "landmarks_"):
            return
        self.check_parameters()
        kernel, inner = check_kind(self, "kernel_", Kernel), check_kind(self, "inner_", InnerProduct)
        Z = check_matrix(self, "landmarks_", shape=(inner.n_features, self.n_features_in_))
        if not Z.shape[0]:
            raise ValueError("landmarks_ must have at least one row.")
        checked_array(self, "gram_", "float64", shape=(Z.shape[0], Z.shape[0]))
        kernel.check_values(Z, "landmarks_")


def _as_csr(selected, coefficients, n_columns):
    """Rows of landmarks and coefficients as a canonical CSR matrix, without zeros."""
    order = np.argsort(selected, axis=1)
    selected = np.take_along_axis(selected, order, axis=1)
    coefficients = np.take_along_axis(coefficients, order, axis=1)
    kept = (selected >= 0) & (coefficients != 0)
    indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    features = narrow(sparse.csr_array((coefficients[kept], selected[kept], indptr), shape=(len(selected), n_columns)))
    features.has_canonical_format = True
    return features
