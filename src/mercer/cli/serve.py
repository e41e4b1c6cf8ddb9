"""``mercer serve``: a model behind HTTP, for rows or for bits."""

__all__ = ["EXAMPLES", "serve", "token_of"]

import os
from pathlib import Path

from mercer._base.errors import require_extra
from mercer._base.parameters import argument, flag, integer, number, text
from mercer._base.tables import ArgumentError
from mercer.cli.framework.checks import as_argument, check_file
from mercer.cli.framework.options import COMMON, Group, Settings, options
from mercer.cli.framework.output import note, print_json

EXAMPLES = """
On this machine only; the page is at the address that is printed:
  mercer serve digits.mercer
  mercer serve digits.mercer --index digits.index --port 9000

An index alone, searched over HTTP and on the page:
  mercer serve --index digits.index

A library of mass spectra, for lists of peaks pasted on the page or sent as JSON:
  mercer serve --spectra library.index

With the labels of the rows that are found; their file is that of the rows, or lists ids and labels:
  mercer serve digits.mercer --index digits.index --index-labels train.npz

For others, with a token, in four processes that share the model:
  mercer serve digits.mercer --host 0.0.0.0 --token-file token.txt --workers 4

Load the file again after it was replaced, without losing a request:
  kill -HUP PID
"""
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


LIMITS = Group((
    integer("max_body_bytes", 4 * 2**20, "Longest body of a request.", least=1),
    integer("max_rows", 4096, "Rows of a request.", least=1),
    integer("max_neighbours", 100, "Rows found for a query.", "K", least=1),
    number("timeout", 10.0, "Time for reading a body, and again for answering it.", "SECONDS", least=0.001),
    integer("concurrency", 256, "Requests in work at once, per process.", least=1),
), panel="Limits")  # fmt: skip
SERVE = Group((
    argument("model", "MODEL", "A file of a fitted classifier or regressor; none to search an index.", default=None,
        shown=False),
    text("index", None, "An index whose rows are found as neighbors.", "DIR"),
    text("spectra", None, "A library of spectra, made by mercer spectra build; served alone.", "DIR"),
    text("host", "127.0.0.1", "Address to listen on.", "ADDRESS"),
    integer("port", 8321, "Port to listen on; 0 picks a free port.", least=0, most=65535),
    integer("workers", 1, "Processes; several map one model file.", least=1),
    text("token_file", None, "A file with the token that every POST must carry.", "FILE",
        shown="the variable MERCER_TOKEN, if set"),
    text("allow_origin", None, "Pages of this origin may ask too, as https://host.", "ORIGIN"),
    text("index_labels", None, "Labels of the rows of the index: csv lines of id, label; for row numbers as ids also "
        "npy, or npz with a member y.", "FILE"),
    flag("show_rows", "Give the rows of neighbors to those who ask for them."),
    flag("access_log", "A JSON line for each request, on the standard error.", "--access-log/--no-access-log",
        default=True),
))  # fmt: skip


@options(examples=EXAMPLES, given=SERVE, limits=LIMITS, settings=COMMON)
def serve(given, limits, settings: Settings) -> None:
    """Answer by a fitted model, an index or both, or by a library of spectra, over HTTP: a page, JSON, or bits.

    The address is printed when the service answers. SIGHUP, or a POST to /v1/reload with the token, loads the file
    again and keeps the old model if the new one is broken. SIGINT and SIGTERM end the service after what is in work.
    """
    for module in ("fastapi", "uvicorn", "prometheus_client"):
        require_extra(module, extra="serve", purpose="mercer serve")
    model, index, host, workers = given.model, given.index, given.host, given.workers
    spectra = given.spectra
    if (model, index, spectra) == (None, None, None):
        raise ArgumentError(
            "Name the file of a model, the directory of an index with --index, or both; or a library with --spectra."
        )
    if spectra is not None:
        if (model, index) != (None, None):
            raise ArgumentError("--spectra serves a library of spectra alone: leave the model and --index out.")
        if not Path(spectra).is_dir():
            raise ArgumentError(f"There is no library {spectra}. Make one with mercer spectra build.")
    if model is not None:
        check_file(model, "Name the file of a model; the directory of an index goes with --index.")
    if index is not None and not Path(index).is_dir():
        raise ArgumentError(f"There is no index {index}. Make one with mercer index build.")
    if given.index_labels is not None:
        if index is None:
            raise ArgumentError("--index-labels labels the rows of an index. Name the index with --index.")
        check_file(given.index_labels, "Name the file of the labels.")
    from mercer.serving import ServiceSettings
    from mercer.serving import serve as run

    token = token_of(settings, given.token_file)
    if token is None and host not in _LOOPBACK:
        note(settings, f"There is no token: whoever reaches {host} may ask. Set one with --token-file.")
    with as_argument():
        said = {name: given[name] for name in ("allow_origin", "index_labels", "show_rows")}
        chosen = ServiceSettings(token=token, mmap=workers > 1, **said, **limits)

    def ready(url: str) -> None:
        if settings.json:
            print_json({"url": url, "model": model, "index": index, "spectra": spectra, "process": os.getpid()})
        else:
            print(url, flush=True)

    logs = {"log_level": settings.log_level, "log_requests": given.access_log}
    where = {"host": host, "port": given.port, "workers": workers}
    run(model, index=index, spectra=spectra, settings=chosen, **where, **logs, ready=ready)


def token_of(settings: Settings, path: str | None) -> str | None:
    """From the file, else from the environment; never from the command line, which others can see."""
    if path is None:
        return os.environ.get("MERCER_TOKEN") or None
    check_file(path, "Name the file of the token.")
    from mercer.serving import read_token

    token, is_open = read_token(path)
    if is_open:
        note(settings, f"Others than you may read {path}. Use chmod 600 {path}.")
    return token
