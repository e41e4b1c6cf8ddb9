"""What a search among spectra found, as arrays and as a table."""

__all__ = ["SpectrumHits"]

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from mercer._base.errors import InputError

SHOWN = ("name", "formula", "adduct", "inchikey", "smiles", "spectrum_id", "file", "scan")  # of the library


@dataclass(frozen=True)
class SpectrumHits:
    """The hits of all queries, query after query, best first.

    Attributes
    ----------
    offsets : the hits of query i are offsets[i] to offsets[i + 1]
    ids : ndarray of int64, numbers of library spectra in the order they were added
    scores : ndarray of float64
    matched_peaks : ndarray of int64
    names, precursors : list and ndarray, of the queries
    q_values : ndarray of float64, of the first hit of each query; None if not requested
    look_up : function that returns the values of a column for given ids
    compare : function that returns the Mirror of a query and a hit
    """

    offsets: np.ndarray
    ids: np.ndarray
    scores: np.ndarray
    matched_peaks: np.ndarray
    names: list
    precursors: np.ndarray
    look_up: Callable = field(repr=False)
    compare: Callable = field(repr=False)
    q_values: np.ndarray | None = None

    @cached_property
    def columns(self):
        """What the library says of the hits: lists by name."""
        return {name: self.look_up(name, self.ids) for name in SHOWN}

    @cached_property
    def precursor_differences(self):
        """Precursor of the query less that of the hit, for every hit; NaN if one is not known."""
        known = [np.nan if value is None else value for value in self.look_up("precursor_mz", self.ids)]
        return np.repeat(self.precursors, np.diff(self.offsets)) - np.array(known, dtype=np.float64)

    def __len__(self):
        return len(self.offsets) - 1

    def of(self, query):
        """(ids, scores, matched peaks) of one query."""
        part = slice(self.offsets[query], self.offsets[query + 1])
        return self.ids[part], self.scores[part], self.matched_peaks[part]

    def mirror(self, query=0, rank=1):
        """Return the :class:`Mirror` of a query and one of its hits: ``hits.mirror(0).plot("mirror.png")``."""
        query = range(len(self))[query]
        count = int(self.offsets[query + 1] - self.offsets[query])
        if not 1 <= rank <= count:
            raise InputError(f"SpectrumHits.mirror: `rank` must be 1 to {count} for query {query}; got {rank!r:.80}.")
        return self.compare(query, int(self.offsets[query]) + rank - 1)

    def report(self, path, title="Mass spectra"):
        """Write one self-contained HTML page with queries, hits and mirror plots.

        If RDKit is installed, the page also shows structures.
        """
        from mercer.spectra.showing.page import write_report

        write_report(self, path, title)

    def records(self, query):
        """Return the rows of :meth:`table` for one query, as dictionaries."""
        part = slice(self.offsets[query], self.offsets[query + 1])
        columns = {name: values[part] for name, values in self._lines.items()}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def table(self):
        """Return columns of equal length with one row per hit, for ``pandas.DataFrame`` and files."""
        return dict(self._lines)

    @cached_property
    def _lines(self):
        counts = np.diff(self.offsets)
        query = np.repeat(np.arange(len(counts)), counts)
        ranks = np.arange(len(query)) - np.repeat(self.offsets[:-1], counts) + 1
        differences = [None if value != value else value for value in self.precursor_differences.tolist()]
        certain = {}
        if self.q_values is not None:
            values = np.where(ranks == 1, self.q_values[query], np.nan).tolist()
            certain = {"q_value": [None if value != value else value for value in values]}
        return {
            "query": query.tolist(),
            "query_name": [self.names[number] for number in query.tolist()],
            "rank": ranks.tolist(),
            "name": self.columns["name"],
            "score": self.scores.tolist(),
            **certain,
            "matched_peaks": self.matched_peaks.tolist(),
            "precursor_difference": differences,
            **{name: self.columns[name] for name in SHOWN[1:]},
            "id": self.ids.tolist(),
        }
