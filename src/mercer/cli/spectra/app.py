"""``mercer spectra``: from files of mass spectra to named hits."""

__all__ = ["app"]

from mercer.cli.framework.commands import group
from mercer.cli.spectra.build import add, build, info
from mercer.cli.spectra.network import network
from mercer.cli.spectra.search import mirror, pairs, search

ABOUT = """Search libraries of mass spectra, exactly, by peaks that match within a tolerance.

Reads MSP, MGF, mzML, mzXML, JSON of GNPS or MoNA, and lists of peaks, also compressed with gzip. mercer spectra build
stores a library as an index in a directory. You can add spectra to the index later. Queries are cleaned with the
settings of the index.
"""
EXAMPLES = """
Build a library, identify unknown spectra, and write the hits to a table and a page:
  mercer spectra build library.msp --out library.index
  mercer spectra search library.index unknown.mgf
  mercer spectra search library.index unknown.mgf --out hits.csv --report hits.html
  mercer spectra info library.index
"""

app = group(ABOUT, EXAMPLES, build, add, search, mirror, pairs, network, info)
