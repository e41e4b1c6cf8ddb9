"""From the name of a file to its spectra: which format it has, what could not be read, and how much is too much."""

__all__ = ["FORMATS", "SkippedSpectraWarning", "read_spectra"]

import codecs
import gzip
import os
import re
import warnings
import zlib
from pathlib import Path

from mercer._base.errors import InputError
from mercer._base.tables.limits import Limit
from mercer.spectra.collection import Spectra
from mercer.spectra.reading.documents import read_json
from mercer.spectra.reading.scans import read_mzml, read_mzxml
from mercer.spectra.reading.text import BadRecord, read_massbank, read_mgf, read_msp, read_peak_list

FORMATS = ("msp", "mgf", "mzml", "mzxml", "json", "massbank", "peaks")
_OF_SUFFIX = {f".{name}": name for name in FORMATS[:-1]}
_PEAKS = (".peaks", ".txt", ".csv", ".tsv", ".xy", ".asc")  # suffixes of lists of peaks, if nothing inside says more
_BEGINNINGS = {  # of a file, and what tells its format
    r"\A\s*<(?s:.*<)?mzXML\b": "mzxml", r"\A\s*<(?s:.*<)?(indexed)?mzML\b": "mzml",
    r"\A\s*(\{|\[\s*\{)": "json", r"(?im)^BEGIN IONS\s*$": "mgf", r"(?m)^ACCESSION:": "massbank",
    r"(?im)^num(ber of)?[ _]*peaks\s*:": "msp",
}  # fmt: skip
_BEGINNING = 2**14
_GZIP = b"\x1f\x8b"  # its first bytes
_LONGEST_LINE = 2**24
_SHOWN = 3  # problems in a warning


class SkippedSpectraWarning(UserWarning):
    """Some records could not be read and were skipped. The message names the first ones."""


def read_spectra(files, format=None, strict=False, max_unpacked=None):
    """Read spectra from one or more files, with their metadata under common names.

    Parameters
    ----------
    files : path or list of paths
        MSP (NIST, MassBank, MoNA, RIKEN and Golm write it differently), MGF, mzML, mzXML, JSON (GNPS, MoNA), records
        of MassBank, or lists of peaks; ``.gz`` too.
    format : {'msp', 'mgf', 'mzml', 'mzxml', 'json', 'massbank', 'peaks'} or None
        None infers the format from the suffix or, for other suffixes, from the first lines.
    strict : bool
        Raise an error at the first bad record, instead of skipping it with a warning.
    max_unpacked : size or None
        Maximum size of an unpacked file, such as '8GB'. None uses a quarter of the available memory.

    Returns
    -------
    Spectra

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("two.msp").write_text('''NAME: one
    ... PRECURSORMZ: 141.0193
    ... Num Peaks: 1
    ... 41.04 37.2
    ...
    ... NAME: two
    ... Num Peaks: 2
    ... 69.07 66.3; 86.1 999
    ... ''')
    >>> spectra = read_spectra("two.msp")
    >>> spectra.column("name"), spectra.column("precursor_mz")
    (['one', 'two'], [141.0193, None])
    """
    if format is not None and format not in FORMATS:
        raise InputError(f"read_spectra supports the formats {', '.join(FORMATS)}; got {format!r:.80}.")
    paths = [files] if isinstance(files, (str, os.PathLike)) else list(files)
    records, problems = [], []
    for path in paths:
        for number, found in enumerate(_records(Path(path), format, Limit.of(max_unpacked)), start=1):
            if isinstance(found, BadRecord):
                problems.append(f"{path}: record {number} {found}.")
                if strict:
                    raise InputError(problems[-1])
            else:
                pairs, mz, intensity = found
                records.append(([("file", Path(path).name), *pairs], mz, intensity))
    if problems:
        more = f" And {len(problems) - _SHOWN} more." if len(problems) > _SHOWN else ""
        warnings.warn(
            f"Skipped {len(problems):,} of {len(problems) + len(records):,} records. "
            f"{' '.join(problems[:_SHOWN])}{more}",
            SkippedSpectraWarning,
            stacklevel=2,
        )
    return Spectra.from_records(records, problems)


def _records(path, format, limit):
    name = repr(os.fspath(path))
    suffixes = [suffix.lower() for suffix in path.suffixes]
    suffix = (suffixes[:-1] if suffixes[-1:] == [".gz"] else suffixes)[-1:]
    format = format or (_OF_SUFFIX.get(suffix[0]) if suffix else None)
    try:
        if not path.is_file():
            raise InputError(f"{name} {'is not a regular file' if path.exists() else 'does not exist'}.")
        with open(path, "rb") as file:
            packed = file.read(2) == _GZIP  # whatever it is called
            file.seek(0)
            with gzip.GzipFile(fileobj=file) if packed else file as stream:
                beginning = stream.peek(_BEGINNING)[:_BEGINNING]
                if not beginning:
                    yield BadRecord("is missing: the file is empty")
                    return
                format = format or _told(beginning, suffix)
                if format is None:
                    raise InputError(
                        f"The format of {name} cannot be inferred from its name or its first lines. Set it to one of "
                        f"{', '.join(FORMATS)}."
                    )
                found = None
                for found in _READERS[format](_Limited(stream, limit, name), name):
                    yield found
                if found is None:
                    yield BadRecord("is missing: the file holds no spectra")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        yield BadRecord(f"cannot be unpacked: the gz file is damaged ({error})")
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror or error}.") from error


def _told(data, suffix):
    """The format of a file that begins so, None if it says nothing."""
    text = data.decode("utf-8-sig", errors="replace").replace("\r", "\n")
    found = next((format for pattern, format in _BEGINNINGS.items() if re.search(pattern, text)), None)
    return found or ("peaks" if suffix and suffix[0] in _PEAKS else None)


class _Limited:
    """A stream that refuses to become too much: a few kilobytes of gz may stand for gigabytes."""

    def __init__(self, stream, limit, name):
        self._stream, self._limit, self._name, self._count = stream, limit, name, 0

    def _counted(self, data):
        self._count += len(data)
        self._limit.check(self._count, self._name)
        return data

    def read(self, size=-1):
        return self._limit.read(self._stream, self._name) if size < 0 else self._counted(self._stream.read(size))

    def lines(self):
        """Texts in UTF-8, or in Latin-1 where they are not."""
        first = True
        while line := self._counted(self._stream.readline(_LONGEST_LINE)):
            if len(line) == _LONGEST_LINE:
                raise InputError(f"{self._name} has a line of more than {_LONGEST_LINE:,} bytes.")
            if first and line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise InputError(f"{self._name} is written in UTF-16. Save it as UTF-8.")
            try:
                text = line.decode("utf-8-sig" if first else "utf-8")
            except UnicodeDecodeError:
                text = line.decode("latin-1")
            first = False
            yield from text.splitlines() if "\r" in text else (text,)

    @property
    def scans(self):
        """The stream for a parser of XML, which keeps one scan at a time: only a packed one may become too much."""
        return self if isinstance(self._stream, gzip.GzipFile) else self._stream


_READERS = {
    "msp": lambda stream, name: read_msp(stream.lines()),
    "mgf": lambda stream, name: read_mgf(stream.lines()),
    "massbank": lambda stream, name: read_massbank(stream.lines()),
    "peaks": lambda stream, name: read_peak_list(stream.lines()),
    "json": lambda stream, name: read_json(stream.read(), name),
    "mzml": lambda stream, name: read_mzml(stream.scans),
    "mzxml": lambda stream, name: read_mzxml(stream.scans),
}
