"""What ``/openapi.json`` says of bodies and answers; the routes read bodies themselves, under their own limits."""

from mercer._base.parameters.spectra import SEARCH

__all__ = ["CLASSIFY", "EMBEDDING", "MODES", "NEIGHBOURS", "OF_SPECTRA", "RELOAD", "SPECTRA"]

MODES = next(each.words for each in SEARCH if each.name == "mode")
_ROWS = {
    "type": "object",
    "required": ["rows"],
    "additionalProperties": False,
    "properties": {
        "rows": {
            "type": "array",
            "minItems": 1,
            "description": "Lists of numbers, or objects from the names of columns to numbers.",
            "items": {"oneOf": [{"type": "array", "items": {}}, {"type": "object"}]},
        },
        "columns": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Names of the columns of rows that are lists, in any order; without it they are in the "
            "order of the model. Other columns of its training table, such as the label, are left out and named in the "
            "answer; any further one is refused.",
        },
        "bits": {"type": "integer", "description": "Encode the rows at this rate; without it the longest code."},
    },
}
_CODES = {
    "type": "object",
    "required": ["codes", "fingerprint"],
    "additionalProperties": False,
    "properties": {
        "codes": {"type": "array", "minItems": 1, "items": {"type": "string", "contentEncoding": "base64"}},
        "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{16,64}$"},
    },
}
_IDS = {
    "type": "array",
    "minItems": 1,
    "items": {"type": ["integer", "string"]},
    "description": "Ids of the rows that may be found; without it all.",
}


def _body(*kinds):
    message = {"type": "string", "format": "binary", "description": "A message of docs/wire-format.md."}
    kinds = {"application/octet-stream": message, "application/json": {"oneOf": kinds}}
    return {"required": True, "content": {media: {"schema": schema} for media, schema in kinds.items()}}


def _with_ids(kind):
    return kind | {"properties": kind["properties"] | {"ids": _IDS}}


_ERROR = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {name: {"type": "string"} for name in ("code", "message", "request_id")},
        }
    },
}
_REFUSALS = {
    "400": "Not JSON, or not a message.",
    "401": "The token is missing or wrong.",
    "408": "The body came too slowly.",
    "409": "Codes of another embedding.",
    "413": "Too many bytes or rows.",
    "415": "Another media type.",
    "422": "JSON of another shape, or rows that the model refuses.",
    "503": "Too many requests at once; come again after Retry-After seconds.",
    "504": "No answer in time.",
}


def _responses(answer, refusals):
    responses = {"200": {"description": answer, "content": {"application/json": {"schema": {"type": "object"}}}}}
    for status in refusals:
        responses[status] = {
            "description": _REFUSALS[status],
            "content": {"application/json": {"schema": _ERROR}},
        }
    return responses


def _parameter(name, description, **schema):
    return {"name": name, "in": "query", "required": False, "description": description, "schema": schema}


_POSTED = ("400", "401", "408", "409", "413", "415", "422", "503", "504")
CLASSIFY = {"requestBody": _body(_ROWS, _CODES), "responses": _responses("Labels and scores of the classes.", _POSTED)}
NEIGHBOURS = {
    "requestBody": _body(_with_ids(_ROWS), _with_ids(_CODES)),
    "parameters": [
        _parameter("k", "Rows wanted for each query.", type="integer", minimum=1, default=10),
        _parameter("where", "A condition on the columns of the index that rows must fulfill.", type="string"),
        _parameter("exact", "1 for the true nearest rows, of raw rows only.", type="integer", enum=[0, 1]),
        _parameter("recall", "The share of the true nearest rows that is to be found.", type="number", maximum=1),
        _parameter("rows", "1 for the rows themselves, where the service shows them.", type="integer", enum=[0, 1]),
    ],
    "responses": _responses("Ids and similarities, nearest first.", _POSTED),
}
EMBEDDING = {"parameters": [_parameter("bits", "A rate of the model; without it the longest code.", type="integer")]}
RELOAD = {"responses": _responses("The model that answers now.", ("401", "409"))}

_PAIRS = {"type": "array", "items": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}}
_SPECTRUM = {
    "type": "object",
    "required": ["peaks"],
    "additionalProperties": False,
    "properties": {
        "peaks": {
            "oneOf": [_PAIRS, {"type": "string"}],
            "description": "Pairs of m/z and intensity, or a text with a peak in each line.",
        },
        "precursor_mz": {"type": ["number", "null"], "description": "Needed by all modes but open."},
        "name": {"type": ["string", "null"]},
    },
}
_SPECTRA = {
    "type": "object",
    "required": ["spectra"],
    "additionalProperties": False,
    "properties": {"spectra": {"type": "array", "minItems": 1, "items": _SPECTRUM}},
}
_OF_SPECTRA = [
    _parameter("k", "Hits of each spectrum.", type="integer", minimum=1, default=10),
    _parameter("mode", "What matches, and which take part; without it open.", type="string", enum=list(MODES)),
    _parameter("min_score", "Score of a hit at least.", type="number", maximum=1),
    _parameter("min_matched_peaks", "Matched peaks of a hit at least.", type="integer", minimum=1),
    _parameter("where", "A condition on the columns of the library that hits must fulfill.", type="string"),
    _parameter("mirrors", "1 for the mirror plot of each hit, as SVG, of one spectrum.", type="integer", enum=[0, 1]),
]
OF_SPECTRA = tuple(parameter["name"] for parameter in _OF_SPECTRA)
SPECTRA = {
    "requestBody": {"required": True, "content": {"application/json": {"schema": _SPECTRA}}},
    "parameters": _OF_SPECTRA,
    "responses": _responses("For each spectrum its hits, best first, with what the library says of them.", _POSTED),
}
