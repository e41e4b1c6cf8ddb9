"""Files with a correct checksum whose header lies about lengths, shapes, types and positions."""

import json
import tracemalloc

import pytest

import mercer
from mercer._base.files.models import describe
from tests.hostile.forge import DIGEST_START, ZEROS, document, entry, header, seal

X = {"$": "array", "of": "x"}
SIXTEEN = b"\0" * 16


def array_file(text=None, data=SIXTEEN, **fields):
    """A file with one array x, whose entry is given as text or by the fields that differ from an honest one."""
    return seal(header(document(X), {"x": entry(**fields)} if text is None else text), data)


def test_the_forged_file_is_accepted_when_it_does_not_lie(tmp_path):
    (tmp_path / "good.mercer").write_bytes(array_file())
    assert mercer.load(tmp_path / "good.mercer").x_.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("length", [0, 1, 26, 27, 90, 200, 2**24, 2**24 + 1, 2**31, 2**60, 2**63, 2**64 - 1])
def test_a_header_length_that_is_wrong_is_refused(assert_refused, length):
    honest = header(document(X), {"x": entry()})
    assert_refused(seal(honest, SIXTEEN, length=length))


def test_a_header_that_is_too_long_is_refused_even_if_it_is_there(assert_refused):
    assert_refused(seal(header(document("x" * 2**24)), b""), "claims .* bytes, more than 16,777,216")


LIES = {
    "more bytes than the file": ({"shape": (2**57,), "offsets": (0, 2**60)}, "is truncated"),
    "a product that overflows 64 bits to 16": ({"shape": (2**62, 2, 2, 2), "offsets": (0, 16)}, "impossible shape"),
    "a product that overflows beside a zero": ({"shape": (0, 2**62, 2**62), "offsets": (0, 0)}, "impossible shape"),
    "a negative side": ({"shape": (-2, -1)}, "impossible shape"),
    "a side that is a float": ({"shape": (2.0,)}, "impossible shape"),
    "a side that is true": ({"shape": (True, 2)}, "impossible shape"),
    "a side that is text": ({"shape": ("2",)}, "impossible shape"),
    "a hundred dimensions": ({"shape": (2, *[1] * 100)}, "impossible shape"),
    "fewer elements than bytes": ({"shape": (1,)}, "does not agree"),
    "more elements than bytes": ({"shape": (3,)}, "does not agree"),
    "negative offsets": ({"offsets": (-16, 0)}, "impossible position"),
    "offsets in reverse": ({"offsets": (16, 0)}, "does not agree"),
    "three offsets": ({"offsets": (0, 8, 16)}, "impossible position"),
    "a hole before the array": ({"shape": (1,), "offsets": (8, 16)}, "does not start where"),
    "a hole behind the array": ({"shape": (1,), "offsets": (0, 8)}, "its arrays end at byte"),
    "an unknown type": ({"dtype": "F8_E4M3", "shape": (16,)}, "unknown type 'F8_E4M3'"),
    "an object type": ({"dtype": "O"}, "unknown type 'O'"),
    "a type that is no text": ({"dtype": ["F64"]}, "unknown type"),
    "bytes that are not booleans": ({"dtype": "BOOL", "shape": (16,), "data": b"\2" * 16}, "other than 0 and 1"),
}


@pytest.mark.parametrize("lie", LIES)
def test_an_array_entry_that_lies_is_refused(assert_refused, lie):
    fields, reason = LIES[lie]
    assert_refused(array_file(**fields), reason)


GOOD = json.dumps(entry())
HALVES = [json.dumps(entry(shape=(1,), offsets=offsets)) for offsets in ((0, 8), (8, 16), (0, 8))]
MALFORMED = {
    "overlapping arrays": (f'"x":{HALVES[0]},"y":{HALVES[2]}', "does not start where"),
    "arrays out of order": (f'"x":{HALVES[1]},"y":{HALVES[0]}', "does not start where"),
    "one name twice": (f'"x":{HALVES[0]},"x":{HALVES[1]}', "a key appears twice"),
    "the metadata twice": (f'"__metadata__":{{}},"x":{GOOD}', "a key appears twice"),
    "an entry that is a list": ('"x":[]', "malformed entry"),
    "an entry with another key": (f'"x":{GOOD[:-1]},"more":1}}', "malformed entry"),
    "an entry without a shape": ('"x":{"dtype":"F64","data_offsets":[0,16]}', "malformed entry"),
    "a name that steers a terminal": (f'"\\u001b[2J":{GOOD}', "unprintable name"),
    "a name that is empty": (f'"":{GOOD}', "unprintable name"),
    "NaN": (f'"x":{GOOD},"y":NaN', "NaN is not JSON"),
    "a number beyond floats": (f'"x":{GOOD},"y":1e999', "a number is out of range"),
    "an integer of 5000 digits": (f'"x":{GOOD},"y":{"9" * 5000}', "is not valid JSON"),
    "deep nesting": (f'"x":{"[" * 100_000}{"]" * 100_000}', "nested too deeply"),
    "an open end": (f'"x":{GOOD},', "is not valid JSON"),
    "text after the end": (f'"x":{GOOD}}},{{"y":1', "is not valid JSON"),
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_header_is_refused(assert_refused, name):
    entries, reason = MALFORMED[name]
    assert_refused(array_file(entries), reason)


def test_an_array_that_compiled_loops_could_not_read_in_place_is_refused(assert_refused):
    entries = {"y": entry("U8", (8,), (0, 8)), "x": entry("F64", (1,), (8, 16))}
    unaligned = header(document([X, {"$": "array", "of": "y"}]), entries, align=False)
    unaligned += " " * ((4 - len(unaligned)) % 8)
    assert_refused(seal(unaligned, SIXTEEN), "'x' does not start where")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"__metadata__":{"sha256":"%s"}}', "without Mercer's document"),
        ('{"__metadata__":{"sha256":"%s","mercer":1}}', "without Mercer's document"),
        ('{"__metadata__":{"sha256":"%s","mercer":"[]"}}', "is not a JSON object"),
        ('{"__metadata__":{"sha256":"%s","mercer":"{"}}', "is not valid JSON"),
        ('{"__metadata__":{"sha256":"%s","mercer":"{\\"format\\":1,\\"format\\":1}"}}', "a key appears twice"),
        ('{"__metadata__":{"sha256":"%s","mercer":"{\\"format\\":1}","more":""}}', "checksum is in the wrong place"),
        ('{"__metadata__":{"sha256":"%s ","mercer":"{\\"format\\":1}"}}', "checksum is in the wrong place"),
        ('{"__metadata__":{"sha256":"%s","mercer":"' + "[" * 100_000 + '"}}', "nested too deeply"),
        ('{"__metadata__":{"sha256":"%s","mercer":"\xff"}}', "is not valid JSON"),
    ],
)  # fmt: skip
def test_malformed_metadata_are_refused(assert_refused, text, reason):
    assert_refused(seal((text % ZEROS).encode("latin-1")), reason)


def test_a_description_shows_no_fingerprint_that_is_not_one(tmp_path):
    content = bytearray(seal(header(document())))
    content[DIGEST_START : DIGEST_START + 64] = b"\x7f" * 64
    (tmp_path / "bad.mercer").write_bytes(content)
    with pytest.raises(mercer.ModelFileError, match="checksum is in the wrong place"):
        describe(tmp_path / "bad.mercer")


def test_a_newer_format_asks_for_an_upgrade(assert_refused):
    message = r"was written by format 3; this version reads format 1\. Upgrade mercer\.$"
    assert_refused(seal(header({"format": 3, "things": "unheard of"}, '"x":{"dtype":"F4"}')), message)


@pytest.mark.parametrize("version", [0, -1, True, 1.0, "1", None, [1]])
def test_a_format_that_is_no_number_is_refused(assert_refused, version):
    assert_refused(seal(header(document(format=version))), "states no format version")


def test_no_claim_makes_the_reader_allocate(assert_refused):
    claims = [
        array_file(shape=(2**57,), offsets=(0, 2**60)),
        array_file(shape=(2**33,), offsets=(0, 2**36)),
        seal(header(document(X), {"x": entry()}), SIXTEEN, length=2**60),
        seal(header(document(X), {"x": entry()}), SIXTEEN, length=2**24 - 1),
        array_file(shape=(0, 2**59), offsets=(0, 0), data=b"")[:-1],
    ]
    tracemalloc.start()
    try:
        for content in claims:
            assert_refused(content)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()
