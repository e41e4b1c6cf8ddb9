"""The processes of a service: one, or several that share the socket and the mapped model file."""

__all__ = ["serve"]

import errno
import functools
import gc
import http.client
import os
import signal
import socket
import tempfile
import threading
import time
from contextlib import contextmanager

import uvicorn
from uvicorn.supervisors import Multiprocess

from mercer._base.errors import MercerError
from mercer.serving.http.app import create_app
from mercer.serving.http.protocol import BoundedProtocol
from mercer.serving.process import logs
from mercer.serving.process.worker import worker_app

KEEP_ALIVE = 75  # seconds that an idle connection stays open
BACKLOG = 1024
HEALTH_SECONDS = 10  # after which a process that says nothing is replaced
LAST_SECONDS = 5  # to end after the time limit of a request has passed
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}


def serve(
    model,
    *,
    index=None,
    spectra=None,
    settings,
    host="127.0.0.1",
    port=8321,
    workers=1,
    log_level="warning",
    log_requests=True,
    ready=lambda url: None,
):
    """Serve models and indexes until SIGINT or SIGTERM, then let current requests finish.

    Parameters
    ----------
    model, index, spectra : paths, or dicts from names to paths, as of ``create_app``
    settings : ServiceSettings
    host, port : address to listen on; port 0 picks a free port
    workers : processes
    log_level, log_requests : as of ``mercer.serving.process.logs.configure``
    ready : called with the address once the service is ready
    """
    options = {
        "model": model,
        "index": index,
        "spectra": spectra,
        "settings": settings,
        "log_level": log_level,
        "log_requests": log_requests,
    }
    with _listen(host, port) as listener:
        started = functools.partial(_tell_when_ready, listener, ready, _address(listener, host))
        if workers == 1:
            _run_alone(options, listener, started)
        else:
            _check(model, index, spectra, settings)
            _run_workers(options, workers, listener, started)


def application(model, index, spectra, settings, log_level, log_requests, reloaded=None):
    """The application of a process that does nothing else, so that its logs are ours."""
    logs.configure(log_level, log_requests)
    app = create_app(model, index=index, spectra=spectra, settings=settings, reloaded=reloaded)
    for slot in app.state.shelf.slots.values():
        slot.loaded = _keep
    return app


def _keep():
    """Tell the garbage collector that what is here stays: looking through it all takes longer than many answers."""
    gc.collect()
    gc.freeze()


def _config(app, settings, workers, factory=False):
    return uvicorn.Config(
        app,
        factory=factory,
        workers=workers,
        loop="auto",  # uvloop where there is one
        http=BoundedProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_worker_healthcheck=HEALTH_SECONDS,
        timeout_graceful_shutdown=int(settings.timeout) + LAST_SECONDS,
    )


# --------------------------------------------------------------------------------------------------------- one process


def _run_alone(options, listener, started):
    """Run in this process. A model that cannot be loaded ends it with the reason."""
    app = application(**options)
    server = uvicorn.Server(_config(app, options["settings"], 1))
    shelf = app.state.shelf
    for slot in shelf.slots.values():
        slot.failed = lambda _: setattr(server, "should_exit", True)  # and whoever runs this says why
    started()
    with _quiet_signals():
        server.run(sockets=[listener])
    if shelf.failure is not None:
        raise shelf.failure


@contextmanager
def _quiet_signals():
    """uvicorn raises the signal that ended it once more; an orderly end is a success."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# --------------------------------------------------------------------------------------------------- several processes


class Supervisor(Multiprocess):
    """uvicorn's supervisor, with SIGHUP for a new model instead of new processes."""

    def handle_hup(self):
        """Pass it on: each process loads the file beside its work, and keeps the old model if the new one is broken."""
        for process in self.processes:
            if process.pid is not None and process.exitcode is None:
                os.kill(process.pid, signal.SIGHUP)

    def terminate_all(self):
        """Also stop listening here, so that nobody waits for an answer that will not come."""
        for listener in self.sockets:
            listener.close()
        super().terminate_all()


def _run_workers(options, workers, listener, started):
    """Run the processes until a signal; they count into files of a common directory."""
    config = _config(functools.partial(worker_app, **options), options["settings"], workers, factory=True)
    with tempfile.TemporaryDirectory(prefix="mercer-metrics-") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder  # read by the processes when they begin
        try:
            started()
            Supervisor(config, sockets=[listener]).run()
        finally:
            del os.environ["PROMETHEUS_MULTIPROC_DIR"]


def _check(model, index, spectra, settings):
    """Load once before any process starts, so that what is wrong is said once, by the command."""
    create_app(model, index=index, spectra=spectra, settings=settings).state.shelf.load()


# ------------------------------------------------------------------------------------------------------------ the door


def _listen(host, port):
    """A listening socket. Connections send at once: asyncio sees to that where the protocol is named, as it is here."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        reason = (error.strerror or str(error)).lower()
        other = "--port" if error.errno in (errno.EADDRINUSE, errno.EACCES) else "--host, an address of this machine"
        raise MercerError(f"Cannot listen on {host} port {port}: {reason}. Choose another with {other}.") from error
    return listener


def _address(listener, host):
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{listener.getsockname()[1]}"


def _tell_when_ready(listener, ready, url):
    """Ask ourselves until we are ready, then say so."""
    host, port = listener.getsockname()[:2]

    def ask():
        while not _is_ready(_ANYWHERE.get(host, host), port):
            time.sleep(0.05)
        ready(url)

    threading.Thread(target=ask, daemon=True).start()


def _is_ready(host, port):
    connection = http.client.HTTPConnection(host, port, timeout=30)
    try:
        connection.request("GET", "/health/ready")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
