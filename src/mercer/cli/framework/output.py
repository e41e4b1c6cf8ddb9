"""What a verb prints: tables or JSON on standard output, notes and progress on standard error."""

__all__ = [
    "answer_json",
    "console",
    "lines_of",
    "note",
    "note_plot",
    "note_skipped",
    "print_facts",
    "print_json",
    "print_table",
    "progress",
    "to_plain",
    "took",
    "write_plot",
    "written_to",
]

import csv
import io
import json
import math
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mercer._base.progress import took
from mercer._base.tables import open_for_writing
from mercer._base.terminal import escaped
from mercer.cli.framework.options import Settings

_NAMED = 20  # of what was skipped
_WIDTH_OF_A_FILE = 120  # columns when the output is no terminal, so that tables are not cut at 80


def console(stderr: bool = False):
    """A rich console on standard output or error."""
    from rich.console import Console

    made = Console(stderr=stderr, highlight=False)
    if not made.is_terminal:
        made.width = max(made.width, _WIDTH_OF_A_FILE)
    return made


def print_table(
    settings: Settings,
    title: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    text_columns: int = 1,
) -> None:
    """Print a table; the first ``text_columns`` columns are words, the others numbers, set to the right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, column in enumerate(columns):
        made.add_column(Text(escaped(column)), justify="left" if i < text_columns else "right", overflow="fold")
    for row in rows:
        made.add_row(*(Text(escaped(str(cell))) for cell in row))  # Text: brackets in a cell are no markup
    out = console()
    if not settings.quiet:
        out.print(escaped(title), style="bold", markup=False)
    out.print(made)


def print_facts(settings: Settings, title: str, facts: Iterable[Sequence[Any]]) -> None:
    """Print names and values as a table."""
    print_table(settings, title, ["", "value"], facts, text_columns=2)


def answer_json(settings: Settings, document: Any) -> bool:
    """Print the document if JSON was asked for; whether it was."""
    if settings.json:
        print_json(document)
    return settings.json


def print_json(document: Any) -> None:
    """Print one JSON document, with lists of plain values on one line."""
    text = json.dumps(to_plain(document), indent=2, ensure_ascii=False, allow_nan=False)
    print(re.sub(r"\[\n[^\[\]{}]*\]", _on_one_line, text))


def _on_one_line(found: re.Match[str]) -> str:
    # line breaks inside a JSON string are escaped, so these are all layout
    return "[" + " ".join(line.strip() for line in found[0].split("\n")[1:-1]) + "]"


def note(settings: Settings, text: str) -> None:
    """Tell something that is not the result, unless only the result is wanted."""
    if text and not settings.quiet and not settings.json:
        console(stderr=True).print(escaped(text, keep="\n"), style="dim", markup=False)


def written_to(*places: Any) -> str:
    """The end of a note: where the results went, unless that is the standard output."""
    named = [str(place) for place in places if place not in (None, "-")]
    return f", written to {' and '.join(named)}" if named else ""


def write_plot(plot: Path | None, draw: Callable[[], Any]) -> None:
    """Write the figure that ``draw`` makes, or whose axes it makes, if there is a place for it."""
    if plot is not None:
        with open_for_writing(plot) as stream:
            draw().figure.savefig(stream, format="png")


def note_plot(settings: Settings, plot: Any) -> None:
    """Tell where a plot went, if there is one."""
    note(settings, "" if plot is None else f"Plot: {plot}")


def note_skipped(settings: Settings, problems: Sequence[str], what: str) -> None:
    """Name the records that were skipped, with the reason."""
    if not problems or settings.quiet or settings.json:
        return
    lines = [f"Skipped {len(problems):,} {what}{'s' * (len(problems) != 1)}:"]
    lines += [f"  {problem}" for problem in problems[:_NAMED]]
    lines += [f"  and {len(problems) - _NAMED:,} more; --json names all"] if len(problems) > _NAMED else []
    for line in lines:
        console(stderr=True).print(line, style="dim", markup=False, soft_wrap=True)


def lines_of(rows: Iterable[Iterable[Any]], format: str = "csv") -> bytes:
    """Lines of text, words in quotes where they could be misread."""
    text = io.StringIO()
    csv.writer(text, delimiter={"csv": ",", "tsv": "\t"}[format], lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


class Watch:
    """How long a block took."""

    seconds = 0.0


@contextmanager
def progress(settings: Settings) -> Iterator[Watch]:
    """Show the progress of the library's loops while the block runs, and measure how long that takes."""
    watch, started = Watch(), time.perf_counter()
    with _shown(settings):
        yield watch
    watch.seconds = time.perf_counter() - started


@contextmanager
def _shown(settings: Settings) -> Iterator[None]:
    """A bar, or lines where there is no terminal."""
    from mercer._base.progress import show_progress, told

    if settings.quiet or not sys.stderr.isatty():
        with told(verbose=not settings.quiet):
            yield
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console(stderr=True), transient=True) as display, show_progress(display):
        yield


def to_plain(value: Any) -> Any:
    """Python's own types for JSON; numbers it cannot hold (inf, nan) become words.

    >>> to_plain({"p": float("-inf"), "shape": (2, 3)})
    {'p': '-inf', 'shape': [2, 3]}
    """
    if isinstance(value, dict):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    if hasattr(value, "tolist"):  # numpy scalars and arrays
        if value.dtype.name == "float32":  # 0.1, not 0.10000000149011612
            value = value.astype(str).astype("float64")
        return to_plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, bool | int | float | str | None) else str(value)
