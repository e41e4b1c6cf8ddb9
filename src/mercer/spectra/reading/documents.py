"""Records of JSON: of GNPS, of MoNA, and plain ones with ``peaks`` and whatever names."""

__all__ = ["read_json"]

import json

import numpy as np

from mercer._base.errors import InputError
from mercer.spectra.reading.text import BadRecord, checked


def read_json(data, name):
    """A list of records, or one; peaks as text, as text in JSON or as pairs."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} is not valid JSON: {error}.") from error
    if isinstance(document, dict):
        document = next(
            (document[key] for key in ("spectra", "results") if isinstance(document.get(key), list)), [document]
        )
    if not isinstance(document, list):
        raise InputError(f"{name} holds no list of spectra.")
    for record in document:
        try:
            yield _json_record(record)
        except BadRecord as problem:
            yield problem


def _json_record(record):
    if not isinstance(record, dict):
        raise BadRecord("is no JSON object")
    pairs = [(key, value) for key, value in record.items() if isinstance(value, (str, int, float))]
    pairs += _pairs_of_mona(record)
    found = next((record[key] for key in ("peaks_json", "peaks", "spectrum") if record.get(key) is not None), None)
    if isinstance(found, str) and found.lstrip()[:1] == "[":
        try:
            found = json.loads(found)
        except (ValueError, RecursionError):
            raise BadRecord("has peaks that are not valid JSON") from None
    elif isinstance(found, str):
        found = [peak.split(":") for peak in found.split()]
    if found is None:
        raise BadRecord("has no peaks")
    try:
        table = np.array(found, dtype=np.float64).reshape(-1, 2) if len(found) else np.empty((0, 2))
    except (TypeError, ValueError):
        raise BadRecord("has peaks that are no pairs of numbers") from None
    return pairs, *checked(table[:, 0], table[:, 1])


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
