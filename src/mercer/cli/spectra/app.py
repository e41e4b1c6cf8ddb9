"""``mercer spectra``: from files of mass spectra to named hits."""

__all__ = ["app"]

from mercer.cli.framework.commands import group
from mercer.cli.spectra.build import add, build, info
from mercer.cli.spectra.network import network
from mercer.cli.spectra.search import mirror, pairs, search

ABOUT = """Search libraries of mass spectra, exactly, by peaks that match within a tolerance.

Files are MSP, MGF, mzML, mzXML, JSON of GNPS or MoNA, or lists of peaks, packed by gzip or not. A library becomes an
index in a directory, which spectra can be added to; the settings of its cleaning are those of every query.
"""
EXAMPLES = """
A library, the names of unknown spectra, and a table of them:
  mercer spectra build library.msp --out library.index
  mercer spectra search library.index unknown.mgf
  mercer spectra search library.index unknown.mgf --out hits.csv --report hits.html
  mercer spectra info library.index
"""

app = group(ABOUT, EXAMPLES, build, add, search, mirror, pairs, network, info)
