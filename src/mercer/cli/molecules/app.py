"""``mercer molecules``: from files of molecules to similar ones, clusters and pictures."""

__all__ = ["app"]

from mercer.cli.framework.commands import group
from mercer.cli.molecules.build import add, build, info
from mercer.cli.molecules.groups import cluster, pick
from mercer.cli.molecules.search import pairs, search

ABOUT = """Search, cluster and pick molecules, exactly, by the similarity of their fingerprints.

Files are lines of SMILES, SDF, or tables with a column of SMILES, packed or not. A library becomes an index in a
directory, which molecules can be added to; its fingerprints are made by the settings that those of queries are made by.
"""
EXAMPLES = """
A library, the molecules most similar to some, as a table and as a picture:
  mercer molecules build library.smi --out library.index
  mercer molecules search library.index query.smi --out hits.csv --grid hits.png
  mercer molecules cluster library.index --min-score 0.65 --out clusters.csv
  mercer molecules pick library.index -n 100 --out diverse.csv
"""

app = group(ABOUT, EXAMPLES, build, add, search, pairs, cluster, pick, info)
