"""Quantized Johnson-Lindenstrauss embeddings: random projections in a few bits each. [boufounos15universal] Sec. II-C

Notation
    paper     code            meaning
    M, B      n_projections, bits
    S         saturation_     largest value of a projection <a, x> that the quantizer tells apart
    Delta     2 S / 2^B       step of the quantizer
    R = M B                   bits of a code
Deviation from the paper: entries of A are standard normal, so (6) holds for distances of q / sqrt(M).
"""

__all__ = ["QuantizedJL"]


import numpy as np

from mercer._base.files.loaded import check_kind, check_number
from mercer._base.parameters import keep_arguments
from mercer._base.parameters.codes import QUANTIZED_JL
from mercer.codes.wire.bit_embedding import BitEmbedding
from mercer.codes.wire.projecting import Projector
from mercer.kernels import Linear
from mercer.maps.landmarks.choice import sample_rows
from mercer.spaces import BitRows, BlockFactor, CodeRows, Identity

SAMPLE_ROWS = 4096  # training rows whose projections decide offsets and saturation
# Steps of the uniform quantizer with the least mean squared error for normal numbers of variance 1, 1 to 8 bits.
# [max60quantizing] (1 to 5 bits; the rest by the same calculation)
BEST_STEPS = (1.596, 0.9957, 0.5860, 0.3352, 0.1881, 0.1041, 0.0569, 0.0308)
WHOLE_BYTES = (2, 4, 8)  # bits of which a byte holds an integer of projections


class QuantizedJL(BitEmbedding):
    """Quantize random projections to a few bits each: inner products of codes estimate those of the rows. (6)

    Parameters
    ----------
    n_projections : int
        M, the number of projections per block. Shorter codes are prefixes of longer ones.
    bits : int, 1 to 8
        B, bits per projection. The rate is R = M B.
    saturation : float or "auto"
        S, in units of standard normal projections <a, x>; larger values are clipped. ``"auto"`` minimizes the loss for
        normal projections with the spread of the training rows (1.6 standard deviations for 1 bit, 2.7 for 4).
    variant : {"plain", "dithered", "sigma-delta"}
        How projections are rounded. ``"dithered"`` first adds uniform noise of one step, the same for all rows.
        ``"sigma-delta"`` adds the rounding error of each projection to the next one.
    center : bool
        Subtract the mean over the training rows from each projection, so that bits encode differences between rows.
    block_size : int or None
        Number of columns of each local descriptor in a row. All descriptors share the projections, and their codes are
        concatenated. None encodes the whole row.
    matrix : {"dense", "structured"}
        ``"structured"`` uses three Hadamard transforms with random signs, which are faster for thousands of columns.
    standardize : bool
        Subtract the mean of each column of a block and divide by its standard deviation.
    random_state : int, RandomState or None
        Seed of the projections and of the training sample.
    n_jobs : int or None
        Number of threads. It does not affect the codes.

    Attributes
    ----------
    saturation_ : float
    kernel_ : Linear

    See Also
    --------
    UniversalEmbedding : bits that preserve small distances, as an RBF machine needs.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 30))
    >>> embedding = QuantizedJL(2000, bits=3, center=False, random_state=0).fit(X)
    >>> embedding.transform(X).shape
    (200, 750)
    >>> error = embedding.approximate_kernel(X) - X @ X.T
    >>> bool(np.sqrt(np.mean(error**2)) < 0.05 * 30)
    True
    """

    _table = QUANTIZED_JL

    def __init__(
        self, n_projections=256, *, bits=1, saturation="auto", variant="plain", center=True, block_size=None,
        matrix="dense", standardize=False, random_state=None, n_jobs=None,
    ):  # fmt: skip
        keep_arguments(self, locals())

    def fit(self, X, y=None):
        """Draw the seed, and compute offsets and saturation. ``y`` is ignored."""
        X = self._checked(X, reset=True)
        self._check_blocks(X.shape[1])
        seed, random_state = self._draw_seed()
        rounding = self._find_rounding(X, may_center=self.center)
        self.kernel_ = Linear()
        kind = "sigma-delta" if self.variant == "sigma-delta" else "qjl"
        rest = (kind, seed, self.n_projections, self.bits, self.variant == "dithered", rounding)
        n = X.shape[0]
        sample = X if n <= SAMPLE_ROWS else X[sample_rows(n, SAMPLE_ROWS, random_state)]
        projector = Projector(self._specify(X, *rest))
        values, offsets = projector.exact(projector.rounded(sample)), None
        if self.center:
            offsets = np.rint(values.mean(axis=0))
            values = values - offsets
        if isinstance(self.saturation, str):
            spread = rounding.length(np.sqrt(np.mean(values**2)))
            self.saturation_ = float(spread * BEST_STEPS[self.bits - 1] * 2 ** (self.bits - 1)) or 1.0
        else:
            self.saturation_ = float(self.saturation)
        step = rounding.whole(self.saturation_ / 2 ** (self.bits - 1))
        self._keep(self._specify(X, *rest, step, offsets))
        return self

    @property
    def inner_(self):
        """The inner product of `rows`, in which codes are the numbers that they stand for, over sqrt(M)."""
        specification = self.specification_
        return Identity(specification.n_bits) if specification.bits == 1 else BlockFactor(self._tables())

    # ----------------------------------------------------------------------------------------------- codes as rows

    def _as_rows(self, codes):
        spec = self.specification_
        if spec.bits == 1:
            return BitRows(codes, spec.n_bits, self._values[1])
        if spec.bits in WHOLE_BYTES:
            return CodeRows(codes, 256)
        bits = np.unpackbits(codes, axis=1, bitorder="little", count=spec.n_bits).reshape(len(codes), -1, spec.bits)
        return CodeRows(np.packbits(bits, axis=2, bitorder="little")[:, :, 0], 2**spec.bits)

    @property
    def _values(self):
        """The number that each level stands for: the middle of its step."""
        spec = self.specification_
        half = 2 ** (spec.bits - 1)
        return (np.arange(2 * half) - half + 0.5) * (self.saturation_ / half) / np.sqrt(spec.projections)

    def _tables(self):
        """One factor per block of codes: what a word stands for, (projections of the block, words)."""
        spec, values = self.specification_, self._values.astype(np.float32)
        if spec.bits not in WHOLE_BYTES:
            return [values[None, :]] * (spec.blocks * spec.projections)
        words = np.arange(256)
        levels = np.stack([(words >> shift) & (2**spec.bits - 1) for shift in range(0, 8, spec.bits)])
        tables = [values[levels]] * spec.n_bytes
        spare = (8 * spec.n_bytes - spec.n_bits) // spec.bits
        return [*tables[:-1], tables[-1][: len(levels) - spare]] if spare else tables

    def _check_loaded(self):
        super()._check_loaded()
        check_number(self, "saturation_", above=0)
        check_kind(self, "kernel_", Linear)
