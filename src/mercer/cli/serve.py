"""``mercer serve``: a model behind HTTP, for rows or for bits."""

__all__ = ["EXAMPLES", "serve", "token_of"]

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from mercer._base.errors import InputError, require_extra
from mercer._base.tables import ArgumentError
from mercer.cli.framework.options import Settings, common_options, option_groups
from mercer.cli.framework.output import note, print_json

EXAMPLES = """
[bold]Examples[/bold]

On this machine only; the page is at the address that is printed:
  mercer serve digits.mercer
  mercer serve digits.mercer --index digits.index --port 9000

With the labels of the rows that are found; their file is that of the rows, or lists ids and labels:
  mercer serve digits.mercer --index digits.index --index-labels train.npz

For others, with a token, in four processes that share the model:
  mercer serve digits.mercer --host 0.0.0.0 --token-file token.txt --workers 4

Load the file again after it was replaced, without losing a request:
  kill -HUP PID
"""
_LIMITS = "Limits"
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def limit_options(
    max_body_bytes: Annotated[
        int,
        typer.Option(
            "--max-body-bytes", metavar="N", min=1, help="Longest body of a request.", rich_help_panel=_LIMITS
        ),
    ] = 4 * 2**20,
    max_rows: Annotated[
        int, typer.Option("--max-rows", metavar="N", min=1, help="Rows of a request.", rich_help_panel=_LIMITS)
    ] = 4096,
    max_neighbours: Annotated[
        int,
        typer.Option("--max-neighbours", metavar="K", min=1, help="Rows found for a query.", rich_help_panel=_LIMITS),
    ] = 100,
    timeout: Annotated[
        float,
        typer.Option(
            "--timeout",
            metavar="SECONDS",
            min=0.001,
            help="Time for reading a body, and again for answering it.",
            rich_help_panel=_LIMITS,
        ),
    ] = 10.0,
    concurrency: Annotated[
        int,
        typer.Option(
            "--concurrency", metavar="N", min=1, help="Requests in work at once, per process.", rich_help_panel=_LIMITS
        ),
    ] = 256,
) -> dict[str, Any]:
    """The limits of a service, as keywords of ``mercer.serving.ServiceSettings``."""
    return {
        "max_body_bytes": max_body_bytes,
        "max_rows": max_rows,
        "max_neighbours": max_neighbours,
        "timeout": timeout,
        "concurrency": concurrency,
    }


@option_groups(settings=common_options, limits=limit_options)
def serve(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A file of a fitted classifier or regressor.")],
    index: Annotated[
        str | None, typer.Option("--index", metavar="DIR", help="An index whose rows are found as neighbours.")
    ] = None,
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="N", min=0, max=65535, help="0 takes a free one.")] = 8321,
    workers: Annotated[
        int, typer.Option("--workers", metavar="N", min=1, help="Processes; several map one model file.")
    ] = 1,
    token_file: Annotated[
        str | None,
        typer.Option(
            "--token-file",
            metavar="FILE",
            help="A file with the token that every POST must carry.",
            show_default="the variable MERCER_TOKEN, if set",
        ),
    ] = None,
    allow_origin: Annotated[
        str | None,
        typer.Option("--allow-origin", metavar="ORIGIN", help="Pages of this origin may ask too, as https://host."),
    ] = None,
    index_labels: Annotated[
        str | None,
        typer.Option(
            "--index-labels",
            metavar="FILE",
            help="Labels of the rows of the index: csv lines of id, label; for row numbers as ids also npy, or npz "
            "with a member y.",
        ),
    ] = None,
    show_rows: Annotated[
        bool, typer.Option("--show-rows", help="Give the rows of neighbours to those who ask for them.")
    ] = False,
    access_log: Annotated[
        bool, typer.Option("--access-log/--no-access-log", help="A JSON line for each request, on the standard error.")
    ] = True,
    *,
    limits: dict[str, Any],
    settings: Settings,
) -> None:
    """Answer by a fitted model over HTTP: a page, rows as JSON, or bits.

    The address is printed when the service answers. SIGHUP, or a POST to /v1/reload with the token, loads the file
    again and keeps the old model if the new one is broken. SIGINT and SIGTERM end the service after what is in work.
    """
    for module in ("fastapi", "uvicorn", "prometheus_client"):
        require_extra(module, extra="serve", purpose="mercer serve")
    _check_file(model, "Name the file of a model; the directory of an index goes with --index.")
    if index is not None and not Path(index).is_dir():
        raise ArgumentError(f"There is no index {index}. Make one with mercer index build.")
    if index_labels is not None and index is None:
        raise ArgumentError("--index-labels labels the rows of an index. Name the index with --index.")
    if index_labels is not None:
        _check_file(index_labels, "Name the file of the labels.")
    from mercer.serving.process.server import serve as run
    from mercer.serving.process.settings import ServiceSettings

    token = token_of(settings, token_file)
    if token is None and host not in _LOOPBACK:
        note(settings, f"There is no token: whoever reaches {host} may ask. Set one with --token-file.")
    try:
        chosen = ServiceSettings(
            token=token,
            allow_origin=allow_origin,
            index_labels=index_labels,
            show_rows=show_rows,
            mmap=workers > 1,
            **limits,
        )
    except InputError as error:
        raise ArgumentError(str(error)) from error

    def ready(url: str) -> None:
        if settings.json:
            print_json({"url": url, "model": model, "process": os.getpid()})
        else:
            print(url, flush=True)

    run(
        model,
        index=index,
        settings=chosen,
        host=host,
        port=port,
        workers=workers,
        log_level=settings.log_level,
        log_requests=access_log,
        ready=ready,
    )


def token_of(settings: Settings, path: str | None) -> str | None:
    """From the file, else from the environment; never from the command line, which others can see."""
    if path is None:
        return os.environ.get("MERCER_TOKEN") or None
    _check_file(path, "Name the file of the token.")
    from mercer.serving.process.settings import read_token

    token, is_open = read_token(path)
    if is_open:
        note(settings, f"Others than you may read {path}. Use chmod 600 {path}.")
    return token


def _check_file(path: str, advice: str) -> None:
    if Path(path).is_dir():
        raise ArgumentError(f"{path} is a directory. {advice}")
    if not Path(path).exists():
        raise ArgumentError(f"There is no file {path}.")
