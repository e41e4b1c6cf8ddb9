"""``mercer index``: nearest neighbours under a kernel, in an index that lives in a directory."""

__all__ = ["app"]

import typer

from mercer.cli.framework.commands import Verb, Verbs, flowing
from mercer.cli.index import build as index_build
from mercer.cli.index import evaluate as index_evaluate
from mercer.cli.index import manage as index_manage
from mercer.cli.index import search as index_search
from mercer.cli.index import stores as index_stores

EXAMPLES = """
[bold]Examples[/bold]

  mercer index build base.npy --kernel chi2 --bytes 16 --out base.index
  mercer index search base.index queries.npy -k 10
  mercer index exact base.index queries.npy -k 10
  mercer index evaluate base.index queries.npy --plot recall.png

  mercer index add base.index more.npy
  mercer index remove base.index 17 42
  mercer index stats base.index

  mercer index push base.index --to postgresql://me@host/shop --table images
"""
_VERBS = (
    (index_build.build, index_build.BUILD_EXAMPLES),
    (index_build.add, index_build.ADD_EXAMPLES),
    (index_manage.remove, index_manage.REMOVE_EXAMPLES),
    (index_search.search, index_search.SEARCH_EXAMPLES),
    (index_search.exact, index_search.EXACT_EXAMPLES),
    (index_manage.stats, index_manage.STATS_EXAMPLES),
    (index_manage.compact, index_manage.COMPACT_EXAMPLES),
    (index_evaluate.evaluate, index_evaluate.EXAMPLES),
    (index_stores.push, index_stores.PUSH_EXAMPLES),
)

app = typer.Typer(cls=Verbs, rich_markup_mode="rich", help="Search for the nearest rows under a kernel.")
for function, examples in _VERBS:
    app.command(function.__name__, cls=Verb, help=flowing(function.__doc__), epilog=examples)(function)


@app.callback(invoke_without_command=True, epilog=EXAMPLES)
def index_group(ctx: typer.Context) -> None:
    """Search for the nearest rows under a kernel, in a few bytes per row, exactly on request.

    An index is a directory. What is added or removed is on the disk when the command ends, and a command that is
    interrupted or killed leaves a sound index. Many may search while one writes.
    """
    if ctx.invoked_subcommand is None:
        print(ctx.get_help(), end="")
