"""Model files that say whatever a test wants, with a correct checksum."""

import hashlib
import json

ZEROS = "0" * 64
DIGEST_START = 8 + len('{"__metadata__":{"sha256":"')
DEFAULT = object()


def seal(header, data=b"", length=None):
    """The bytes of a file with this header (text or bytes) and data; the checksum is put where it belongs."""
    raw = header.encode() if isinstance(header, str) else header
    raw = (len(raw) if length is None else length).to_bytes(8, "little") + raw
    digest = hashlib.sha256(raw + data).hexdigest().encode()
    return raw[:DIGEST_START] + digest + raw[DIGEST_START + 64 :] + data


def header(document, entries="", align=True):
    """The text of a header: ``document`` as text or value, ``entries`` the array entries as text or dictionary."""
    if not isinstance(document, str):
        document = json.dumps(document)
    if not isinstance(entries, str):
        entries = json.dumps(entries)[1:-1]
    text = f'{{"__metadata__":{{"sha256":"{ZEROS}","mercer":{json.dumps(document)}}}{"," * bool(entries)}{entries}}}'
    return text + " " * (-(8 + len(text)) % 64 if align else 0)


def document(node=None, **changes):
    """The document of a file whose object has the state {"x_": node}, with top-level keys changed."""
    model = {"$": "object", "class": "Toy", "parameters": {}, "state": {"x_": node}}
    return {"format": 1, "mercer": "0.1.0", "libraries": {}, "object": model} | changes


def entry(dtype="F64", shape=(2,), offsets=(0, 16)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def with_arrays(node, arrays):
    """A whole file: the document of ``node`` and honest entries for numpy arrays, wider types first."""
    names = {"b": "BOOL", "i": "I", "u": "U", "f": "F"}
    entries, data = {}, b""
    for name, array in arrays.items():
        code = names[array.dtype.kind] + ("" if array.dtype.kind == "b" else str(8 * array.dtype.itemsize))
        entries[name] = entry(code, array.shape, (len(data), len(data) + array.nbytes))
        data += array.tobytes()
    return seal(header(document(node), entries), data)
