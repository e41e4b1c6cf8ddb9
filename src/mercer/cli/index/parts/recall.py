"""Recall of an index against true neighbours: what is measured, of which search, in which order."""

__all__ = ["Evaluation", "Line", "evaluate_index", "read_truth"]

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mercer._base.errors import InputError
from mercer._base.tables import ArgumentError, RowSource, format_of
from mercer._base.tables.formats.readers import load_array
from mercer._base.tables.limits import Limit
from mercer.cli.index.parts.files import sizes
from mercer.cli.index.parts.ids import ids_of_column, known_ids
from mercer.cli.models.learning import blaming

_CURVE_STEPS = 12  # ranks of a curve for each power of ten


@dataclass(frozen=True)
class Line:
    """One way of searching an index.

    Attributes
    ----------
    search : "codes", "re-ranked" or "exact"
    n_bytes : of the codes of an item, and of its kept row where that is needed
    recall : name, such as "recall_1@10" -> value
    milliseconds : per query, of a search for k rows
    """

    search: str
    n_bytes: tuple[float, ...]
    recall: dict[str, float]
    milliseconds: float

    @property
    def bytes_text(self) -> str:
        """Codes and kept row, as in 8+132."""
        return "+".join(f"{n:.4g}" for n in self.n_bytes)


@dataclass(frozen=True)
class Evaluation:
    """What was measured of one index.

    Attributes
    ----------
    place : its directory
    code : name of its code
    n_rows : of the index
    lines : one for each way of searching
    curve : (rank, recall_1@rank of the codes), at many ranks
    n_selves : queries that are rows of the index
    """

    place: str
    code: str
    n_rows: int
    lines: list[Line]
    curve: list[tuple[int, float]]
    n_selves: int

    def document(self) -> dict[str, Any]:
        """For a JSON document."""
        searches = [
            {
                "search": line.search,
                "bytes_per_item": sum(line.n_bytes),
                **line.recall,
                "milliseconds_per_query": line.milliseconds,
            }
            for line in self.lines
        ]
        return {
            "index": self.place,
            "code": self.code,
            "rows": self.n_rows,
            "queries_in_the_index": self.n_selves,
            "searches": searches,
            "curve": {"ranks": [rank for rank, _ in self.curve], "recall_1": [recall for _, recall in self.curve]},
        }


@dataclass(frozen=True)
class Answer:
    """Rows found for the queries, by their positions in the index (ids may be of two kinds), and how long that took."""

    positions: Any
    values: Any
    seconds: float


def read_truth(file: str, n_queries: int, k: int):
    """The true nearest rows of queries: a table of ids, nearest first."""
    if Path(file).is_dir():
        raise ArgumentError(f"{file} is a directory. Name the file of the true neighbours.")
    if not Path(file).is_file():
        raise ArgumentError(f"There is no file {file}.")
    limit = Limit.fixed()
    if file.lower().endswith(".npy"):
        ids = load_array(file, limit)
    else:
        if format_of(file) != "ivecs":
            raise ArgumentError(f"{file} is neither npy nor ivecs, the formats of --truth.")
        from mercer._base.tables.formats.vectors import parse_vectors
        from mercer._base.tables.reading import open_file

        with open_file(file, "ivecs", limit) as stream:
            ids = parse_vectors(limit.read(stream, file), file, "ivecs")
    if ids.ndim != 2 or ids.dtype.kind not in "iuU":
        raise InputError(f"{file} holds an array of shape {ids.shape} and type {ids.dtype}; a table of ids is needed.")
    if len(ids) != n_queries:
        raise InputError(f"{file} has true neighbours of {len(ids)} queries, but there are {n_queries}.")
    if ids.shape[1] < k:
        raise ArgumentError(f"{file} has {ids.shape[1]} true neighbours of each query; -k {k} needs as many.")
    return ids


def evaluate_index(index, place: str, data: RowSource, queries, k: int, ranks: list[int], truth=None) -> Evaluation:
    """Measure one index; ``truth`` are ids of the true nearest rows, or None for an exact search."""
    if not len(index):
        raise InputError(f"{place} has no rows to be found.")
    if k > len(index):
        raise ArgumentError(f"-k {k} asks for more rows than the {len(index)} of {place}.")
    if truth is None and index.stats()["vectors"] is None:
        raise ArgumentError(f"{place} keeps codes only, which cannot tell the true neighbours. Give them with --truth.")
    ranks = [rank for rank in ranks if rank <= len(index)] or [1]
    with blaming(data):
        exact = _search(index, queries, k, exact=_way(index)) if truth is None else None
        true = (exact.positions, exact.values) if exact else (_known_positions(index, place, truth[:, :k]), None)
        lines, curve = _lines(index, place, queries, k, ranks, true, exact)
    return Evaluation(place, index.plan_["code"], len(index), lines, curve, _selves(index, exact))


def _lines(index, place: str, queries, k: int, ranks: list[int], true, exact: Answer | None):
    """A line for each way of searching, and the curve of the codes."""
    kept = index.stats()["vectors"] is not None
    n_bytes = _bytes(index, place)
    coded = _search(index, queries, max(*ranks, k), rerank=False)
    recall = _judged(index, queries, coded, true)
    lines = [Line("codes", n_bytes[:1], _figures(recall, k, ranks), _milliseconds(index, queries, k, rerank=False))]
    if kept:
        found = {R: _judged(index, queries, _search(index, queries, R), true) for R in {*ranks, k}}
        figures = {f"recall_1@{R}": found[R](1, R) for R in ranks} | {f"recall_{k}@{k}": found[k](k, k)}
        lines.append(Line("re-ranked", n_bytes, figures, _milliseconds(index, queries, k)))
    if exact is not None:
        ones = {name: 1.0 for name in lines[0].recall}
        lines.append(Line("exact", n_bytes[1:], ones, 1000 * exact.seconds / queries.shape[0]))
    return lines, [(R, recall(1, R)) for R in _curve_ranks(ranks[-1])]


def _figures(recall, k: int, ranks: list[int]) -> dict[str, float]:
    return {f"recall_1@{R}": recall(1, R) for R in ranks} | {f"recall_{k}@{k}": recall(k, k)}


def _judged(index, queries, found: Answer, true):
    """recall(k, R) of an answer; where exact values are known, equal ones are as good."""
    from mercer.search import recall_k_at

    true_positions, true_values = true
    values = None if true_values is None else index.exact_values(queries, found.positions)

    def recall(k: int, R: int) -> float:
        return recall_k_at(found.positions, true_positions, k, R, found_scores=values, true_scores=true_values)

    return recall


def _known_positions(index, place: str, truth):
    """Where the true neighbours stand; all of them must be in the index."""
    wanted = known_ids(index, ids_of_column(truth.ravel()), place, "--truth")
    return index.rows_.ids.positions(wanted).reshape(truth.shape)


def _search(index, queries, k: int, **how: Any) -> Answer:
    import numpy as np

    index.search(queries[:1], k, **how)  # compiled code, tables and bounds before the clock runs
    started = time.perf_counter()
    ids, values = index.search(queries, k, **how)
    seconds = time.perf_counter() - started
    positions = np.full(ids.shape, -1, dtype=np.int64)
    there = np.isfinite(values)  # inverted lists may hold fewer than k
    positions[there] = index.rows_.ids.positions(ids[there] if ids.dtype.kind == "i" else ids[there].tolist())
    return Answer(positions, values, seconds)


def _milliseconds(index, queries, k: int, **how: Any) -> float:
    return 1000 * _search(index, queries, k, **how).seconds / queries.shape[0]


def _way(index) -> bool | str:
    """How the true neighbours are searched for: on rows as they were given, or as they are kept."""
    return "stored" if index.stats()["rounded_rows"] else True


def _bytes(index, place: str) -> tuple[float, ...]:
    """Of the code of an item, and of its kept row."""
    found, size = index.stats(), sizes(index, place)
    stored = max(1, found["rows"] + found["removed"])
    return (float(found["bytes_per_item"]), *([size["kept_rows"] / stored] if found["vectors"] else []))


def _selves(index, exact: Answer | None) -> int:
    """Queries whose nearest row is as near as can be."""
    from mercer.search.model.measure import Measure

    if exact is None or not (index.measure == "distance" or Measure.of(index).unit_diagonal):
        return 0
    nearest = exact.values[:, 0]
    return int((nearest <= 1e-7 if index.measure == "distance" else nearest >= 1 - 1e-9).sum())


def _curve_ranks(last: int) -> list[int]:
    """Ranks from 1 to the last, evenly on a logarithmic scale.

    >>> _curve_ranks(5)
    [1, 2, 3, 4, 5]
    """
    found, exponent = {1, last}, 0
    while (rank := round(10 ** (exponent / _CURVE_STEPS))) < last:
        found.add(rank)
        exponent += 1
    return sorted(found)
