"""The application: routes over the services of a shelf."""

__all__ = ["create_app"]

import asyncio
import signal
import threading
from contextlib import asynccontextmanager, suppress

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from mercer import __version__
from mercer.serving.http import descriptions
from mercer.serving.http.examples import with_examples
from mercer.serving.http.faults import Fault, fault_response
from mercer.serving.http.front import Front
from mercer.serving.http.routes import add_routes
from mercer.serving.process.settings import ServiceSettings
from mercer.serving.process.shelf import Shelf, sources_of

_UNROUTED = {
    404: ("not-found", "There is no route at this path. GET /openapi.json lists all routes."),
    405: ("method", "This route needs another method. GET /openapi.json lists the method of each route."),
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
    """Create an ASGI application that serves models and indexes.

    Parameters
    ----------
    model : path of a model file, a fitted model, a dict from names to such, or None
        A path is loaded when the application starts; until then it is alive but not ready. It may be loaded again.
        Classifiers and regressors of rows, an ``ImageClassifier`` and a ``PartDetector`` can be served.
    index : directory of an index, a KernelIndex, a dict from names to such, or None
        Rows for ``/v1/neighbors``. An index under the name of a model is served beside it, any other one alone; a
        single index without a name belongs to the only model.
    spectra : directory of a library of spectra, a SpectrumIndex, a dict from names to such, or None
        For ``/v1/spectra``.
    settings : ServiceSettings or None
    reloaded : function without arguments, or None
        Called after models were loaded again by ``/v1/reload``.

    Returns
    -------
    app : FastAPI
        ``/v1/models/NAME/`` is the model of that name, and ``/v1/`` the first one or, if that does not answer a route,
        the only one that does. ``app.state.shelf`` holds the services.

    Examples
    --------
    >>> app = create_app("digits.mercer")  # doctest: +SKIP
    >>> app = create_app({"digits": "digits.mercer", "people": "person.mercer"})  # doctest: +SKIP
    >>> uvicorn.run(app, port=8321)  # doctest: +SKIP
    """
    settings = ServiceSettings() if settings is None else settings
    shelf = Shelf(sources_of(model, index, spectra, settings.index_labels), settings, reloaded)
    for slot in shelf.slots.values():
        if not slot.can_reload:
            slot.load()
    app = FastAPI(
        title="Mercer",
        description=descriptions.ABOUT,
        version=__version__,
        docs_url=None,  # its page loads scripts from elsewhere
        redoc_url=None,
        lifespan=_lifespan,
    )
    app.router.route_class = PlainRoute
    app.state.shelf = shelf
    app.add_exception_handler(Fault, _refused)
    app.add_exception_handler(HTTPException, _not_routed)
    add_routes(app, shelf)
    app.openapi = lambda: with_examples(app, shelf)
    if settings.allow_origin is not None:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=[settings.allow_origin],
            allow_methods=["GET", "POST"],
            allow_headers=["authorization", "content-type", "x-request-id"],
            expose_headers=["x-request-id", "retry-after"],
        )
    app.add_middleware(Front, metrics=shelf.metrics)  # added last: the outermost
    return app


@asynccontextmanager
async def _lifespan(app):
    """Load beside the service, listen to SIGHUP, and finish what is in work at the end."""
    shelf, loop = app.state.shelf, asyncio.get_running_loop()
    tasks = {asyncio.create_task(slot.start()) for slot in shelf.slots.values()}

    def reload():
        async def attempt():
            with suppress(Fault):  # it is in the log, and the old models go on
                await shelf.reload()

        tasks.add(task := loop.create_task(attempt()))
        task.add_done_callback(tasks.discard)

    takes_signals = threading.current_thread() is threading.main_thread() and hasattr(signal, "SIGHUP")
    if takes_signals:
        loop.add_signal_handler(signal.SIGHUP, reload)
    yield
    if takes_signals:
        loop.remove_signal_handler(signal.SIGHUP)
    await asyncio.to_thread(shelf.close)


async def _refused(request, fault):
    return fault_response(fault, request.state.exchange.id)


async def _not_routed(request, error):
    code, message = _UNROUTED.get(error.status_code, ("http", f"{error.detail}."))
    fault = Fault(error.status_code, code, message, dict(error.headers or {}))
    return fault_response(fault, request.state.exchange.id)
