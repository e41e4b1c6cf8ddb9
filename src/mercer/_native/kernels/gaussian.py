"""Gaussian values in float32 from matrix products, and which of them the products may have got wrong.

    t = |x|^2 + |y|^2 - 2 x'y,      K = exp(-t)

The product brings -2 x'y; one pass over it adds the squared norms and takes the exponential, while it is in the cache.
Rounding moves t by at most ``slack`` times the energy |x|^2 + |y|^2, hence K by at most slack * energy * K.
"""

__all__ = ["find_uncertain", "finish_gaussian"]

import numpy as np

from mercer._native.elementary import exp2_fraction_single, power_of_two_single
from mercer._native.jit import inline, jit


@inline
def exp_minus_single(t):
    """np.exp(-max(t, 0)), 0 where that is below the smallest normal number; relative error 2e-7 + 1e-7 t."""
    s = min(max(t, np.float32(0)) * np.float32(1.442695), np.float32(126))
    n = np.int32(s) + np.int32(1)
    value = power_of_two_single(-n) * exp2_fraction_single(np.float32(n) - s)
    return value if s < np.float32(126) else np.float32(0)


@jit
def finish_gaussian(block, left, right, slack, accuracy):
    """block = np.exp(-np.maximum(left[:, None] + right + block, 0)); how many values may be off by more than accuracy

    block (n, m) float32, products in, values out; left (n,), right (m,) float32, squared norms; slack, accuracy float32
    """
    n_uncertain = 0
    for i in range(block.shape[0]):
        of_row = np.int32(0)
        for j in range(block.shape[1]):
            energy = left[i] + right[j]
            value = exp_minus_single(energy + block[i, j])
            block[i, j] = value
            of_row += np.int32(0) if slack * energy * value <= accuracy else np.int32(1)  # NaN is uncertain
        n_uncertain += of_row
    return n_uncertain


@jit
def find_uncertain(values, left, right, slack, accuracy, rows, columns):
    """rows, columns = np.nonzero(~(slack * (left[:, None] + right) * values <= accuracy))

    rows, columns int64, as many as `finish_gaussian` has counted
    """
    at = 0
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            if not slack * (left[i] + right[j]) * values[i, j] <= accuracy:
                rows[at], columns[at] = i, j
                at += 1
