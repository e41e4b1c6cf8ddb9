"""Universal embeddings: one bit of a wrapped quantiser per random projection. [boufounos15universal]

Notation ([boufounos15universal] Sec. II-D)
    paper     code           meaning                                                         shape
    M         n_bits         bits of a code
    A         projection_    entries standard normal, here one column per bit                (d, n_bits)
    w         dither_        uniform in [0, delta)                                           (n_bits,)
    Delta     delta_         step of the quantiser: distances up to about 0.63 delta are told apart
    g(d)      expected_distance(d)   expected share of bits that differ at the distance d, (9)
Deviation from the paper: (9) has sqrt(2 Delta) where sqrt(2) Delta is meant, as a simulation shows; (8) is of the share
of the bits that differ, not of their number.
"""

__all__ = ["UniversalEmbedding"]

from numbers import Real

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._base.errors import InputError
from mercer._base.memory import row_chunks
from mercer._base.threads import run_row_blocks
from mercer.codes._hashing import BinaryHash, check_numbers, pack_bits

PAIRS = 4096  # of rows whose distances decide delta
QUANTILE = (
    0.25  # of these distances ends the range that codes resolve: the best from 0.001 to 0.5 for chi2 on SIFT rows
)
RANGE = np.sqrt(np.pi / 8)  # (13): g is nearly linear up to this share of delta, and nearly 1/2 beyond
MOST_ROWS = 1024  # rows per task
TASK_VALUES = 2**21  # numbers per row times rows of a task: 16 MiB
# Below this share of delta, (9) needs ever more terms, and the line of (12) has no error that float64 could hold;
# above it, 16 terms are enough.
NEAR, TERMS = 0.1, 16


class UniversalEmbedding(BinaryHash):
    """Bits that resolve small Euclidean distances and no others: a share g(d) of them differs at the distance d.

    Bit b of x is floor((<a_b, x> + w_b) / delta) mod 2, (7). Bits are spent on distances up to about 0.63 delta; rows
    farther apart differ in half of the bits, however far that is. The share of equal bits stands for a kernel close to
    RBF of width delta / pi, (18). For the distances of a kernel, embed first:
    ``make_pipeline(KernelPCA(kernel), UniversalEmbedding())``.

    Parameters
    ----------
    n_bits : int
        Bits of a code. Distances of codes have a standard deviation of at most 0.5 / sqrt(n_bits).
    delta : float or "auto"
        Step of the quantiser, in the units of distances. ``"auto"``: sqrt(8 / pi) times the lower quartile of the
        distances between 4,096 random pairs of training rows (without equal rows), so that the linear range of g ends
        there; 1 if all training rows are equal.
    random_state : int, RandomState or None
        Draws projection, dither and pairs.
    n_jobs : int or None
        Threads. They do not change the codes.

    Attributes
    ----------
    delta_ : float
    projection_ : ndarray of shape (n_features, n_bits)
    dither_ : ndarray of shape (n_bits,)

    See Also
    --------
    SignHash : bits for angles instead of small distances.
    hamming_top_k : the nearest codes.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [0.3, 0.4]])
    >>> embedding = UniversalEmbedding(n_bits=4000, delta=1.0, random_state=0).fit(X)
    >>> codes = embedding.transform(X)
    >>> bool(abs(np.bitwise_count(codes[0] ^ codes[1]).sum() / 4000 - embedding.expected_distance(0.5)) < 0.02)
    True
    """

    def __init__(self, n_bits=256, *, delta="auto", random_state=None, n_jobs=None):
        self.n_bits = n_bits
        self.delta = delta
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y=None):
        """Draw the projection and find delta. ``y`` is ignored."""
        self._check_delta()
        X = self._checked(X, reset=True)
        random_state = check_random_state(self.random_state)
        self.projection_ = random_state.standard_normal((X.shape[1], int(self.n_bits)))
        phases = random_state.uniform(size=int(self.n_bits))
        self.delta_ = _delta_of(X, random_state) if isinstance(self.delta, str) else float(self.delta)
        self.dither_ = self.delta_ * phases
        return self

    def expected_distance(self, d):
        """g(d), the expected share of bits that differ at the Euclidean distance d. (9)

            g(d) = 1/2 - sum_i exp(-(pi (2i + 1) d / (sqrt(2) delta))^2) / (pi (i + 1/2))^2,   i = 0, 1, ...

        Parameters
        ----------
        d : number or array of distances

        Returns
        -------
        ndarray of the shape of d, float64
        """
        check_is_fitted(self)
        d = np.asarray(d, dtype=np.float64)
        if not (d >= 0).all():
            raise InputError(f"UniversalEmbedding.expected_distance needs distances >= 0, got {d.min():.6g}.")
        return wrapped_distance(d / self.delta_)

    def _encode(self, X):
        codes = np.empty((X.shape[0], self._n_features_out), dtype=np.uint8)

        def encode(rows):
            # in float64 whatever the rows are: the quantiser wraps, so errors count against delta, not against <a, x>
            steps = (X[rows] @ self.projection_ + self.dither_) / self.delta_
            codes[rows] = pack_bits(np.floor(steps) % 2 == 1)

        step = int(np.clip(TASK_VALUES // sum(self.projection_.shape), 1, MOST_ROWS))
        run_row_blocks(encode, X.shape[0], step, self.n_jobs)
        return codes

    @property
    def _bits(self):
        return len(self.dither_)

    def _check_delta(self):
        if isinstance(self.delta, str) and self.delta == "auto":
            return
        if not isinstance(self.delta, Real) or isinstance(self.delta, bool) or not 0 < self.delta < np.inf:
            raise InputError(f"UniversalEmbedding needs delta as a number > 0 or 'auto', got delta={self.delta!r}.")

    def _check_loaded(self):
        if not isinstance(self.delta_, float) or not 0 < self.delta_ < np.inf:
            raise ValueError("delta_ must be a number > 0.")
        if not isinstance(self.dither_, np.ndarray) or self.dither_.size < 1:
            raise ValueError("dither_ must have one number per bit.")
        check_numbers(self.dither_, "dither_", (self.dither_.size,))
        check_numbers(self.projection_, "projection_", (self.n_features_in_, self.dither_.size))


def wrapped_distance(ratio):
    """g(d) of the ratio d / delta: the mean of the triangle wave of period 2 and height 1 at ratio times a normal.

    >>> wrapped_distance(np.array([0.0, 0.05, 0.5, 5.0])).round(6)
    array([0.      , 0.039894, 0.381975, 0.5     ])
    """
    odd = 2 * np.arange(TERMS) + 1
    terms = np.exp(-((np.pi * odd * np.maximum(ratio, NEAR)[..., None]) ** 2) / 2) / (np.pi * odd / 2) ** 2
    return np.where(ratio < NEAR, np.sqrt(2 / np.pi) * ratio, 0.5 - terms.sum(axis=-1))


def _delta_of(X, random_state):
    """The step for which the linear range of g ends at the quantile of the distances between random rows."""
    pairs = random_state.randint(X.shape[0], size=(2, PAIRS))
    distances = np.sqrt(np.concatenate([_sq_distances(X, pairs[:, part]) for part in _pair_chunks(X)]))
    distances = distances[distances > 0]
    return float(np.quantile(distances, QUANTILE) / RANGE) if len(distances) else 1.0


def _pair_chunks(X):
    return row_chunks(PAIRS, 32 * X.shape[1])


def _sq_distances(X, pairs):
    left, right = (X[rows].astype(np.float64) for rows in pairs)
    difference = left - right
    if sparse.issparse(difference):
        return np.asarray(difference.power(2).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", difference, difference)
