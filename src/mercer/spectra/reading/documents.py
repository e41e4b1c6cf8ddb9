"""Records of JSON: of GNPS, of MoNA, and plain ones with ``peaks`` and whatever names."""

__all__ = ["read_json"]

import json
import re

import numpy as np

from mercer._base.errors import InputError
from mercer.spectra.reading.text import BadRecord, checked

_INTENSITIES = ("intensity", "intensities")


def read_json(data, name):
    """A list of records, one record, or a record in each line; peaks as text, as text in JSON or as pairs."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    try:
        document = _document(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} is not valid JSON: {error}.") from error
    if isinstance(document, dict):
        document = next(
            (document[key] for key in ("spectra", "results") if isinstance(document.get(key), list)), [document]
        )
    if not isinstance(document, list):
        raise InputError(f"{name} does not hold a list of spectra.")
    for record in document:
        try:
            yield _json_record(record)
        except BadRecord as problem:
            yield problem


def _document(text):
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            raise
        return [json.loads(line) for line in text.splitlines() if line.strip()]


def _json_record(record):
    if not isinstance(record, dict):
        raise BadRecord("is not a JSON object")
    if isinstance(record.get("spectruminfo"), dict):  # of the pages of GNPS
        record = record["spectruminfo"] | {"annotations": record.get("annotations")}
    pairs = [(key, value) for part in [record, *_dictionaries(record.get("annotations"))]
             for key, value in part.items() if isinstance(value, (str, int, float))]  # fmt: skip
    pairs += _pairs_of_mona(record)
    found = next((record[key] for key in ("peaks_json", "peaks", "spectrum") if record.get(key) is not None), None)
    if isinstance(found, str) and found.lstrip()[:1] == "[":
        try:
            found = json.loads(found)
        except (ValueError, RecursionError):
            raise BadRecord("has peaks that are not valid JSON") from None
    elif isinstance(found, str):
        found = re.split(r"[\s:;,]+", found.strip(" \n\t;,"))
    elif found is None:
        found = record
    if isinstance(found, dict):  # two lists
        found = list(zip(*_halves(found), strict=False))
    elif isinstance(found, list) and all(isinstance(peak, dict) for peak in found):
        found = [_halves(peak) for peak in found]
    try:
        table = np.array(found, dtype=np.float64).reshape(-1, 2) if len(found) else np.empty((0, 2))
    except (TypeError, ValueError):
        raise BadRecord("has peaks that are not pairs of numbers") from None
    return pairs, *checked(table[:, 0], table[:, 1])


def _halves(found):
    """(m/z, intensity) of an object that names them: numbers, or lists of equal length."""
    mz, intensity = (next((found[key] for key in keys if key in found), None) for keys in (("mz", "m/z"), _INTENSITIES))
    if mz is None or intensity is None:
        raise BadRecord("has no peaks")
    if isinstance(mz, list) != isinstance(intensity, list) or (isinstance(mz, list) and len(mz) != len(intensity)):
        raise BadRecord("has different numbers of m/z values and intensities")
    return mz, intensity


def _pairs_of_mona(record):
    """MoNA keeps names and values in lists, of the spectrum and of its compounds."""
    pairs = []
    for part in [record, *_dictionaries(record.get("compound"))]:
        pairs += [("inchikey", part["inchiKey"])] if isinstance(part.get("inchiKey"), str) else []
        pairs += [("name", each["name"]) for each in _dictionaries(part.get("names")) if "name" in each]
        pairs += [(each["name"], each.get("value")) for each in _dictionaries(part.get("metaData")) if "name" in each]
    return pairs


def _dictionaries(found):
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
