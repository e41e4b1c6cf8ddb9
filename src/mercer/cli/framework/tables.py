"""Tables of hits, columns by name that become csv, tsv, JSON or Parquet, and what could not be read for them."""

__all__ = ["TABLE_FORMAT", "TABLE_OUT", "note_skipped", "records_of", "table_format", "write_table"]

import json
from pathlib import Path
from typing import Any

from mercer._base.errors import require_extra
from mercer._base.parameters import choice, text
from mercer._base.tables import ArgumentError, open_for_writing
from mercer.cli.framework.checks import check_folder, check_standard_output
from mercer.cli.framework.options import Settings
from mercer.cli.framework.output import console, lines_of, to_plain

_FORMATS = ("csv", "tsv", "json", "parquet")
_NAMED = 20  # records that a note names
TABLE_OUT = text("out", None, "Write the table (csv, tsv, json, parquet); - is the output.", "FILE", "-o")
TABLE_FORMAT = choice(
    "out_format", " ".join(_FORMATS), None, "Format of --out.", "FORMAT", shown="by suffix; csv for -"
)


def table_format(out: str, said: str | None, settings: Settings) -> str:
    """The format of the table, checked before anything is computed."""
    check_standard_output(out, settings)
    suffix = Path(out).suffix.lower().removeprefix(".")
    found = said or ("csv" if out == "-" else suffix if suffix in _FORMATS else None)
    if found is None:
        raise ArgumentError(f"The format of {out} cannot be told from its name. Say it: one of {', '.join(_FORMATS)}.")
    check_folder(Path(out))
    if found == "parquet":
        require_extra("pyarrow", extra="parquet", purpose="Writing a parquet file")
    return found


def records_of(table: dict[str, list], n: int | None = None) -> list[dict[str, Any]]:
    """The first lines of a table, or all, as dictionaries."""
    columns = [values[:n] for values in table.values()]
    return [dict(zip(table, row, strict=True)) for row in zip(*columns, strict=True)]


def write_table(out: str, table: dict[str, list], format: str) -> None:
    """Write columns of equal length."""
    with open_for_writing(out) as stream:
        if format == "parquet":
            import pyarrow
            from pyarrow import parquet

            parquet.write_table(pyarrow.table(table), stream)
        elif format == "json":
            document = json.dumps(to_plain(records_of(table)), ensure_ascii=False, allow_nan=False)
            stream.write(document.encode() + b"\n")
        else:
            rows = [["" if cell is None else cell for cell in row] for row in zip(*table.values(), strict=True)]
            stream.write(lines_of([list(table), *rows], format))


def note_skipped(settings: Settings, problems: list[str], what: str) -> None:
    """Name the records that were skipped, with the reason."""
    if not problems or settings.quiet or settings.json:
        return
    lines = [f"Skipped {len(problems):,} {what}{'s' * (len(problems) != 1)}:"]
    lines += [f"  {problem}" for problem in problems[:_NAMED]]
    lines += [f"  and {len(problems) - _NAMED:,} more; --json names all"] if len(problems) > _NAMED else []
    for line in lines:
        console(stderr=True).print(line, style="dim", markup=False, soft_wrap=True)
