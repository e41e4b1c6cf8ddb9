"""What the verbs of ``mercer index`` share: opening an index and rows for it, what an index takes on the disk."""

__all__ = ["bytes_on_disk", "open_index", "open_rows_for", "sizes"]

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from mercer._base.errors import InputError
from mercer._base.tables import ArgumentError, RowSource
from mercer.cli.framework.options import Settings
from mercer.cli.models.learning import open_data


def open_index(place: str, mode: str = "r", verify: bool = False):
    """The index in a directory, to be closed by a ``with`` block."""
    from mercer import KernelIndex

    if not Path(place).is_dir():
        what = f"{place} is a file, not an index" if Path(place).exists() else f"There is no index {place}"
        raise ArgumentError(f"{what}. Build one with mercer index build.")
    return KernelIndex.open(place, mode, verify=verify)


def open_rows_for(settings: Settings, x: str, rules: dict[str, Any], index: Any = None) -> RowSource:
    """Rows to be read block by block, in float32 unless ``--dtype`` says otherwise: an index keeps no more digits."""
    try:
        return open_data(settings, x, rules | {"dtype": rules["dtype"] or "float32"}, index)
    except InputError as error:
        if not hasattr(index, "rows_") or "molecules" not in index.rows_.storage.header:
            raise
        hint = "The index is one of molecules: search it for files of molecules with mercer molecules search."
        raise type(error)(f"{error} {hint}") from error


def bytes_on_disk(place: str) -> int:
    """Of all files of an index."""
    total = 0
    for folder, _, names in os.walk(place):
        for name in names:
            with suppress(FileNotFoundError):  # a writer may just have compacted
                total += os.stat(os.path.join(folder, name)).st_size
    return total


def sizes(index, place: str) -> dict[str, int]:
    """Bytes of codes, of kept rows, and of all files."""
    rows = index.rows_
    return {"codes": rows.column_bytes().get("codes", 0), "kept_rows": rows.kept_bytes(), "total": bytes_on_disk(place)}
