"""Hash functions sign(sum_i c_i K(x, z_i) + a) of kernel values at landmarks: what KLSH and RMMH share.

Notation ([bourrier15explicit] Sec. 3)
    paper   code            meaning                                   shape
    Y       landmarks_      rows that every row is compared with      (M, d)
    w       coefficients_   a column of weights per bit               (M, n_bits)
    b       intercept_      a threshold per bit                       (n_bits,)
"""

__all__ = ["LandmarkHash"]

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from mercer._base.errors import InputError
from mercer._base.threads import single_threaded, thread_limit
from mercer.codes._hashing import BinaryHash, check_numbers, pack_bits
from mercer.kernels import Kernel, get_kernel
from mercer.maps._landmark_map import landmark_blocks
from mercer.maps._landmarks import check_count, choose_landmarks


class LandmarkHash(BinaryHash):
    """Shared by the codes whose bits are signs of weighted kernel values.

    A subclass defines ``_functions(gram, dtype_char, random_state)``, the coefficients and intercepts of ``n_bits``
    functions for the Gram matrix of landmarks that are float32 ("f") or float64 ("d").
    """

    def fit(self, X, y=None):
        """Draw landmarks among the rows of X, and the hash functions. ``y`` is ignored."""
        self._check_parameters()
        X = self._checked(X, reset=True)
        who = type(self).__name__
        if X.shape[0] < 2:
            raise InputError(f"{who} needs at least 2 rows to draw landmarks from, got n_samples = 1.")
        random_state = check_random_state(self.random_state)
        self.kernel_ = self._resolved_kernel()
        landmarks, indices = choose_landmarks(
            self.kernel_, X, "uniform", self.n_landmarks, random_state=random_state, n_jobs=self.n_jobs, who=who
        )
        rows = landmarks.astype(np.float64)
        with thread_limit(self.n_jobs), single_threaded():
            gram = self.kernel_._gram(rows, rows, None)
        coefficients, self.intercept_ = self._functions(gram, landmarks.dtype.char, random_state)
        # a landmark that no function weighs costs a kernel value per row and changes nothing
        used = np.flatnonzero(coefficients.any(axis=1))
        used = used if len(used) else np.zeros(1, dtype=np.int64)
        self.landmarks_, self.landmark_indices_ = landmarks[used], indices[used]
        self.coefficients_ = coefficients[used]
        return self

    def _check_parameters(self):
        who = type(self).__name__
        check_count(self.n_landmarks, "n_landmarks", who)
        if self.n_landmarks < 2:
            raise InputError(f"{who} needs n_landmarks >= 2, got n_landmarks={self.n_landmarks!r}.")
        if self.n_sampled is not None:
            check_count(self.n_sampled, "n_sampled", who)

    def _functions(self, gram, dtype_char, random_state):
        raise NotImplementedError

    def _encode(self, X):
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

    def _resolved_kernel(self):
        return get_kernel(self.kernel)

    def _check_loaded(self):
        Z = self.landmarks_
        if not isinstance(self.kernel_, Kernel):
            raise ValueError("kernel_ must be a kernel.")
        if not (sparse.issparse(Z) or isinstance(Z, np.ndarray)) or Z.ndim != 2 or Z.dtype.char not in "fd":
            raise ValueError("landmarks_ must be a matrix of floats.")
        if sparse.issparse(Z) and not (isinstance(Z, sparse.csr_array) and Z.has_canonical_format):
            raise ValueError("landmarks_ must be a CSR array without duplicates.")
        if Z.shape[0] < 1 or Z.shape[1] != self.n_features_in_:
            raise ValueError(f"landmarks_ {Z.shape} and n_features_in_ do not fit together.")
        if not isinstance(self.intercept_, np.ndarray) or self.intercept_.size < 1:
            raise ValueError("intercept_ must have one number per bit.")
        check_numbers(self.intercept_, "intercept_", (self.intercept_.size,))
        check_numbers(self.coefficients_, "coefficients_", (Z.shape[0], self.intercept_.size))
        if not np.isfinite(Z.data if sparse.issparse(Z) else Z).all():
            raise ValueError("landmarks_ must be finite.")
        self.kernel_._check_values(Z, "landmarks_")
