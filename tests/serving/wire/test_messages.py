"""Messages: the bytes of version 1, and everything else refused by one class of error."""

import json
import struct
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer import InputError
from mercer.serving.wire.messages import HEADER_BYTES, WireError, pack_message, unpack_message

GOLDEN = sorted((Path(__file__).parents[2] / "golden" / "wire").glob("*.json"))
FINGERPRINT = "0123456789abcdef" * 4


def sealed(head, rows=b""):
    """A header of 24 bytes with the checksum that belongs to it."""
    return head + struct.pack("<I", zlib.crc32(head + rows)) + rows


def header(magic=b"MRCW", version=1, reserved=bytes(3), bits=8, rows=1):
    return magic + bytes([version]) + reserved + bytes(8) + struct.pack("<II", bits, rows)


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_messages_are_written_and_read_as_version_1_has_them(path):
    content, body = json.loads(path.read_text()), path.with_suffix(".bin").read_bytes()
    codes = np.array([list(bytes.fromhex(row)) for row in content["rows"]], dtype=np.uint8)
    assert pack_message(codes, content["bits"], content["fingerprint"]) == body
    message = unpack_message(body)
    assert message.codes.tolist() == codes.tolist()
    assert (message.n_bits, message.fingerprint8) == (content["bits"], content["fingerprint"][:16])


def test_there_are_golden_messages():
    assert len(GOLDEN) >= 4


@given(bits=st.integers(1, 70), rows=st.integers(1, 5), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_what_is_packed_is_unpacked(bits, rows, seed):
    packed = np.packbits(np.random.default_rng(seed).integers(0, 2, (rows, bits)), axis=1, bitorder="little")
    message = unpack_message(pack_message(packed, bits, FINGERPRINT))
    np.testing.assert_array_equal(message.codes, packed)
    assert message.n_bits == bits


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "short"),
        (sealed(header(), b"\x00")[: HEADER_BYTES - 1], "short"),
        (sealed(header(magic=b"MRCX"), b"\x00"), "magic"),
        (sealed(header(version=0), b"\x00"), "version"),
        (sealed(header(version=2), b"\x00"), "version"),
        (sealed(header(reserved=b"\x00\x01\x00"), b"\x00"), "reserved"),
        (sealed(header(rows=0)), "empty"),
        (sealed(header(bits=0), b"\x00"), "empty"),
        (sealed(header()), "length"),
        (sealed(header(), bytes(2)), "length"),
        (sealed(header(bits=2**32 - 1, rows=2**32 - 1), bytes(64)), "length"),
        (sealed(header(bits=9), b"\x00\x02"), "spare-bits"),
        (sealed(header(), b"\x00")[:-1] + b"\x01", "checksum"),
    ],
)
def test_a_message_that_is_not_exactly_right_is_refused_by_name(body, code):
    with pytest.raises(WireError) as refusal:
        unpack_message(body)
    assert refusal.value.code == code
    assert isinstance(refusal.value, InputError)


def test_every_single_changed_bit_is_refused():
    body = pack_message(np.array([[0xA5, 0x0A], [0xFF, 0x1F]], dtype=np.uint8), 13, FINGERPRINT)
    for position in range(8 * len(body)):
        changed = bytearray(body)
        changed[position // 8] ^= 1 << position % 8
        with pytest.raises(WireError):
            unpack_message(bytes(changed))


def test_every_shorter_or_longer_message_is_refused():
    body = pack_message(np.zeros((3, 4), dtype=np.uint8), 32, FINGERPRINT)
    for length in range(len(body)):
        with pytest.raises(WireError):
            unpack_message(body[:length])
    with pytest.raises(WireError):
        unpack_message(body + b"\x00")


def test_nothing_is_allocated_on_the_word_of_a_header():
    body = sealed(header(bits=2**32 - 1, rows=2**32 - 1), bytes(8))
    tracemalloc.start()
    try:
        with pytest.raises(WireError):
            unpack_message(body)
        assert tracemalloc.get_traced_memory()[1] < 100_000  # a sentence and a traceback, not 2^61 bytes
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("codes", "bits", "fingerprint"),
    [
        (np.zeros((1, 1), dtype=np.int64), 8, FINGERPRINT),
        (np.zeros((0, 1), dtype=np.uint8), 8, FINGERPRINT),
        (np.zeros((1, 2), dtype=np.uint8), 8, FINGERPRINT),
        (np.full((1, 1), 2, dtype=np.uint8), 1, FINGERPRINT),
        (np.zeros((1, 1), dtype=np.uint8), 0, FINGERPRINT),
        (np.zeros((1, 1), dtype=np.uint8), 8, "ABC"),
    ],
)
def test_what_no_reader_would_take_is_not_written(codes, bits, fingerprint):
    with pytest.raises(InputError, match="pack_message needs"):
        pack_message(codes, bits, fingerprint)
