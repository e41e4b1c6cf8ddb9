"""From any exception to one sentence on standard error and an exit code.

0 success, 1 failure, 2 a command line that must be changed, 130 interrupted. ``--json`` makes the sentence a JSON
object, ``--debug`` shows the traceback above it.
"""

__all__ = ["FAILURE", "INTERRUPTED", "USAGE", "explain", "in_words_of_command", "report"]

import json
import sys
import traceback
from collections.abc import Sequence
from typing import Any

import typer

from mercer._base.errors import MercerError
from mercer._base.tables import ArgumentError
from mercer._base.terminal import escaped

FAILURE, USAGE, INTERRUPTED = 1, 2, 130
# what the library calls things in its messages, and what they are called on the command line
_HERE = {
    "Connect to it, push with replace=True,": "Search it with mercer index search --store, push with --replace,",
    "KernelIndex.push": "mercer index push",
    "KernelIndex.connect": "mercer index search --store",
    "`m`": "--m",
    "`missing`": "--missing",
    "`ef_construction`": "--ef-construction",
    ">= 2 m; got m=": "of at least twice --m; got --m ",
    "ef_construction=": "--ef-construction ",
    "ef_construction": "--ef-construction",
    "bytes_per_item=": "--bytes ",
    "n_lists=": "--lists ",
    "(vectors=None)": "(--vectors none)",
    "KernelIndex.search(where=)": "--where",
    "KernelIndex.range_search(where=)": "--where",
    "StoreIndex.search(where=)": "--where",
    "SpectrumIndex.search(where=)": "--where",
    "neighbor_graph(where=)": "--where",
    "Add rows with data= to store some.": "Build it with --keep.",
    "Push the index again with replace=True.": "Push it again with mercer index push --replace.",
    "Open it with mercer.KernelIndex.open.": "Use mercer index, such as mercer index search.",
    "Open it with mercer.spectra.SpectrumIndex.open.": "Use mercer spectra, such as mercer spectra search.",
    "Open it with mercer.molecules.MoleculeIndex.open.": "Use mercer molecules, such as mercer molecules search.",
}


def report(error: Exception, arguments: Sequence[str]) -> int:
    """Print the sentence and return the exit code."""
    sentence, code = explain(error)
    said = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if "--debug" in said:
        traceback.print_exception(error)
    if "--json" in said:
        print(json.dumps({"error": sentence, "exit_code": code}), file=sys.stderr)
    else:
        print(f"mercer: {escaped(sentence)}", file=sys.stderr)
    return code


def explain(error: Exception) -> tuple[str, int]:
    """A sentence that says what was wrong and what to do, and the exit code that belongs to it.

    >>> explain(FileNotFoundError(2, "No such file or directory", "K.npy"))
    ('K.npy: no such file or directory.', 1)
    """
    if hasattr(error, "format_message"):  # typer's own errors, whose class is not called the same in all its versions
        return _usage(error)
    if isinstance(error, MercerError):
        return _sentence(in_words_of_command(str(error))), USAGE if isinstance(error, ArgumentError) else FAILURE
    if isinstance(error, MemoryError):
        return "Out of memory. Use fewer rows, or --dtype float32.", FAILURE
    if isinstance(error, OSError) and error.strerror:
        reason = error.strerror[0].lower() + error.strerror[1:]
        return _sentence(f"{error.filename}: {reason}" if error.filename else reason), FAILURE
    if isinstance(error, typer.Abort):
        return "Aborted: standard input ended early.", FAILURE
    what = _sentence(f"Unexpected {type(error).__name__}: {error}")
    return f"{what} Run again with --debug to see the traceback.", FAILURE


def _usage(error: Any) -> tuple[str, int]:
    context = getattr(error, "ctx", None)
    help_of = context.command_path if context is not None else "mercer"
    return f"{_sentence(error.format_message())} See '{help_of} --help'.", error.exit_code


def _sentence(message: str) -> str:
    message = " ".join(message.split())
    return message if message.endswith((".", "?", "!")) else f"{message}."


def in_words_of_command(message: str) -> str:
    """A message of the library for somebody who sees options and commands only.

    >>> in_words_of_command("KernelIndex.search(where=), character 1, at a: there is no such column.")
    '--where, character 1, at a: there is no such column.'
    """
    for there, here in _HERE.items():
        message = message.replace(there, here)
    return message
