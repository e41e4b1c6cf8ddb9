"""Up to 2**16 rows as bytes, in the order in which the loop reads them.

strips  int8 (32 S W,)      level after level, in each strip after strip: 32 rows side by side, two bytes each
norms   float32 (32 S,)     sqrt(K(x, x)); places behind the last row are padding, which is never looked for
loose   int32 (m,)          rows that bytes do not say well enough, ascending
plain   float32 (m, E + 2)  their components, tails, and 1
"""

__all__ = ["CHUNK_ROWS", "Chunk"]

from itertools import pairwise

import numpy as np

from mercer._base.files.container import FileProblem
from mercer._native.lanes import STRIDE
from mercer.search.exact.directions import Coded

ARRAYS = ("strips", "norms", "loose", "plain")
CHUNK_ROWS = 2**16
LINE = 64  # bytes of a line of the cache


class Chunk:
    """The rows ``first`` to ``first + n_rows``.

    Parameters
    ----------
    first, n_rows : int
    arrays : dict of the arrays above
    """

    def __init__(self, first, n_rows, arrays):
        self.first, self.n_rows, self.arrays = first, n_rows, arrays
        self.stored_rows = 0  # that its file has
        self.strips, self.norms, self.loose, self.plain = (arrays[name] for name in ARRAYS)
        bytes_hold = np.arange(len(self.norms)) < n_rows
        bytes_hold[self.loose] = False
        self._by_bytes = _as_words(bytes_hold)

    @classmethod
    def checked(cls, first, n_rows, arrays, directions):
        """A chunk from a file that nobody vouches for."""
        size = -(-n_rows // STRIDE) * STRIDE
        n_loose = len(arrays["loose"]) if "loose" in arrays and arrays["loose"].ndim == 1 else 0
        wanted = {
            "norms": (np.float32, (size,)),
            "strips": (np.int8, (size * directions.width,)),
            "loose": (np.int32, (n_loose,)),
            "plain": (np.float32, (n_loose, directions.n_components + 2)),
        }
        for name, (dtype, shape) in wanted.items():
            if name not in arrays or arrays[name].dtype != dtype or arrays[name].shape != shape:
                raise FileProblem(f"has damaged bounds: no {name!r} of {n_rows} rows.")
        loose, norms = arrays["loose"], arrays["norms"]
        if n_loose and (loose[0] < 0 or loose[-1] >= n_rows or (np.diff(loose) <= 0).any()):
            raise FileProblem("has damaged bounds: the numbers of loose rows do not ascend.")
        if not (np.isfinite(norms) & (norms >= 0)).all() or not np.isfinite(arrays["plain"]).all():
            raise FileProblem("has damaged bounds: they are not finite.")
        return cls(first, n_rows, arrays)

    def agrees(self, directions, places, X):
        """Whether some rows are those that the chunk was made of, but for what other processors round otherwise."""
        kept, made = self.coded(directions.widths), directions.coded(X)
        codes = np.abs(kept.codes[places].astype(np.int16) - made.codes).max(initial=0) <= 1
        return codes and np.allclose(kept.norms[places], made.norms, rtol=1e-6, atol=0)

    @classmethod
    def of(cls, first, coded, widths):
        """The chunk of `Coded` rows."""
        n_rows = len(coded.codes)
        size = -(-n_rows // STRIDE) * STRIDE
        padded = np.zeros((size, coded.codes.shape[1]), dtype=np.int8)
        padded[:n_rows] = coded.codes
        levels = [
            padded[:, start:stop].reshape(-1, STRIDE, (stop - start) // 2, 2).transpose(0, 2, 1, 3).ravel()
            for start, stop in pairwise(np.cumsum([0, *widths]))
        ]
        arrays = {
            "strips": _aligned(np.concatenate(levels)),
            "norms": np.pad(coded.norms, (0, size - n_rows)),
            "loose": coded.loose.astype(np.int32),
            "plain": coded.plain,
        }
        return cls(first, n_rows, arrays)

    def coded(self, widths):
        """The `Coded` rows that the chunk is made of."""
        size = len(self.norms)
        codes = [
            self.strips[size * start : size * stop].reshape(-1, (stop - start) // 2, STRIDE, 2).transpose(0, 2, 1, 3)
            .reshape(size, -1)
            for start, stop in pairwise(np.cumsum([0, *widths]))
        ]  # fmt: skip
        return Coded(
            np.hstack(codes)[: self.n_rows], self.norms[: self.n_rows], self.loose.astype(np.int64), self.plain
        )

    @property
    def n_strips(self):
        return len(self.norms) // STRIDE

    @property
    def stop(self):
        return self.first + self.n_rows

    @property
    def nbytes(self):
        return sum(array.nbytes for array in self.arrays.values())

    def wanted(self, allowed):
        """A bit for each row that bytes bound and that may be found, in words of 32."""
        if allowed is None:
            return self._by_bytes
        mine = np.zeros(len(self.norms), dtype=bool)
        mine[: self.n_rows] = allowed[self.first : self.stop]
        return self._by_bytes & _as_words(mine)


def _as_words(flags):
    return np.packbits(flags, bitorder="little").view("<u4").astype(np.uint32)


def _aligned(values):
    """A copy that starts at a line of the cache, so that a stride takes one of them and not two."""
    room = np.empty(values.size + LINE, dtype=np.int8)
    start = -room.ctypes.data % LINE
    out = room[start : start + values.size].reshape(values.shape)
    out[...] = values
    return out
