"""The application: routes over a service."""

__all__ = ["create_app"]

import asyncio
import re
import signal
import threading
from contextlib import asynccontextmanager, suppress

from fastapi import Depends, FastAPI, Request, Response
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from mercer import __version__
from mercer._base.errors import InputError, did_you_mean
from mercer.serving.http import descriptions
from mercer.serving.http.columns import shown_names
from mercer.serving.http.faults import Fault, fault_response
from mercer.serving.http.front import Front
from mercer.serving.http.pages import page_files
from mercer.serving.http.replies import json_bytes
from mercer.serving.model.neighbours import Wanted
from mercer.serving.model.spectra import AskedSpectra
from mercer.serving.process.metrics import CONTENT_TYPE
from mercer.serving.process.service import Service
from mercer.serving.process.settings import ServiceSettings

NEIGHBOURS = 10  # unless k is said
# for the description only: the service itself compares, and in constant time
_TOKEN = [Depends(HTTPBearer(scheme_name="token", auto_error=False))]
_UNROUTED = {
    404: ("not-found", "There is nothing at this path. GET /openapi.json lists what there is."),
    405: ("method", "This path is asked by another method. GET /openapi.json tells which."),
}


class PlainRoute(APIRoute):
    """A route whose function takes the request, reads what it needs of it, and answers.

    FastAPI describes it. What FastAPI does besides with every request (parameters, dependencies, checks of the answer)
    has nothing to do here, but takes as long as scoring the bits of a row. HEAD is answered as GET; the server leaves
    out the body.
    """

    def matches(self, scope):
        """Whether the route is for a request."""
        return super().matches(_as_get(scope))

    async def handle(self, scope, receive, send):
        """Answer it."""
        await super().handle(_as_get(scope), receive, send)

    def get_route_handler(self):
        """The function itself."""
        return self.endpoint


def _as_get(scope):
    """HEAD as GET. A copy: the server and the log see what was asked."""
    return {**scope, "method": "GET"} if scope.get("method") == "HEAD" else scope


def create_app(model=None, *, index=None, spectra=None, settings=None, reloaded=None):
    """An ASGI application that answers by a model.

    Parameters
    ----------
    model : path of a model file, a fitted model, or None for an index alone
        A path is loaded when the application starts; until then it is alive but not ready. It may be loaded again.
    index : directory of an index, a KernelIndex, or None
        Rows for ``/v1/neighbours``.
    spectra : directory of a library of spectra, a SpectrumIndex, or None
        For ``/v1/spectra``; served without a model and an index.
    settings : ServiceSettings or None
    reloaded : function without arguments, or None
        Called after the model was loaded again by ``/v1/reload``.

    Returns
    -------
    app : FastAPI
        ``app.state.service`` is the service behind it.

    Examples
    --------
    >>> app = create_app("digits.mercer")  # doctest: +SKIP
    >>> uvicorn.run(app, port=8321)  # doctest: +SKIP
    """
    settings = ServiceSettings() if settings is None else settings
    if spectra is not None and (model, index) != (None, None):
        raise InputError("create_app serves a library of spectra without a model and an index.")
    if (model, index, spectra) == (None, None, None):
        raise InputError("create_app needs a model, an index, or both; or a library of spectra.")
    service = Service(model, index, settings, reloaded, spectra)
    if not service.slot.can_reload:
        service.slot.load()
    app = FastAPI(
        title="Mercer",
        description="Classification and search by a fitted model, over bits or numbers.",
        version=__version__,
        docs_url=None,  # its page loads scripts from elsewhere
        redoc_url=None,
        lifespan=_lifespan,
    )
    app.router.route_class = PlainRoute
    app.state.service = service
    app.add_exception_handler(Fault, _refused)
    app.add_exception_handler(HTTPException, _not_routed)
    _add_pages(app, "index.html" if spectra is None else "spectra.html")
    _add_questions(app, service)
    _add_operations(app, service)
    if settings.allow_origin is not None:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=[settings.allow_origin],
            allow_methods=["GET", "POST"],
            allow_headers=["authorization", "content-type", "x-request-id"],
            expose_headers=["x-request-id", "retry-after"],
        )
    app.add_middleware(Front, metrics=service.metrics)  # added last: the outermost
    return app


@asynccontextmanager
async def _lifespan(app):
    """Load beside the service, listen to SIGHUP, and finish what is in work at the end."""
    service, loop = app.state.service, asyncio.get_running_loop()
    tasks = {asyncio.create_task(service.slot.start())}

    def reload():
        async def attempt():
            with suppress(Fault):  # it is in the log, and the old model goes on
                await service.reload_file()

        tasks.add(task := loop.create_task(attempt()))
        task.add_done_callback(tasks.discard)

    takes_signals = threading.current_thread() is threading.main_thread() and hasattr(signal, "SIGHUP")
    if takes_signals:
        loop.add_signal_handler(signal.SIGHUP, reload)
    yield
    if takes_signals:
        loop.remove_signal_handler(signal.SIGHUP)
    await asyncio.to_thread(service.close)


# ------------------------------------------------------------------------------------------------------------- routes


def _add_pages(app, first):
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
        return page(first, request)

    @app.get("/static/{name}", include_in_schema=False)
    async def static(request: Request):
        return page(request.path_params["name"], request)


def _add_questions(app, service):
    @app.post("/v1/classify", openapi_extra=descriptions.CLASSIFY, dependencies=_TOKEN)
    async def classify(request: Request):
        """Labels and scores of rows or codes."""
        _check_parameters(request)
        return _json(await service.classify(request))

    @app.post("/v1/neighbours", openapi_extra=descriptions.NEIGHBOURS, dependencies=_TOKEN)
    async def neighbours(request: Request):
        """The nearest rows of the index."""
        _check_parameters(request, "k", "where", "exact", "recall", "rows")
        k = _whole(request, "k", NEIGHBOURS, service.settings.max_neighbours)
        exact, rows = (bool(_whole(request, name, 0)) for name in ("exact", "rows"))
        recall = _share(request, "recall")
        if exact and recall is not None:
            raise Fault(422, "recall", "exact=1 finds all of the nearest rows: leave recall out.")
        where = request.query_params.get("where")
        return _json(await service.neighbours(request, Wanted(k, where, None, exact, rows, recall)))

    @app.post("/v1/spectra", openapi_extra=descriptions.SPECTRA, dependencies=_TOKEN)
    async def spectra(request: Request):
        """The library spectra most similar to each of some spectra."""
        _check_parameters(request, *descriptions.OF_SPECTRA)
        most, wanted = service.settings.max_neighbours, request.query_params.get
        mode = wanted("mode", "open")
        if mode not in descriptions.MODES:
            raise Fault(422, "mode", f"mode must be one of {', '.join(descriptions.MODES)}.")
        least = _share(request, "min_score") or 0.0
        k, matched = _whole(request, "k", NEIGHBOURS, most), _whole(request, "min_matched_peaks", 1, 10**9)
        mirrors = bool(_whole(request, "mirrors", 0))
        return _json(await service.spectra(request, AskedSpectra(k, mode, least, matched, wanted("where"), mirrors)))

    @app.get("/v1/model")
    async def model(request: Request):
        """What the model is, what it takes, and the limits of the service."""
        _check_parameters(request)
        return _json(service.card())

    @app.get("/v1/embedding", openapi_extra=descriptions.EMBEDDING)
    async def embedding(request: Request):
        """The specification by which a client makes bits of rows."""
        _check_parameters(request, "bits")
        served = service.slot.present.model
        if not served.rates:
            raise Fault(404, "raw-only", "This model takes raw rows only: it has no embedding.")
        bits = _whole(request, "bits", served.rates[-1])
        if bits not in served.rates:
            raise Fault(404, "bits", f"The rates of this model are {', '.join(map(str, served.rates))}.")
        return _json(served.embedding(bits))


def _add_operations(app, service):
    @app.post("/v1/reload", openapi_extra=descriptions.RELOAD, dependencies=_TOKEN)
    async def reload(request: Request):
        """Load the model file again. If it cannot be used, the old model goes on."""
        _check_parameters(request)
        return _json(await service.reload(request))

    @app.get("/health/live")
    async def live(_: Request):
        """The process answers."""
        return _json({"status": "live"})

    @app.get("/health/ready")
    async def ready(_: Request):
        """A model is loaded and answers."""
        return _json({"status": "ready", "model": service.slot.present.model.sha256})

    @app.get("/metrics")
    async def metrics(_: Request):
        """Numbers for Prometheus."""
        return Response(service.metrics.text(), media_type=CONTENT_TYPE)


# ------------------------------------------------------------------------------------------------------------ answers


def _json(value):
    return Response(json_bytes(value), media_type="application/json")


def _check_parameters(request, *known):
    """Refuse a parameter of the query string that the route does not know, or that is there twice."""
    given = [name for name, _ in request.query_params.multi_items()]
    unknown = next((name for name in given if name not in known), None)
    if unknown is not None:
        there = f"There are {', '.join(known)}." if known else "This path takes none."
        message = f"There is no parameter {shown_names([unknown])}. {did_you_mean(unknown, known)}{there}"
        raise Fault(422, "parameters", message)
    if len(set(given)) < len(given):
        raise Fault(422, "parameters", "A parameter is there twice, and nobody can tell which is meant.")


def _share(request, name):
    """A share of the query string, None if it has none."""
    text = request.query_params.get(name)
    if text is not None and not (re.fullmatch(r"[0-9.]{1,9}", text) and text.count(".") <= 1 and text != "."):
        raise Fault(422, name, f"{name} must be a number.")
    if text is not None and not 0 < float(text) <= 1:
        raise Fault(422, name, f"{name} must be above 0 and at most 1.")
    return None if text is None else float(text)


def _whole(request, name, default, most=None):
    """A whole number of the query string, from 1 to ``most`` if that is said."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if most is not None and not (re.fullmatch(r"[0-9]{1,9}", text) and 1 <= int(text) <= most):
        raise Fault(422, name, f"{name} must be a whole number from 1 to {most}.")
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise Fault(422, name, f"{name} must be a whole number.")
    return int(text)


async def _refused(request, fault):
    return fault_response(fault, request.state.exchange.id)


async def _not_routed(request, error):
    code, message = _UNROUTED.get(error.status_code, ("http", f"{error.detail}."))
    fault = Fault(error.status_code, code, message, dict(error.headers or {}))
    return fault_response(fault, request.state.exchange.id)
