"""Kernelised locality-sensitive hashing: random directions in feature space, through landmarks. [kulis09kernelized]

Notation ([bourrier15explicit] Sec. 3.1)
    paper   code            meaning                                                        shape
    M       n_landmarks     rows y_i that span the directions
    Q       n_sampled       landmarks whose mean is one direction
    K       gram            Gram matrix of the landmarks                                   (M, M)
    e_S     members         1 where a landmark is sampled, one column per bit              (M, n_bits)
    w       coefficients_   (15): K^(-1/2) e_S                                             (M, n_bits)
The sum of Q vectors of feature space, taken to unit covariance by K^(-1/2), is nearly normal by the central limit
theorem: h(x) = sign(sum_i w_i K(x, y_i)), (14), is nearly a random hyperplane of the span of the landmarks.
Deviation from the paper: K^(-1/2) is that of the eigenvalues above rounding, as of a pseudo-inverse. A Gram matrix of a
thousand landmarks is numerically singular for most kernels, and small eigenvalues would turn rounding into bits.
"""

__all__ = ["KLSH"]

import warnings

import numpy as np

from mercer._base.errors import ApproximationWarning, InputError
from mercer._base.linalg import positive_eigenpairs
from mercer._base.parameters import codes, keep_arguments
from mercer._base.threads import single_threaded
from mercer.codes.hashing.landmark_hash import LandmarkHash
from mercer.maps.landmarks.base import NEGATIVE_SHARE, RANK_TOLERANCE

EPSILON = np.finfo(np.float64).eps
SAMPLED = 30  # landmarks per direction, and never more than a quarter of them: [kulis09kernelized]


class KLSH(LandmarkHash):
    """Signs of random projections in the feature space of a kernel, as packed bits.

    Parameters
    ----------
    kernel : str or Kernel
        Kernel that compares rows.
    n_bits : int
        Bits per code.
    n_landmarks : int
        Number of landmarks that every row is compared with, a uniform sample. If there are fewer training rows, all of
        them are used.
    n_sampled : int or None
        Number of landmarks in the sum of each direction, less than n_landmarks. None uses 30, or a quarter of the
        landmarks.
    center : bool
        Center the kernel at the mean of the landmarks, as in [kulis09kernelized]. [bourrier15explicit] (15) does not,
        but with a non-negative kernel all rows are then on the same side of most directions, so most bits carry no
        information. A warning reports this.
    random_state : int, RandomState or None
        Seed of the landmarks and directions.
    n_jobs : int or None
        Number of threads. It does not affect the codes.

    Attributes
    ----------
    kernel_ : Kernel
    landmarks_ : ndarray or csr_array of shape (n_landmarks, n_features)
    landmark_indices_ : ndarray of shape (n_landmarks,)
        Their positions in X.
    coefficients_ : ndarray of shape (n_landmarks, n_bits)
        Bit b of x is 1 where ``K(x, landmarks_) @ coefficients_[:, b] + intercept_[b] > 0``.
    intercept_ : ndarray of shape (n_bits,)
        Zeros unless the kernel is centered.

    See Also
    --------
    SignHash : the same with an explicit map, such as KernelPCA; better in the measurements of [bourrier15explicit].
    hamming_top_k : the nearest codes.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).dirichlet(np.ones(8), size=300)
    >>> KLSH("chi2", n_bits=20, n_landmarks=100, random_state=0).fit_transform(X).shape
    (300, 3)
    """

    _table = codes.KLSH

    def __init__(
        self, kernel="chi2", n_bits=64, *, n_landmarks=1024, n_sampled=None, center=True, random_state=None, n_jobs=None
    ):
        keep_arguments(self, locals())

    def _functions(self, gram, dtype_char, random_state):
        """(coefficients, intercept) with coefficients = K^(-1/2) e_S.

        Of the centered kernel <psi(x) - m, psi(y) - m>, m the mean of the landmarks, the centered Gram matrix has the
        vector of ones in its null space, so that the columns of w sum to zero and

            sum_i w_i K_centred(x, y_i) = sum_i w_i K(x, y_i) - sum_i w_i mean_j K(y_i, y_j).
        """
        means = gram.mean(axis=0)
        # Rounding is relative to this matrix even where the centered one is far smaller. The null vector of ones above
        # all must not be kept: K(x, y_i) is not centered, and its sum would drown all else.
        rounding = (RANK_TOLERANCE[dtype_char] or len(gram) * EPSILON) * np.sqrt(np.square(gram).sum())
        if self.center:
            gram = gram - means - means[:, None] + means.mean()
        values, vectors = positive_eigenpairs(gram)
        rank = np.count_nonzero(values > rounding)
        values, vectors = values[:rank], vectors[:, :rank]
        self._warn_negative(values.sum(), np.trace(gram))
        members = self._members(len(gram), random_state)
        with single_threaded():
            coefficients = (vectors / np.sqrt(values)) @ (vectors.T @ members)
            if self.center:
                coefficients -= coefficients.mean(axis=0)
            intercept = -(means @ coefficients) if self.center else np.zeros(members.shape[1])
            self._warn_constant(gram @ coefficients > 0)
        return coefficients, intercept

    def _warn_negative(self, positive, trace):
        if positive - trace > NEGATIVE_SHARE * abs(trace):  # the trace is the sum of all eigenvalues
            warnings.warn(
                f"KLSH: {self.kernel_!r} is not positive definite on the landmarks. Its negative eigenvalues, which "
                f"sum to {trace - positive:.3g} beside {positive:.3g}, are ignored.",
                ApproximationWarning,
                stacklevel=4,
            )

    def _warn_constant(self, bits):
        constant = int((bits == bits[0]).all(axis=0).sum())
        if 2 * constant > bits.shape[1]:
            hint = "Use rows that differ." if self.center else "Use center=True."
            warnings.warn(
                f"KLSH: {constant} of {bits.shape[1]} bits are the same for all landmarks. {hint}",
                ApproximationWarning,
                stacklevel=4,
            )

    def _members(self, n_landmarks, random_state):
        """e_S of every bit, shape (n_landmarks, n_bits)."""
        size = self.n_sampled
        if size is None:
            size = max(1, min(SAMPLED, n_landmarks // 4))
        elif size >= n_landmarks:
            raise InputError(
                f"n_sampled of KLSH must be smaller than the number of landmarks: n_sampled={size} of {n_landmarks} "
                "landmarks gives a single direction. Use a smaller n_sampled, or None."
            )
        members = np.zeros((n_landmarks, int(self.n_bits)))
        for bit in range(members.shape[1]):
            members[random_state.permutation(n_landmarks)[:size], bit] = 1.0
        return members
