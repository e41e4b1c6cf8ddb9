"""Rows of an array, in memory or memory-mapped, or of a CSR matrix."""

__all__ = ["ArraySource"]

from dataclasses import replace

from mercer._base.errors import InputError
from mercer._base.tables.columns import choose_columns
from mercer._base.tables.content import Content
from mercer._base.tables.formats.npy import give_back
from mercer._base.tables.rules import (
    InputRules,
    settle_dtype,
    settle_labels,
    whole_ids,
)
from mercer._base.tables.sources.rows import BLOCK_BYTES, BLOCK_ROWS, RowSource


class ArraySource(RowSource):
    """Rows of an array, in memory or memory-mapped, or of a CSR matrix.

    Blocks of an array in memory are views if its type needs no change; blocks of a mapped one are copies, and the pages
    they came from are given back, so that one block is in memory at a time.
    """

    def __init__(self, X, name: str, rules: InputRules, content: Content | None = None):
        import numpy as np

        if X.dtype.kind not in "fiub":
            raise InputError(f"{name} holds values of type {X.dtype}; only real numbers are supported.")
        self._stored = X
        self._rows = X if hasattr(X, "indptr") else np.asarray(X)
        self._content = content
        self._chosen, self._picked = None, None
        width, names = X.shape[1], None
        others: tuple[str, ...] = ()
        if content is None:  # columns are still to be chosen
            rules.limit.check_row(width, name)
            self._chosen = choose_columns(None, width, rules, name)
            if len(self._chosen.features) != width or rules.columns:
                self._picked = np.array(self._chosen.features, dtype=np.intp)
                width = len(self._picked)
        else:
            names, others, self.lines = content.names, content.others, content.lines
        super().__init__((X.shape[0], width), name, rules, names, others)

    def raw_blocks(self, size):
        for start in range(0, len(self), size):
            part = slice(start, min(start + size, len(self)))
            yield self._read(part), part

    def raw_rows(self, chosen):
        import numpy as np

        if hasattr(self._rows, "indptr"):
            return self._read(chosen)
        step = self.default_size()
        return np.concatenate([self._read(chosen[start : start + step]) for start in range(0, len(chosen), step)])

    def _read(self, which):
        import numpy as np

        rows = self._rows[which]
        if self._picked is not None:
            rows = rows[:, self._picked]
        if not hasattr(self._stored, "_mmap"):
            return rows
        rows = np.array(rows, order="C", copy=True if isinstance(which, slice) else None)
        touched = which if isinstance(which, slice) else slice(which[0], which[-1] + 1)
        give_back(self._stored, self._rows[touched])
        return rows

    def _natural_dtype(self):
        stored, rules = self._rows.dtype, replace(self._rules, format=None)
        if stored.kind == "f" or stored.itemsize <= 2:
            return settle_dtype(self._rows[:1], rules, self.name).dtype
        # integers become float64 only if one of them needs it
        settled = (settle_dtype(rows, rules, self.name).dtype for rows, _ in self.raw_blocks(self.default_size()))
        return next((dtype for dtype in settled if dtype.itemsize == 8), "float32")

    def _labels(self):
        if self._content is not None:
            return self._content.y, self._content.unlabelled
        return (None, None) if self._chosen.label is None else settle_labels(self._column(self._chosen.label))

    def _ids(self):
        if self._content is not None:
            return self._content.ids
        return None if self._chosen.id is None else whole_ids(self._column(self._chosen.id), self.name)

    def _data(self):
        return None if self._content is None else self._content.data

    def _column(self, position):
        import numpy as np

        self._rules.limit.check(8 * len(self), self.name, "its labels")
        parts = []
        for start in range(0, len(self), self.default_size()):
            rows = self._rows[start : start + self.default_size()]
            parts.append(np.array(rows[:, position]))
            give_back(self._stored, rows)
        return np.concatenate(parts)

    def default_size(self):
        if not hasattr(self._rows, "indptr"):
            return super().default_size()
        entries = max(1, self._rows.nnz // len(self))
        return max(1, min(BLOCK_ROWS, BLOCK_BYTES // (16 * entries)))
