"""The routes: what they take from the query string, and which service they ask.

What is asked of a model is at two paths: ``/v1/models/NAME/classify``, and ``/v1/classify`` for the first one or, if
that does not classify, for the only one that does.
"""

__all__ = ["add_routes"]

import re

from fastapi import Depends, Request, Response
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException

from mercer._base.errors import did_you_mean
from mercer.serving.bodies.columns import shown_names
from mercer.serving.bodies.tables import CSV
from mercer.serving.http import descriptions
from mercer.serving.http.auth import check_token
from mercer.serving.http.faults import Fault
from mercer.serving.http.pages import page_files
from mercer.serving.http.replies import json_bytes
from mercer.serving.model.neighbors import Wanted
from mercer.serving.model.spectra import AskedSpectra
from mercer.serving.process.metrics import CONTENT_TYPE
from mercer.serving.process.service import AskedLabels

NEIGHBORS, DETECTIONS = 10, 100  # unless a request says how many
MOST_DETECTIONS = 1000
_SWITCHES = {"1": True, "true": True, "0": False, "false": False}
PAGES = {"spectra": "spectra.html", "images": "pictures.html", "detection": "pictures.html"}
# for the description only: the service itself compares, and in constant time
_TOKEN = [Depends(HTTPBearer(scheme_name="token", auto_error=False))]


def add_routes(app, shelf):
    """Add the page, the questions for each model, and what concerns all of them."""
    _add_pages(app, shelf)
    for prefix in ("/v1", "/v1/models/{name}"):
        _add_questions(_Prefixed(app, prefix), shelf)
    _add_operations(app, shelf)


class _Prefixed:
    """Adds routes below a prefix; those with a name in it are described as asking the model of that name."""

    def __init__(self, app, prefix):
        self._app, self._prefix = app, prefix

    def post(self, path, said=None, **more):
        """A decorator for what is asked with a body."""
        parameters = [*said.get("parameters", ()), *self._named()] if said else None
        more |= {"openapi_extra": {**said, "parameters": parameters}} if said else {}
        return self._app.post(self._prefix + path, dependencies=_TOKEN, **more)

    def get(self, path, said):
        """A decorator for what is asked without a body."""
        parameters = [*said.get("parameters", ()), *self._named()]
        return self._app.get(self._prefix + path, openapi_extra={**said, "parameters": parameters})

    def _named(self):
        return [descriptions.NAME] if "{name}" in self._prefix else []


def _add_pages(app, shelf):
    files = page_files()

    def page(name, request):
        file = files.get(name)
        if file is None:
            raise HTTPException(404)
        headers = {"cache-control": "no-cache", "etag": file.etag}
        if request.headers.get("if-none-match") == file.etag:
            return Response(None, 304, headers)
        return Response(file.content, 200, headers, file.media_type)

    @app.get("/", include_in_schema=False)
    async def index(request: Request):
        slot = shelf.slots.get(request.query_params.get("model", ""), shelf.first.slot)
        task = "" if slot.problem is not None else slot.present.model.task
        return page(PAGES.get(task, "index.html"), request)

    @app.get("/static/{name}", include_in_schema=False)
    async def static(request: Request):
        return page(request.path_params["name"], request)


def _add_questions(router, shelf):
    def service(request, question="model"):
        return shelf.service(request.path_params.get("name"), question)

    @router.post("/classify", descriptions.CLASSIFY)
    async def classify(request: Request):
        """Labels and scores of rows or codes, or of a picture; a csv comes back with its labels."""
        check_parameters(request, "scores", "explain", "label")
        scores, explained = (said(request, name) for name in ("scores", "explain"))
        asked = AskedLabels(explained, request.query_params.get("label"), scores)
        if asked.label is not None and not explained:
            raise Fault(422, "label", "label requires explain=1, because it names the class to explain.")
        return answered(await service(request, "classify").classify(request, asked))

    @router.post("/detect", descriptions.DETECT)
    async def detect(request: Request):
        """Boxes of the objects in a picture."""
        check_parameters(request, "threshold", "max_detections")
        most = whole(request, "max_detections", DETECTIONS, MOST_DETECTIONS)
        return answered(await service(request, "detect").detect(request, decimal(request, "threshold"), most))

    async def neighbors(request: Request):
        """The nearest rows of the index; of a csv, as a csv with a line for each of them."""
        check_parameters(request, "k", "where", "exact", "recall", "rows")
        asked = service(request, "neighbors")
        k = whole(request, "k", NEIGHBORS, asked.settings.max_neighbors)
        exact, rows = (said(request, name) for name in ("exact", "rows"))
        recall = share(request, "recall")
        if exact and recall is not None:
            raise Fault(422, "recall", "exact=1 finds all nearest rows. Remove recall.")
        where = request.query_params.get("where")
        return answered(await asked.neighbors(request, Wanted(k, where, None, exact, rows, recall)))

    router.post("/neighbors", descriptions.NEIGHBORS)(neighbors)
    router.post("/neighbours", include_in_schema=False)(neighbors)  # as it was called until 0.1

    @router.post("/spectra", descriptions.SPECTRA)
    async def spectra(request: Request):
        """The library spectra most similar to each of some spectra."""
        check_parameters(request, *descriptions.OF_SPECTRA)
        asked, wanted = service(request, "spectra"), request.query_params.get
        mode = wanted("mode", "open")
        if mode not in descriptions.MODES:
            raise Fault(422, "mode", f"mode must be one of {', '.join(descriptions.MODES)}.")
        least = share(request, "min_score") or 0.0
        k = whole(request, "k", NEIGHBORS, asked.settings.max_neighbors)
        matched = whole(request, "min_matched_peaks", 1, 10**9)
        mirrors = said(request, "mirrors")
        return answered(await asked.spectra(request, AskedSpectra(k, mode, least, matched, wanted("where"), mirrors)))

    @router.get("/model", descriptions.MODEL)
    async def model(request: Request):
        """What the model is, what it takes, and the limits of the service."""
        check_parameters(request)
        return answered(service(request).card())

    @router.get("/embedding", descriptions.EMBEDDING)
    async def embedding(request: Request):
        """The specification by which a client makes bits of rows."""
        check_parameters(request, "bits")
        has_name = "name" in request.path_params
        served = service(request, "model" if has_name else "classify").slot.present.model  # which takes the bits
        if not served.rates:
            raise Fault(404, "raw-only", "This model has no embedding and cannot read bits.")
        bits = whole(request, "bits", served.rates[-1])
        if bits not in served.rates:
            raise Fault(404, "bits", f"The model has the rates {', '.join(map(str, served.rates))}.")
        return answered(served.embedding(bits))


def _add_operations(app, shelf):
    @app.get("/v1/models", openapi_extra=descriptions.MODELS)
    async def models(request: Request):
        """The names of all models, and which of them answers without a name."""
        check_parameters(request)
        return answered(shelf.card())

    @app.post("/v1/reload", openapi_extra=descriptions.RELOAD, dependencies=_TOKEN)
    async def reload(request: Request):
        """Load the files of all models again. Where one cannot be used, the old model goes on."""
        check_parameters(request)
        if shelf.settings.token is None:
            raise Fault(
                403, "no-token", "Reloading over HTTP requires a service with a token. SIGHUP works without one."
            )
        check_token(request.headers, shelf.settings.token)
        return answered(await shelf.reload_on_request())

    @app.get("/health/live")
    async def live(_: Request):
        """The process answers."""
        return answered({"status": "live"})

    @app.get("/health/ready")
    async def ready(_: Request):
        """All models are loaded and answer."""
        return answered({"status": "ready", "model": shelf.check_ready().sha256})

    @app.get("/metrics")
    async def metrics(_: Request):
        """Numbers for Prometheus."""
        return Response(shelf.metrics.text(), media_type=CONTENT_TYPE)


# ------------------------------------------------------------------------------------------- answers and parameters


def answered(value):
    """JSON, or the bytes of a csv file."""
    if isinstance(value, bytes):
        headers = {"content-disposition": 'attachment; filename="labeled.csv"'}
        return Response(value, headers=headers, media_type=f"{CSV}; charset=utf-8")
    return Response(json_bytes(value), media_type="application/json")


def check_parameters(request, *known):
    """Refuse a parameter of the query string that the route does not know, or that is there twice."""
    given = [name for name, _ in request.query_params.multi_items()]
    unknown = next((name for name in given if name not in known), None)
    if unknown is not None:
        there = f"There are {', '.join(known)}." if known else "This route has no parameters."
        message = f"There is no parameter {shown_names([unknown])}. {did_you_mean(unknown, known)}{there}"
        raise Fault(422, "parameters", message)
    if len(set(given)) < len(given):
        raise Fault(422, "parameters", "A parameter occurs more than once. Give each at most once.")


def said(request, name):
    """Whether a switch of the query string is on; it is off if it is not there."""
    text = request.query_params.get(name, "0").lower()
    if text not in _SWITCHES:
        raise Fault(422, name, f"{name} must be 1, true, 0 or false.")
    return _SWITCHES[text]


def share(request, name):
    """A share of the query string, None if it has none."""
    value = decimal(request, name, r"[0-9.]{1,9}")
    if value is not None and not 0 < value <= 1:
        raise Fault(422, name, f"{name} must be a number > 0 and <= 1.")
    return value


def decimal(request, name, form=r"-?[0-9.]{1,12}"):
    """A number of the query string, None if it has none."""
    text = request.query_params.get(name)
    if text is not None and not (
        re.fullmatch(form, text) and text.count(".") <= 1 and text.strip("-") not in ("", ".")
    ):
        raise Fault(422, name, f"{name} must be a number.")
    return None if text is None else float(text)


def whole(request, name, default, most=None):
    """A whole number of the query string, from 1 to ``most`` if that is said."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if most is not None and not (re.fullmatch(r"[0-9]{1,9}", text) and 1 <= int(text) <= most):
        raise Fault(422, name, f"{name} must be an integer from 1 to {most}.")
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise Fault(422, name, f"{name} must be an integer.")
    return int(text)
