"""Bodies that are nearly right: valid messages and documents with one or more things spoilt.

Some changes leave a body valid (another digit, a bit of a code with its checksum made anew); ``is_valid``, written from
the description of the format and not from the service, tells them apart, and they are not used.
"""

from __future__ import annotations

import base64
import json
import math
import struct
import zlib
from dataclasses import dataclass

import numpy as np

BITS, JSON = "application/octet-stream", "application/json"
HEAD = 24  # bytes of the header before its checksum
EXTREMES = (0, 1, 7, 8, 255, 256, 2**16, 2**31 - 1, 2**31, 2**32 - 1)
HOSTILE = (
    None,
    True,
    False,
    "",
    "x",
    "\ud800",
    [],
    {},
    [[]],
    0,
    -1,
    0.5,
    10**400,
    1e308,
    [None],
    {"rows": []},
    "0" * 99,
)
WORDS = (
    b"NaN",
    b"-Infinity",
    b"1e999",
    b"null",
    b"[",
    b"]",
    b"{",
    b"}",
    b'"',
    b",",
    b":",
    b"\\u",
    b"\x00",
    b"\xff",
    b"9" * 5000,
)


@dataclass(frozen=True)
class Service:
    """What is valid for a service.

    Parameters
    ----------
    n_features : of a raw row
    fingerprints : of the embedding, by bits
    """

    n_features: int
    fingerprints: dict[int, str]

    def is_valid(self, media: str, body: bytes) -> bool:
        return self._is_message(body) if media == BITS else self._is_document(body)

    def _is_message(self, body):
        if len(body) < HEAD + 4 or body[:8] != b"MRCW\x01\x00\x00\x00":
            return False
        bits, rows = struct.unpack("<II", body[16:24])
        width = (bits + 7) // 8
        known = self.fingerprints.get(bits, "")[:16] == body[8:16].hex()
        if not known or not rows or len(body) != HEAD + 4 + rows * width:
            return False
        if struct.unpack("<I", body[24:28])[0] != zlib.crc32(body[:24] + body[28:]):
            return False
        return all(_has_no_spare_bits(body[28 + i * width : 28 + (i + 1) * width], bits) for i in range(rows))

    def _is_document(self, body):
        try:
            content = json.loads(body.decode())
        except (ValueError, RecursionError):
            return False
        if not isinstance(content, dict):
            return False
        if set(content) in ({"rows"}, {"rows", "bits"}):
            return self._are_rows(content["rows"]) and self._is_rate(content.get("bits"))
        return set(content) == {"codes", "fingerprint"} and self._are_codes(content["codes"], content["fingerprint"])

    def _are_rows(self, rows):
        return (
            isinstance(rows, list)
            and len(rows) > 0
            and all(isinstance(row, list) and len(row) == self.n_features for row in rows)
            and all(_is_number(value) for row in rows for value in row)
        )

    def _is_rate(self, bits):
        return bits is None or (type(bits) is int and bits in self.fingerprints)

    def _are_codes(self, codes, fingerprint):
        if not isinstance(fingerprint, str) or len(fingerprint) < 16 or not isinstance(codes, list) or not codes:
            return False
        bits = [bits for bits, whole in self.fingerprints.items() if whole.startswith(fingerprint)]
        if not bits or not all(isinstance(code, str) for code in codes):
            return False
        try:
            rows = [base64.b64decode(code, validate=True) for code in codes]
        except ValueError:
            return False
        return all(len(row) == (bits[0] + 7) // 8 and _has_no_spare_bits(row, bits[0]) for row in rows)


def _has_no_spare_bits(row, bits):
    return int.from_bytes(row, "little") >> bits == 0


def _is_number(value):
    if type(value) not in (int, float):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def malformed(service: Service, messages: list[bytes], documents: list[dict], count: int, seed: int):
    """So many pairs (media type, body), none of them valid."""
    rng = np.random.default_rng(seed)
    while count:
        media, body = _spoilt(rng, messages, documents)
        if not service.is_valid(media, body):
            count -= 1
            yield media, body


def _spoilt(rng, messages, documents):
    way = rng.integers(4)
    if way == 0:
        return BITS, _bytes_changed(rng, _any(rng, messages))
    if way == 1:
        return BITS, _field_changed(rng, _any(rng, messages))
    document = _any(rng, documents)
    if way == 2:
        return JSON, _bytes_changed(rng, json.dumps(document).encode())
    return JSON, json.dumps(_part_changed(rng, document)).encode()


def _any(rng, choices):
    return choices[rng.integers(len(choices))]


def _bytes_changed(rng, body):
    body = bytearray(body)
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(len(body) + 1))
        to = min(len(body), at + int(rng.integers(1, 40)))
        way = rng.integers(6)
        if way == 0 and body:
            body[at % len(body)] ^= 1 << int(rng.integers(8))
        elif way == 1:
            del body[at:to]
        elif way == 2:
            body[at:at] = body[at:to]
        elif way == 3:
            del body[at:]
        elif way == 4:
            body[at:at] = _any(rng, WORDS)
        else:
            body[at:to] = rng.bytes(to - at)
    return bytes(body)


def _field_changed(rng, body):
    """Another value in a field of the header, with a checksum that is right for it: what a checksum does not find."""
    head, rows = bytearray(body[:HEAD]), body[HEAD + 4 :]
    way = rng.integers(4)
    if way == 0:
        struct.pack_into("<I", head, 16, _any(rng, EXTREMES))
    elif way == 1:
        struct.pack_into("<I", head, 20, _any(rng, EXTREMES))
    elif way == 2:
        head[int(rng.integers(HEAD))] = int(rng.integers(256))
    else:
        rows = rows[: int(rng.integers(len(rows) + 1))] + rng.bytes(int(rng.integers(5)))
    return bytes(head) + struct.pack("<I", zlib.crc32(bytes(head) + rows)) + rows


def _part_changed(rng, document):
    """A document where a value, somewhere, is another, is missing or is one too many."""
    document = json.loads(json.dumps(document))
    part = document
    while True:
        keys = list(part) if isinstance(part, dict) else list(range(len(part)))
        if not keys:
            return _any(rng, HOSTILE)
        key = _any(rng, keys)
        if isinstance(part[key], (dict, list)) and part[key] and rng.random() < 0.7:
            part = part[key]
            continue
        way = rng.integers(4)
        if way == 0:
            del part[key]
        elif way == 1 and isinstance(part, list):
            part.insert(key, _any(rng, HOSTILE))
        elif way == 1:
            part[f"{key}2"] = part[key]
        else:
            part[key] = _nested(rng) if rng.random() < 0.05 else _any(rng, HOSTILE)
        return document


def _nested(rng):
    value = []
    for _ in range(int(rng.integers(1, 400))):
        value = [value]
    return value
