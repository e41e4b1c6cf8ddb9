"""What a search among molecules found, as arrays, as a table and as a picture."""

__all__ = ["MoleculeHits"]

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from mercer.molecules.collection import Molecules
from mercer.molecules.picture import draw_grid


@dataclass(frozen=True)
class MoleculeHits:
    """The hits of all queries, query after query, best first.

    Attributes
    ----------
    offsets : the hits of query i are offsets[i] to offsets[i + 1]
    ids : ndarray of int64, numbers of molecules in the order they were added
    scores : ndarray of float64
    queries : The readable queries, as Molecules; ``problems`` lists the others
    look_up : function that returns the columns for given ids
    """

    offsets: np.ndarray
    ids: np.ndarray
    scores: np.ndarray
    queries: Molecules
    look_up: Callable = field(repr=False)

    @cached_property
    def columns(self):
        """What the index has beside the hits: lists by name."""
        return self.look_up(self.ids)

    def __len__(self):
        return len(self.offsets) - 1

    def of(self, query):
        """(ids, scores) of one query."""
        part = slice(self.offsets[query], self.offsets[query + 1])
        return self.ids[part], self.scores[part]

    def table(self):
        """Return columns of equal length with one row per hit, for ``pandas.DataFrame`` and files."""
        counts = np.diff(self.offsets)
        query = np.repeat(np.arange(len(counts)), counts)
        names, nothing = self.queries.column("name"), [None] * len(self.ids)
        others = {name: values for name, values in self.columns.items() if name not in ("name", "smiles")}
        return {
            "query": query.tolist(),
            "query_name": [names[number] for number in query.tolist()],
            "rank": (np.arange(len(query)) - np.repeat(self.offsets[:-1], counts) + 1).tolist(),
            "name": self.columns.get("name", nothing),
            "score": self.scores.tolist(),
            "smiles": self.columns.get("smiles", nothing),
            **{f"{name}_" if name in _OWN else name: values for name, values in others.items()},
            "id": self.ids.tolist(),
        }

    def draw(self, path, n_queries=10, per_row=6):
        """Draw the first queries and their hits to a PNG or SVG file.

        Parameters
        ----------
        path : by its suffix ``.png`` or ``.svg``
        n_queries : int
        per_row : int
            Structures in a row.
        """
        table, smiles, legends = self.table(), [], []
        names = self.queries.column("name")
        for query in range(min(n_queries, len(self))):
            start, stop = self.offsets[query : query + 2].tolist()
            smiles += [self.queries.smiles[query], *table["smiles"][start:stop]]
            legends.append(f"query: {names[query]}" if names[query] else f"query {query}")
            legends += [
                f"{table['score'][hit]:.3f}  {table['name'][hit] or 'no. ' + str(table['id'][hit])}"
                for hit in range(start, stop)
            ]
            gap = -len(smiles) % per_row
            smiles += [None] * gap
            legends += [""] * gap
        draw_grid(smiles, legends, path, per_row)


_OWN = ("query", "query_name", "rank", "score", "id")
