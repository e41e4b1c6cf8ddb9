"""What embeddings into bits share: how rows are rounded, their specification, codes as rows for learning."""

__all__ = ["BitEmbedding"]

import json
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._base.errors import InputError
from mercer._base.memory import row_chunks
from mercer.codes.wire.normal_table import UNIT
from mercer.codes.wire.projecting import LARGEST, Projector
from mercer.codes.wire.specification import LARGEST_STEP, Specification, padded_length
from mercer.kernels import Linear
from mercer.maps.base import FeatureMap
from mercer.maps.dask import is_dask, transform_chunks

WORTH_CENTERING = 2  # rows are centered if that makes the largest number this many times smaller: a bit more for all
HEADROOM = 2  # new rows may be this many times as large as training rows before they are clipped


class BitEmbedding(FeatureMap):
    """Base class of the embeddings that a specification describes: rows to packed bits, the same in any language.

    A subclass defines ``fit``, which ends in `_keep(specification)`, and ``_as_rows(codes)``.

    Attributes
    ----------
    specification_json_ : str
        The fitted embedding as text.
    """

    def transform(self, X):
        """The codes of the rows of X.

        Returns
        -------
        ndarray of shape (n, n_bytes), uint8
            Bit b of a row is bit b % 8 of byte b // 8; spare bits are zero.
        """
        if is_dask(X):
            return transform_chunks(self, X)
        return self.encode_rows(self._checked(X, reset=False))

    @property
    def specification_(self):
        """The fitted embedding in integers, from which any client makes the same bits: a `Specification`."""
        if "_parsed" not in self.__dict__:  # after loading; a service asks for it with every request
            check_is_fitted(self)
            self._parsed = Specification.from_dict(json.loads(self.specification_json_))
        return self._parsed

    def as_rows(self, X):
        """The codes as `mercer.spaces` rows, the form that learners and searchers work on."""
        return self.rows_of_codes(self.encode_rows(X))

    def rows_of_codes(self, codes):
        """Codes that came from elsewhere, uint8 of shape (n, n_bytes), as rows for learning."""
        codes = np.asarray(codes)
        if codes.dtype != np.uint8 or codes.ndim != 2 or codes.shape[1] != self._n_features_out:
            raise InputError(
                f"{type(self).__name__} has codes of {self._n_features_out} bytes per row, got an array of shape "
                f"{codes.shape} and type {codes.dtype}."
            )
        return self._as_rows(codes)

    # ---------------------------------------------------------------------------------------------------- fitting

    def _draw_seed(self):
        """(seed of the projections, a RandomState for everything else)."""
        random_state = check_random_state(self.random_state)
        high, low = random_state.randint(0, 2**32, size=2, dtype=np.uint64)
        return (int(high) << 32) | int(low), random_state

    def _find_rounding(self, X, may_center):
        """Center and scale of the numbers, so that the largest of the training rows fits 16 bits with room."""
        size = self._block_size(X.shape[1])
        center = scale = None
        largest = _largest(X, size)
        if self.standardize:
            center = _mean(X, size)
            spread = _spread(X, size, center)
            scale = np.divide(1.0, spread, out=np.ones_like(spread), where=spread > 0)
            largest = _largest(X, size, center, scale)
        elif may_center:
            mean = _mean(X, size)
            centred = _largest(X, size, mean)
            if largest >= WORTH_CENTERING * centred:  # else sparse rows and short specifications stay so
                center, largest = mean, centred
        return Rounding(center, scale, _exponent(largest), self._unit(size))

    def _unit(self, size):
        return padded_length(size) if self.matrix == "structured" else UNIT

    def _specify(self, X, kind, seed, projections, bits, dither, rounding, step=1, offsets=None, entries=None):
        size = self._block_size(X.shape[1])
        return Specification(
            kind, self.matrix, seed, size, X.shape[1] // size, int(projections), int(bits), step, dither,
            *rounding.fields(), offsets, entries,
        )  # fmt: skip

    def _keep(self, specification):
        self.specification_json_ = specification.to_json()
        self._parsed, self._made = specification, Projector(specification)

    def _block_size(self, n_columns):
        return n_columns if self.block_size is None else int(self.block_size)

    def _check_blocks(self, n_columns):
        if self.block_size is not None and n_columns % int(self.block_size):
            raise InputError(
                f"{type(self).__name__} has blocks of {self.block_size} columns; X has {n_columns} columns, which is "
                "not a multiple of the block size."
            )

    # --------------------------------------------------------------------------------------------------- encoding

    @property
    def _projector(self):
        """Matrix and dither; after loading, made from the seed at first use."""
        if "_made" not in self.__dict__:
            self._made = Projector(self.specification_)
        return self._made

    def __getstate__(self):
        made = ("_parsed", "_made")  # from the text, which is smaller
        return {name: value for name, value in super().__getstate__().items() if name not in made}

    def encode_rows(self, X):
        return self._projector.encode(X, self.n_jobs)

    @property
    def _bits(self):
        return self.specification_.n_bits

    @property
    def _n_features_out(self):
        return self.specification_.n_bytes

    def resolved_kernel(self):
        return Linear()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # codes are bytes
        return tags

    def _check_loaded(self):
        try:
            specification = self.specification_
        except (InputError, TypeError, ValueError) as error:
            raise ValueError(f"specification_json_ is not a valid specification of an embedding: {error}") from error
        if specification.n_features != self.n_features_in_:
            raise ValueError("n_features_in_ must match the specification.")


@dataclass
class Rounding:
    """How numbers become whole ones: ((x - center) * scale) * 2^exponent, center and scale None or arrays."""

    center: np.ndarray | None
    scale: np.ndarray | None
    exponent: int
    unit: int  # of projections

    def fields(self):
        """exponent, scale and center of a specification."""
        if self.scale is None:
            return self.exponent, None, self.center
        return None, self.scale * 2.0**self.exponent, self.center

    def whole(self, length):
        """A length of the (standardized) data in the integers of projections: a step."""
        return int(np.clip(np.rint(length * 2.0**self.exponent * self.unit), 1, LARGEST_STEP))

    def length(self, projection):
        """A length in the integers of projections in the units of the (standardized) data."""
        return projection / self.unit / 2.0**self.exponent


def _exponent(largest):
    """The largest power of two that keeps the largest number in 16 bits with room."""
    if not largest > 0:
        return 0
    return int(np.clip(np.floor(np.log2(LARGEST / HEADROOM / largest)), -1022, 1023))


def _parts(X, size):
    """Dense float64 blocks of X, some rows at a time."""
    for part in row_chunks(X.shape[0], 16 * X.shape[1], most=2048):
        rows = X[part]
        rows = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
        yield rows.reshape(-1, size).astype(np.float64)


def _mean(X, size):
    """Mean of each column of the blocks."""
    total = sum(part.sum(axis=0) for part in _parts(X, size))
    return total / (X.shape[0] * X.shape[1] // size)


def _spread(X, size, mean):
    """Standard deviation of each column of the blocks."""
    squares = sum(((part - mean) ** 2).sum(axis=0) for part in _parts(X, size))
    return np.sqrt(squares / (X.shape[0] * X.shape[1] // size))


def _largest(X, size, center=0.0, scale=1.0):
    """The largest magnitude of (x - center) * scale."""
    return max(float(np.abs((part - center) * scale).max(initial=0)) for part in _parts(X, size))
