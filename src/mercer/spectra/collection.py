"""Many spectra in few arrays: peaks one after the other, where each spectrum begins, and columns of metadata."""

__all__ = ["Spectra", "Spectrum"]

from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from mercer._base.errors import InputError, MissingExtraError, did_you_mean
from mercer.search.columns.blocks import read_block
from mercer.spectra.names import FIELDS, NAMES, harmonized
from mercer.spectra.reading.text import BadRecord, read_peak_list

_MATCHMS = "matchms"  # of no extra: it asks for a scipy older than the one that Mercer is tested with


class Spectrum(NamedTuple):
    """One spectrum: its peaks by ascending m/z, and its metadata."""

    mz: np.ndarray
    intensity: np.ndarray
    metadata: dict[str, Any]


class Spectra:
    """A collection of spectra.

    Parameters
    ----------
    mz, intensity : arrays of float64, the peaks of all spectra
    offsets : spectrum i has the peaks offsets[i] to offsets[i + 1]
    columns : mapping of names to one value per spectrum, None where there is none
        The names are those of ``Spectra.NAMES``: name, precursor_mz, adduct, charge, ion_mode, formula, smiles,
        inchikey, retention_time (seconds), collision_energy, ms_level, spectrum_id, file and scan.
    problems : records that :func:`read_spectra` skipped, one sentence each

    Examples
    --------
    >>> spectra = Spectra.from_peaks([[[69.07, 66.3], [41.04, 37.2]], [[86.1, 999.0]]], name=["one", "two"])
    >>> len(spectra), spectra[0].mz.tolist(), spectra[0].metadata
    (2, [41.04, 69.07], {'name': 'one'})
    """

    NAMES = NAMES

    def __init__(self, mz, intensity, offsets, columns=None, problems=()):
        self.mz = np.ascontiguousarray(mz, dtype=np.float64)
        self.intensity = np.ascontiguousarray(intensity, dtype=np.float64)
        self.offsets = np.ascontiguousarray(offsets, dtype=np.int64)
        self.columns = dict(columns or {})
        self.problems = list(problems)
        self._check()

    def _check(self):
        if self.mz.ndim != 1 or self.mz.shape != self.intensity.shape:
            raise InputError("Spectra needs mz and intensity to be vectors of equal length.")
        ends = self.offsets
        if ends.ndim != 1 or not len(ends) or ends[0] or ends[-1] != len(self.mz) or (np.diff(ends) < 0).any():
            raise InputError("Spectra needs ascending offsets from 0 to the number of peaks.")
        for what, values in (("m/z", self.mz), ("intensities", self.intensity)):
            if not (np.isfinite(values).all() and (values >= 0).all()):
                wrong = int(np.argmax(~(np.isfinite(values) & (values >= 0))))
                row = int(np.searchsorted(ends, wrong, side="right")) - 1
                raise InputError(f"Spectra needs finite {what} >= 0; spectrum {row} has {values[wrong]}.")
        for name, values in self.columns.items():
            if name not in NAMES:
                hint = did_you_mean(name, NAMES)
                raise InputError(f"Spectra has no column {name!r:.80}. {hint}The columns are {', '.join(NAMES)}.")
            if isinstance(values, str) or len(values) != len(self):
                raise InputError(f"Spectra has {len(self)} spectra, and the column {name!r} other values.")
        number = np.repeat(np.arange(len(self)), np.diff(ends))
        if (np.diff(self.mz) < 0)[np.diff(number) == 0].any():
            order = np.lexsort((self.mz, number))
            self.mz, self.intensity = self.mz[order], self.intensity[order]

    # ------------------------------------------------------------------------------------------------- from and to

    @classmethod
    def from_peaks(cls, peaks, **columns):
        """Create spectra from arrays of shape (peaks, 2), m/z and intensity, in any order, with columns as above."""
        tables = []
        for row, table in enumerate(peaks):
            try:
                table = np.asarray(table, dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise InputError(f"Spectrum {row} is not an array of numbers: {error}.") from error
            if table.size and (table.ndim != 2 or table.shape[1] != 2):
                raise InputError(f"Spectrum {row} needs shape (peaks, 2), m/z and intensity; got {table.shape}.")
            tables.append(table.reshape(-1, 2))
        mz, intensity = np.concatenate([np.empty((0, 2)), *tables]).T
        return cls(mz, intensity, np.concatenate([[0], np.cumsum([len(table) for table in tables])]), columns)

    @classmethod
    def from_text(cls, text, **columns):
        """Create one spectrum from text with an m/z and an intensity per line, with columns as above."""
        found = next(read_peak_list(text.splitlines()))
        if isinstance(found, BadRecord):
            raise InputError(f"The list of peaks {found}.")
        _, mz, intensity = found
        return cls(mz, intensity, [0, len(mz)], columns)

    @classmethod
    def from_records(cls, records, problems=()):
        """Create spectra from records: pairs of names and values as in a file, m/z, intensities."""
        records = list(records)
        rows = [harmonized(pairs) for pairs, _, _ in records]
        columns = {name: [row.get(name) for row in rows] for name in NAMES if any(name in row for row in rows)}
        mz = np.concatenate([np.empty(0), *(record[1] for record in records)])
        intensity = np.concatenate([np.empty(0), *(record[2] for record in records)])
        offsets = np.concatenate([[0], np.cumsum([len(record[1]) for record in records], dtype=np.int64)])
        return cls(mz, intensity, offsets, columns, problems)

    @classmethod
    def from_matchms(cls, spectra):
        """Create spectra from ``Spectrum`` objects of matchms."""
        records = []
        for row, each in enumerate(spectra):
            try:
                pairs = list(dict(each.metadata).items())
                records.append((pairs, np.asarray(each.peaks.mz, float), np.asarray(each.peaks.intensities, float)))
            except (AttributeError, TypeError, ValueError) as error:
                message = f"from_matchms needs spectra of matchms; number {row} is {type(each).__name__}."
                raise InputError(message) from error
        return cls.from_records(records)

    def to_matchms(self):
        """Convert to a list of ``Spectrum`` objects of matchms."""
        try:
            matchms = import_module(_MATCHMS)
        except ModuleNotFoundError as error:
            raise MissingExtraError("to_matchms needs the package 'matchms'. Run: pip install matchms.") from error
        return [matchms.Spectrum(each.mz, each.intensity, dict(each.metadata)) for each in self]

    @classmethod
    def of(cls, spectra, who="Spectra"):
        """Convert Spectra, objects of matchms, or a list of arrays of shape (peaks, 2) to Spectra."""
        if isinstance(spectra, cls):
            return spectra
        if isinstance(spectra, (str, bytes, Mapping)) or not hasattr(spectra, "__iter__"):
            raise InputError(
                f"{who} needs Spectra, spectra of matchms, or arrays of shape (peaks, 2); got {spectra!r:.80}."
            )
        spectra = list(spectra)
        if spectra and all(isinstance(each, Spectrum) for each in spectra):
            return cls.from_records([(list(each.metadata.items()), each.mz, each.intensity) for each in spectra])
        return cls.from_matchms(spectra) if spectra and hasattr(spectra[0], "peaks") else cls.from_peaks(spectra)

    # ------------------------------------------------------------------------------------------------------- access

    def __len__(self):
        return len(self.offsets) - 1

    def __repr__(self):
        return f"Spectra({len(self):,} spectra, {len(self.mz):,} peaks)"

    def __iter__(self):
        return (self[row] for row in range(len(self)))

    def __getitem__(self, rows):
        """One spectrum, or of a slice or an array of numbers or bools the spectra that it names."""
        if isinstance(rows, (int, np.integer)):
            row = range(len(self))[rows]
            part = slice(self.offsets[row], self.offsets[row + 1])
            known = {name: values[row] for name, values in self.columns.items() if values[row] is not None}
            return Spectrum(self.mz[part], self.intensity[part], known)
        chosen = np.arange(len(self))[rows]
        lengths = np.diff(self.offsets)[chosen]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(self.offsets[chosen] - offsets[:-1], lengths) + np.arange(offsets[-1])
        columns = {name: [values[row] for row in chosen.tolist()] for name, values in self.columns.items()}
        return Spectra(self.mz[places], self.intensity[places], offsets, columns, self.problems)

    def column(self, name):
        """The values of a column; all None if there is no such column."""
        return list(self.columns.get(name, [None] * len(self)))

    def labels(self):
        """Label of each spectrum: its name, or else file and scan, or else its id, or else None."""
        parts = (self.column(name) for name in ("name", "file", "scan", "spectrum_id"))
        return [
            name or (" ".join(filter(None, (file, f"scan {scan}"))) if scan is not None else spectrum_id)
            for name, file, scan, spectrum_id in zip(*parts, strict=True)
        ]

    @property
    def ms1_scans(self):
        """Whether each spectrum is a scan of level 1 without a name."""
        parts = zip(self.column("ms_level"), self.column("name"), strict=True)
        return np.array([level == 1 and name is None for level, name in parts], dtype=bool)

    @property
    def precursor_mz(self):
        """Precursor m/z of every spectrum, NaN if unknown."""
        if "precursor_mz" not in self.columns:
            return np.full(len(self), np.nan)
        return np.array([value or np.nan for value in self.columns["precursor_mz"]], dtype=np.float64)

    def packed_columns(self, who):
        """All columns as a storage keeps them."""
        return read_block(self.columns or None, FIELDS, len(self), who).packed()
