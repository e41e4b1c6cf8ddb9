"""What ``/openapi.json`` says of bodies and answers; the routes read bodies themselves, under their own limits."""

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

ABOUT = """Classification, detection and search by fitted models: of rows of numbers or their bits, tables and pictures.

Every question has two paths: `/v1/classify` asks the first model, `/v1/models/NAME/classify` the one of that name;
`GET /v1/models` lists the names. If the service has a token, every POST carries it: `Authorization: Bearer TOKEN`."""

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
_CSV = {"type": "string", "description": "A table in UTF-8, of which the first line may name the columns."}
_PICTURES = {media: {"type": "string", "format": "binary", "description": "A picture."} for media in MEDIA}
_CHECKSUM = {"type": ["string", "null"], "description": "Checksum of the model file that answered."}
_IGNORED = _list(_TEXT, "Columns that came with the rows and are no features, if there were any.")
_ERROR = _object(error=_object(code=_TEXT, message=_TEXT, request_id=_TEXT))
_REFUSALS = {
    "400": "Not JSON, not csv, or not a message.",
    "401": "The token is missing or wrong.",
    "403": "This service does not do that: it has no token, or shows no rows.",
    "404": "There is no such model, or it does not answer this question.",
    "408": "The body came too slowly.",
    "409": "Codes of another embedding, or a file that cannot be used.",
    "413": "Too many bytes, rows or pixels.",
    "415": "Another media type.",
    "422": "JSON of another shape, a picture that is damaged, or rows that the model refuses.",
    "503": "Too many requests at once, or no model yet; come again after Retry-After seconds.",
    "504": "No answer in time.",
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
    "description": "Name of the model, one of those that GET /v1/models lists.",
    "schema": _TEXT,
}
_EXPLANATION = _object(
    label={"description": "The class that is explained."},
    measure={"type": "string", "enum": ["additive", "occlusion"]},
    overlay={"type": "string", "description": "A PNG to lay over the picture, as a data URL: blue speaks for the "
        "class, orange against it."},
)  # fmt: skip
CLASSIFY = {
    "requestBody": _body(_ROWS, _CODES, pictures=True),
    "parameters": [
        _parameter("scores", "1 for the score of each class beside the labels of a csv.", type="integer", enum=[0, 1]),
        _parameter("explain", "1 for the parts of a picture that speak for its class.", type="integer", enum=[0, 1]),
        _parameter("label", "The class to explain; without it the one that is found.", type="string"),
    ],
    "responses": _responses(
        "Labels and scores of the classes; of a csv, the csv with a column `predicted` at its end.",
        _POSTED,
        _object(
            labels=_list({}, "The label of each row: a class, a number, or a list of classes."),
            classes={"type": ["array", "null"], "items": {}, "description": "In the order of the scores."},
            scores={"type": ["array", "null"], "items": _list(_NUMBER), "description": "One for each class."},
            bits={"type": ["integer", "null"], "description": "The rate of codes that decided."},
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
        _parameter("threshold", "Report objects that score more; without it the detector's own.", type="number"),
        _parameter("max_detections", "Objects at most.", type="integer", minimum=1, maximum=1000, default=100),
    ],
    "responses": _responses(
        "Boxes of objects, best first, in pixels of the picture.",
        _POSTED,
        _object(
            boxes=_list(_list(_NUMBER), "xmin, ymin, xmax, ymax of each object."),
            scores=_list(_NUMBER),
            parts=_list(_list(_list(_NUMBER)), "The boxes of the parts of each object."),
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
        _parameter("k", "Rows wanted for each query.", type="integer", minimum=1, default=10),
        _parameter("where", "A condition on the columns of the index that rows must fulfill.", type="string"),
        _parameter("exact", "1 for the true nearest rows, of raw rows only.", type="integer", enum=[0, 1]),
        _parameter("recall", "The share of the true nearest rows that is to be found.", type="number", maximum=1),
        _parameter("rows", "1 for the rows themselves, where the service shows them.", type="integer", enum=[0, 1]),
    ],
    "responses": _responses(
        "Ids and similarities, nearest first; of a csv, a csv with a line for each row that was found.",
        ("403", *_POSTED),
        _object(
            ids=_list(_list({"type": ["integer", "string"]}), "A list for each query."),
            similarity=_list(_list(_NUMBER), "By the kernel of the index, or the share of bits that agree."),
            labels=_list(_list({}), "Labels of the rows, if the service has them."),
            rows=_list(_list(_list(_NUMBER)), "The rows themselves, if they were asked for."),
            data=_object(),
            model=_CHECKSUM,
            ignored_columns=_IGNORED,
        ),
        text_csv=_CSV,
    ),
}
EMBEDDING = {
    "parameters": [_parameter("bits", "A rate of the model; without it the longest code.", type="integer")],
    "responses": _responses(
        "How rows become bits, and of which columns.",
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
        "The card of the model.",
        ("404", "503"),
        _object(
            name={"type": "string", "description": "Class of the model."},
            served_as={"type": "string", "description": "Name under which it is asked."},
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
MODELS = {"responses": _responses("All models, the first one first.", (), _object(models=_list(_ONE), default=_TEXT))}
RELOAD = {
    "responses": _responses(
        "The models that answer now.", ("401", "403", "409"), _object(model=_CHECKSUM, name=_TEXT, models=_object())
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
    "responses": _responses(
        "For each spectrum its hits, best first, with what the library says of them.",
        _POSTED,
        _object(hits=_list(_list(_object()))),
    ),
}
