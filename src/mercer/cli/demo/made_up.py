"""Made-up libraries, large enough for a search to take time; they say nothing about accuracy on real rows."""

__all__ = ["made_up_histograms", "made_up_spectra"]

_FAMILY = 10  # spectra that share most of their peaks
_PEAKS, _BINS, _OWN = 24, 10_000, 0.4  # the share of peaks that a spectrum has for itself
_COLUMNS, _AROUND = 64, 50  # of a histogram; histograms around one center


def made_up_spectra(n_rows: int, rng):
    """Sparse rows that sum to 1, in families."""
    import numpy as np
    from scipy import sparse

    family = np.repeat(rng.integers(0, _BINS, size=(-(-n_rows // _FAMILY), _PEAKS)), _FAMILY, axis=0)[:n_rows]
    own = rng.random(family.shape) < _OWN
    columns = np.where(own, rng.integers(0, _BINS, size=family.shape), family).astype(np.int32)
    heights = rng.gamma(1.0, size=family.shape).astype(np.float32)
    heights /= heights.sum(axis=1, keepdims=True)
    starts = np.arange(n_rows + 1, dtype=np.int32) * _PEAKS
    rows = sparse.csr_array((heights.ravel(), columns.ravel(), starts), shape=(n_rows, _BINS))
    rows.sum_duplicates()
    return rows


def made_up_histograms(n_rows: int, rng):
    """Dense rows that sum to 1, around some centers."""
    import numpy as np

    centers = rng.dirichlet(np.full(_COLUMNS, 0.3), size=-(-n_rows // _AROUND))
    rows = rng.gamma(60 * centers[rng.integers(0, len(centers), size=n_rows)] + 0.02).astype(np.float32)
    return rows / rows.sum(axis=1, keepdims=True)
