"""The similarity of pairs of spectra, peak by peak."""

__all__ = ["MODES", "spectral_similarity"]

import numpy as np

from mercer._base.errors import InputError
from mercer._native.spectra import matching as loops
from mercer.spectra.collection import Spectra
from mercer.spectra.preparation import prepared
from mercer.spectra.settings import Settings

# what is matched in each mode of a search, in the numbers of the loops
MODES = {"identity": loops.FRAGMENTS, "open": loops.FRAGMENTS, "loss": loops.LOSSES, "hybrid": loops.HYBRID}


def spectral_similarity(first, second, mode="open", clean=True, **settings):
    """Compute the similarity of spectra in pairs: first[i] and second[i].

    Two peaks match if their m/z differ by at most ``tolerance``, each peak once. With f(x) = x log2 x, the spectral
    entropy similarity [li21spectral] of intensities a and b that sum to 1 is

        1/2 sum over matched peaks of f(a_i + b_j) - f(a_i) - f(b_j),

    where spectra of less than 3 nats of entropy S have a^(0.25 + 0.25 S), made to sum to 1, in place of a, unless
    ``similarity="unweighted"``. The cosine takes the pairs of the largest product first.

    Parameters
    ----------
    first, second : Spectra, or what ``Spectra.of`` takes, of the same length
    mode : {'open', 'loss', 'hybrid'}
        Whether peaks, neutral losses (precursor less m/z) or peaks and then losses are matched. The hybrid cosine
        is the modified cosine of matchms: both at once, the largest products first.
    clean : bool
        False: the spectra are clean, and their intensities are made to sum to 1 only.
    **settings
        Parameters of :class:`SpectrumIndex`.

    Returns
    -------
    scores : ndarray of float64
    matched : ndarray of int64, matched peaks

    Examples
    --------
    >>> one, other = [[69.071, 8.0], [86.1, 67.0]], [[69.07, 40.0], [86.095, 37.0]]
    >>> scores, matched = spectral_similarity([one], [other])
    >>> scores.round(4).tolist(), matched.tolist()
    ([0.9761], [2])
    """
    who = "spectral_similarity"
    settings = Settings(**settings).check(who)
    if mode not in MODES:
        raise InputError(f"{who} needs mode to be one of {', '.join(MODES)}; got {mode!r:.80}.")
    if not clean:
        settings = Settings(settings.similarity, settings.tolerance, settings.unit, "none", 0.0, 0.0, 0, settings.power)
    first, second = Spectra.of(first, who), Spectra.of(second, who)
    if len(first) != len(second):
        raise InputError(f"{who} compares spectra in pairs; got {len(first)} and {len(second)} spectra.")
    (mz_a, a, offsets_a), (mz_b, b, offsets_b) = prepared(first, settings), prepared(second, settings)
    rows = np.arange(len(first))
    scores, matched = np.empty(len(rows)), np.empty(len(rows), dtype=np.int64)
    loops.match_pairs(
        settings.kind, MODES[mode], mz_a, a, offsets_a, rows, mz_b, b, offsets_b, rows,
        first.precursor_mz - second.precursor_mz, settings.tolerance, settings.ppm, scores, matched,
    )  # fmt: skip
    return scores, matched
