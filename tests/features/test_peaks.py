"""Peaks in bins."""

import numpy as np
import pytest

from mercer import InputError
from mercer.features import bin_spectra


def test_peaks_fall_into_their_bins_in_any_order_and_empty_spectra_stay():
    X = bin_spectra([[[7.99, 1.0], [0.2, 2.0], [7.01, 4.0]], [], np.empty((0, 2))], bin_width=1.0, max_mz=8.0)
    assert X.toarray().tolist() == [[2, 0, 0, 0, 0, 0, 0, 5], [0] * 8, [0] * 8]
    assert (X.dtype, X.has_canonical_format) == (np.float32, True)
    assert bin_spectra([], 0.5, 10.0).shape == (0, 20)


def test_what_is_no_spectrum_is_refused_by_its_number():
    good = [[1.0, 1.0]]
    for bad, message in (
        ([[1.0, 2.0, 3.0]], r"spectrum 1 has shape \(1, 3\)"),
        ([[1.0, -2.0]], "spectrum 1 has other values"),
        ([[np.nan, 2.0]], "spectrum 1 has other values"),
        ([[2000.0, 1.0]], r"max_mz=2000, but spectrum 1 has a peak at 2000\. Raise max_mz"),
    ):
        with pytest.raises(InputError, match=message):
            bin_spectra([good, bad])
    with pytest.raises(InputError, match="bin_width and max_mz above 0"):
        bin_spectra([good], bin_width=0)
