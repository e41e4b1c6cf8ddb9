"""A compact code: signs of learned projections, principal directions turned so that signs lose least. [gong13iterative]

Notation
    paper    code        meaning
    V        X - mean, in k principal directions
    R        rotation    of these, orthogonal
    B        signs       of V R
"""

__all__ = ["CompactEmbedding"]

import numpy as np

from mercer._base.errors import InputError
from mercer._base.files.loaded import check_kind, check_number
from mercer._base.linalg import eigh_descending
from mercer._base.parameters import keep_arguments
from mercer._base.parameters.codes import COMPACT_EMBEDDING
from mercer._base.threads import run_blocks, single_threaded
from mercer.codes.product.rotations import covariance
from mercer.codes.wire.bit_embedding import BitEmbedding
from mercer.codes.wire.projecting import LARGEST, Projector
from mercer.kernels import Linear
from mercer.maps.landmarks.choice import sample_rows
from mercer.spaces import BitRows, Identity

SAMPLE_BLOCKS = 2**15  # training blocks from which directions are learned
TURNED_BLOCKS, BLOCKS_PER_DIRECTION = 2**12, 8  # a rotation is learned from the larger of the one and so many each
# [gong13iterative] Sec. 3.2 has 50 iterations. Of few directions the best of several rotations is taken, because they
# differ; of many they hardly do, and take their time.
FEW_DIRECTIONS, STARTS, ITERATIONS, FEWER_ITERATIONS = 64, 4, 50, 20
WIDEST = 4096  # columns up to which the covariance is decomposed; beyond, the Gram matrix of as many blocks


class CompactEmbedding(BitEmbedding):
    """Packed signs of projections that are learned from the rows, for few bits per row. Unlike random projections they
    spend no bit on directions in which rows hardly differ. [gong13iterative]

    The first principal directions of the training rows, as many as there are bits, are turned by the rotation R that
    minimizes |B - V R|, B the signs of V R: alternately B = sign(V R), and R from the singular vectors of B'V. With
    more bits than directions, several rotations of all directions are learned, each from a random start.

    A code of other length has other projections: unlike those of `UniversalEmbedding` and `QuantizedJL`, a shorter code
    is not the beginning of a longer one.

    Parameters
    ----------
    n_bits : int
        Bits per code of each block.
    block_size : int or None
        Number of columns of each local descriptor in a row. All descriptors share the projections, and their codes are
        concatenated. None encodes the whole row.
    standardize : bool
        Subtract the mean of each column of a block and divide by its standard deviation.
    random_state : int, RandomState or None
        Seed of the training sample and of the initial rotations.
    n_jobs : int or None
        Number of threads. It does not affect the codes.

    Attributes
    ----------
    scale_ : float
        The value of a sign: the mean magnitude of the projections of the training rows.
    kernel_ : Linear
        Inner products of codes estimate those of the centered rows.

    See Also
    --------
    QuantizedJL, UniversalEmbedding : random projections, which need a seed and no matrix on the client.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from mercer import KernelClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> embedding = CompactEmbedding(64, random_state=0)
    >>> embedding.fit_transform(X).shape
    (1797, 8)
    >>> bool(KernelClassifier(map=embedding).fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]) > 0.85)
    True
    """

    matrix = "learned"

    _table = COMPACT_EMBEDDING

    def __init__(self, n_bits=64, *, block_size=None, standardize=False, random_state=None, n_jobs=None):
        keep_arguments(self, locals())

    def fit(self, X, y=None):
        """Learn the projections. ``y`` is ignored."""
        X = self._checked(X, reset=True)
        self._check_blocks(X.shape[1])
        seed, random_state = self._draw_seed()
        rounding = self._find_rounding(X, may_center=True)
        self.kernel_ = Linear()
        zeros = np.zeros((self.n_bits, self._block_size(X.shape[1])), dtype=np.int16)
        rest = ("qjl", seed, self.n_bits, 1, False, rounding)
        rows = Projector(self._specify(X, *rest, entries=zeros)).rounded(self._sampled(X, random_state))
        matrix = learned_projections(rows, int(self.n_bits), random_state, self.n_jobs)
        unit = LARGEST / (np.abs(matrix).max() or 1.0)
        entries = np.rint(matrix * unit).astype(np.int16)
        values = Projector(self._specify(X, *rest, entries=entries)).exact(rows)
        offsets = np.rint(values.mean(axis=0))
        self.scale_ = float(rounding.length(np.abs(values - offsets).mean() / unit * rounding.unit)) or 1.0
        self._keep(self._specify(X, *rest, offsets=offsets, entries=entries))
        return self

    @property
    def inner_(self):
        """The inner product of `rows`: the plain one."""
        return Identity(self._bits)

    def _sampled(self, X, random_state):
        """Training rows with some SAMPLE_BLOCKS blocks, fewer where blocks are wide."""
        size = self._block_size(X.shape[1])
        most = SAMPLE_BLOCKS if size <= WIDEST else WIDEST
        wanted = max(1, most * size // X.shape[1])
        return X if X.shape[0] <= wanted else X[sample_rows(X.shape[0], wanted, random_state)]

    def _as_rows(self, codes):
        specification = self.specification_
        sheets = -(-specification.projections // specification.features)  # each stands for the whole row
        return BitRows(codes, specification.n_bits, self.scale_ / np.sqrt(sheets))

    def _check_loaded(self):
        super()._check_loaded()
        check_number(self, "scale_", above=0)
        check_kind(self, "kernel_", Linear)

    def _check_blocks(self, n_columns):
        super()._check_blocks(n_columns)
        entries = self._block_size(n_columns) * self.n_bits
        if entries > 2**26:
            raise InputError(
                f"CompactEmbedding supports at most 2^26 numbers in its matrix of bits x columns; got {self.n_bits} "
                f"bits and {self._block_size(n_columns)} columns. Use fewer bits, blocks (block_size), or QuantizedJL."
            )


def learned_projections(rows, n_bits, random_state, n_jobs=None):
    """The projections of rows, (n_bits, columns), float64: turned principal directions, of length 1."""
    directions = _principal_directions(rows, n_bits, n_jobs)
    k = len(directions)
    sizes = [k] * (n_bits // k) + ([n_bits % k] if n_bits % k else [])
    turned = max(TURNED_BLOCKS, BLOCKS_PER_DIRECTION * k)
    few = rows if len(rows) <= turned else rows[sample_rows(len(rows), turned, random_state)]
    V = ((few - few.mean(axis=0, dtype=np.float64)) @ directions.T).astype(np.float32)
    tries = STARTS if k <= FEW_DIRECTIONS else 1
    starts = [random_state.standard_normal((k, k)) for _ in range(tries * len(sizes))]
    found = [None] * len(starts)

    def turn(i):
        found[i] = _turned(V, starts[i])

    with single_threaded():
        run_blocks(turn, range(len(starts)), n_jobs)
        best = [max(found[i * tries : (i + 1) * tries], key=lambda R: np.abs(V @ R.T).sum()) for i in range(len(sizes))]
        return np.concatenate([R[:size] for R, size in zip(best, sizes, strict=True)]) @ directions


def _principal_directions(rows, most, n_jobs):
    """Orthonormal directions of largest variance, as rows; those without any are left out, but for one."""
    if rows.shape[1] <= WIDEST:
        values, vectors = eigh_descending(covariance(rows, n_jobs))
        directions = vectors.T
    else:
        centred = rows - rows.mean(axis=0, dtype=np.float64)
        with single_threaded():
            values, vectors = eigh_descending(centred @ centred.T)
            directions = (vectors / np.sqrt(np.maximum(values, 1e-300))).T @ centred
    rank = np.count_nonzero(values > 1e-10 * values[0])
    return directions[: max(1, min(rank, most))]


def _turned(V, start):
    """R' for which the signs of V R are nearest to V R, from a random start. [gong13iterative] (2)

    |B - V R|^2 is a constant less twice the sum of |V R|, so the unit of V does not matter.
    """
    R = np.linalg.qr(start)[0].astype(np.float32)
    for _ in range(ITERATIONS if len(R) <= FEW_DIRECTIONS else FEWER_ITERATIONS):
        signs = np.where(V @ R >= 0, np.float32(1), np.float32(-1))
        left, _, right = np.linalg.svd((signs.T @ V).astype(np.float64))
        R = (left @ right).T.astype(np.float32)
    return R.T.astype(np.float64)
