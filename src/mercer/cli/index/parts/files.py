"""What the verbs of ``mercer index`` share: opening an index and rows for it, what an index takes on the disk."""

__all__ = ["bytes_on_disk", "check_new_place", "open_index", "open_rows_for", "sizes"]

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from mercer._base.errors import InputError
from mercer._base.tables import ArgumentError, RowSource
from mercer.cli.framework.options import Settings
from mercer.cli.models.learning import open_data

_OVERHEAD = ("flags", "id_number", "id_text")  # columns of an index that are neither codes nor kept rows


def open_index(place: str, mode: str = "r", verify: bool = False):
    """The index in a directory, to be closed by a ``with`` block."""
    from mercer import KernelIndex

    if not Path(place).is_dir():
        what = f"{place} is a file, not an index" if Path(place).exists() else f"There is no index {place}"
        raise ArgumentError(f"{what}. Make one with mercer index build.")
    return KernelIndex.open(place, mode, verify=verify)


def check_new_place(place: Path) -> None:
    """Refuse a directory that a new index cannot have, before anything is computed."""
    from mercer.search.storage.directory.place import refuse_occupied

    if place.is_dir():
        try:
            refuse_occupied(place)
        except InputError as error:
            raise ArgumentError(str(error)) from error
    elif os.path.lexists(place):
        raise ArgumentError(f"{place} is a file; --out names the directory of the new index.")


def open_rows_for(settings: Settings, x: str, rules: dict[str, Any], index: Any = None) -> RowSource:
    """Rows to be read block by block, in float32 unless ``--dtype`` says otherwise: an index keeps no more digits."""
    return open_data(settings, x, rules | {"dtype": rules["dtype"] or "float32"}, index)


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
    columns = index.rows_.column_bytes()
    kept = sum(n_bytes for name, n_bytes in columns.items() if name != "codes" and name not in _OVERHEAD)
    return {"codes": columns["codes"], "kept_rows": kept, "total": bytes_on_disk(place)}
