"""A library of spectra as the service sees it, and the requests that ask it."""

__all__ = ["AskedSpectra", "ServedSpectra", "read_spectra_request"]

import math
from dataclasses import dataclass
from typing import Any

import mercer
from mercer._base.errors import InputError
from mercer.serving.bodies.queries import parsed_body
from mercer.serving.http.faults import Fault
from mercer.spectra import Spectra, SpectrumIndex

_KEYS = {"peaks", "precursor_mz", "name"}


@dataclass(frozen=True)
class AskedSpectra:
    """What a request wants to know of spectra."""

    k: int
    mode: str
    min_score: float
    min_matched_peaks: int
    where: str | None
    with_mirrors: bool


class ServedSpectra:
    """The face of a service that has a library of spectra and no model.

    Attributes
    ----------
    as of `ServedModel`
    """

    sha256 = classes = None
    task, rates, name = "spectra", (), "SpectrumIndex"

    def __init__(self, index):
        if not isinstance(index, SpectrumIndex):
            index = SpectrumIndex.open(index, verify=False)
        if not len(index):
            raise InputError("The library has no spectra. Add spectra with mercer spectra add.")
        self._index = index
        index.search(Spectra.of([index.spectrum(0)]), 1)  # so that loops are compiled

    def card(self):
        """What ``/v1/model`` tells."""
        stats = self._index.stats()
        told = {name: value for name, value in stats.items() if name != "path"}
        return {"name": self.name, "version": mercer.__version__, "sha256": None, "task": self.task, "library": told}

    def search(self, spectra, asked):
        """Hits of each spectrum: lists of dictionaries, with the picture of each if that is wanted."""
        try:
            found = self._index.search(
                spectra, asked.k, mode=asked.mode, min_score=asked.min_score,
                min_matched_peaks=asked.min_matched_peaks, where=asked.where,
            )  # fmt: skip
        except InputError as error:
            raise Fault(422, "spectra-refused", str(error).replace("SpectrumIndex.search", "The search")) from None
        hits = [found.records(query) for query in range(len(found))]
        for query, lines in enumerate(hits):
            for line in lines:
                line.pop("query")
                if asked.with_mirrors:
                    line["mirror"] = found.mirror(query, line["rank"]).svg()
        return hits


def read_spectra_request(content_type, body, most):
    """The spectra of a body: {"spectra": [{"peaks": [[m/z, intensity], ...] or text, "precursor_mz", "name"}, ...]}."""
    if content_type.partition(";")[0].strip().lower() != "application/json":
        raise Fault(415, "media-type", "Send application/json.")
    content = parsed_body(body)
    records = content.get("spectra") if type(content) is dict and set(content) == {"spectra"} else None
    if type(records) is not list or not records:
        raise Fault(422, "shape", 'The body must be {"spectra": [...]}, a list of at least one object with "peaks".')
    if len(records) > most:
        raise Fault(413, "too-many-rows", f"The request has {len(records)} spectra; the maximum is {most}.")
    return Spectra.of([_spectrum(number, record) for number, record in enumerate(records)])


def _spectrum(number: int, record: Any):
    if type(record) is not dict or "peaks" not in record or not set(record) <= _KEYS:
        raise Fault(422, "keys", f'Spectrum {number} must have "peaks", and may have "precursor_mz" and "name".')
    precursor, name, peaks = record.get("precursor_mz"), record.get("name"), record["peaks"]
    if precursor is not None and not (type(precursor) in (int, float) and 0 < precursor < math.inf):
        raise Fault(422, "precursor", f'"precursor_mz" of spectrum {number} must be a number > 0, or null.')
    if name is not None and type(name) is not str:
        raise Fault(422, "name", f'"name" of spectrum {number} must be a string.')
    if type(peaks) is list and not all(
        type(peak) is list and len(peak) == 2 and {int, float} >= set(map(type, peak)) for peak in peaks
    ):
        message = f'"peaks" of spectrum {number} must be pairs of numbers, or a string with one peak per line.'
        raise Fault(422, "peaks", message)
    columns = {"precursor_mz": [precursor], "name": [name]}
    try:
        found = Spectra.from_text(peaks, **columns) if type(peaks) is str else Spectra.from_peaks([peaks], **columns)
    except (InputError, OverflowError) as error:
        raise Fault(422, "peaks", f"Spectrum {number}: {error}") from None
    return found[0]
