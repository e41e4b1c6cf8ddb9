"""Many molecules: their SMILES, and columns beside them."""

__all__ = ["Molecules"]

import numpy as np

from mercer._base.errors import InputError
from mercer.search.columns.types import RESERVED


class Molecules:
    """A collection of molecules.

    Parameters
    ----------
    smiles : sequence of n str, or None if only their fingerprints are known
    columns : mapping of names to n values each, None where there is none
        ``name`` is shown with a hit. A column that is called as one of every answer (id, rank, query, similarity,
        distance) gets an underscore behind its name.
    places, numbers : where each was read, as texts for messages, and as numbers of records from 0; or None
    problems : molecules that could not be read, one sentence each

    Examples
    --------
    >>> molecules = Molecules(["CCO", "CC(=O)O"], {"name": ["ethanol", "acetic acid"]})
    >>> len(molecules), molecules.column("name"), molecules.column("mass")
    (2, ['ethanol', 'acetic acid'], [None, None])
    """

    def __init__(self, smiles, columns=None, places=None, problems=(), numbers=None):
        self.smiles = list(smiles)
        self.columns = {
            f"{name}_" if name in (*RESERVED, "smiles") else name: list(values)
            for name, values in dict(columns or {}).items()
        }
        self.places, self.numbers = places, numbers
        self.problems = list(problems)
        for name, values in self.columns.items():
            if len(values) != len(self.smiles):
                raise InputError(
                    f"Molecules has {len(self.smiles)} SMILES, and the column {name!r:.80} {len(values)} values."
                )

    @classmethod
    def of(cls, molecules, who="Molecules"):
        """Convert a list of SMILES to Molecules."""
        if isinstance(molecules, cls):
            return molecules
        texts = None if isinstance(molecules, (str, bytes)) or not hasattr(molecules, "__iter__") else list(molecules)
        if texts is None or not all(isinstance(text, str) for text in texts):
            raise InputError(f"{who} needs Molecules or a list of SMILES; got {molecules!r:.80}.")
        return cls(texts)

    def __len__(self):
        return len(self.smiles)

    def __repr__(self):
        return f"Molecules({len(self):,} molecules; columns {', '.join(self.columns) or 'none'})"

    def __getitem__(self, rows):
        """Those of a slice, or of an array of numbers or bools."""
        chosen = np.arange(len(self))[rows].tolist()

        def taken(values):
            return None if values is None else [values[row] for row in chosen]

        columns = {name: taken(values) for name, values in self.columns.items()}
        return Molecules(taken(self.smiles), columns, taken(self.places), self.problems, taken(self.numbers))

    def column(self, name):
        """The values of a column; all None if there is no such column."""
        return list(self.columns.get(name, [None] * len(self)))

    def place(self, row):
        """The file and line of a molecule."""
        return self.places[row] if self.places else f"molecule {row} (counted from 0)"

    def data(self):
        """SMILES and columns for an index; columns without any value are left out."""
        found = {"smiles": self.smiles, **self.columns}
        return {name: values for name, values in found.items() if any(value is not None for value in values)}

    def fingerprints(self, fingerprints, strict=False):
        """(those that RDKit understands, their rows), the others named among the problems of the first.

        Parameters
        ----------
        fingerprints : MoleculeFingerprints
        strict : bool
            Raise an error for a SMILES that RDKit cannot read.
        """
        X, understood = fingerprints.understood(self.smiles)
        wrong = [
            f"{self.place(row)}: RDKit cannot read {self.smiles[row]!r:.80}."
            for row in np.flatnonzero(~understood).tolist()
        ]
        if wrong and strict:
            raise InputError(wrong[0])
        kept = self[understood] if wrong else self
        return Molecules(kept.smiles, kept.columns, kept.places, [*self.problems, *wrong], kept.numbers), X
