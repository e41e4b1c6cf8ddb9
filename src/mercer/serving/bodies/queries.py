"""From the body of a request to rows or codes: strict, and sure to refuse what is not exactly right.

| content type | body |
|---|---|
| application/octet-stream | a message of docs/wire-format.md |
| application/json | {"rows": [[...], ...], "columns": ["name", ...] or absent, "bits": N or absent} |
| application/json | {"rows": [{"name": number, ...}, ...], "bits": N or absent} |
| application/json | {"codes": ["base64", ...], "fingerprint": "..."} |

A search takes "ids" as well, a list of those that may be found.
"""

__all__ = ["Query", "parsed_body", "read_query"]

import base64
import binascii
import json
from dataclasses import dataclass, replace

import numpy as np

from mercer.serving.bodies.columns import check_columns, picker, places_of
from mercer.serving.http.faults import Fault
from mercer.serving.wire.messages import WireError, unpack_message

_FEWEST_DIGITS = 16  # of a fingerprint


@dataclass(frozen=True, eq=False)
class Query:
    """What is asked about.

    Parameters
    ----------
    kind : "rows" or "codes"
    rows : float64 array of shape (n, n_features), or uint8 array of shape (n, bytes)
    bits : of the codes; for rows the rate at which they are to be encoded, or None
    ignored : names of columns that came with the rows and are no features of the model
    ids : those that may be found, or None for all
    """

    kind: str
    rows: np.ndarray
    bits: int | None
    ignored: tuple[str, ...] = ()
    ids: list | None = None


def read_query(content_type, body, model, max_rows, table, takes_ids=False):
    """The rows or codes in a body, checked against the model.

    ``table`` is the model, or the index that will answer: by its ``columns`` rows are taken, in this order (None: by
    position), its ``other_columns`` may be there too, and its ``takes_missing`` says whether values may be missing.
    ``takes_ids``: whether "ids" may say which rows may be found.
    """
    media = content_type.partition(";")[0].strip().lower()
    if media == "application/octet-stream":
        query = _from_message(body, model)
    elif media == "application/json":
        query = _from_json(body, model, table, takes_ids)
    else:
        raise Fault(
            415, "media-type", "Send application/json, text/csv, or application/octet-stream (a message of bits)."
        )
    if len(query.rows) > max_rows:
        raise Fault(413, "too-many-rows", f"The request has {len(query.rows)} rows; the maximum is {max_rows}.")
    return query


def _from_message(body, model):
    try:
        message = unpack_message(body)
    except WireError as error:
        raise Fault(400, f"message-{error.code}", str(error)) from None
    _check_rate(model, message.n_bits, message.fingerprint8)
    return Query("codes", message.codes, message.n_bits)


def _from_json(body, model, table, takes_ids):
    content = parsed_body(body)
    if type(content) is not dict:
        raise Fault(422, "shape", 'The body must be an object, {"rows": [[...], ...]} or {"codes": [...], ...}.')
    ids = _ids(content.pop("ids")) if takes_ids and "ids" in content else None
    return replace(_of_content(content, model, table, takes_ids), ids=ids)


def _ids(ids):
    if type(ids) is not list or not ids or not {int, str} >= set(map(type, ids)):
        raise Fault(422, "ids", '"ids" must be a list of one or more ids, each an integer or a string.')
    return ids


def _of_content(content, model, table, takes_ids):
    keys = set(content)
    if "rows" in keys and keys <= {"rows", "columns", "bits"}:
        rows, ignored = _in_order(content, model.n_features, table.columns, table.other_columns)
        return Query(
            "rows",
            _numbers(rows, model.n_features, table.takes_missing),
            _rate(content.get("bits"), model),
            tuple(ignored),
        )
    if keys == {"codes", "fingerprint"}:
        return _from_codes(content["codes"], content["fingerprint"], model)
    more = '; besides, "ids"' if takes_ids else ""
    wanted = '"rows" and perhaps "columns" and "bits", or "codes" and "fingerprint"'
    raise Fault(422, "keys", f"The keys must be {wanted}{more}.")


def parsed_body(body):
    """The JSON of a body, whatever it is, or a fault."""
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_refuse_constant, object_pairs_hook=_object)
    except RecursionError:
        raise Fault(400, "json", "The JSON is nested too deeply.") from None
    except ValueError:  # of decoding, of the syntax, of a number with thousands of digits
        raise Fault(400, "json", "The body must be JSON in UTF-8 with finite numbers.") from None


def _refuse_constant(name):
    raise ValueError(name)


def _object(pairs):
    """An object whose names are all different: of two values for one name nobody can tell which is meant."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Fault(422, "keys", "A JSON object contains the same key twice. Keys must be unique.")
    return found


def _in_order(content, width, names, others):
    """(rows as lists in the order of the model, names of the columns that were left out)."""
    rows = content["rows"]
    if type(rows) is list and rows and type(rows[0]) is dict:
        if "columns" in content:
            raise Fault(422, "columns", 'Rows that are objects already name their columns. Remove "columns".')
        return _of_objects(rows, width, names, others)
    if "columns" not in content or type(rows) is not list:
        return rows, []
    columns = content["columns"]
    places, ignored = places_of(columns, names, width, others)
    for i, row in enumerate(rows):
        if type(row) is not list or len(row) != len(columns):
            what = f"{len(row)} values" if type(row) is list else "no list"
            raise Fault(422, "rows", f"A row must have {len(columns)} values, one per column; row {i} has {what}.")
    return list(map(picker(places), rows)), ignored


def _of_objects(rows, width, names, others):
    if names is None:
        raise Fault(422, "columns", f"The model has no column names. Send rows as lists of {width} numbers.")
    known, ignored = set(names), {}
    for i, row in enumerate(rows):
        if type(row) is not dict:
            raise Fault(422, "rows", f"The first row is an object, so all rows must be objects; row {i} is not.")
        if len(row) != width or not known.issuperset(row):
            check_columns(list(row), names, others)
            ignored.update(dict.fromkeys(name for name in row if name not in known))
    return list(map(picker(names), rows)), list(ignored)


def _numbers(rows, width, takes_missing):
    """Rows of JSON as an array of doubles; null, for a model that takes missing values, is NaN."""
    allowed = {int, float, type(None)} if takes_missing else {int, float}
    if type(rows) is not list or not rows:
        raise Fault(422, "rows", f'"rows" must be a list of one or more rows of {width} numbers.')
    for i, row in enumerate(rows):
        if type(row) is not list or len(row) != width:
            what = f"{len(row)} values" if type(row) is list else "no list"
            raise Fault(422, "rows", f"A row must have {width} numbers; row {i} has {what}.")
        if not allowed.issuperset(map(type, row)):
            if None in row and not takes_missing:
                raise Fault(422, "rows", f"Row {i} has null, a missing value, which this model does not accept.")
            raise Fault(422, "rows", f"A row must contain numbers only; row {i} contains another type.")
    try:
        array = np.array(rows, dtype=np.float64)
    except OverflowError:
        array = None
    if array is None or np.isinf(array).any():
        raise Fault(422, "rows", "Numbers must fit into double precision; at least one is too large.")
    return array


def _rate(bits, model):
    """The rate that raw rows are to be encoded at, if one is wanted."""
    if bits is None:
        return None
    if type(bits) is not int or bits not in model.rates:
        raise Fault(422, "bits", f'"bits" must be one of the rates of the model: {_listed(model.rates)}.')
    return bits


def _from_codes(codes, fingerprint, model):
    if type(codes) is not list or not codes or {str} != set(map(type, codes)):
        raise Fault(422, "codes", '"codes" must be a list of one or more codes in base64.')
    if type(fingerprint) is not str or len(fingerprint) < _FEWEST_DIGITS:
        raise Fault(422, "fingerprint", '"fingerprint" must be the hexadecimal fingerprint of the embedding.')
    bits = next((bits for bits in model.rates if model.knows(bits, fingerprint)), None)
    if bits is None:
        raise _other_embedding(model)
    width = -(-bits // 8)
    try:
        rows = [base64.b64decode(code, validate=True) for code in codes]
    except (binascii.Error, ValueError):  # the latter for characters beyond ASCII
        raise Fault(422, "codes", "A code is not base64 with padding.") from None
    if {width} != set(map(len, rows)):
        raise Fault(
            422, "codes", f"A code of {bits} bits must have {width} bytes; at least one has a different length."
        )
    array = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(rows), width)
    if bits % 8 and (array[:, -1] >> (bits % 8)).any():
        raise Fault(422, "codes", f"Unused bits, from {bits} on, must be 0 in the last byte of a code; some are 1.")
    return Query("codes", array, bits)


def _check_rate(model, bits, fingerprint):
    if not model.knows(bits, fingerprint):
        raise _other_embedding(model)


def _other_embedding(model):
    if not model.rates:
        return Fault(409, "raw-only", "This model takes raw rows only. Send JSON with rows.")
    return Fault(
        409,
        "other-embedding",
        "The codes come from a different embedding. Fetch /v1/embedding again and encode the rows with it "
        f"(bits: {_listed(model.rates)}).",
    )


def _listed(rates):
    return ", ".join(map(str, rates)) or "none; the model takes raw rows only"
