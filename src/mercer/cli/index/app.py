"""``mercer index``: nearest neighbors under a kernel, in an index that lives in a directory."""

__all__ = ["app"]

from mercer.cli.framework.commands import group
from mercer.cli.index.build import add, build
from mercer.cli.index.evaluate import evaluate
from mercer.cli.index.graph import graph
from mercer.cli.index.manage import compact, remove, stats
from mercer.cli.index.search import exact, search
from mercer.cli.index.stores import push

ABOUT = """Search for the nearest rows under a kernel, with a few bytes per row, or exactly.

An index is a directory. Changes are on disk when a command ends, and an interrupted command leaves the index
intact. Several processes may search while one writes.
"""
EXAMPLES = """
  mercer index build base.npy --kernel chi2 --bytes 16 --out base.index
  mercer index search base.index queries.npy -k 10
  mercer index exact base.index queries.npy -k 10
  mercer index evaluate base.index queries.npy --plot recall.png
  mercer index graph base.index -k 15 --out base.graphml

  mercer index add base.index more.npy
  mercer index remove base.index 17 42
  mercer index stats base.index

  mercer index push base.index --to postgresql://me@host/shop --table images
"""

app = group(ABOUT, EXAMPLES, build, add, remove, search, exact, graph, stats, compact, evaluate, push)
