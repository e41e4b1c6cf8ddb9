"""What a search found, as a table, a JSON document or a file."""

__all__ = ["FORMATS", "Matches", "output_format", "print_matches", "write_matches"]

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mercer._base.errors import require_extra
from mercer._base.tables import ArgumentError, open_for_writing, write_columns, write_rows
from mercer.cli.framework.checks import check_folder, check_standard_output
from mercer.cli.framework.options import Settings
from mercer.cli.framework.output import note, print_table, to_plain

FORMATS = ("csv", "tsv", "json", "parquet", "npz", "npy")
_FORMAT_OF_SUFFIX = {f".{name}": name for name in FORMATS} | {".pq": "parquet", ".txt": "csv", ".tab": "tsv"}
_QUERIES_SHOWN = 20
_MATCHES_SHOWN = 10  # of a query; a range search may find thousands


@dataclass(frozen=True)
class Matches:
    """Ids and values of what was found for each query, nearest first.

    Attributes
    ----------
    ids, values : one array per query
    measure : "similarity" or "distance"
    labels : of the queries, or None
    queries : ids of the queries, or None
    data : of each query, the values of the columns of the index, by name; or None
    """

    ids: Sequence[Any]
    values: Sequence[Any]
    measure: str
    labels: Any = None
    queries: Any = None
    data: Any = None

    def beside(self) -> dict[str, list[Any]]:
        """The columns of the index, a value for each match."""
        names = self.data[0] if self.data else {}
        return {name: [value for each in self.data for value in each[name]] for name in names}

    def columns(self) -> dict[str, Any]:
        """One line for each match: query, rank, id and value."""
        import numpy as np

        counts = [len(found) for found in self.ids]
        query = np.repeat(np.arange(len(counts)), counts)
        starts = np.cumsum([0, *counts[:-1]])
        named = {} if self.queries is None else {"query_id": np.asarray(self.queries)[query]}
        named |= {} if self.labels is None else {"label": np.asarray(self.labels)[query]}
        return {
            "query": query,
            **named,
            "rank": np.arange(len(query)) - np.repeat(starts, counts) + 1,
            "id": as_column([value for found in self.ids for value in found.tolist()]),
            self.measure: np.concatenate([np.empty(0), *self.values]),
        }

    def document(self) -> list[dict[str, Any]]:
        """One object for each query."""
        named: list[dict[str, Any]] = [{} for _ in self.ids]
        for key, values in (("query_id", self.queries), ("label", self.labels)):
            if values is not None:
                named = [name | {key: value} for name, value in zip(named, values, strict=True)]
        pairs = zip(named, self.ids, self.values, strict=True)
        plural = {"similarity": "similarities", "distance": "distances"}[self.measure]
        data = [{"data": each} for each in self.data] if self.data else [{}] * len(self.ids)
        return [
            {"query": i, **name, "ids": ids, plural: values, **data[i]} for i, (name, ids, values) in enumerate(pairs)
        ]


def as_column(ids: list[Any]):
    """Ids as integers if all of them are, otherwise as words."""
    import numpy as np

    if all(isinstance(value, int) for value in ids):
        return np.array(ids, dtype=np.int64)
    words = [str(value) for value in ids]
    # an array of texts would drop zero characters at their ends
    return np.array(words, dtype=object if any(word.endswith("\0") for word in words) else None)


def as_cells(values: list[Any]):
    """Values of a column as numbers or, if they are something else or missing, as words."""
    import numpy as np

    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return np.array(values)
    words = {None: "", True: "true", False: "false"}
    is_word = (isinstance(value, bool) or value is None for value in values)
    return np.array([words[value] if word else str(value) for value, word in zip(values, is_word, strict=True)])


def output_format(out: str, said: str | None, settings: Settings) -> str:
    """The format of ``--out``, checked before anything is computed."""
    check_standard_output(out, settings)
    found = said or ("csv" if out == "-" else _FORMAT_OF_SUFFIX.get(Path(out).suffix.lower()))
    if found is None:
        raise ArgumentError(
            f"The format of {out} cannot be inferred from its name. Set --out-format to one of {', '.join(FORMATS)}."
        )
    check_folder(Path(out))
    if found == "parquet":
        require_extra("pyarrow", extra="parquet", purpose="Writing a parquet file")
    return found


def write_matches(out: str, found: Matches, format: str, head: dict[str, Any]) -> None:
    """Write matches to a file or, for ``-``, to the standard output."""
    if format not in ("json", "parquet") and found.columns()["id"].dtype == object:
        raise ArgumentError(f"{format} cannot store ids that end with a NUL character. Use json or parquet.")
    if format == "npy":
        _write_ids(out, found)
    elif format == "json":
        with open_for_writing(out) as stream:
            document = to_plain(head | {"matches": found.document()})
            stream.write(json.dumps(document, ensure_ascii=False, allow_nan=False).encode() + b"\n")
    elif format == "parquet":
        _write_parquet(out, {**found.columns(), **found.beside()})
    else:
        beside = {name: as_cells(values) for name, values in found.beside().items()}
        write_columns(out, {**found.columns(), **beside}, format=format)


def _write_ids(out: str, found: Matches) -> None:
    """The ids alone, a row for each query: what ``mercer index evaluate --truth`` reads."""
    counts = {len(ids) for ids in found.ids}
    if len(counts) > 1:
        raise ArgumentError(
            "npy needs the same number of ids for every query, but the numbers differ. Use csv or parquet."
        )
    ids = as_column([value for each in found.ids for value in each.tolist()])
    width = counts.pop()
    write_rows(out, [ids.reshape(-1, width)], (len(found.ids), width), ids.dtype, format="npy")


def _write_parquet(out: str, columns: dict[str, Any]) -> None:
    import pyarrow
    from pyarrow import parquet

    with open_for_writing(out) as stream:
        parquet.write_table(pyarrow.table(columns), stream)


def print_matches(settings: Settings, title: str, found: Matches) -> None:
    """Print matches as a table, of many queries the first."""
    shown = len(found.ids) if settings.quiet else min(len(found.ids), _QUERIES_SHOWN)
    longest = None if settings.quiet else _MATCHES_SHOWN

    def text(i: int) -> str:
        pairs = zip(found.ids[i].tolist(), found.values[i].tolist(), strict=True)
        words = [f"{id} ({value:.4g})" for id, value in list(pairs)[:longest]]
        more = len(found.ids[i]) - len(words)
        return "  ".join([*words, f"and {more} more"] if more else words) or "-"

    beside = [each for each in (found.queries, found.labels) if each is not None]
    names = [" ".join([str(i), *(str(each[i]) for each in beside)]) for i in range(shown)]
    title_of_names = "query" + ("" if found.queries is None else " id") + ("" if found.labels is None else " label")
    columns = [title_of_names, f"id ({found.measure}), nearest first"]
    print_table(settings, title, columns, [[names[i], text(i)] for i in range(shown)], text_columns=2)
    if shown < len(found.ids):
        note(
            settings,
            f"The other {len(found.ids) - shown} queries are not shown. Use --quiet, --json or --out for all of them.",
        )
