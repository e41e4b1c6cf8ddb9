"""``mercer inspect``: what a model file holds, without loading its arrays."""

__all__ = ["EXAMPLES", "inspect"]

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from mercer._base.tables import ArgumentError
from mercer.cli.options import Settings, common_options, option_groups
from mercer.cli.output import print_json, print_table

EXAMPLES = """
[bold]Examples[/bold]

  mercer inspect model.mercer
  mercer inspect model.mercer --verify
  mercer inspect model.mercer --json | python -m json.tool
"""


@option_groups(settings=common_options)
def inspect(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file written by mercer.save, or - for the input.")],
    verify: Annotated[
        bool, typer.Option("--verify", help="Read the whole file and compare its checksum; otherwise the header only.")
    ] = False,
    *,
    settings: Settings,
) -> None:
    """Header, sizes, fingerprint and versions of a model file.

    Nothing in the file is executed and no array is loaded, so this is safe and fast for any file. A damaged file is
    named with the reason, and the exit code is 1.
    """
    from mercer._base.models import describe

    with _as_file(file) as path:
        found = describe(path, verify=verify)
        if "plan_" in found.get("state", {}):
            behind = list(found).index("state") + 1
            found = dict([*list(found.items())[:behind], ("plan", _plan(path)), *list(found.items())[behind:]])
    if file == "-":
        found["file"] = "standard input"
    if settings.json:
        print_json(found)
        return
    arrays = found.pop("arrays")
    print_table(settings, found["file"], ["", "value"], _facts(found), text_columns=2)
    if arrays:
        rows = [[a["name"], a["dtype"], " x ".join(map(str, a["shape"])), a["bytes"]] for a in arrays]
        print_table(settings, "Arrays", ["array", "type", "shape", "bytes"], rows, text_columns=2)


@contextmanager
def _as_file(path: str) -> Iterator[str]:
    """The path itself, or a temporary copy of the standard input: a header names positions in a file."""
    if path != "-":
        if not Path(path).exists():
            raise ArgumentError(f"There is no file {path}.")
        yield path
        return
    with tempfile.NamedTemporaryFile(suffix=".mercer") as copy:
        copy.write(sys.stdin.buffer.read())
        copy.flush()
        yield copy.name


def _plan(path: str) -> dict[str, Any]:
    """What a learner did with its rows, which its summary is too short for."""
    from mercer._base.container import read_header

    plan = read_header(path).document["object"]["state"]["plan_"]
    return plan.get("parameters", {}) if isinstance(plan, dict) else {}


def _facts(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in found.items():
        if key == "file":
            continue
        if isinstance(value, dict):
            # the plan has lines of its own, and a history is for programs
            shown = {name: item for name, item in value.items() if name not in ("plan_", "history_")}
            yield from ((f"{key} {name}", str(item)) for name, item in shown.items())
        else:
            yield key, str(value)
