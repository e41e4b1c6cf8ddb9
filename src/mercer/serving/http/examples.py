"""Examples in ``/openapi.json`` that run: bodies made for the very model that answers."""

__all__ = ["with_examples"]

import base64

from fastapi.openapi.utils import get_openapi

from mercer.serving.bodies.pictures import MEDIA
from mercer.serving.bodies.tables import CSV, lines_of

_JSON, _MESSAGE = "application/json", "application/octet-stream"
_SPECTRUM = {"peaks": [[50.01, 10.0], [80.0, 99.0], [94.02, 40.0]]}
_QUESTIONS = ("classify", "detect", "spectra", "neighbors", "embedding", "model")


def with_examples(app, shelf):
    """The description of the application, with an example for each body that a model takes.

    What no model answers is left out, and so are media that it does not take. Paths without a name have the examples
    of the model that answers them. Paths with one have those of the first that answers them, whose name is the example
    of the parameter.
    """
    found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    for path in list(found["paths"]):
        question = path.rsplit("/", 1)[-1]
        if question not in _QUESTIONS or not path.startswith("/v1"):
            continue
        has_name = "{name}" in path
        asked = next(iter(shelf.answering(question)), None) if has_name else shelf.unnamed(question)
        if asked is not None:
            _fill(found["paths"][path], asked.name if has_name else None, asked.slot.present, question)
        elif shelf.is_ready:
            del found["paths"][path]
    return found


def _fill(path, name, loaded, question):
    for operation in path.values():
        operation["parameters"] = [
            {**each, "example": name} if each["in"] == "path" else each for each in operation.get("parameters", ())
        ]
        if "requestBody" in operation:
            body = operation["requestBody"]
            taken = {media: {**body["content"][media], **example} for media, example in _bodies(loaded, question)}
            operation["requestBody"] = {**body, "content": taken}


def _bodies(loaded, question):
    """(media type, {"example": ...} or {"examples": ...}) of all that a model takes."""
    model = loaded.model
    if question == "spectra":
        return [(_JSON, {"example": {"spectra": [_SPECTRUM]}})]
    if model.n_features is None:
        picture = {"photograph": {"summary": "A picture from the service", "externalValue": "static/example.png"}}
        return [(media, {"examples": picture} if media == "image/png" else {}) for media in MEDIA]
    table = model if question == "classify" else loaded.neighbors
    names, row = table.columns, [1.0] * model.n_features
    bodies = {"rows": {"value": {"rows": [row, row]}}}
    if names is not None:
        bodies["objects"] = {"value": {"rows": [dict(zip(names, row, strict=True))]}}
    found = []
    if model.rates and (question == "classify" or loaded.neighbors.takes_codes):
        bits = model.rates[-1]
        code = base64.b64encode(bytes(-(-bits // 8))).decode()
        bodies["codes"] = {"value": {"codes": [code], "fingerprint": model.embedding(bits)["fingerprint"]}}
        found.append((_MESSAGE, {}))
    csv = lines_of([names or [f"column {i + 1}" for i in range(len(row))], row, row]).decode()
    return [(_JSON, {"examples": bodies}), (CSV, {"example": csv}), *found]
