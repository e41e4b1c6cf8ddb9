"""Lists of peaks as sparse histograms over m/z."""

__all__ = ["bin_spectra"]

from numbers import Real

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError
from mercer._base.validation import narrow


def bin_spectra(spectra, bin_width=0.1, max_mz=2000.0):
    """Convert mass spectra to rows: intensities of peaks, added up in bins of m/z.

    Parameters
    ----------
    spectra : sequence of arrays of shape (peaks, 2)
        The peaks of each spectrum as pairs of m/z and intensity, in any order.
    bin_width : float
        Width of a bin in units of m/z. Bin j holds the peaks with j <= m/z / bin_width < j + 1.
    max_mz : float
        Upper limit of all peaks; there are ceil(max_mz / bin_width) bins.

    Returns
    -------
    csr_array of shape (spectra, bins), float32

    Examples
    --------
    >>> X = bin_spectra([[[41.04, 37.2], [69.07, 66.3], [69.08, 10.0]], [[86.1, 999.0]]], bin_width=1.0, max_mz=100.0)
    >>> X.shape, X[0, 41].item(), X[0, 69].item()
    ((2, 100), 37.20000076293945, 76.30000305175781)
    """
    if not all(isinstance(value, Real) and 0 < value < np.inf for value in (bin_width, max_mz)):
        raise InputError(f"bin_spectra needs bin_width and max_mz above 0, got {bin_width!r} and {max_mz!r}.")
    tables = [_checked(peaks, number, max_mz) for number, peaks in enumerate(spectra)]
    n_bins = int(np.ceil(max_mz / bin_width))
    offsets = np.concatenate([[0], np.cumsum([len(table) for table in tables], dtype=np.int64)])
    mz, intensity = np.concatenate([np.empty((0, 2)), *tables]).T
    # the quotient of an m/z just below max_mz may round up to the number of bins
    columns = np.minimum(mz / bin_width, n_bins - 1).astype(np.int32)
    X = sparse.csr_array((intensity.astype(np.float32), columns, offsets), shape=(len(tables), n_bins))
    X.sum_duplicates()
    return narrow(X)


def _checked(peaks, number, max_mz):
    """The peaks of one spectrum, float64, shape (peaks, 2)."""
    table = np.asarray(peaks, dtype=np.float64)
    if not table.size:
        return np.empty((0, 2))
    if table.ndim != 2 or table.shape[1] != 2:
        raise InputError(
            f"bin_spectra needs for each spectrum an array of shape (peaks, 2), m/z and intensity; spectrum {number} "
            f"has shape {table.shape}."
        )
    if not (np.isfinite(table).all() and (table >= 0).all()):
        raise InputError(f"bin_spectra needs finite numbers >= 0, but spectrum {number} has other values.")
    if table[:, 0].max() >= max_mz:
        raise InputError(
            f"bin_spectra has bins up to max_mz={max_mz:g}, but spectrum {number} has a peak at {table[:, 0].max():g}. "
            "Raise max_mz, or remove such peaks."
        )
    return table
