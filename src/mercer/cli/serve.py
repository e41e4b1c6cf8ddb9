"""``mercer serve``: models and indexes behind HTTP, for rows, tables, bits and pictures."""

__all__ = ["EXAMPLES", "serve", "token_of"]

import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from mercer._base.errors import MercerError, require_extra
from mercer._base.parameters import argument, flag, integer, number, text, texts
from mercer._base.tables import ArgumentError
from mercer.cli.framework.checks import as_argument, check_file
from mercer.cli.framework.options import COMMON, Group, Settings, options
from mercer.cli.framework.output import note, print_json

EXAMPLES = """
Serve a model on this machine; open the printed address in a browser:
  mercer serve digits.mercer
  mercer serve digits.mercer --index digits.index --port 9000

Serve an image classifier, which shows an explanation, or a detector, which draws boxes:
  mercer serve scenes.mercer
  mercer serve person.mercer

Serve several models and indexes, each under a name:
  mercer serve digits=digits.mercer people=person.mercer --index flowers=flowers.index

Serve an index without a model:
  mercer serve --index digits.index

Serve a library of mass spectra; send lists of peaks as JSON, or paste them into the page:
  mercer serve --spectra library.index

Return the labels of neighbors too; the file holds the labels of the rows, or lists ids and labels:
  mercer serve digits.mercer --index digits.index --index-labels train.npz

Serve other machines, with a token, from four processes that share the model:
  mercer serve digits.mercer --host 0.0.0.0 --token-file token.txt --workers 4

Reload replaced files without losing a request:
  kill -HUP PID
"""
_KINDS = {
    "model": "a model file. Serve it without an option: mercer serve {path}.",
    "index": "an index of rows. Serve it with --index {path}.",
    "spectra": "a library of spectra. Serve it with --spectra {path}.",
    "molecules": "a library of molecules. Search it with mercer molecules search.",
}
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_NAMED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,63})=(.+)")


LIMITS = Group((
    integer("max_body_bytes", 4 * 2**20, "Maximum size of a request body.", least=1),
    integer("max_table_bytes", 32 * 2**20, "Maximum size of a csv table.", least=1),
    integer("max_pixels", 16_000_000, "Maximum number of pixels of a picture.", least=1),
    integer("max_rows", 4096, "Maximum number of rows per request; a csv table may have more.", least=1),
    integer("max_neighbors", 100, "Maximum number of rows found per query.", "K",
        "--max-neighbors --max-neighbours", least=1),
    number("timeout", 10.0, "Time limit for reading a request, and again for answering it.", "SECONDS", least=0.001),
    integer("concurrency", 256, "Maximum number of concurrent requests per process.", least=1),
), panel="Limits")  # fmt: skip
SERVE = Group((
    argument("models", "[NAME=]MODEL...", "Model files, for tables, bits or pictures. If you serve several, the name "
        "of "
        "each is NAME, or else its file name.", kind=list, default=None, shown=False),
    texts("index", None, "Directory of an index to search; give it the name of a model to serve the two together.",
        "[NAME=]DIR"),
    texts("spectra", None, "Library of spectra, written by mercer spectra build.", "[NAME=]DIR"),
    text("host", "127.0.0.1", "Address to listen on.", "ADDRESS"),
    integer("port", 8321, "Port to listen on; 0 picks a free port.", least=0, most=65535),
    integer("workers", 1, "Number of processes; they share the memory of the model.", least=1),
    text("token_file", None, "File with the token that every POST must carry.", "FILE",
        shown="the variable MERCER_TOKEN, if set"),
    text("allow_origin", None, "Origin whose pages may send requests, such as https://host.", "ORIGIN"),
    texts("index_labels", None, "Labels of the rows of the index: a csv file of ids and labels, or, if the ids are row "
        "numbers, npy, or npz with a member y.", "[NAME=]FILE"),
    flag("show_rows", "Return the rows of neighbors to clients that ask for them."),
    flag("access_log", "Log each request as a JSON line on standard error.", "--access-log/--no-access-log",
        default=True),
))  # fmt: skip


@options(examples=EXAMPLES, given=SERVE, limits=LIMITS, settings=COMMON)
def serve(given, limits, settings: Settings) -> None:
    """Serve fitted models, indexes and libraries of spectra over HTTP, with a page for the browser.

    Requests carry rows as JSON or csv, pictures, or bits. The command prints the address once the service is ready. To
    serve several models, name each with NAME=FILE: /v1/models/NAME/classify uses that model, and /v1/classify the first
    or, if that does not classify, the only one that does. Models of molecules cannot be served. SIGHUP, or a POST to
    /v1/reload with the token, reloads the files; if a new file is damaged, the service keeps the old model. SIGINT and
    SIGTERM let current requests finish and then stop the service.
    """
    for module in ("fastapi", "uvicorn", "prometheus_client"):
        require_extra(module, extra="serve", purpose="mercer serve")
    host, workers = given.host, given.workers
    sources = {
        "model": _sources(given.models, "model", os.path.exists),
        "index": _sources(given.index, "index", os.path.isdir),
        "spectra": _sources(given.spectra, "library", os.path.isdir),
    }
    if all(source is None for source in sources.values()):
        raise ArgumentError("Give a model file, an index with --index, or a library with --spectra.")
    labels = _sources(given.index_labels, "file of labels", os.path.exists)
    if labels is not None and sources["index"] is None:
        raise ArgumentError("--index-labels requires --index, the index whose rows it labels.")
    _check(sources, labels)
    from mercer.serving import ServiceSettings
    from mercer.serving import serve as run

    token = token_of(settings, given.token_file)
    if token is None and host not in _LOOPBACK:
        note(
            settings, f"The service has no token, so anyone who can reach {host} can use it. Set one with --token-file."
        )
    with as_argument():
        said = {name: given[name] for name in ("allow_origin", "show_rows")}
        chosen = ServiceSettings(token=token, index_labels=labels, mmap=workers > 1, **said, **limits)

    def ready(url: str) -> None:
        if settings.json:
            print_json({"url": url, **sources, "process": os.getpid()})
        else:
            print(url, flush=True)

    logs = {"log_level": settings.log_level, "log_requests": given.access_log}
    where = {"host": host, "port": given.port, "workers": workers}
    run(**sources, settings=chosen, **where, **logs, ready=ready)


def _sources(texts: list[str] | None, kind: str, exists: Callable[[str], bool]) -> Any:
    """The path of one thing without a name; a dict of several, or of one with a name, by their names; None for none."""
    if not texts:
        return None
    pairs = [_NAMED.fullmatch(each) if not exists(each) else None for each in texts]
    if len(texts) == 1 and pairs[0] is None:
        return texts[0]
    found: dict[str, str] = {}
    for each, pair in zip(texts, pairs, strict=True):
        name, path = (Path(each).stem, each) if pair is None else (pair[1], pair[2])
        if name in found:
            raise ArgumentError(f"The name {name} is used twice. Give each {kind} its own name, as in NAME={path}.")
        found[name] = path
    return found


def _check(sources: dict[str, Any], labels: Any) -> None:
    """Refuse what is not there, and what belongs to another option."""
    for role, paths in sources.items():
        for path in _paths(paths):
            _check_kind(path, role)
    for path in _paths(sources["model"]):
        check_file(path, "Name a model file. Use --index for the directory of an index.")
    for role, what, group in (("index", "index", "index"), ("spectra", "library", "spectra")):
        for path in _paths(sources[role]):
            if not os.path.isdir(path):
                there = f"{path} is a file, not a directory" if os.path.exists(path) else f"There is no {what} {path}"
                raise ArgumentError(f"{there}. Build one with mercer {group} build.")
    for path in _paths(labels):
        check_file(path, "Name the file of the labels.")


def _check_kind(path: str, role: str) -> None:
    """Refuse a model, an index or a library that is given as something else; say what it is and what takes it."""
    # an index of rows comes last: a library of molecules is one as well, and may be served as such
    kinds = ("spectra", "molecules", "index") if os.path.isdir(path) else ("model",)
    others = (kind for kind in kinds if kind != role and (role, kind) != ("index", "molecules"))
    kind = next((kind for kind in others if _is(kind, path)), None)
    if kind is not None:
        raise ArgumentError(f"{path} is {_KINDS[kind].format(path=path)}")


def _is(kind: str, path: str) -> bool:
    """Whether a path holds a thing of a kind, and it is not damaged."""
    from mercer import KernelIndex
    from mercer._base.files.models import describe
    from mercer.molecules import MoleculeIndex
    from mercer.spectra import SpectrumIndex

    with suppress(MercerError, OSError):
        if kind == "model":
            describe(path)
        else:
            opener: Any = {"spectra": SpectrumIndex, "molecules": MoleculeIndex, "index": KernelIndex}[kind]
            opener.open(path, verify=False).close()
        return True
    return False


def _paths(given: Any) -> list[str]:
    if given is None:
        return []
    return list(given.values()) if isinstance(given, dict) else [given]


def token_of(settings: Settings, path: str | None) -> str | None:
    """From the file, else from the environment; never from the command line, which others can see."""
    if path is None:
        return os.environ.get("MERCER_TOKEN") or None
    check_file(path, "Name the file of the token.")
    from mercer.serving import read_token

    token, is_open = read_token(path)
    if is_open:
        note(settings, f"Other users can read {path}. Run chmod 600 {path}.")
    return token
