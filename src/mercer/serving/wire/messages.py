"""Messages: packed bits of rows with a header, as docs/wire-format.md describes them in section 7. Version 1."""

__all__ = ["HEADER_BYTES", "MAGIC", "VERSION", "Message", "WireError", "is_message", "pack_message", "unpack_message"]

import re
import struct
import zlib
from dataclasses import dataclass

import numpy as np

from mercer._base.errors import InputError

MAGIC = b"MRCW"
VERSION = 1
HEADER_BYTES = 28
_HEAD = struct.Struct("<4sB3s8sII")  # all of the header but its last field, the checksum
_CHECKSUM = struct.Struct("<I")
_LARGEST = 2**32 - 1  # of a field


class WireError(InputError):
    """The message cannot be read. ``code`` identifies the problem.

    Examples
    --------
    >>> try:
    ...     unpack_message(b"something else")
    ... except WireError as error:
    ...     error.code
    'short'
    """

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, eq=False)
class Message:
    """Contents of a message.

    Parameters
    ----------
    codes : uint8 array of shape (rows, ceil(n_bits / 8)), read-only
    n_bits : bits of a row
    fingerprint8 : the first 8 bytes of the fingerprint, as 16 hexadecimal digits
    """

    codes: np.ndarray
    n_bits: int
    fingerprint8: str


def is_message(start):
    """Whether bytes (at least the first four of a file) start like a message.

    Examples
    --------
    >>> is_message(b"MRCW..."), is_message(b"MERCER")
    (True, False)
    """
    return bytes(start[: len(MAGIC)]) == MAGIC


def pack_message(codes, n_bits, fingerprint):
    """Write a message as bytes.

    Parameters
    ----------
    codes : uint8 array of shape (rows, ceil(n_bits / 8)), bits packed lowest first, spare ones 0
    n_bits : bits of a row
    fingerprint : of the embedding, hexadecimal; the message carries its first 16 digits

    Examples
    --------
    >>> body = pack_message(np.array([[0b101]], dtype=np.uint8), 3, "00112233445566778899")
    >>> len(body), body[:4], unpack_message(body).codes.tolist()
    (29, b'MRCW', [[5]])
    """
    codes = np.asarray(codes)
    if not isinstance(n_bits, (int, np.integer)) or not 1 <= n_bits <= _LARGEST:
        raise InputError(f"pack_message needs n_bits to be an integer from 1 to 2^32 - 1; got {n_bits!r:.80}.")
    width = -(-int(n_bits) // 8)
    if codes.dtype != np.uint8 or codes.ndim != 2 or codes.shape[1] != width or not 1 <= len(codes) <= _LARGEST:
        raise InputError(
            f"pack_message needs codes of {n_bits} bits as uint8 of shape (rows >= 1, {width}), got {codes.dtype} of "
            f"shape {codes.shape}."
        )
    if not isinstance(fingerprint, str) or not re.match(r"[0-9a-f]{16}", fingerprint):
        raise InputError(f"pack_message needs a hexadecimal fingerprint; got {fingerprint!r:.80}.")
    if _has_spare_bits(codes, n_bits):
        raise InputError(f"pack_message needs the unused bits, from {n_bits} on, to be 0 in the last byte of a row.")
    head = _HEAD.pack(MAGIC, VERSION, bytes(3), bytes.fromhex(fingerprint[:16]), int(n_bits), len(codes))
    rows = np.ascontiguousarray(codes).tobytes()
    return head + _CHECKSUM.pack(zlib.crc32(rows, zlib.crc32(head))) + rows


def unpack_message(body):
    """Read a message. Nothing is copied, and no memory is allocated based on the header.

    Raises
    ------
    WireError
        If the bytes are not exactly one message of version 1.

    Examples
    --------
    >>> from mercer.serving import pack_message
    >>> message = unpack_message(pack_message(np.array([[0b101]], dtype=np.uint8), 3, "00112233445566778899"))
    >>> message.codes.tolist(), message.n_bits, message.fingerprint8
    ([[5]], 3, '0011223344556677')
    """
    body = memoryview(body)
    if len(body) < HEADER_BYTES:
        raise WireError("short", f"A message needs a header of {HEADER_BYTES} bytes; got {len(body)} bytes.")
    magic, version, reserved, fingerprint, n_bits, n_rows = _HEAD.unpack_from(body)
    if magic != MAGIC:
        raise WireError("magic", "A message must start with MRCW; these bytes do not.")
    if version != VERSION:
        raise WireError("version", f"The message has version {version}; this reader supports version {VERSION}.")
    if reserved != bytes(3):
        raise WireError("reserved", "Bytes 5 to 7 of a message must be 0; these are not.")
    if not n_bits or not n_rows:
        raise WireError(
            "empty", f"A message needs at least one row and one bit; this one declares {n_rows} rows of {n_bits} bits."
        )
    width = -(-n_bits // 8)
    if len(body) != HEADER_BYTES + n_rows * width:
        raise WireError(
            "length",
            f"{n_rows} rows of {n_bits} bits take {HEADER_BYTES + n_rows * width} bytes with their header, but "
            f"{len(body)} bytes came.",
        )
    rows = body[HEADER_BYTES:]
    if _CHECKSUM.unpack_from(body, _HEAD.size)[0] != zlib.crc32(rows, zlib.crc32(body[: _HEAD.size])):
        raise WireError("checksum", "The checksum does not match: the message was damaged in transit. Send it again.")
    codes = np.frombuffer(rows, dtype=np.uint8).reshape(n_rows, width)
    if _has_spare_bits(codes, n_bits):
        raise WireError(
            "spare-bits", f"Unused bits, from {n_bits} on, must be 0 in the last byte of a row; some are 1."
        )
    codes.flags.writeable = False
    return Message(codes, n_bits, fingerprint.hex())


def _has_spare_bits(codes, n_bits):
    return bool(n_bits % 8) and bool((codes[:, -1] >> (n_bits % 8)).any())
