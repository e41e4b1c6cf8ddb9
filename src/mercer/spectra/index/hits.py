"""What a search among spectra found, as arrays and as a table."""

__all__ = ["SpectrumHits"]

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

SHOWN = ("name", "formula", "adduct", "inchikey", "smiles", "spectrum_id", "file", "scan")  # of the library


@dataclass(frozen=True)
class SpectrumHits:
    """The hits of all queries, one after the other, best first.

    Attributes
    ----------
    offsets : the hits of query i are offsets[i] to offsets[i + 1]
    ids : ndarray of int64, numbers of library spectra in the order they were added
    scores : ndarray of float64
    matched_peaks : ndarray of int64
    names, precursors : list and ndarray, of the queries
    look_up : function of the name of a column and of ids, to what the library says of these
    """

    offsets: np.ndarray
    ids: np.ndarray
    scores: np.ndarray
    matched_peaks: np.ndarray
    names: list
    precursors: np.ndarray
    look_up: Callable = field(repr=False)

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

    def table(self):
        """Columns of equal length, one line for each hit, for ``pandas.DataFrame`` and files."""
        counts = np.diff(self.offsets)
        query = np.repeat(np.arange(len(counts)), counts)
        differences = [None if value != value else value for value in self.precursor_differences.tolist()]
        return {
            "query": query.tolist(),
            "query_name": [self.names[number] for number in query.tolist()],
            "rank": (np.arange(len(query)) - np.repeat(self.offsets[:-1], counts) + 1).tolist(),
            "name": self.columns["name"],
            "score": self.scores.tolist(),
            "matched_peaks": self.matched_peaks.tolist(),
            "precursor_difference": differences,
            **{name: self.columns[name] for name in SHOWN[1:]},
            "id": self.ids.tolist(),
        }
