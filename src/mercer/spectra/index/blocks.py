"""Peaks of up to 2**16 consecutive spectra, sorted by m/z, or by what the precursor loses to become them.

masses   float64 (P,)  ascending
values   float32 (P,)  prepared intensities
rows     uint16  (P,)  spectra, counted from the first of the block

Nothing a file says here can lead a loop astray: windows end where the masses do, and every uint16 has a sum. A block
that is full, or whose segment is, never changes while its generation lasts, so its file is written once.
"""

__all__ = ["BLOCK_ROWS", "Blocks", "PeakBlock", "verify_files"]

import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mercer._base.errors import ModelFileError
from mercer._base.files import container
from mercer._base.files.container import FileProblem
from mercer._base.threads import run_blocks
from mercer.search.storage.api import Segment
from mercer.search.storage.directory.derived import mapped_arrays
from mercer.search.storage.directory.files import derived_name

BLOCK_ROWS = 2**16
_DTYPES = {"masses": "<f8", "values": "<f4", "rows": "<u2"}


@dataclass(frozen=True)
class PeakBlock:
    """The peaks of the rows ``start`` to ``start + n_rows`` of a segment."""

    segment: Segment
    precursors: np.ndarray  # of the segment
    start: int
    n_rows: int
    arrays: dict[str, Any]

    @property
    def first(self):
        """The position of its first row."""
        return self.segment.first + self.start

    @property
    def nbytes(self):
        """Of the arrays."""
        return sum(array.nbytes for array in self.arrays.values())


class Blocks:
    """The blocks of a collection at any moment; those of rows that were there before are kept.

    Parameters
    ----------
    kind : "peaks" or "losses"
    precursors : the name of their column in a storage
    """

    def __init__(self, kind, precursors):
        self._kind, self._precursors = kind, precursors
        self._known: dict[tuple[int, int, int], PeakBlock] = {}

    def of(self, snapshot, folder=None, writes=False):
        """All blocks of a snapshot; ``folder`` is that of its generation on the disk."""
        last = len(snapshot.segments) - 1
        places = [(number, start, min(BLOCK_ROWS, segment.n_rows - start), number < last)
                  for number, segment in enumerate(snapshot.segments)
                  for start in range(0, segment.n_rows, BLOCK_ROWS)]  # fmt: skip

        def block(place):
            number, start, n_rows, is_final = place
            known = self._known.get((number, start, n_rows))
            if known is not None:
                return known
            segment = snapshot.segments[number]
            path = None
            if folder is not None and (is_final or n_rows == BLOCK_ROWS):
                path = Path(folder) / derived_name(self._kind, number * 2**16 + start // BLOCK_ROWS)
            arrays = self._arrays(segment, start, n_rows, path, writes)
            return PeakBlock(segment, segment.arrays[self._precursors], start, n_rows, arrays)

        found = run_blocks(block, places)
        self._known = {place[:3]: each for place, each in zip(places, found, strict=True)}
        return found

    def _arrays(self, segment, start, n_rows, path, writes):
        if path is not None and (stored := _load(path, segment.first + start, n_rows)) is not None:
            return stored
        arrays = self._built(segment, start, n_rows)
        if path is not None and writes:
            with suppress(OSError):  # a full disk is no reason to fail: it can be done without
                container.write(path, {"peaks": {"first": segment.first + start, "rows": n_rows}}, arrays)
        return arrays

    def _built(self, segment, start, n_rows):
        mz, offsets = segment.arrays["mz"]
        part = slice(offsets[start], offsets[start + n_rows])
        lengths = np.diff(offsets[start : start + n_rows + 1])
        rows = np.repeat(np.arange(n_rows, dtype=np.uint16), lengths)
        masses, values = mz[part], segment.arrays["intensity"][0][part]
        if self._kind == "losses":
            precursors = np.repeat(segment.arrays[self._precursors][start : start + n_rows], lengths)
            known = np.isfinite(precursors)
            masses, values, rows = (precursors - masses)[known], values[known], rows[known]
        order = np.argsort(masses)
        return {"masses": masses[order], "values": values[order], "rows": rows[order]}


def _load(path, first, n_rows):
    """The arrays of a file that can be a block, else None: they are made again."""
    with suppress(ModelFileError, FileProblem, OSError):
        if stat.S_ISREG(os.lstat(path).st_mode) and container.read_header(path).document.get("peaks") == {
            "first": first,
            "rows": n_rows,
        }:
            _, arrays = mapped_arrays(path)
            fits = all(arrays[name].dtype == dtype and arrays[name].ndim == 1 for name, dtype in _DTYPES.items())
            if fits and len({len(arrays[name]) for name in _DTYPES}) == 1:
                return arrays
    return None


def verify_files(folder):
    """Refuse files of blocks whose checksums do not match."""
    for path in [path for kind in ("peaks", "losses") for path in sorted(Path(folder).glob(f"derived-*.{kind}"))]:
        try:
            container.verify(path)
        except ModelFileError as error:
            raise FileProblem(f"has a damaged file {path.name!r}. Delete it; Mercer then writes it again.") from error
