"""Rows of an fvecs, bvecs or ivecs file, block by block."""

__all__ = ["VectorSource"]

from mercer._base.tables.formats.vectors import map_vectors
from mercer._base.tables.rules import InputRules
from mercer._base.tables.sources.arrays import ArraySource


class VectorSource(ArraySource):
    """Rows of a mapped file; the length before each row is compared when the row is read, not by a pass of its own."""

    def __init__(self, path: str, rules: InputRules):
        self._file = map_vectors(path, path, str(rules.format))
        super().__init__(self._file.rows, path, rules)

    def _read(self, which):
        self._file.check(which, self.name)
        return super()._read(which)

    def _labels(self):
        self._file.check(slice(None), self.name)
        return super()._labels()
