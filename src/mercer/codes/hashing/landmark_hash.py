"""Hash functions sign(sum_i c_i K(x, z_i) + a) of kernel values at landmarks: what KLSH and RMMH share.

Notation ([bourrier15explicit] Sec. 3)
    paper   code            meaning                                   shape
    Y       landmarks_      rows that every row is compared with      (M, d)
    w       coefficients_   a column of weights per bit               (M, n_bits)
    b       intercept_      a threshold per bit                       (n_bits,)
"""

__all__ = ["LandmarkHash"]

import numpy as np
from sklearn.utils import check_random_state

from mercer._base.errors import InputError
from mercer._base.files.loaded import check_kind, check_matrix, checked_array
from mercer._base.threads import single_threaded, thread_limit
from mercer.codes.hashing.base import BinaryHash, pack_bits
from mercer.kernels import Kernel
from mercer.maps.landmarks.base import landmark_blocks
from mercer.maps.landmarks.choice import choose_landmarks


class LandmarkHash(BinaryHash):
    """Shared by the codes whose bits are signs of weighted kernel values.

    A subclass defines ``_functions(gram, dtype_char, random_state)``, the coefficients and intercepts of ``n_bits``
    functions for the Gram matrix of landmarks that are float32 ("f") or float64 ("d").
    """

    def fit(self, X, y=None):
        """Draw landmarks among the rows of X, and the hash functions. ``y`` is ignored."""
        X = self._checked(X, reset=True)
        who = type(self).__name__
        if X.shape[0] < 2:
            raise InputError(f"{who} needs at least 2 rows to draw landmarks from, got n_samples = 1.")
        random_state = check_random_state(self.random_state)
        self.kernel_ = self.fitted_kernel(X)
        landmarks, indices = choose_landmarks(
            self.kernel_, X, "uniform", self.n_landmarks, random_state=random_state, n_jobs=self.n_jobs, who=who
        )
        rows = landmarks.astype(np.float64)
        with thread_limit(self.n_jobs), single_threaded():
            gram = self.kernel_.gram_block(rows, rows, None)
        coefficients, self.intercept_ = self._functions(gram, landmarks.dtype.char, random_state)
        # a landmark that no function weighs costs a kernel value per row and changes nothing
        used = np.flatnonzero(coefficients.any(axis=1))
        used = used if len(used) else np.zeros(1, dtype=np.int64)
        self.landmarks_, self.landmark_indices_ = landmarks[used], indices[used]
        self.coefficients_ = coefficients[used]
        return self

    def _functions(self, gram, dtype_char, random_state):
        raise NotImplementedError

    def encode_rows(self, X):
        out = np.empty((X.shape[0], self._n_features_out), dtype=np.uint8)
        dtype = np.result_type(X.dtype, self.landmarks_.dtype)
        weights, threshold = self.coefficients_.astype(dtype), -self.intercept_.astype(dtype)

        def encode(rows, kernel_values):
            out[rows] = pack_bits(kernel_values @ weights > threshold)

        landmark_blocks(encode, self.kernel_, X, self.landmarks_, self.n_jobs)
        return out

    @property
    def _bits(self):
        return len(self.intercept_)

    def _check_loaded(self):
        kernel = check_kind(self, "kernel_", Kernel)
        Z = check_matrix(self, "landmarks_", shape=(None, self.n_features_in_))
        n_bits = len(checked_array(self, "intercept_", "float64", ndim=1))
        if not Z.shape[0] or not n_bits:
            raise ValueError("landmarks_ must have at least one row, and intercept_ at least one number.")
        checked_array(self, "coefficients_", "float64", shape=(Z.shape[0], n_bits))
        kernel.check_values(Z, "landmarks_")
