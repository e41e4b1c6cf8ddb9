"""Scans of mzML and mzXML, element by element, so that a run of any size is read in the memory of its longest scan.

Our own reader: pyteomics 5 wants psims and SQLAlchemy for mzML and loads the whole vocabulary, of which a search needs
a dozen terms, and what is wrong with one scan ends its reading. Packed by MS-Numpress are few files; such scans are
refused by name.
"""

__all__ = ["read_mzml", "read_mzxml"]

import base64
import binascii
import re
import zlib
from xml.etree import ElementTree

import numpy as np

from mercer._base.errors import InputError
from mercer.spectra.reading.text import BadRecord, checked

_TERMS = {
    "MS:1000511": "ms_level",
    "MS:1000744": "precursor_mz",
    "MS:1000827": "isolation_window_target",  # where no ion is said to be selected
    "MS:1000041": "charge",
    "MS:1000045": "collision_energy",
    "MS:1000016": "retention_time",
}
_POSITIVE, _NEGATIVE = "MS:1000130", "MS:1000129"
_ARRAYS = {"MS:1000514": "mz", "MS:1000515": "intensity"}
_TYPES = {"MS:1000519": "<i4", "MS:1000521": "<f4", "MS:1000522": "<i8", "MS:1000523": "<f8"}
_ZLIB, _PLAIN = "MS:1000574", "MS:1000576"
_NUMPRESS = {f"MS:{number}" for number in (1002312, 1002313, 1002314, 1002746, 1002747, 1002748)}
_DURATION = re.compile(r"PT(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?", re.ASCII)
_SCAN = re.compile(r"(?:\bscan|\bscanId)=(\d+)", re.ASCII)
_MOST_PEAKS = 2**26  # of one scan


def read_mzml(stream):
    """A record for each ``spectrum``."""
    groups: dict[str, list] = {}
    for event, element in _elements(stream):
        if event == "broken":
            yield element
        elif event == "end" and _name(element) == "referenceableParamGroup":
            groups[element.get("id", "")] = _children(element, "cvParam")
        elif event == "end" and _name(element) == "spectrum":
            try:
                yield _mzml_record(element, groups)
            except BadRecord as problem:
                yield problem
            element.clear()


def _mzml_record(spectrum, groups):
    found = _SCAN.search(spectrum.get("id", ""))
    pairs = [("spectrum_id", spectrum.get("id")), ("scan", found and found[1])]
    arrays = {"mz": np.empty(0), "intensity": np.empty(0)}
    for element in spectrum.iter():
        if _name(element) == "binaryDataArray":
            found = {each.get("accession") for each in _parameters(element, groups)}
            role = next((_ARRAYS[term] for term in found if term in _ARRAYS), None)
            if role is not None:
                arrays[role] = _mzml_array(element, found, spectrum.get("defaultArrayLength", ""))
        elif _name(element) != "referenceableParamGroupRef":
            for each in _parameters(element, groups):
                pairs += _pair(each)
    return pairs, *checked(arrays["mz"], arrays["intensity"])


def _pair(parameter):
    term, value = parameter.get("accession"), parameter.get("value")
    if term in (_POSITIVE, _NEGATIVE):
        return [("ion_mode", "positive" if term == _POSITIVE else "negative")]
    if term == "MS:1000016" and parameter.get("unitAccession") == "UO:0000031":
        value = f"{value} min"
    return [(_TERMS[term], value)] if term in _TERMS else []


def _mzml_array(element, terms, length):
    kind = next((_TYPES[term] for term in terms if term in _TYPES), None)
    if not _NUMPRESS.isdisjoint(terms):
        raise BadRecord("has peaks compressed with MS-Numpress, which is not supported; convert the file without it")
    if kind is None or not terms & {_ZLIB, _PLAIN}:
        raise BadRecord("has peaks compressed with a method other than zlib")
    length = element.get("arrayLength", length)
    if not (length.isascii() and length.isdigit()):
        raise BadRecord("does not state its number of peaks")
    text = next((child.text for child in element if _name(child) == "binary"), "")
    return _unpacked(text, _ZLIB in terms, np.dtype(kind), int(length))


def _unpacked(text, packed, dtype, count):
    """So many numbers, and no more: a few bytes of zlib may stand for gigabytes."""
    if count > _MOST_PEAKS:
        raise BadRecord(f"announces {count:,} peaks")
    if not count:
        return np.empty(0)  # some write a pair of zeros then
    size = count * dtype.itemsize
    try:
        data = base64.b64decode(text or "", validate=False)
        data = zlib.decompressobj().decompress(data, size + 1) if packed and data else data
    except (binascii.Error, ValueError, zlib.error) as error:
        raise BadRecord(f"cannot be unpacked ({error})") from None
    if len(data) != size:
        raise BadRecord(f"announces {count:,} peaks and holds {'more' if len(data) > size else 'fewer'}")
    return np.frombuffer(data, dtype).astype(np.float64)


def read_mzxml(stream):
    """A record for each ``scan``, the scans inside it behind it."""
    scans, precursors = [], []
    for event, element in _elements(stream):
        name = "" if event == "broken" else _name(element)
        if event == "broken":
            yield element
        elif name == "scan" and event == "start":
            scans.append(element.attrib)
            precursors = []
        elif name == "scan":
            scans.pop()
            element.clear()
        elif name == "precursorMz" and event == "end":
            precursors.append((element.text, element.get("precursorCharge")))
        elif name == "peaks" and event == "end" and scans:
            try:
                yield _mzxml_record(scans[-1], precursors, element)
            except BadRecord as problem:
                yield problem
            element.clear()


def _mzxml_record(scan, precursors, element):
    pairs = [("scan", scan.get("num")), ("ms_level", scan.get("msLevel")), ("ion_mode", scan.get("polarity"))]
    pairs.append(("retention_time", _seconds(scan.get("retentionTime", ""))))
    pairs.append(("collision_energy", scan.get("collisionEnergy")))
    for mz, charge in precursors[:1]:
        pairs += [("precursor_mz", mz), ("charge", charge)]
    count = scan.get("peaksCount", "")
    if not (count.isascii() and count.isdigit()):
        raise BadRecord("does not state its number of peaks")
    if element.get("contentType", element.get("pairOrder", "m/z-int")) not in ("m/z-int", "mz-int"):
        raise BadRecord("stores m/z and intensities in separate arrays, which is not supported")
    precision, packing = element.get("precision", "32"), element.get("compressionType", "none")
    if precision not in ("32", "64") or packing not in ("none", "zlib"):
        raise BadRecord("has peaks compressed with a method other than zlib")
    numbers = _unpacked(element.text, packing == "zlib", np.dtype(f">f{int(precision) // 8}"), 2 * int(count))
    return pairs, *checked(numbers[0::2], numbers[1::2])


def _seconds(time):
    """Of PT348.146S or PT5M48.146S; anything else as it is."""
    found = _DURATION.fullmatch(time)
    if not found or time == "PT":
        return time
    hours, minutes, seconds = found.groups("0")
    try:
        return 3600 * int(hours) + 60 * int(minutes) + float(seconds)
    except ValueError:
        return None


# ----------------------------------------------------------------------------------------------------------------- XML


def _elements(stream):
    """(event, element), and at the end ("broken", BadRecord) if the rest of the file is no XML."""
    try:
        yield from ElementTree.iterparse(stream, events=("start", "end"))
    except InputError:  # a ValueError, too: the file is too much
        raise
    except (ElementTree.ParseError, LookupError, ValueError) as error:  # LookupError: of an encoding
        yield "broken", BadRecord(f"and all later records cannot be read, because the file is not valid XML ({error})")


def _name(element):
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _children(element, name):
    return [child for child in element if _name(child) == name]


def _parameters(element, groups):
    """Its own, and those of the groups that it refers to."""
    referred = [
        each for child in _children(element, "referenceableParamGroupRef") for each in groups.get(child.get("ref"), [])
    ]
    return _children(element, "cvParam") + referred
