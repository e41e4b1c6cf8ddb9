"""Cleaning: what of a spectrum is compared."""

__all__ = ["clean_spectra", "prepared"]

import numpy as np

from mercer._native.spectra import preparation as loops
from mercer.spectra.collection import Spectra
from mercer.spectra.settings import Settings


def clean_spectra(spectra, **settings):
    """Clean spectra: drop noise, merge close peaks, and scale intensities to sum 1.

    In this order: peaks above precursor - ``precursor_window`` are left out; from the strongest on, peaks within
    ``merge`` are taken together at their mean m/z until all gaps are at least so large; peaks below ``noise`` times the
    strongest are left out, and all but the ``max_peaks`` strongest; the intensities are raised to ``power`` and divided
    by their sum. The defaults are those of ms_entropy [li21spectral]; matchms leaves spectra as they are, which is
    ``precursor_window="none", merge=0, noise=0``.

    Parameters
    ----------
    spectra : Spectra, or what ``Spectra.of`` takes
    **settings
        Parameters of :class:`SpectrumIndex`; ``tolerance`` and ``unit`` matter where ``merge="auto"``.

    Returns
    -------
    Spectra

    Examples
    --------
    >>> cleaned = clean_spectra([[[69.07, 60.0], [69.08, 20.0], [86.1, 20.0], [90.0, 0.5]]])
    >>> cleaned.mz.tolist(), cleaned.intensity.tolist()
    ([69.0725, 86.1], [0.8, 0.2])
    """
    found = Spectra.of(spectra, "clean_spectra")
    mz, intensity, ends = _cleaned(found, Settings(**settings).check("clean_spectra"))
    return Spectra(mz, intensity, np.concatenate([[0], ends]), found.columns)


def prepared(spectra, settings):
    """(m/z, intensities as the similarity sees them, offsets) of cleaned spectra."""
    mz, intensity, ends = _cleaned(spectra, settings)
    loops.weigh_spectra(settings.kind, intensity, ends)
    # what single precision could not tell from 0
    return mz, np.maximum(intensity, np.finfo(np.float32).tiny), np.concatenate([[0], ends])


def _cleaned(spectra, settings):
    window = settings.precursor_window
    tops = np.full(len(spectra), np.nan) if window in (None, "none") else spectra.precursor_mz - window
    mz, intensity = np.empty_like(spectra.mz), np.empty_like(spectra.mz)
    ends = np.empty(len(spectra), dtype=np.int64)
    loops.clean_spectra(
        spectra.mz, spectra.intensity, spectra.offsets, tops, float(settings.noise), settings.distance, settings.ppm,
        int(settings.max_peaks), float(settings.power), mz, intensity, ends,
    )  # fmt: skip
    stop = ends[-1] if len(ends) else 0
    return mz[:stop], intensity[:stop], ends
