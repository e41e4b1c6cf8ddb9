"""Random maximum margin hashing: every bit is a support vector machine of random labels. [joly11random]

Notation ([bourrier15explicit] Sec. 3.2)
    paper              code            meaning                                                  shape
    M                  n_sampled       rows of one machine, half of each label
    alpha_i epsilon_i  coefficients_   dual coefficients with their labels, zero elsewhere      (landmarks, n_bits)
    b                  intercept_                                                               (n_bits,)
    C                  C               cost of a row inside the margin, (17)
A hyperplane of maximum margin between two random halves of a few rows keeps away from all of them: neighbors seldom
end on different sides.
"""

__all__ = ["RMMH"]


import numpy as np

from mercer._base.errors import InputError
from mercer._base.parameters import codes, keep_arguments
from mercer._base.threads import run_blocks
from mercer.codes.hashing.landmark_hash import LandmarkHash

SAMPLED = 32  # rows of one machine; with C = 100 the best of 16 to 1,024 and C = 1, 100 for chi2 on SIFT rows
BITS_PER_TASK = 16


class RMMH(LandmarkHash):
    """Signs of support vector machines trained on random labels, as packed bits.

    Every bit draws an even number of rows from one pool of landmarks, labels half of them +1 and half -1, and separates
    them with a kernel support vector machine (scikit-learn's SVC). The size of the pool limits the number of kernel
    values per new row, for any number of bits.

    Parameters
    ----------
    kernel : str or Kernel
        Kernel that compares rows.
    n_bits : int
        Bits per code.
    n_landmarks : int
        Size of the pool, a uniform sample. If there are fewer training rows, all of them are used.
    n_sampled : int or None
        Number of rows per bit, an even number of at most n_landmarks. None uses 32, or fewer if the pool is smaller.
    C : float
        Weight of the losses, see SVC. The default tolerates hardly any errors on rows with K(x, x) = 1.
    random_state : int, RandomState or None
        Seed of the pool, the samples and the labels.
    n_jobs : int or None
        Number of threads. It does not affect the codes.

    Attributes
    ----------
    kernel_ : Kernel
    landmarks_ : ndarray or csr_array of shape (n_used, n_features)
        The rows of the pool that are a support vector of at least one bit.
    landmark_indices_ : ndarray of shape (n_used,)
        Their positions in X.
    coefficients_ : ndarray of shape (n_used, n_bits)
        Bit b of x is 1 where ``K(x, landmarks_) @ coefficients_[:, b] + intercept_[b] > 0``.
    intercept_ : ndarray of shape (n_bits,)

    See Also
    --------
    SignHash, KLSH : other bits.
    hamming_top_k : the nearest codes.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).dirichlet(np.ones(8), size=300)
    >>> RMMH("chi2", n_bits=20, n_landmarks=100, random_state=0).fit_transform(X).shape
    (300, 3)
    """

    _table = codes.RMMH

    def __init__(
        self, kernel="chi2", n_bits=64, *, n_landmarks=1024, n_sampled=None, C=100.0, random_state=None, n_jobs=None
    ):
        keep_arguments(self, locals())

    def check_parameters(self):
        """Refuse invalid parameters before any row is read."""
        super().check_parameters()
        if self.n_sampled is not None and self.n_sampled % 2:
            raise InputError(
                "n_sampled of RMMH must be even, because half of each sample is labeled +1 and half -1; got "
                f"n_sampled={self.n_sampled}."
            )

    def _functions(self, gram, dtype_char, random_state):
        """(coefficients, intercept): the machine of each bit, (16)."""
        samples = self._samples(len(gram), random_state)
        coefficients, intercept = np.zeros((len(gram), len(samples))), np.empty(len(samples))

        def train(first):
            for bit in range(first, min(first + BITS_PER_TASK, len(samples))):
                rows = samples[bit]
                weights, intercept[bit] = _train_machine(gram[np.ix_(rows, rows)], self.C)
                coefficients[rows, bit] = weights

        run_blocks(train, range(0, len(samples), BITS_PER_TASK), self.n_jobs)
        return coefficients, intercept

    def _samples(self, n_landmarks, random_state):
        """Rows of the pool for each bit, the first half of them labeled -1; shape (n_bits, n_sampled)."""
        size = self.n_sampled
        if size is None:
            size = min(SAMPLED, n_landmarks // 2 * 2)
        elif size > n_landmarks:
            raise InputError(
                f"RMMH cannot draw n_sampled={size} rows for each bit from {n_landmarks} landmarks. Use a smaller "
                "n_sampled, or None."
            )
        return np.stack([random_state.permutation(n_landmarks)[:size] for _ in range(int(self.n_bits))])


def _train_machine(gram, C):
    """(dual coefficients, intercept) of the machine that separates the first half of the rows (-1) from the second."""
    from sklearn.svm import SVC

    labels = np.repeat([-1, 1], len(gram) // 2)
    machine = SVC(C=C, kernel="precomputed").fit(gram, labels)
    weights = np.zeros(len(gram))
    weights[machine.support_] = machine.dual_coef_[0]
    return weights, machine.intercept_[0]
