"""Rows stored as codes and decoded a few at a time: immediate expansion, the plain way of learning on coded data."""

__all__ = ["DecodedRows"]

import numpy as np

from mercer._base.errors import InputError
from mercer._base.threads import run_blocks, single_threaded
from mercer._native.spaces.code_products import score_codes_vector
from mercer._native.spaces.words import decode_words
from mercer.spaces.blocks import ordered_total, row_tasks
from mercer.spaces.coded_rows import CodeRows
from mercer.spaces.factored import BlockFactor
from mercer.spaces.rows import Rows

DECODED_ROWS = 250  # rows decoded at a time, as in [vedaldi12sparse] Sec. 5.1


class DecodedRows(Rows):
    """Dense rows stored as one word per block: block m of row i is ``codebooks[m][codes[i, m]]``.

    Products decode 250 rows into memory and multiply them as dense ones. The same products by delayed expansion are
    those of :class:`CodeRows` with the inner product of the codebooks.

    Parameters
    ----------
    codes : array of shape (n, M), uint8 or uint16; or CodeRows
    codebooks : sequence of M arrays (words, size), or array (M, words, size): the words of each block, float32 if all
        are float32, else float64; or the :class:`BlockFactor` that has them as the columns of its factors, which is
        then shared

    Examples
    --------
    >>> import numpy as np
    >>> codebooks = [np.array([[0.0, 1.0], [5.0, 5.0]]), np.array([[2.0], [3.0]])]
    >>> rows = DecodedRows(np.array([[1, 0], [0, 1]], dtype=np.uint8), codebooks)
    >>> rows.shape, rows.scores([1.0, 1.0, 10.0]).tolist()  # (5, 5, 2) and (0, 1, 3)
    ((2, 3), [30.0, 31.0])
    """

    kind = "decoded"

    def __init__(self, codes, codebooks):
        if not isinstance(codebooks, BlockFactor):
            codebooks = BlockFactor([np.asarray(words).T for words in codebooks])
        n_words = codebooks.layout.widths
        rows = codes if isinstance(codes, CodeRows) else CodeRows(codes, n_words)
        if codebooks.repeat != 1 or not np.array_equal(rows.n_words, n_words):
            raise InputError(
                f"DecodedRows needs one codebook for each of the {rows.codes.shape[1]} blocks of the codes, with as "
                f"many words as the block has; got {len(n_words)} codebooks."
            )
        self._set(rows, codebooks)

    def _set(self, rows, inner):
        self._rows, self._inner = rows, inner
        self.codes = rows.codes
        self.shape, self.dtype = (len(rows), inner.n_factors), inner.layout.flat.dtype
        self.nbytes = rows.nbytes + inner.layout.flat.nbytes

    def take(self, which):
        taken = object.__new__(DecodedRows)
        taken._set(self._rows.take(which), self._inner)
        return taken

    def entries(self, i):
        i = range(len(self))[i]  # -1 is the last row, and what does not exist raises
        row = self._decode(self.codes[i : i + 1])[0]
        columns = np.flatnonzero(row)
        return columns, row[columns]

    def toarray(self):
        out = np.empty(self.shape, dtype=self.dtype)
        run_blocks(lambda part: self._decode(self.codes[part], out[part]), row_tasks(len(self)))
        return out

    def _decode(self, codes, out=None):
        if out is None:
            out = np.empty((len(codes), self.shape[1]), dtype=self.dtype)
        inner = self._inner
        layout = inner.layout
        decode_words(codes, layout.flat, layout.ranks, layout.offsets, layout.rank_starts[:-1], out)
        return out

    def _score(self, v, out, n_jobs):
        def score(part):
            np.matmul(self._decode(self.codes[part]), v, out=out[part])

        with single_threaded():  # BLAS gives other bits on other numbers of threads
            run_blocks(score, _parts(0, len(self)), n_jobs)

    def add_up(self, r, n_jobs):
        def add(strip, r, total):
            for part in _parts(strip.start, strip.stop):
                total += self._decode(self.codes[part]).T @ r[part]

        with single_threaded():
            return ordered_total(add, self.shape, len(self) * self.shape[1], r, n_jobs)

    def squared_norms(self, n_jobs):
        # the norm of a row is a sum over its words, so a table of their norms is looked up
        out = np.empty(len(self))
        table = np.concatenate([np.einsum("rk,rk->k", *2 * [F.astype(np.float64)]) for F in self._inner.factors])

        def fill(part):
            score_codes_vector(self.codes, self._rows.starts, table, part.start, part.stop, out)

        run_blocks(fill, row_tasks(len(self)), n_jobs)
        return out


def _parts(start, stop):
    return [slice(first, min(first + DECODED_ROWS, stop)) for first in range(start, stop, DECODED_ROWS)]
