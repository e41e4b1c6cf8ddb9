"""Mass spectra: read, cleaned, compared by peaks within a tolerance, and searched exactly."""

from mercer.spectra.collection import Spectra, Spectrum
from mercer.spectra.index.hits import SpectrumHits
from mercer.spectra.index.index import SpectrumIndex
from mercer.spectra.network import graphml, network_edges
from mercer.spectra.preparation import clean_spectra
from mercer.spectra.reading.files import SkippedSpectraWarning, read_spectra
from mercer.spectra.showing.mirror import Mirror
from mercer.spectra.similarity import spectral_similarity

__all__ = [
    "Mirror",
    "SkippedSpectraWarning",
    "Spectra",
    "Spectrum",
    "SpectrumHits",
    "SpectrumIndex",
    "clean_spectra",
    "graphml",
    "network_edges",
    "read_spectra",
    "spectral_similarity",
]
