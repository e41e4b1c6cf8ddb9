"""Molecules of a file as rows for learners: their fingerprints, with labels and ids from columns beside them."""

__all__ = ["MoleculeRows"]

import warnings

import numpy as np

from mercer._base.errors import InputError
from mercer._base.tables.columns import listed
from mercer._base.tables.content import Content
from mercer._base.tables.rules import ArgumentError, InputRules, settle_labels, whole_ids
from mercer._base.tables.sources.arrays import ArraySource
from mercer.molecules.reading.files import SkippedMoleculesWarning, read_molecules
from mercer.molecules.reading.tables import named_column


class MoleculeRows(ArraySource):
    """Fingerprints of a file of molecules, as a source of rows like `mercer.open_rows`. Unreadable ones are skipped.

    ``kept`` holds the numbers of the readable records, and ``problems`` one sentence for each other record.
    """

    @classmethod
    def read(cls, path, fingerprints, *, label=None, id=None, format=None, max_unpacked=None):
        """The molecules of a file.

        Parameters
        ----------
        path : see :func:`read_molecules`
        fingerprints : MoleculeFingerprints, whose ``column`` is that of the SMILES
        label, id : names of columns, or None
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SkippedMoleculesWarning)  # told by ``problems``
            molecules = read_molecules(path, fingerprints.column, format, max_unpacked=max_unpacked)
        n_records = len(molecules) + len(molecules.problems)
        molecules, X = molecules.fingerprints(fingerprints)
        if not len(molecules):
            raise InputError(f"{path} holds no readable molecule. {' '.join(molecules.problems[:1])}")
        y, unlabelled = (None, None) if label is None else settle_labels(_labels(_column(molecules, label, path)))
        ids = None if id is None else whole_ids(_labels(_column(molecules, id, path)), path)
        rules = InputRules(max_unpacked=max_unpacked)
        rows = cls(X, path, rules, Content(X, y=y, ids=ids, unlabelled=unlabelled))
        rows.problems, rows._places, rows._n_records = molecules.problems, molecules.places, n_records
        rows.kept = np.array(molecules.numbers) if len(molecules) < n_records else None
        return rows

    @property
    def n_rows_in_file(self):
        return self._n_records

    @property
    def ids_in_file(self):
        if self.ids is None or self.kept is None:
            return self.ids
        ids = np.full(self._n_records, "", dtype=object)
        ids[self.kept] = self.ids
        return ids

    def place(self, row):
        return self._places[row].removeprefix(f"{self.name}, ")


def _column(molecules, name, path):
    """A column by its name in the file: what can be a name, ``id`` and the like are kept under another."""
    names = (name, f"{name}_", *(["name"] if named_column([name]) else []))
    found = next((each for each in names if each in molecules.columns), None)
    if found is None:
        raise ArgumentError(f"{path} has no column {name!r:.80}; its columns are {listed(list(molecules.columns))}.")
    return molecules.columns[found]


def _labels(values):
    """Numbers, NaN where there is none, or words."""
    if any(isinstance(value, str) for value in values):
        return np.array(["" if value is None else str(value) for value in values])
    return np.array([np.nan if value is None else float(value) for value in values])
