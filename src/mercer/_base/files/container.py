"""The file format of models: a JSON document and raw arrays in one file, with a checksum over all of it.

The carrier is safetensors, so any safetensors tool can list the arrays:

    bytes 0 .. 7     length of the header, little-endian
    the header       {"__metadata__":{"sha256":"<64 digits>","mercer":"<the document>"},"<array>":{...},...} and spaces
    the data         the arrays one after the other in the order of the header, C order, little-endian, no holes

``sha256`` is the SHA-256 of the whole file with those 64 digits replaced by zeros. They stand at a fixed place, which
makes the first bytes of the header a signature as well. Alignment: the data start at a multiple of 64 and wider types
come first, so every array can be mapped into memory as it is.

Writer and reader are ours. The library's writer needs every array contiguous at the same time (0.8.0 silently writes
wrong values for one that is not) and would have to be followed by a second pass for the checksum; here one array at a
time is made contiguous and hashed as it is written. The library's reader for numpy copies, maps nothing into memory and
knows no checksum; this one never believes a number in the header before comparing it with the size of the file.

This module knows nothing of what the document means. ``docs/model-files.md`` describes every byte.
"""

__all__ = ["FORMAT_VERSION", "ArrayEntry", "FileProblem", "Header", "naming", "read", "read_header", "verify", "write"]

import hashlib
import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np

from mercer._base.errors import ModelFileError, NotSaveableError
from mercer._base.files.atomic import replacing

FORMAT_VERSION = 1
MAX_HEADER_BYTES = 16 * 2**20  # bounds what a hostile header can make the JSON parser allocate
MAX_DIMENSIONS = 32
MAX_EMPTY_SIDE = 2**20  # of an array without elements
MAX_NAME_LENGTH = 1000

_SIGNATURE = b'{"__metadata__":{"sha256":"'
_DIGEST = slice(len(_SIGNATURE), len(_SIGNATURE) + 64)  # within the header
_HEX = re.compile("[0-9a-f]{64}")
_ALIGNMENT = 64
_CHUNK_BYTES = 2**20

# complex128 is unknown to safetensors; what has no entry here is built from these types by mercer._base.files.encoding
_DTYPES = {
    "BOOL": np.dtype("|b1"),
    "U8": np.dtype("|u1"),
    "I8": np.dtype("|i1"),
    "U16": np.dtype("<u2"),
    "I16": np.dtype("<i2"),
    "F16": np.dtype("<f2"),
    "U32": np.dtype("<u4"),
    "I32": np.dtype("<i4"),
    "F32": np.dtype("<f4"),
    "U64": np.dtype("<u8"),
    "I64": np.dtype("<i8"),
    "F64": np.dtype("<f8"),
}
_CODES = {dtype: code for code, dtype in _DTYPES.items()}


class FileProblem(Exception):
    """Why a file is refused, as the second half of a sentence; :func:`naming` adds the first: the file."""


@contextmanager
def naming(path: str | os.PathLike) -> Iterator[None]:
    """Turn what can go wrong with a file into a ModelFileError that begins with its name."""
    name = repr(os.fsdecode(path))
    try:
        yield
    except FileProblem as problem:
        raise ModelFileError(f"{name} {problem}") from problem.__cause__
    except RecursionError:
        raise ModelFileError(f"{name} is refused: its header is nested too deeply.") from None
    except MemoryError as error:
        raise ModelFileError(f"{name} does not fit in memory. Try load(path, mmap=True).") from error
    except OSError as error:
        raise ModelFileError(f"{name} cannot be read: {error.strerror or error}.") from error


@dataclass(frozen=True)
class ArrayEntry:
    """Where one array lies: bytes ``start`` to ``stop`` of the file."""

    name: str
    dtype: np.dtype
    shape: tuple[int, ...]
    start: int
    stop: int


@dataclass(frozen=True)
class Header:
    """What is known of a file without reading its arrays."""

    document: dict[str, Any]
    arrays: tuple[ArrayEntry, ...]
    sha256: str
    file_bytes: int
    raw: bytes = field(repr=False)  # as read, length included: the checksum must cover the bytes that were parsed


# --- writing ---------------------------------------------------------------------------------------------------------


def write(path: str | os.PathLike, document: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> str:
    """Write the document and the arrays, replacing ``path`` only when everything is on the disk; returns the digest.

    The same input gives the same bytes. At most one array is copied at a time, and only if it is not contiguous.
    """
    ordered = sorted(arrays.items(), key=lambda item: -item[1].dtype.itemsize)
    header = _compose_header(document, ordered)
    digest = hashlib.sha256(header)
    with replacing(path) as file:
        file.write(header)
        for _, array in ordered:
            _write_array(array, file, digest)
        file.seek(8 + _DIGEST.start)
        file.write(digest.hexdigest().encode("ascii"))
    return digest.hexdigest()


def _compose_header(document: Mapping[str, Any], arrays: list[tuple[str, np.ndarray]]) -> bytes:
    text = json.dumps({"format": FORMAT_VERSION, **document}, allow_nan=False, separators=(",", ":"))
    header: dict[str, Any] = {"__metadata__": {"sha256": "0" * 64, "mercer": text}}
    stop = 0
    for name, array in arrays:
        start, stop = stop, stop + array.nbytes
        code = _CODES.get(array.dtype.newbyteorder("<"), array.dtype.name)
        header[name] = {"dtype": code, "shape": list(array.shape), "data_offsets": [start, stop]}
        try:
            _parse_entry(name, header[name], 0)
        except FileProblem as problem:  # what could not be read again is not written
            raise NotSaveableError(f"The model file {problem}") from None
    raw = json.dumps(header, separators=(",", ":")).encode("ascii")
    raw += b" " * (-(8 + len(raw)) % _ALIGNMENT)
    if len(raw) > MAX_HEADER_BYTES:
        raise NotSaveableError(
            f"The model needs a header of {len(raw):,} bytes; a model file has at most {MAX_HEADER_BYTES:,}. "
            "Turn long lists and dictionaries into arrays."
        )
    return len(raw).to_bytes(8, "little") + raw


def _write_array(array: np.ndarray, file: BinaryIO, digest) -> None:
    # a function, so that no chunk keeps the copy of this array alive while the next one is copied
    for chunk in _byte_chunks(array):
        digest.update(chunk)
        file.write(chunk)


def _byte_chunks(array: np.ndarray) -> Iterator[memoryview]:
    # not np.ascontiguousarray, which turns a 0-d array into a 1-d one
    contiguous = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
    as_bytes = contiguous.reshape(-1).view(np.uint8)
    for start in range(0, as_bytes.size, _CHUNK_BYTES):
        yield as_bytes[start : start + _CHUNK_BYTES].data


# --- reading ---------------------------------------------------------------------------------------------------------


def read_header(path: str | os.PathLike) -> Header:
    """The header, checked against the size of the file. The arrays are not read and the checksum is not verified."""
    with _opened(path) as file:
        return _parse_file(file)


def verify(path: str | os.PathLike) -> Header:
    """The header of a file whose checksum matches; the file is read once, in small pieces."""
    with _opened(path) as file:
        header = _parse_file(file)
        _check_rest(file, header)
        return header


def read(path: str | os.PathLike, mmap: bool = False) -> tuple[Header, dict[str, np.ndarray]]:
    """The header and the arrays of a file whose checksum matches.

    The arrays are writeable copies, hashed as they are read, or with ``mmap`` read-only views of the mapped file.
    """
    with _opened(path) as file:
        header = _parse_file(file)
        if mmap:
            _check_rest(file, header)
            arrays = _map_arrays(file, header)
        else:
            arrays = _copy_arrays(file, header)
        for name, array in arrays.items():
            # numpy believes that the byte of a bool is 0 or 1; compiled loops index with it
            if array.dtype == bool and array.size and array.view(np.uint8).max() > 1:
                raise FileProblem(f"is refused: the boolean array {name[:80]!r} holds bytes other than 0 and 1.")
        return header, arrays


@contextmanager
def _opened(path: str | os.PathLike) -> Iterator[BinaryIO]:
    with naming(path):
        if not os.path.exists(path):
            raise FileProblem("does not exist.")
        if not os.path.isfile(path):  # opening a pipe would wait for ever
            raise FileProblem("is a folder, not a file." if os.path.isdir(path) else "is not a regular file.")
        with open(path, "rb") as file:
            yield file


def _start_digest(header: Header):
    raw = bytearray(header.raw)
    raw[8 + _DIGEST.start : 8 + _DIGEST.stop] = b"0" * 64
    return hashlib.sha256(raw)


def _compare_digest(digest, header: Header) -> None:
    if digest.hexdigest() != header.sha256:
        raise FileProblem(
            "is damaged: its checksum does not match its content. Use another copy, or save the model again."
        )


def _check_rest(file: BinaryIO, header: Header) -> None:
    digest = _start_digest(header)
    buffer = memoryview(bytearray(_CHUNK_BYTES))
    while size := file.readinto(buffer):  # type: ignore[attr-defined]
        digest.update(buffer[:size])
    _compare_digest(digest, header)


def _copy_arrays(file: BinaryIO, header: Header) -> dict[str, np.ndarray]:
    digest = _start_digest(header)
    arrays = {}
    for entry in header.arrays:
        array = np.empty(entry.shape, entry.dtype)
        for chunk in _byte_chunks(array):
            if file.readinto(chunk) != len(chunk):  # type: ignore[attr-defined]
                raise FileProblem("was truncated while it was being read.")
            digest.update(chunk)
        arrays[entry.name] = array
    _compare_digest(digest, header)
    return arrays


def _map_arrays(file: BinaryIO, header: Header) -> dict[str, np.ndarray]:
    mapped = np.memmap(file, dtype=np.uint8, mode="r", shape=(header.file_bytes,))
    return {
        # plain arrays: compiled loops and scikit-learn need no case for np.memmap
        entry.name: np.asarray(mapped[entry.start : entry.stop]).view(entry.dtype).reshape(entry.shape)
        for entry in header.arrays
    }


# --- parsing the header ----------------------------------------------------------------------------------------------


def _parse_file(file: BinaryIO) -> Header:
    file_bytes = os.fstat(file.fileno()).st_size
    start = file.read(8 + len(_SIGNATURE))
    header_bytes = int.from_bytes(start[:8], "little")
    if not _SIGNATURE.startswith(start[8:]) or len(start) < 9:
        raise FileProblem(_what_it_is_instead(start, file_bytes))
    if header_bytes > MAX_HEADER_BYTES:
        raise FileProblem(f"is refused: its header claims {header_bytes:,} bytes, more than {MAX_HEADER_BYTES:,}.")
    if header_bytes > file_bytes - 8:
        raise FileProblem(f"is truncated: its header has {header_bytes:,} bytes, the file {file_bytes:,}.")
    raw = start + file.read(max(0, header_bytes - len(_SIGNATURE)))
    if len(raw) != 8 + header_bytes:
        raise FileProblem("has a damaged header: its length is wrong.")
    header = _parse_json(raw[8:], "header")
    metadata = header.pop("__metadata__")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("mercer"), str):
        raise FileProblem("is a safetensors file without Mercer's document.")
    document = _parse_document(metadata["mercer"])
    sha256 = raw[8:][_DIGEST].decode("ascii", "replace")
    if metadata.keys() != {"sha256", "mercer"} or metadata["sha256"] != sha256 or not _HEX.fullmatch(sha256):
        raise FileProblem("has a damaged header: the checksum is in the wrong place.")
    return Header(document, _parse_entries(header, len(raw), file_bytes), sha256, file_bytes, raw)


def _what_it_is_instead(start: bytes, file_bytes: int) -> str:
    if not start:
        return "is empty."
    if start[8:9] == b"{" and int.from_bytes(start[:8], "little") <= file_bytes - 8:
        return "is a safetensors file without Mercer's document."
    if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "is a zip or npz archive, not a model file."
    if start.startswith(b"\x93NUMPY"):
        return "is an npy array, not a model file."
    if start[0] == 0x80 and start[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "is a pickle, which Mercer never loads. Save the model again with mercer.save."
    return "is not a model file."


def _parse_json(text: bytes | str, part: str) -> dict[str, Any]:
    try:
        value = json.loads(
            text, object_pairs_hook=_unique_keys, parse_constant=_refuse_constant, parse_float=_finite_float
        )
    except ValueError as error:  # JSON, UTF-8 and numbers with thousands of digits
        raise FileProblem(f"has a damaged header: its {part} is not valid JSON ({error}).") from error
    if not isinstance(value, dict):
        raise FileProblem(f"has a damaged header: its {part} is not a JSON object.")
    return value


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):  # which of two equal keys wins differs between readers
        raise ValueError("a key appears twice")
    return result


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


def _finite_float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError("a number is out of range")
    return value


def _parse_document(text: str) -> dict[str, Any]:
    document = _parse_json(text, "document")
    version = document.pop("format", None)
    if type(version) is not int or version < 1:
        raise FileProblem("has a damaged header: its document states no format version.")
    if version > FORMAT_VERSION:
        raise FileProblem(
            f"was written by format {version}; this version reads format {FORMAT_VERSION}. Upgrade mercer."
        )
    return document


def _parse_entries(header: dict[str, Any], data_start: int, file_bytes: int) -> tuple[ArrayEntry, ...]:
    entries = []
    stop = data_start
    for name, fields in header.items():
        entry = _parse_entry(name, fields, data_start)
        if entry.start != stop or entry.start % entry.dtype.itemsize:
            raise FileProblem(f"is refused: the array {name[:80]!r} does not start where the previous array ends.")
        if entry.stop > file_bytes:
            raise FileProblem(f"is truncated: the array {name[:80]!r} ends at byte {entry.stop:,} of {file_bytes:,}.")
        stop = entry.stop
        entries.append(entry)
    if stop != file_bytes:
        raise FileProblem(f"is refused: it has {file_bytes:,} bytes, but its arrays end at byte {stop:,}.")
    return tuple(entries)


def _parse_entry(name: str, fields: Any, data_start: int) -> ArrayEntry:
    def refuse(reason: str) -> FileProblem:
        return FileProblem(f"is refused: the array {name[:80]!r} {reason}.")

    if not name.isprintable() or not 0 < len(name) <= MAX_NAME_LENGTH:
        raise refuse("has an unprintable name")
    if not isinstance(fields, dict) or set(fields) != {"dtype", "shape", "data_offsets"}:
        raise refuse("has a malformed entry")
    code, shape, offsets = fields["dtype"], fields["shape"], fields["data_offsets"]
    dtype = _DTYPES.get(code) if isinstance(code, str) else None
    if dtype is None:
        raise refuse(f"has the unknown type {str(code)[:20]!r}")
    if not _are_sizes(shape) or len(shape) > MAX_DIMENSIONS:
        raise refuse("has an impossible shape")
    if not _are_sizes(offsets) or len(offsets) != 2:
        raise refuse("has an impossible position")
    # Python integers: nothing here can overflow. numpy refuses shapes beyond 2**63 bytes even if one side is 0.
    if math.prod(max(side, 1) for side in shape) * dtype.itemsize >= 2**63:
        raise refuse("has an impossible shape")
    if 0 in shape and max(shape) > MAX_EMPTY_SIDE:  # no byte of the file stands for it, and a loop may run over it
        raise refuse("is empty but has a nonzero dimension")
    if offsets[1] - offsets[0] != math.prod(shape) * dtype.itemsize:
        raise refuse("has a shape that does not agree with its number of bytes")
    return ArrayEntry(name, dtype, tuple(shape), data_start + offsets[0], data_start + offsets[1])


def _are_sizes(value: Any) -> bool:
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)
