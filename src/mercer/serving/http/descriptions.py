"""Descriptions of requests and answers for ``/openapi.json``; routes parse bodies themselves, within their limits."""

from mercer._base.parameters.spectra import SEARCH
from mercer.serving.bodies.pictures import MEDIA
from mercer.serving.bodies.tables import CSV

__all__ = [
    "ABOUT",
    "CLASSIFY",
    "DETECT",
    "EMBEDDING",
    "MODEL",
    "MODELS",
    "MODES",
    "NAME",
    "NEIGHBORS",
    "OF_SPECTRA",
    "RELOAD",
    "SPECTRA",
]

ABOUT = """Classify, detect and search with fitted models. Requests carry rows of numbers, bits, csv tables or pictures.

Every route exists twice: `/v1/models/NAME/classify` uses the model NAME, and `/v1/classify` the first model or, if that
does not classify, the only one that does; `GET /v1/models` lists the names.

If the service has a token, every POST needs it: `Authorization: Bearer TOKEN`."""

TASKS = ("classification", "labels", "regression", "images", "detection", "search", "spectra")
MODES = next(each.words for each in SEARCH if each.name == "mode")
_ROWS = {
    "type": "object",
    "required": ["rows"],
    "additionalProperties": False,
    "properties": {
        "rows": {
            "type": "array",
            "minItems": 1,
            "description": "Lists of numbers, or objects that map column names to numbers.",
            "items": {"oneOf": [{"type": "array", "items": {}}, {"type": "object"}]},
        },
        "columns": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Column names of rows that are lists, in any order. The default is the order of the model. "
            "Other columns of the training table, such as the label, are ignored and listed in the answer; unknown "
            "columns are an error.",
        },
        "bits": {"type": "integer", "description": "Code length in bits; the default is the longest."},
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
    "description": "Ids of the rows to search among; the default is all rows.",
}


def _body(*kinds, pictures=False):
    message = {"type": "string", "format": "binary", "description": "A message of docs/wire-format.md."}
    content = {"application/json": {"oneOf": kinds}, "application/octet-stream": message, CSV: _CSV}
    return {"required": True, "content": _schemas(content | (_PICTURES if pictures else {}))}


def _schemas(kinds):
    return {media: {"schema": schema} for media, schema in kinds.items()}


def _with_ids(kind):
    return kind | {"properties": kind["properties"] | {"ids": _IDS}}


def _object(**properties):
    return {"type": "object", "properties": properties}


def _list(of, description=None):
    return {"type": "array", "items": of} | ({} if description is None else {"description": description})


_TEXT, _NUMBER, _WHOLE = {"type": "string"}, {"type": "number"}, {"type": "integer"}
_CSV = {"type": "string", "description": "A csv table in UTF-8; the first line may hold the column names."}
_PICTURES = {media: {"type": "string", "format": "binary", "description": "A picture."} for media in MEDIA}
_CHECKSUM = {"type": ["string", "null"], "description": "Checksum of the model file that answered."}
_IGNORED = _list(_TEXT, "Columns of the request that are not features.")
_ERROR = _object(error=_object(code=_TEXT, message=_TEXT, request_id=_TEXT))
_REFUSALS = {
    "400": "The body is neither JSON, csv nor a message.",
    "401": "The token is missing or wrong.",
    "403": "The service does not allow this: it has no token, or does not return rows.",
    "404": "There is no such model, or it does not support this route.",
    "408": "The body arrived too slowly.",
    "409": "The codes come from a different embedding, or a file cannot be used.",
    "413": "Too many bytes, rows or pixels.",
    "415": "The media type is not supported.",
    "422": "The JSON has the wrong structure, the picture is damaged, or the model rejects the rows.",
    "503": "Too many concurrent requests, or no model is loaded yet. Retry after Retry-After seconds.",
    "504": "The request was not answered in time.",
}
_POSTED = ("400", "401", "404", "408", "409", "413", "415", "422", "503", "504")
_GOT = ("404", "422", "503")


def _responses(answer, refusals, schema, **others):
    """Of a successful answer, in JSON and perhaps other media, and of refusals."""
    content = {"application/json": schema} | {media.replace("_", "/"): each for media, each in others.items()}
    responses = {"200": {"description": answer, "content": _schemas(content)}}
    for status in refusals:
        refusal = {"description": _REFUSALS[status], "content": _schemas({"application/json": _ERROR})}
        responses[status] = refusal
    return responses


def _parameter(name, description, **schema):
    return {"name": name, "in": "query", "required": False, "description": description, "schema": schema}


NAME = {
    "name": "name",
    "in": "path",
    "required": True,
    "description": "Name of the model, as listed by GET /v1/models.",
    "schema": _TEXT,
}
_EXPLANATION = _object(
    label={"description": "The explained class."},
    measure={"type": "string", "enum": ["additive", "occlusion"]},
    overlay={"type": "string", "description": "PNG overlay for the picture, as a data URL: blue parts count for the "
        "class, orange parts against it."},
)  # fmt: skip
CLASSIFY = {
    "requestBody": _body(_ROWS, _CODES, pictures=True),
    "parameters": [
        _parameter("scores", "Add the score of each class to a csv.", type="boolean", default=False),
        _parameter("explain", "Add an explanation of a picture.", type="boolean", default=False),
        _parameter("label", "Class to explain; the default is the predicted class.", type="string"),
    ],
    "responses": _responses(
        "Labels and scores; for a csv, the same csv with a last column `predicted`.",
        _POSTED,
        _object(
            labels=_list({}, "The label of each row: a class, a number, or a list of classes."),
            classes={"type": ["array", "null"], "items": {}, "description": "Classes, in the order of the scores."},
            scores={"type": ["array", "null"], "items": _list(_NUMBER), "description": "One score per class."},
            bits={"type": ["integer", "null"], "description": "Code length that was used."},
            model=_CHECKSUM,
            explanation=_EXPLANATION,
            ignored_columns=_IGNORED,
        ),
        text_csv=_CSV,
    ),
}
DETECT = {
    "requestBody": {"required": True, "content": _schemas(_PICTURES)},
    "parameters": [
        _parameter(
            "threshold", "Minimum score of an object; the default is the threshold of the detector.", type="number"
        ),
        _parameter(
            "max_detections", "Maximum number of objects.", type="integer", minimum=1, maximum=1000, default=100
        ),
    ],
    "responses": _responses(
        "Boxes of objects in pixels, best first.",
        _POSTED,
        _object(
            boxes=_list(_list(_NUMBER), "xmin, ymin, xmax, ymax of each object."),
            scores=_list(_NUMBER),
            parts=_list(_list(_list(_NUMBER)), "Boxes of the parts of each object."),
            threshold=_NUMBER,
            width=_WHOLE,
            height=_WHOLE,
            model=_CHECKSUM,
        ),
    ),
}
NEIGHBORS = {
    "requestBody": _body(_with_ids(_ROWS), _with_ids(_CODES)),
    "parameters": [
        _parameter("k", "Number of rows per query.", type="integer", minimum=1, default=10),
        _parameter("where", "Condition on the columns of the index; only rows that meet it are found.", type="string"),
        _parameter("exact", "Find the true nearest rows; queries must be raw rows.", type="boolean", default=False),
        _parameter("recall", "Target share of the true nearest rows, from 0 to 1.", type="number", maximum=1),
        _parameter("rows", "Return the rows themselves, if the service allows it.", type="boolean", default=False),
    ],
    "responses": _responses(
        "Ids and similarities, nearest first; for a csv, a csv with one line per neighbor.",
        ("403", *_POSTED),
        _object(
            ids=_list(_list({"type": ["integer", "string"]}), "One list per query."),
            similarity=_list(_list(_NUMBER), "Similarity under the kernel of the index, or the share of equal bits."),
            labels=_list(_list({}), "Labels of the rows, if the service has them."),
            rows=_list(_list(_list(_NUMBER)), "The rows themselves, if requested."),
            data=_object(),
            model=_CHECKSUM,
            ignored_columns=_IGNORED,
        ),
        text_csv=_CSV,
    ),
}
EMBEDDING = {
    "parameters": [
        _parameter(
            "bits", "Code length in bits, one of the rates of the model; the default is the longest.", type="integer"
        )
    ],
    "responses": _responses(
        "Specification of the embedding, and its columns.",
        _GOT,
        _object(
            specification=_object(),
            fingerprint=_TEXT,
            columns={"type": ["array", "null"], "items": _TEXT},
            other_columns=_list(_TEXT),
            model=_CHECKSUM,
        ),
    ),
}
MODEL = {
    "responses": _responses(
        "Description of the model.",
        ("404", "503"),
        _object(
            name={"type": "string", "description": "Class of the model."},
            served_as={"type": "string", "description": "Name of the model in routes."},
            task={"type": "string", "enum": list(TASKS)},
            version=_TEXT,
            sha256=_CHECKSUM,
            classes={"type": ["array", "null"], "items": {}},
            n_features={"type": ["integer", "null"]},
            columns={"type": ["array", "null"], "items": _TEXT},
            rates=_list(_WHOLE),
            index={"type": ["object", "null"]},
            limits=_object(),
            needs_token={"type": "boolean"},
        ),
    )
}
_ONE = _object(name=_TEXT, ready={"type": "boolean"}, task=_TEXT, sha256=_CHECKSUM) | {"description": "A model."}
MODELS = {"responses": _responses("All models, the default first.", (), _object(models=_list(_ONE), default=_TEXT))}
RELOAD = {
    "responses": _responses(
        "The models after reloading.", ("401", "403", "409"), _object(model=_CHECKSUM, name=_TEXT, models=_object())
    )
}

_PAIRS = {"type": "array", "items": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}}
_SPECTRUM = {
    "type": "object",
    "required": ["peaks"],
    "additionalProperties": False,
    "properties": {
        "peaks": {
            "oneOf": [_PAIRS, {"type": "string"}],
            "description": "Pairs of m/z and intensity, or a string with one peak per line.",
        },
        "precursor_mz": {"type": ["number", "null"], "description": "Required by all modes except open."},
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
    _parameter("k", "Maximum number of hits per spectrum.", type="integer", minimum=1, default=10),
    _parameter(
        "mode", "What to compare: open (the default), identity, loss or hybrid.", type="string", enum=list(MODES)
    ),
    _parameter("min_score", "Minimum score of a hit.", type="number", maximum=1),
    _parameter("min_matched_peaks", "Minimum number of matched peaks of a hit.", type="integer", minimum=1),
    _parameter("where", "Condition on the columns of the library; only spectra that meet it are found.", type="string"),
    _parameter("mirrors", "Add a mirror plot of each hit, as SVG; send one spectrum.", type="boolean", default=False),
]
OF_SPECTRA = tuple(parameter["name"] for parameter in _OF_SPECTRA)
SPECTRA = {
    "requestBody": {"required": True, "content": {"application/json": {"schema": _SPECTRA}}},
    "parameters": _OF_SPECTRA,
    "responses": _responses(
        "Hits of each spectrum, best first, with their columns in the library.",
        _POSTED,
        _object(hits=_list(_list(_object()))),
    ),
}
