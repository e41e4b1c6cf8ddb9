"""Values to levels: the whole numbers that intersection coordinate descent works on. [wu10fast] (13)"""

__all__ = ["quantize_rows"]

import numpy as np

from mercer._native.jit import jit


@jit
def quantize_rows(X, lows, widths, n_bins, tops, first, last, codes):
    """codes[first:last] = np.clip(np.floor(n_bins * (X[first:last] - lows) / widths), 0, tops), 0 where a width is 0

    X       (n, d)  float
    lows    (d,)    float64   value of level 0
    widths  (d,)    float64   what level n_bins lies above it
    n_bins  float
    tops    (d,)    int64     highest level of each column
    codes   (n, d)  uint8 or uint16   written in place
    """
    for i in range(first, last):
        for j in range(X.shape[1]):
            level = n_bins * (np.float64(X[i, j]) - lows[j]) / widths[j] if widths[j] > 0 else 0.0
            # bounds before the conversion: what does not fit into a whole number has none
            codes[i, j] = np.int64(min(max(level, 0.0), np.float64(tops[j])))
