"""Maps phi(x) = W' K(Z, x) + b through landmarks Z: what NystroemMap and KernelPCA share.

Notation
    symbol  code             meaning                                                    shape
    Z       landmarks_       landmarks, dense or CSR, in the type of the training rows  (M, d)
    W       normalization_   the columns are orthonormal functions: W' K_ZZ W = I       (M, E)
    b       offset_          minus the mean of the features, when they are centered      (E,)

The span of the landmarks in feature space is the same for every W, so phi(x) is an orthogonal projection and
K(x, x) - |phi(x)|^2 is never negative, up to rounding.
"""

__all__ = ["LandmarkMap", "fit_landmarks", "landmark_blocks", "landmark_gram", "orthonormal_functions"]

import warnings

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._base.errors import ApproximationWarning, InputError
from mercer._base.files.loaded import check_kind, check_matrix, checked_array
from mercer._base.linalg import positive_eigenpairs
from mercer._base.memory import row_chunks
from mercer._base.threads import run_blocks, single_threaded, thread_limit
from mercer._native.maps.projection import project_few
from mercer.kernels import Kernel
from mercer.maps.base import FeatureMap
from mercer.maps.landmarks.choice import choose_landmarks
from mercer.spaces import Identity, LandmarkPredictor
from mercer.spaces.landmarks.rows import Landmarks

BLOCK_ROWS = 1024  # rows per task: landmarks are packed anew for each task, which a thousand rows make negligible
BLOCK_VALUES = 2**21  # kernel values per task
FEW_ROWS = 16  # encoded on one thread, with landmarks that were prepared once
# Directions with an eigenvalue of K_ZZ below this share of the largest carry more rounding than signal: what rounding
# adds to phi(x)' phi(y) grows as its inverse. Measured on 2,000 SIFT landmarks with chi2 in float32, the error has its
# minimum between 1e-8 and 1e-9. In float64 the usual rule (None: M times the spacing) does.
RANK_TOLERANCE = {"f": 1e-9, "d": None}
NEGATIVE_SHARE = 1e-6  # of the trace: more negative eigenvalues than that are not rounding


class LandmarkMap(FeatureMap):
    """Shared by the maps that compare a row with landmarks and multiply by a matrix.

    A subclass defines ``fit``, which sets ``landmarks_``, ``normalization_`` and ``inner_``.
    """

    offset_ = None

    def fold(self, v):
        """The predictor x -> phi(x)' v on raw input: one coefficient per landmark (and class)."""
        check_is_fitted(self)
        if self.offset_ is not None:  # a constant term, which coefficients of landmarks cannot express
            return super().fold(v)
        return LandmarkPredictor(self.kernel_, self.landmarks_, self.normalization_ @ self._checked_weights(v))

    def _checked_weights(self, v):
        v = np.asarray(v, dtype=np.float64)
        if v.ndim not in (1, 2) or len(v) != self._n_features_out:
            D = self._n_features_out
            raise InputError(
                f"{type(self).__name__}.fold needs weights of shape ({D},) or ({D}, classes), got {v.shape}."
            )
        return v

    @property
    def _n_features_out(self):
        return self.normalization_.shape[1]

    def encode_rows(self, X):
        if X.shape[0] <= FEW_ROWS and isinstance(X, np.ndarray) and X.dtype == self.landmarks_.dtype:
            return self._encode_few(X)
        out = np.empty((X.shape[0], self._n_features_out), dtype=X.dtype)
        dtype = np.result_type(X.dtype, self.landmarks_.dtype)
        weights = self.normalization_.astype(dtype)
        offset = 0 if self.offset_ is None else self.offset_.astype(dtype)

        def project(rows, kernel_values):
            out[rows] = kernel_values @ weights + offset

        landmark_blocks(project, self.kernel_, X, self.landmarks_, self.n_jobs)
        return out

    def _encode_few(self, X):
        """The same of rows so few that preparing landmarks for them would take longer than all else: it is kept."""
        known = vars(self).get("_kept")
        if known is None or known[0].Z is not self.landmarks_ or known[1] is not self.normalization_:
            landmarks = Landmarks.of(self.kernel_, self.landmarks_, X.dtype)
            known = self._kept = landmarks, self.normalization_, self.normalization_.astype(X.dtype)
        values = np.zeros((len(X), self._n_features_out), dtype=X.dtype)
        project_few(known[0].compare(X), known[2], values)
        return values if self.offset_ is None else values + self.offset_.astype(X.dtype)

    def _check_loaded(self):
        if not hasattr(self, "normalization_"):
            return  # saved before it was fitted
        kernel, inner = check_kind(self, "kernel_", Kernel), check_kind(self, "inner_", Identity)
        Z = check_matrix(self, "landmarks_", shape=(None, self.n_features_in_))
        if not Z.shape[0]:
            raise ValueError("landmarks_ must have at least one row.")
        W = checked_array(self, "normalization_", "float64", shape=(Z.shape[0], inner.n_features))
        if self.offset_ is not None:
            checked_array(self, "offset_", "float64", shape=(W.shape[1],))
        kernel.check_values(Z, "landmarks_")


def fit_landmarks(fitted, X, n_landmarks):
    """Set ``kernel_``, ``landmarks_`` and ``landmark_indices_`` of a map; returns the generator for further draws."""
    random_state = check_random_state(fitted.random_state)
    fitted.kernel_ = fitted.fitted_kernel(X)
    fitted.landmarks_, fitted.landmark_indices_ = choose_landmarks(
        fitted.kernel_,
        X,
        fitted.landmarks,
        n_landmarks,
        random_state=random_state,
        max_candidates=fitted.max_candidates,
        n_jobs=fitted.n_jobs,
        who=type(fitted).__name__,
    )
    return random_state


def landmark_gram(kernel, landmarks, n_jobs):
    """K_ZZ in float64."""
    rows = landmarks.astype(np.float64)
    with thread_limit(n_jobs), single_threaded():
        return kernel.gram_block(rows, rows, None)


def landmark_blocks(function, kernel, X, landmarks, n_jobs):
    """Call ``function(rows, K(X[rows], landmarks))`` for fixed blocks of rows, on as many threads as ``n_jobs`` says.

    Each block runs with one BLAS thread, so that results do not depend on the number of threads.
    """
    most = max(1, min(BLOCK_ROWS, BLOCK_VALUES // landmarks.shape[0]))
    bytes_per_row = landmarks.shape[0] * np.result_type(X.dtype, landmarks.dtype).itemsize
    blocks = row_chunks(X.shape[0], bytes_per_row, most=most)
    with thread_limit(n_jobs), single_threaded():
        run_blocks(lambda rows: function(rows, kernel.gram_block(X[rows], landmarks, None)), blocks)


def orthonormal_functions(kernel, landmarks, n_jobs=None):
    """(values, W): eigenvalues of K_ZZ, largest first, and W = U diag(values)^-1/2, so that W' K_ZZ W = I.

    K_ZZ is computed in float64. Without any positive eigenvalue (all landmarks zero) W is one column of zeros.
    """
    gram = landmark_gram(kernel, landmarks, n_jobs)
    values, vectors = positive_eigenpairs(gram, RANK_TOLERANCE[landmarks.dtype.char])
    trace = np.trace(gram)
    if values.sum() - trace > NEGATIVE_SHARE * abs(trace):  # the trace is the sum of all eigenvalues
        warnings.warn(
            f"{kernel!r} is not positive definite on the landmarks: negative eigenvalues amount to "
            f"{(values.sum() - trace) / values.sum():.2g} of the positive ones and are ignored.",
            ApproximationWarning,
            stacklevel=3,
        )
    if not len(values):
        return np.zeros(1), np.zeros((len(gram), 1))
    return values, vectors / np.sqrt(values)
