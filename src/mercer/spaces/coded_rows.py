"""Rows stored as codes: one word per block, or packed bits."""

__all__ = ["BYTE_SIGNS", "BitRows", "CodeRows"]

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError
from mercer._base.threads import run_blocks
from mercer._native.spaces import bits as bit_loops
from mercer._native.spaces import code_products as code_loops
from mercer.spaces.blocks import aligned_zeros as aligned_zeros
from mercer.spaces.blocks import ordered_total, row_tasks, width_of
from mercer.spaces.rows import Rows

# Bits of so few rows are added one by one; more go through tables, which take about 256 additions per byte and class to
# make and then one per row. Single bits take eight, and then about five per row. Measured to cost the same at 17 to 400
# rows (64 to 4,096 bits, 1 to 105 classes, float32 and float64).
FEW_ROWS = 16


class CodeRows(Rows):
    """One-hot rows stored as one word per block: feature ``starts[m] + codes[i, m]`` of row i is 1 for each block m.

    Parameters
    ----------
    codes : array of shape (n, M), uint8 or uint16
    n_words : int or sequence of M ints, the number of words of every block or of each block; D is their sum

    Examples
    --------
    Two blocks of three words; a score is the sum of one weight per block:

    >>> import numpy as np
    >>> rows = CodeRows(np.array([[0, 2], [1, 1]], dtype=np.uint8), n_words=3)
    >>> rows.shape, rows.scores([1.0, 2.0, 3.0, 10.0, 20.0, 30.0]).tolist()
    ((2, 6), [31.0, 22.0])
    """

    kind = "codes"

    def __init__(self, codes, n_words):
        codes, words = np.asarray(codes), np.asarray(n_words)
        if codes.ndim != 2 or codes.dtype not in (np.uint8, np.uint16):
            raise InputError(
                f"CodeRows needs codes of shape (rows, blocks) and type uint8 or uint16, got {codes.shape} of type "
                f"{codes.dtype}."
            )
        M = codes.shape[1]
        if words.shape not in ((), (M,)) or (words.dtype.kind not in "iu" and words.size) or (words < 0).any():
            raise InputError(
                f"CodeRows needs n_words to be an integer, or {M} integers, one per block; got {n_words!r}."
            )
        words = np.broadcast_to(words, (M,)).astype(np.int64)
        largest = codes.max(axis=0, initial=0)
        if len(codes) and (largest >= words).any():  # the compiled loops use the words without looking
            m = int(np.argmax(largest >= words))
            raise InputError(
                f"CodeRows has the word {largest[m]} in block {m}, whose words range from 0 to {words[m] - 1}. Raise "
                "n_words or encode the rows again."
            )
        self._set(np.ascontiguousarray(codes), words)

    def _set(self, codes, words):
        self.codes, self.n_words = codes, words
        ends = np.cumsum(words)
        self.starts = ends - words
        self.shape = (len(codes), int(words.sum()))
        self.dtype, self.nbytes = codes.dtype, codes.nbytes

    def followed_by(self, others):
        return CodeRows(np.concatenate([part.codes for part in (self, *others)]), self.n_words)

    def take(self, which):
        rows = object.__new__(CodeRows)
        rows._set(np.ascontiguousarray(self.codes[which]), self.n_words)
        return rows

    def entries(self, i):
        return self.starts + self.codes[i], np.ones(self.codes.shape[1])

    def toarray(self):
        return self.to_csr().toarray()

    def _score(self, v, out, n_jobs):
        _score_codes(self.codes, self.starts, v, out, n_jobs)

    def add_up(self, r, n_jobs):
        return _total_codes(self.codes, self.starts, self.shape[1], r, n_jobs)

    def squared_norms(self, n_jobs):
        return np.full(len(self), float(self.codes.shape[1]))

    def to_csr(self):
        n, M = self.codes.shape
        columns = (self.starts + self.codes).reshape(-1)
        return sparse.csr_array((np.ones(n * M), columns, np.arange(n + 1) * M), shape=self.shape)


class BitRows(Rows):
    """Rows of -1 and +1, times a number, stored as packed bits b: phi = value (2 b - 1).

    Parameters
    ----------
    packed : uint8 array of shape (n, ceil(n_bits / 8)), the first bit of a byte being its lowest, as in Mercer's binary
        codes; what stands in the bits beyond ``n_bits`` does not matter
    n_bits : the number D of bits per row
    value : of a bit that is set

    Examples
    --------
    >>> import numpy as np
    >>> rows = BitRows(np.array([[0b101], [0b010]], dtype=np.uint8), n_bits=3)
    >>> rows.scores([1.0, 10.0, 100.0]).tolist()  # 1 - 10 + 100, and the opposite
    [91.0, -91.0]
    """

    kind = "bits"

    def __init__(self, packed, n_bits, value=1.0):
        packed = np.asarray(packed)
        if n_bits < 0 or packed.ndim != 2 or packed.dtype != np.uint8 or packed.shape[1] != -(-n_bits // 8):
            raise InputError(
                f"BitRows with n_bits={n_bits} needs packed bits of shape (rows, ceil(n_bits / 8)) and type uint8, got "
                f"{packed.shape} of type {packed.dtype}."
            )
        self.packed, self.n_bits, self.value = np.ascontiguousarray(packed), int(n_bits), float(value)
        self.shape, self.dtype, self.nbytes = (len(packed), self.n_bits), np.dtype(np.int8), self.packed.nbytes

    def take(self, which):
        return BitRows(self.packed[which], self.n_bits, self.value)

    def entries(self, i):
        return np.arange(self.n_bits), self._signs(self.packed[i]) * self.value

    def toarray(self):
        return self._signs(self.packed) * self.value

    def _signs(self, packed):
        return 2.0 * np.unpackbits(packed, axis=-1, count=self.n_bits, bitorder="little") - 1.0

    def _score(self, v, out, n_jobs):
        score = self._score_vector if v.ndim == 1 else self._score_matrix
        score(v, out, n_jobs)

    def _score_vector(self, v, out, n_jobs):
        padded = np.zeros(8 * self.packed.shape[1])  # bits beyond the last feature weigh nothing
        padded[: self.n_bits] = v * self.value
        if len(self) <= FEW_ROWS:  # with the same result in every bit
            bit_loops.score_bits_vector(self.packed, padded, 0, len(self), out)
            return
        tables = np.empty((32 * len(padded), 1))
        code_loops.fill_byte_tables(padded[:, None], tables)
        _score_codes(self.packed, self._table_starts, tables[:, 0], out, n_jobs)

    def _score_matrix(self, v, out, n_jobs):
        lanes = 1 if len(self) <= FEW_ROWS else bit_loops.LINE // v.itemsize
        padded = np.zeros((8 * self.packed.shape[1], -(-v.shape[1] // lanes) * lanes), dtype=v.dtype)
        padded[: self.n_bits, : v.shape[1]] = v * self.value
        if len(self) <= FEW_ROWS:  # with the same result in every bit
            bit_loops.score_bits_matrix(self.packed, padded, 0, len(self), out)
            return
        twice = 2 * padded

        def fill(part):
            tables = _cache_lines(bit_loops.BYTES * bit_loops.ENTRIES, v.dtype)
            totals = _cache_lines(part.stop - part.start, v.dtype)
            bit_loops.score_bytes_matrix(self.packed, padded, twice, part.start, part.stop, tables, totals, out)

        run_blocks(fill, row_tasks(len(self)), n_jobs)

    def add_up(self, r, n_jobs):
        M = self.packed.shape[1]
        histograms = _total_codes(self.packed, self._table_starts, 256 * M, r, n_jobs)
        sums = np.matmul(BYTE_SIGNS.T, histograms.reshape(M, 256, width_of(r)))
        return sums.reshape(8 * M, *r.shape[1:])[: self.n_bits] * self.value

    def squared_norms(self, n_jobs):
        return np.full(len(self), self.n_bits * self.value**2)

    @property
    def _table_starts(self):
        return 256 * np.arange(self.packed.shape[1])


BYTE_SIGNS = 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little") - 1.0


def _cache_lines(n, dtype):
    """So many cache lines of zeros as a flat array."""
    return aligned_zeros((n * bit_loops.LINE // 8,)).view(dtype)


def _score_codes(codes, starts, v, out, n_jobs):
    loop = code_loops.score_codes_vector if v.ndim == 1 else code_loops.score_codes_matrix
    run_blocks(lambda part: loop(codes, starts, v, part.start, part.stop, out), row_tasks(len(codes)), n_jobs)


def _total_codes(codes, starts, n_features, r, n_jobs):
    loop = code_loops.accumulate_codes_vector if r.ndim == 1 else code_loops.accumulate_codes_matrix

    def add(strip, r, total):
        loop(codes, starts, r, strip.start, strip.stop, total)

    return ordered_total(add, (len(codes), n_features), codes.size, r, n_jobs)
