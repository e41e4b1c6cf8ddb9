"""Tables of hits, columns by name that become csv, tsv, JSON or Parquet, and the facts of what was searched."""

__all__ = ["TABLE_FORMAT", "TABLE_OUT", "records_of", "table_format", "tell_index", "write_table"]

import json
from pathlib import Path
from typing import Any

from mercer._base.errors import require_extra
from mercer._base.parameters import choice, text
from mercer._base.tables import ArgumentError, open_for_writing
from mercer.cli.framework.checks import check_folder, check_standard_output
from mercer.cli.framework.options import Settings
from mercer.cli.framework.output import answer_json, lines_of, print_facts, to_plain

_FORMATS = ("csv", "tsv", "json", "parquet")
TABLE_OUT = text("out", None, "File for the table (csv, tsv, json, parquet); - is standard output.", "FILE", "-o")
TABLE_FORMAT = choice(
    "out_format", " ".join(_FORMATS), None, "Format of --out.", "FORMAT", shown="by suffix; csv for -"
)


def table_format(out: str | None, said: str | None, settings: Settings) -> str:
    """The format of the table, checked before anything is computed; none without a file."""
    if out is None:
        return ""
    check_standard_output(out, settings)
    suffix = Path(out).suffix.lower().removeprefix(".")
    found = said or ("csv" if out == "-" else suffix if suffix in _FORMATS else None)
    if found is None:
        raise ArgumentError(
            f"The format of {out} cannot be inferred from its name. Set it to one of {', '.join(_FORMATS)}."
        )
    check_folder(Path(out))
    if found == "parquet":
        require_extra("pyarrow", extra="parquet", purpose="Writing a parquet file")
    return found


def records_of(table: dict[str, list], n: int | None = None) -> list[dict[str, Any]]:
    """The first lines of a table, or all, as dictionaries."""
    columns = [values[:n] for values in table.values()]
    return [dict(zip(table, row, strict=True)) for row in zip(*columns, strict=True)]


def write_table(out: str | None, table: dict[str, list], format: str) -> None:
    """Write columns of equal length, if there is a file for them."""
    if out is None:
        return
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


def tell_index(
    settings: Settings, title: str, place: str, stats: dict[str, Any], facts: list[list[str]], **head: Any
) -> None:
    """What an index of spectra or molecules holds: its statistics as JSON, after ``head``, or its facts as a table."""
    known = {name: value for name, value in stats.items() if name != "path"}
    if not answer_json(settings, {"index": place} | head | known):
        print_facts(settings, f"{title} {place}", facts)
