"""``mercer molecules``: from files of molecules to similar ones, clusters and pictures."""

__all__ = ["app"]

from mercer.cli.framework.commands import group
from mercer.cli.molecules.build import add, build, info
from mercer.cli.molecules.groups import cluster, pick
from mercer.cli.molecules.search import pairs, search

ABOUT = """Search, cluster and pick molecules, exactly, by the similarity of their fingerprints.

Reads lines of SMILES, SDF, and tables with a column of SMILES, also compressed. mercer molecules build stores a library
as an index in a directory. You can add molecules to the index later. Queries get fingerprints with the settings of the
index.
"""
EXAMPLES = """
Build a library; find similar molecules, as a table and a picture; cluster the library; pick a diverse subset:
  mercer molecules build library.smi --out library.index
  mercer molecules search library.index query.smi --out hits.csv --grid hits.png
  mercer molecules cluster library.index --min-score 0.65 --out clusters.csv
  mercer molecules pick library.index -n 100 --out diverse.csv
"""

app = group(ABOUT, EXAMPLES, build, add, search, pairs, cluster, pick, info)
