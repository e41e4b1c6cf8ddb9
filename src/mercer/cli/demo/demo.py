"""``mercer demo``: what Mercer does and what it does not, in a minute, on data that comes with its dependencies."""

__all__ = ["ACTS", "EXAMPLES", "demo"]

import time
from collections.abc import Callable
from pathlib import Path

from mercer._base.errors import MissingExtraError
from mercer._base.parameters import pathname
from mercer._base.tables import open_for_writing
from mercer.cli.demo.act import Act
from mercer.cli.demo.claims import HOW
from mercer.cli.demo.classify import classify
from mercer.cli.demo.compress import compress
from mercer.cli.demo.next_steps import next_steps
from mercer.cli.demo.page import page
from mercer.cli.demo.search import search
from mercer.cli.framework.checks import check_folder
from mercer.cli.framework.options import COMMON, Settings, options
from mercer.cli.framework.output import note, print_json, print_table, progress

EXAMPLES = """
  mercer demo
  mercer demo --seed 3 --out other.html
  mercer demo --json
"""
ACTS: tuple[Callable[[int], Act], ...] = (search, classify, compress)

OPTIONS = (pathname("out", "mercer-demo.html", "HTML page to write.", "HTML", "-o"),)


@options(OPTIONS, examples=EXAMPLES, settings=COMMON)
def demo(out, settings: Settings) -> None:
    """Search, classify and compress in a minute, compared with the usual methods.

    Three acts on data that comes with the dependencies: find patches of photographs by their colors; classify digits
    and source code, beside SVC, boosted trees and a random forest; store digits in a few bytes. Each act prints a table
    and conclusions computed from it, losses included. The last step writes a page with pictures.

    Times are those of a single run and leave out compilation. They depend on the computer and its load.
    """
    check_folder(out)
    started, acts, missing = time.perf_counter(), [], []
    for make in ACTS:
        try:
            with progress(settings):
                acts.append(make(settings.seed))
        except MissingExtraError as error:
            missing.append(str(error))
            note(settings, f"Skipped this act: {error}")
            continue
        if not settings.json:
            _print(len(acts), acts[-1], settings)
    acts.append(next_steps())
    seconds = time.perf_counter() - started
    with open_for_writing(out) as stream:
        stream.write(page(acts, seconds, settings.seed))
    if settings.json:
        found = [act.facts() for act in acts if act.lines]
        print_json({"seed": settings.seed, "seconds": seconds, "acts": found, "missing": missing, "page": str(out)})
    elif not settings.quiet:
        print(HOW)
        print(f"Done in {seconds:.0f} s. Pictures and what to try next: {Path(out).resolve().as_uri()}")


def _print(number: int, act: Act, settings: Settings) -> None:
    print_table(settings, f"{number}. {act.title}. {act.about}", act.columns, act.rows(), text_columns=2)
    if not settings.quiet:
        for claim in act.claims:
            print(f"- {claim}")
        print()
