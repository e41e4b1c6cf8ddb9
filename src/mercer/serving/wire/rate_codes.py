"""The codes whose accuracy is compared: how each is made of so many bits, and its features as dense numbers."""

__all__ = [
    "CODES",
    "DETERMINISTIC",
    "RawQuantizer",
    "SharedQuantizer",
    "check_bits",
    "check_block_size",
    "check_codes",
    "code_at",
    "dense_features",
    "rates_of",
    "split_of",
]

from collections.abc import Mapping
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._base.errors import InputError
from mercer._base.parameters import keep_arguments
from mercer.codes import CompactEmbedding, ProductQuantizer, QuantizedJL, UniversalEmbedding
from mercer.spaces import DecodedRows, Identity

CODES = ("unquantised", "raw", "raw-mean", "qjl-1", "qjl-2", "qjl-3", "qjl-4", "universal", "compact", "pq")
DETERMINISTIC = ("unquantised", "raw", "raw-mean")  # nothing is drawn
MOST_RAW_BITS = 8
WORD_BITS = 8  # of product quantisation
TRAINING_BLOCKS = 2**16  # from which shared words are learnt


class RawQuantizer(TransformerMixin, BaseEstimator):
    """Each number on its own in a few bits, without any projection: it becomes the mean of its cell.

    Parameters
    ----------
    bits : int
        Bits of a number.
    thresholds : {"quantiles", "mean"}
        Where cells end: at quantiles of the training numbers, or (1 bit) at their mean.
    block_size : int or None
        Columns of a block; all blocks share the thresholds of its columns. None: the whole row.
    """

    def __init__(self, bits=1, *, thresholds="quantiles", block_size=None):
        self.bits = bits
        self.thresholds = thresholds
        self.block_size = block_size

    def fit(self, X, y=None):
        """Find thresholds and means. ``y`` is ignored."""
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        blocks = _blocks(X, self.block_size)
        if self.thresholds == "mean":
            self.thresholds_ = blocks.mean(axis=0, dtype=np.float64)[None]
        else:
            inner = np.arange(1, 2**self.bits) / 2**self.bits
            self.thresholds_ = np.quantile(blocks, inner, axis=0).astype(np.float64)
        cells = self._cells(blocks)
        self.means_ = np.zeros((len(self.thresholds_) + 1, blocks.shape[1]))
        for cell in range(len(self.means_)):
            inside = cells == cell
            count = inside.sum(axis=0)
            total = np.where(inside, blocks, 0).sum(axis=0, dtype=np.float64)
            self.means_[cell] = np.divide(total, count, out=np.zeros(len(count)), where=count > 0)
        return self

    def transform(self, X):
        """The means of the cells that the numbers fall into."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        cells = self._cells(_blocks(X, self.block_size))
        return np.take_along_axis(self.means_, cells, axis=0).reshape(X.shape).astype(X.dtype)

    def _cells(self, blocks):
        cells = np.zeros(blocks.shape, dtype=np.int64)
        for threshold in self.thresholds_:
            cells += blocks > threshold
        return cells


class SharedQuantizer(TransformerMixin, BaseEstimator):
    """A product quantiser of blocks with words that all blocks share; rows become the words that stand for them.

    Parameters
    ----------
    block_size : int
    bits : int, of a block
    random_state, n_jobs : as in ProductQuantizer
    """

    def __init__(self, block_size, bits, *, random_state=None, n_jobs=None):
        keep_arguments(self, locals())

    def fit(self, X, y=None):
        """Learn the words. ``y`` is ignored."""
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        blocks = _blocks(X, self.block_size)
        rng = check_random_state(self.random_state)
        if len(blocks) > TRAINING_BLOCKS:
            blocks = blocks[rng.choice(len(blocks), TRAINING_BLOCKS, replace=False)]
        parts, word_bits = split_of(self.bits)
        rotation = "allocation" if parts > 1 else None
        self.quantizer_ = ProductQuantizer(
            n_blocks=parts, bits=word_bits, rotation=rotation, random_state=rng, n_jobs=self.n_jobs
        ).fit(blocks)
        return self

    def transform(self, X):
        """The decoded rows."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        blocks = _blocks(X, self.block_size)
        return self.quantizer_.inverse_transform(self.quantizer_.transform(blocks)).reshape(X.shape)


def split_of(bits):
    """(number of words, bits of each) of product quantisation in so many bits, with the longest words; None if none.

    >>> split_of(18), split_of(64), split_of(7), split_of(11)
    ((3, 6), (8, 8), (1, 7), (11, 1))
    """
    return next((bits // word, word) for word in range(min(WORD_BITS, bits), 0, -1) if bits % word == 0)


def rates_of(code, bits, n_columns):
    """The rates, of a block with so many columns, at which a code exists; None for numbers as they are."""
    if callable(code):
        return [n for n in bits if code(n) is not None]
    if code == "unquantised":
        return [None]
    if code == "raw":
        most = min(MOST_RAW_BITS, max(bits) // n_columns)
        return [n_columns * b for b in range(1, max(1, most) + 1)]
    if code == "raw-mean":
        return [n_columns]
    if code.startswith("qjl-"):
        return [n for n in bits if n % int(code[4:]) == 0]
    if code == "pq":
        return [n for n in bits if split_of(n)[0] <= n_columns]
    return list(bits)


def code_at(code, bits, block_size, n_columns, random_state, n_jobs=None):
    """The estimator of a code at a rate, not fitted; None for numbers as they are.

    Parameters
    ----------
    code : one of CODES, "universal-F" with the factor F of delta, of the rule's, or a function of bits
    bits : of a block, one of `rates_of`
    block_size : int or None
    n_columns : of a block
    """
    common = {"random_state": random_state, "n_jobs": n_jobs}
    if callable(code):
        made = code(bits)
        own = made.get_params(deep=False)
        return made.set_params(**{name: value for name, value in common.items() if name in own and own[name] is None})
    if code == "unquantised":
        return None
    if code == "raw":
        return RawQuantizer(bits // n_columns, block_size=block_size)
    if code == "raw-mean":
        return RawQuantizer(1, thresholds="mean", block_size=block_size)
    if code.startswith("qjl-"):
        b = int(code[4:])
        return QuantizedJL(bits // b, bits=b, block_size=block_size, **common)
    if code.startswith("universal"):
        return UniversalEmbedding(bits, block_size=block_size, **common)
    if code == "compact":
        return CompactEmbedding(bits, block_size=block_size, **common)
    if block_size is not None:
        return SharedQuantizer(block_size, bits, **common)
    parts, word_bits = split_of(bits)
    return ProductQuantizer(n_blocks=parts, bits=word_bits, **common)


def check_codes(codes):
    """{name: name or function}, if all of them are codes."""
    named = dict(codes) if isinstance(codes, Mapping) else {code: code for code in codes}
    for code in named.values():
        is_name = isinstance(code, str) and (code in CODES or _is_scaled(code))
        if not is_name and not callable(code):
            raise InputError(
                f"rate_accuracy has the codes {', '.join(CODES)}, and universal-F with a factor F of delta, got "
                f"{code!r}."
            )
    return named


def check_bits(bits):
    """Rates as ascending whole numbers."""
    rates = sorted(set(bits))
    if not rates or not all(isinstance(n, Integral) and not isinstance(n, bool) and n >= 1 for n in rates):
        raise InputError(f"rate_accuracy needs bits to be integers >= 1; got {bits!r}.")
    return [int(n) for n in rates]


def check_block_size(block_size, n_columns):
    """Refuse blocks that do not fill the columns of a row."""
    if block_size is None:
        return
    if not isinstance(block_size, Integral) or isinstance(block_size, bool) or block_size < 1 or n_columns % block_size:
        raise InputError(f"rate_accuracy needs block_size to divide the {n_columns} columns of X; got {block_size!r}.")


def dense_features(code, X):
    """The features of rows by a fitted code as a dense array: what a linear machine on the code works with."""
    if code is None:
        return X
    if not hasattr(code, "inner_"):
        return code.transform(X)
    rows, inner = code.rows(X), code.inner_
    return rows.toarray() if isinstance(inner, Identity) else DecodedRows(rows, inner).toarray()


def _blocks(X, size):
    return X if size is None else X.reshape(-1, size)


def _is_scaled(code):
    """Whether a name is universal-F."""
    try:
        return code.startswith("universal-") and 0 < float(code.removeprefix("universal-")) < np.inf
    except ValueError:
        return False
