"""The rows that an index keeps for final scores: dense or sparse, in float32, float16 or uint8.

uint8 keeps row / scale, rounded: scale 1 for integers up to 255 (counts, SIFT), which are kept exactly, else the
largest value of the row / 255.
"""

__all__ = ["VECTOR_TYPES", "VectorFormat", "as_kept", "type_for"]

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError
from mercer.search.storage.blocks import Column

VECTOR_TYPES = ("auto", "float32", "float16", "uint8", None)
LARGEST = 255
CHECKED_ROWS = 2**14  # looked at together for integers


_FIRST = np.zeros(1, dtype=np.int64)


class VectorFormat:
    """How rows become columns of a storage, and back.

    Parameters
    ----------
    name : {"float32", "float16", "uint8"}
    is_sparse : bool
    width : int, columns of a row
    """

    def __init__(self, name, is_sparse, width):
        self.name, self.is_sparse, self.width = name, is_sparse, width

    @property
    def columns(self):
        """The columns of the storage."""
        dtype = np.dtype(self.name)
        if self.is_sparse:
            kept = [Column("columns", np.dtype(np.int32), ragged=True), Column("values", dtype, ragged=True)]
        else:
            kept = [Column("vectors", dtype, (self.width,))]
        return [*kept, Column("scale", np.dtype(np.float32))] if self.name == "uint8" else kept

    def pack(self, X, who):
        """(columns of validated rows, whether every value is kept as it was)."""
        values, scales = self._rounded(X, who)
        if not self.is_sparse:
            arrays = {"vectors": values}
            exact = bool(np.array_equal(self._restored(values, scales), X))
        else:
            lengths = np.diff(X.indptr).astype(np.int64)
            arrays = {"columns": (X.indices.astype(np.int32), lengths), "values": (values, lengths)}
            back = self._restored(values, None if scales is None else np.repeat(scales, lengths))
            exact = bool(np.array_equal(back, X.data))
        if scales is not None:
            arrays["scale"] = scales
        return arrays, exact

    def _rounded(self, X, who):
        data = X.data if self.is_sparse else X
        if self.name != "uint8":
            with np.errstate(over="ignore"):
                values = data.astype(self.name)
            if not np.isfinite(values).all():
                raise InputError(
                    f"{who} stores rows as {self.name}, which cannot represent {np.abs(data).max():.6g}. Use "
                    "vectors='float32', or scale the rows."
                )
            return values, None
        if data.min(initial=0) < 0:
            raise InputError(
                f"{who} stores rows as uint8, which needs values >= 0. Use vectors='float16' or 'float32'."
            )
        highest = X.max(axis=1).toarray().ravel() if self.is_sparse else X.max(axis=1, initial=0)
        whole = self._per_row(X, data == np.round(data)) & (highest <= LARGEST)
        steps = np.maximum(highest / LARGEST, np.finfo(np.float32).tiny)  # below, a step would be rounded to nothing
        scales = np.where(whole, 1.0, steps).astype(np.float32)
        spread = np.repeat(scales, np.diff(X.indptr)) if self.is_sparse else scales[:, None]
        return np.clip(np.round(data / spread), 0, LARGEST).astype(np.uint8), scales

    def _per_row(self, X, flags):
        """Whether all flags of a row are set."""
        if not self.is_sparse:
            return flags.all(axis=1)
        failed = np.concatenate([[0], np.cumsum(~flags)])
        return failed[X.indptr[1:]] == failed[X.indptr[:-1]]

    def _restored(self, values, scales):
        values = values.astype(np.float32, copy=False)
        if scales is None:
            return values
        return values * (scales if values.ndim == 1 else scales[:, None])

    def take(self, segments, positions):
        """The rows at these positions, float32."""
        positions = np.asarray(positions)
        if len(segments) == 1 and not self.is_sparse:
            return self._take_dense(segments[0].arrays, positions)
        firsts = np.array([segment.first for segment in segments])
        owner = np.searchsorted(firsts, positions, side="right") - 1
        if self.is_sparse:
            return self._take_sparse(segments, positions, owner)
        out = np.empty((len(positions), self.width), dtype=np.float32)
        for number in np.unique(owner):
            mine = owner == number
            out[mine] = self._take_dense(segments[number].arrays, positions[mine] - segments[number].first)
        return out

    def _take_dense(self, arrays, places):
        return self._restored(arrays["vectors"][places], arrays["scale"][places] if self.name == "uint8" else None)

    def entries(self, segments, positions):
        """(begins, ends, columns, values in float32) of sparse rows at ascending positions, without the matrix.

        The last two may have more rows than these: those of the one segment that there is.
        """
        if len(segments) == 1 and self.name == "float32":
            arrays = segments[0].arrays
            (columns, _), (values, offsets) = arrays["columns"], arrays["values"]
            return offsets[positions], offsets[positions + 1], columns, values
        cuts = np.searchsorted(positions, [segment.first for segment in segments] + [segments[-1].first + 2**62])
        parts = [
            self._entries(segment.arrays, positions[begin:end] - segment.first)
            for segment, begin, end in zip(segments, cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)
        ]
        ends = np.cumsum(np.concatenate([np.diff(starts) for starts, _, _ in parts]))
        columns, values = (np.concatenate([part[i] for part in parts]) for i in (1, 2))
        return np.concatenate([_FIRST, ends[:-1]]), ends, columns, values

    def _entries(self, arrays, places):
        values, offsets = arrays["values"]
        columns, _ = arrays["columns"]
        begins = offsets[places]
        lengths = offsets[places + 1] - begins
        starts = np.zeros(len(places) + 1, dtype=np.int64)
        np.cumsum(lengths, out=starts[1:])
        at = np.arange(starts[-1]) + np.repeat(begins - starts[:-1], lengths)
        scales = np.repeat(arrays["scale"][places], lengths) if self.name == "uint8" else None
        return starts, columns[at], self._restored(values[at], scales)

    def _take_sparse(self, segments, positions, owner):
        parts, order = [], []
        for number in np.unique(owner):
            mine = np.flatnonzero(owner == number)
            starts, columns, data = self._entries(segments[number].arrays, positions[mine] - segments[number].first)
            parts.append(sparse.csr_array((data, columns, starts), shape=(len(mine), self.width)))
            order.append(mine)
        if not parts:
            return sparse.csr_array((0, self.width), dtype=np.float32)
        rows = sparse.vstack(parts, format="csr")
        return sparse.csr_array(rows[np.argsort(np.concatenate(order), kind="stable")])


def as_kept(X, is_sparse):
    """Validated rows, dense or sparse as the kept rows are."""
    if is_sparse == sparse.issparse(X):
        return X
    return sparse.csr_array(X) if is_sparse else X.toarray()


def type_for(X):
    """How rows such as these are kept if nobody says: uint8 for integers up to 255, else float32."""
    values = sparse.csr_array(X).data if sparse.issparse(X) else np.asarray(X)
    for start in range(0, len(values), CHECKED_ROWS):
        part = values[start : start + CHECKED_ROWS]
        numbers = part.size and np.issubdtype(part.dtype, np.number)
        if not numbers or part.min() < 0 or part.max() > LARGEST or not np.array_equal(part, np.round(part)):
            return "float32"
    return "uint8" if len(values) else "float32"
