"""Converts spectra and molecules to feature vectors.

For images, see :mod:`mercer.vision`.
"""

from mercer.features.entropy_weighting import SpectralEntropyWeighting
from mercer.features.fingerprints import MoleculeFingerprints, count_fingerprints, murcko_scaffolds
from mercer.features.peaks import bin_spectra

__all__ = [
    "MoleculeFingerprints",
    "SpectralEntropyWeighting",
    "bin_spectra",
    "count_fingerprints",
    "murcko_scaffolds",
]
