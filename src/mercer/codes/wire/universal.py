"""Universal embeddings: one bit of a wrapped quantizer per random projection. [boufounos15universal]

Notation ([boufounos15universal] Sec. II-D)
    paper     code           meaning
    M         n_bits         bits of a code (of each block)
    A, w                     drawn from a seed: nearly normal integers, and a dither in [0, Delta)
    Delta     delta_         step of the quantizer: distances up to about 0.63 delta are told apart
    g(d)      expected_distance(d)   expected share of bits that differ at the distance d, (9)
Deviation from the paper: (8) is of the share of the bits that differ, not of their number; all arithmetic is in whole
numbers (docs/wire-format.md), so that a client in any language finds the same bits.
"""

__all__ = ["UniversalEmbedding"]

from numbers import Real

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from mercer._base.errors import InputError
from mercer._base.files.loaded import check_number
from mercer._base.memory import row_chunks
from mercer._base.parameters import keep_arguments
from mercer._base.parameters.codes import UNIVERSAL_EMBEDDING
from mercer.codes.wire.bit_embedding import BitEmbedding
from mercer.kernels.universal_rbf import UniversalRBF, share_of_bits, slope_of_share
from mercer.spaces import BitRows, Identity

PAIRS, FEWEST_PAIRS = 4096, 64  # of blocks whose distances decide delta; of rows that they are taken from, at least
QUANTILE = (
    0.25  # of these distances ends the range that codes resolve: the best from 0.001 to 0.5 for chi2 on SIFT rows
)
RANGE = np.sqrt(np.pi / 8)  # (13): g is nearly linear up to this share of delta, and nearly 1/2 beyond
FARTHEST = 2.0  # in deltas: g is 1/2 there to nine digits


class UniversalEmbedding(BitEmbedding):
    """Encode rows as bits that preserve small Euclidean distances: a share g(d) of them differs at distance d.

    Bit b of x is floor((<a_b, x> + w_b) / delta) mod 2, (7). Bits preserve distances up to about 0.63 delta; for rows
    farther apart, half of the bits differ, whatever the distance. The share of equal bits approximates a kernel close
    to RBF of width delta / pi, (18), so a linear model on the bits works like an RBF model:
    ``KernelClassifier(map=UniversalEmbedding(512))``. For the distances of another kernel, embed the rows first:
    ``make_pipeline(KernelPCA(kernel), UniversalEmbedding())``.

    Parameters
    ----------
    n_bits : int
        Bits per code of each block. The standard deviation of code distances is at most 0.5 / sqrt(n_bits). Shorter
        codes are prefixes of longer ones.
    delta : float or "auto"
        Step of the quantizer, in units of distance; a larger step preserves larger distances, less precisely.
        ``"auto"`` uses sqrt(8 / pi) times the lower quartile of the distances between 4,096 random pairs of distinct
        training rows, where the linear range of g ends; or 1 if all training rows are equal. With labels,
        cross-validation is better: ``GridSearchCV(KernelClassifier(map=UniversalEmbedding()), {"map__delta": ...})``.
    block_size : int or None
        Number of columns of each local descriptor in a row. All descriptors share the projections, and their codes are
        concatenated. None encodes the whole row.
    matrix : {"dense", "structured"}
        ``"structured"`` uses three Hadamard transforms with random signs, which are faster for thousands of columns.
    standardize : bool
        Subtract the mean of each column of a block and divide by its standard deviation.
    random_state : int, RandomState or None
        Seed of the projections and of the pairs of rows.
    n_jobs : int or None
        Number of threads. It does not affect the codes.

    Attributes
    ----------
    delta_ : float

    See Also
    --------
    QuantizedJL : codes for inner products instead of small distances.
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

    _table = UNIVERSAL_EMBEDDING

    def __init__(
        self, n_bits=256, *, delta="auto", block_size=None, matrix="dense", standardize=False, random_state=None,
        n_jobs=None,
    ):  # fmt: skip
        keep_arguments(self, locals())

    def fit(self, X, y=None):
        """Draw the seed and choose delta. ``y`` is ignored."""
        X = self._checked(X, reset=True)
        self._check_blocks(X.shape[1])
        seed, random_state = self._draw_seed()
        rounding = self._find_rounding(X, may_center=True)
        rule = isinstance(self.delta, str)
        self.delta_ = self._delta_of(X, rounding.scale, random_state) if rule else float(self.delta)
        step = rounding.whole(self.delta_)
        self._keep(self._specify(X, "universal", seed, self.n_bits, 1, True, rounding, step))
        return self

    def expected_distance(self, d):
        """g(d), the expected share of bits that differ at the Euclidean distance d. (9)

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
        return share_of_bits(d / self.delta_)

    def distance_from_codes(self, codes, others=None, confidence=0.95):
        """Estimate distances from codes, with confidence intervals. (15)

        With n bits the share h that differs is within tau = sqrt(log(2 / (1 - confidence)) / 2n) of g(d) (Hoeffding),
        so d is between the distances of h - tau and h + tau; beyond the range of g, h + tau has none.

        Parameters
        ----------
        codes, others : uint8 arrays of n and m codes; without ``others``, ``codes`` with each other
        confidence : float, of each interval

        Returns
        -------
        distance, low, high : float64 arrays of shape (n, m); infinite where the codes only show that rows are far apart
        """
        if not isinstance(confidence, Real) or not 0 < confidence < 1:
            raise InputError(f"distance_from_codes needs 0 < confidence < 1, got {confidence!r}.")
        if self.specification_.blocks > 1:
            raise InputError(
                "distance_from_codes needs codes of whole rows, but these are stacked codes of "
                f"{self.specification_.blocks} blocks, whose distances cannot be separated."
            )
        left = self.rows_of_codes(codes).packed
        right = left if others is None else self.rows_of_codes(others).packed
        differing = np.stack([np.bitwise_count(row ^ right).sum(axis=1) for row in left])
        share = np.arange(self._bits + 1) / self._bits  # what a share can be
        tau = np.sqrt(np.log(2 / (1 - confidence)) / (2 * self._bits))
        distances = (self.delta_ * _ratio_of_share(np.maximum(h, 0)) for h in (share, share - tau, share + tau))
        return tuple(table[differing] for table in distances)

    @property
    def kernel_(self):
        """The kernel that the bits approximate, 1/2 - g(d)."""
        check_is_fitted(self)
        specification = self.specification_
        return UniversalRBF(self.delta_, None if specification.blocks == 1 else specification.features)

    @property
    def inner_(self):
        """The inner product of `rows`: the plain one."""
        return Identity(self._bits)

    def _as_rows(self, codes):
        return BitRows(codes, self._bits, 1 / np.sqrt(2 * self._bits))  # (17): K(x, x) = 1/2

    def _check_loaded(self):
        super()._check_loaded()
        check_number(self, "delta_", above=0)

    def _delta_of(self, X, scale, random_state):
        """The step for which the linear range of g ends at the quantile of the distances between random rows."""
        blocks = X.shape[1] // self._block_size(X.shape[1])
        count = max(PAIRS // blocks, FEWEST_PAIRS)
        pairs = random_state.randint(X.shape[0], size=(2, count))
        chunks = row_chunks(count, 32 * X.shape[1])
        distances = np.sqrt(np.concatenate([self._sq_distances(X, scale, pairs[:, part]) for part in chunks]))
        distances = distances[distances > 0]
        return float(np.quantile(distances, QUANTILE) / RANGE) if len(distances) else 1.0

    def _sq_distances(self, X, scale, pairs):
        """Squared distances of the blocks of pairs of rows."""
        left, right = (X[rows].astype(np.float64) for rows in pairs)
        difference = left - right
        difference = difference.toarray() if sparse.issparse(difference) else difference
        difference = difference.reshape(-1, self._block_size(X.shape[1]))
        if scale is not None:
            difference = difference * scale
        return np.einsum("ij,ij->i", difference, difference)


def _ratio_of_share(share):
    """d / delta for which the share g(d) of the bits differs: the inverse of `share_of_bits`, infinite from 1/2 on.

    >>> _ratio_of_share(share_of_bits(np.array([0.0, 0.05, 0.3, 0.8]))).round(9)
    array([0.  , 0.05, 0.3 , 0.8 ])
    """
    low, high = np.zeros_like(share), np.full_like(share, FARTHEST)
    ratio = np.minimum(share * np.sqrt(np.pi / 2), FARTHEST)  # the line of (12)
    for _ in range(60):  # Newton's steps where they stay inside the bracket, halving where they do not
        value = share_of_bits(ratio)
        low, high = np.where(value < share, ratio, low), np.where(value < share, high, ratio)
        slope = np.maximum(slope_of_share(ratio), 1e-300)
        step = ratio + (share - value) / slope
        before, inside = ratio, (step > low) & (step < high)
        ratio = np.where(inside, step, (low + high) / 2)
        if np.abs(ratio - before).max(initial=0) < 1e-15:
            break
    return np.where(share >= share_of_bits(np.array(FARTHEST)), np.inf, np.where(share <= 0, 0.0, ratio))
