"""Metadata of spectra under one name each: what files call it, and which values mean that there is none."""

__all__ = ["FIELDS", "NAMES", "harmonized"]

import math
import re

from mercer.search.columns.types import DataColumn, DataTypes

# The columns of every collection and index of spectra, with their types for conditions.
FIELDS = DataTypes([
    DataColumn("name", "text"), DataColumn("precursor_mz", "float"), DataColumn("adduct", "text"),
    DataColumn("charge", "integer"), DataColumn("ion_mode", "text"), DataColumn("formula", "text"),
    DataColumn("smiles", "text"), DataColumn("inchikey", "text"), DataColumn("retention_time", "float"),
    DataColumn("collision_energy", "text"), DataColumn("ms_level", "integer"), DataColumn("spectrum_id", "text"),
    DataColumn("file", "text"), DataColumn("scan", "integer"),
])  # fmt: skip
NAMES = tuple(FIELDS.names)

# What files call them, in small letters and without anything between; the first that has a value is taken.
_ALIASES = {
    "name": "name compoundname chname title recordtitle",
    "precursor_mz": "precursormz precursorm pepmass precursor selectedionmz parent isolationwindowtarget",
    "adduct": "adduct precursortype adducttype iontype ion",
    "charge": "charge precursorcharge",
    "ion_mode": "ionmode ionizationmode polarity mode",
    "formula": "formula molecularformula chemicalformula formulasmiles formulainchi",
    "smiles": "smiles computedsmiles",
    "inchikey": "inchikey inchikeysmiles inchikeyinchi metbinchikey",
    "retention_time": "retentiontime rtinseconds rt scanstarttime rtinminutes",
    "collision_energy": "collisionenergy collisionenergies ce",
    "ms_level": "mslevel spectrumtype mstype",
    "file": "file",
    "spectrum_id": "spectrumid accession libraryid dbid db nist nistno id",
    "scan": "scan scans scannumber",
}
_FIELD_OF = {alias: (name, rank) for name, said in _ALIASES.items() for rank, alias in enumerate(said.split())}
_NOTHING = {"", "n/a", "na", "nan", "null", "none", "unknown", "-"}
_TIME = re.compile(r"\s*([\d.]+(?:[eE][+-]?\d+)?)(?:\s*-\s*[\d.]+)?\s*(min|minutes?|m|sec|seconds?|s)?\.?\s*", re.ASCII)
_CHARGE = re.compile(r"\s*([+-]?)(\d{1,3})(?:\.0*)?([+-]?)\s*", re.ASCII)


def harmonized(pairs):
    """The harmonized columns among pairs of names and values as a file has them.

    >>> harmonized([("PRECURSORMZ", "141.0193"), ("Ion_mode", "NEGATIVE"), ("MS level", "MS2"), ("SMILES", "N/A")])
    {'precursor_mz': 141.0193, 'ion_mode': 'negative', 'ms_level': 2}
    """
    best, found = {}, {}
    for key, value in pairs:
        word = "".join(filter(str.isalnum, str(key))).lower()
        field, rank = _FIELD_OF.get(word, (None, 0))
        if field is None or best.get(field, math.inf) <= rank:
            continue
        kept = _READERS.get(field, _text)(f"{value} min" if word == "rtinminutes" else value)
        if kept is not None:
            best[field], found[field] = rank, kept
    if "ion_mode" not in found and str(found.get("adduct", ""))[-1:] in ("+", "-"):
        found["ion_mode"] = "positive" if found["adduct"].endswith("+") else "negative"
    return {name: found[name] for name in NAMES if name in found}


def _text(value):
    text = " ".join(str(value).replace("\0", " ").split())
    if value is None or text.lower() in _NOTHING:
        return None
    return text.encode(errors="replace")[:60_000].decode(errors="ignore")


def _number(value):
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _precursor(value):
    """The first number, as MGF writes an intensity behind it, MassBank and NIST others; 0 means that there is none."""
    words = value.replace("/", " ").split() if isinstance(value, str) else [value]
    first = words[0] if words else None
    number = _number(first.rstrip(",;") if isinstance(first, str) else first)
    return number if number is not None and number > 0 else None


def _charge(value):
    """A number other than 0; a choice of several, as of a search engine, is none."""
    found = _CHARGE.fullmatch(str(value))
    if not found or not int(found[2]):
        return None
    return -int(found[2]) if "-" in (found[1], found[3]) else int(found[2])


def _ion_mode(value):
    word = str(value).strip().lower()
    if word.startswith("pos") or word in ("p", "+"):
        return "positive"
    return "negative" if word.startswith("neg") or word in ("n", "-") else None


def _time(value):
    """In seconds; a number without a unit stays as it is."""
    unit = getattr(value, "unit_info", None)
    found = _TIME.fullmatch(str(value))
    number = _number(found[1]) if found else None
    if number is None or number < 0:
        return None
    return number * 60 if (found[2] or unit or "").startswith("m") else number


def _level(value):
    word = str(value).strip().upper().removeprefix("MS")
    if word == "/MS":
        return 2
    return int(word) if word.isascii() and word.isdigit() and 0 < int(word) < 20 else None


def _inchikey(value):
    word = str(value).strip().upper().removeprefix("INCHIKEY=")
    return word if re.fullmatch("[A-Z]{14}(-[A-Z]{10}-[A-Z])?", word) else None


def _scan(value):
    found = re.match(r"\s*(\d{1,18})", str(value), re.ASCII)
    return int(found[1]) if found else None


_READERS = {
    "precursor_mz": _precursor,
    "charge": _charge,
    "ion_mode": _ion_mode,
    "retention_time": _time,
    "ms_level": _level,
    "inchikey": _inchikey,
    "scan": _scan,
}
