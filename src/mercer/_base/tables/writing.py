"""Writing results: a matrix that arrives in blocks of rows, or named columns. ``-`` is the standard output.

A file appears under its name only when it is complete.
"""

__all__ = ["open_for_writing", "writable_format", "write_columns", "write_rows"]

import io
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from mercer._base.files.atomic import replacing
from mercer._base.tables.rules import PACKERS, ArgumentError, format_of
from mercer._base.terminal import TerminalWriter

_WRITABLE = ("npy", "npz", "csv", "tsv")
_SEPARATOR = {"csv": ",", "tsv": "\t"}


def write_rows(
    target: str | Path,
    blocks: Iterable[Any],
    shape: tuple[int, int],
    dtype,
    *,
    format: str | None = None,
    name: str = "X",
) -> None:
    """Write a matrix of the given shape whose rows come in ``blocks``; it never stands in memory as a whole.

    ``name`` is the member of an npz file.
    """
    format = writable_format(target, format)
    with open_for_writing(target) as stream:
        if format == "npy":
            _write_npy(stream, blocks, shape, dtype)
        elif format == "npz":
            with zipfile.ZipFile(stream, "w") as archive, archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                _write_npy(member, blocks, shape, dtype)
        else:
            _write_lines(stream, blocks, format)


def write_columns(target: str | Path, columns: Mapping[str, Any], *, format: str | None = None) -> None:
    """Write named columns of equal length: csv and tsv with a header, npz with one member for each."""
    import numpy as np

    format = writable_format(target, format)
    if format == "npy":
        raise ArgumentError("npy cannot store column names. Use npz, csv or tsv.")
    with open_for_writing(target) as stream:
        if format == "npz":
            np.savez(stream, **columns)
        else:
            cells = [[title, *_as_text(column, format)] for title, column in columns.items()]
            _write_lines(stream, [np.array(cells).T], format)


def writable_format(target: str | Path, format: str | None = None) -> str:
    """The format to write, as said or as the suffix tells; csv for the standard output."""
    format = "csv" if format is None and str(target) == "-" else format_of(target, format, _WRITABLE)
    if Path(target).suffix.lower() in PACKERS:
        raise ArgumentError(f"{target}: compressed output is not supported. Remove the suffix {Path(target).suffix}.")
    if format not in _WRITABLE:
        raise ArgumentError(f"{target} cannot be written as {format}. Use one of {', '.join(_WRITABLE)}.")
    return format


@contextmanager
def open_for_writing(target: str | Path) -> Iterator[BinaryIO]:
    """A binary stream to the standard output, or to a file that takes its name when the block ends."""
    if str(target) == "-":
        with _standard_output() as stream:
            yield stream
        return
    folder = Path(target).parent
    if not folder.is_dir():
        raise ArgumentError(f"There is no directory {folder} to write {Path(target).name} into.")
    with replacing(target) as stream:
        yield stream


@contextmanager
def _standard_output() -> Iterator[BinaryIO]:
    sys.stdout.flush()
    stream = sys.stdout.buffer
    if sys.stdout.isatty():
        yield cast(BinaryIO, TerminalWriter(stream))
        stream.flush()
        return
    if not isinstance(stream, io.RawIOBase):
        yield stream
        stream.flush()
        return
    # PYTHONUNBUFFERED leaves a raw stream, whose write() may stop half-way without an error
    buffered = io.BufferedWriter(stream)
    try:
        yield buffered
        buffered.flush()
    finally:
        buffered.detach()


def _write_npy(stream, blocks, shape, dtype) -> None:
    import numpy as np
    from numpy.lib import format as npy

    dtype = np.dtype(dtype)
    header = {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": tuple(map(int, shape))}
    npy.write_array_header_1_0(stream, header)
    for block in blocks:
        stream.write(np.ascontiguousarray(block, dtype=dtype).data)


def _write_lines(stream, blocks, format) -> None:
    separator = _SEPARATOR[format]
    for block in blocks:
        # the shortest text that reads back as the same number
        rows = (separator.join(row) for row in block.astype(str).tolist())
        stream.write(("\n".join(rows) + "\n").encode())


def _as_text(column, format) -> list[str]:
    """The cells of a column, words in quotes where they could be misread."""
    cells = column.astype(str).tolist()
    if column.dtype.kind in "iufb":
        return cells
    special = (_SEPARATOR[format], '"', "\n", "\r")
    return ['"' + cell.replace('"', '""') + '"' if any(c in cell for c in special) else cell for cell in cells]
