"""The scalar functions inside the Gram loops: what one bin of two histograms contributes.

Every ``pair`` takes (x, log_x, y, log_y, p): the two values, their base-2 logarithms (computed once per value, not once
per pair; any finite number where the value is 0) and the kernel's parameter. A ``two`` gives the sum over two bins at
once, where that shares work.

Callers promise x > 0 and y >= 0 to the pairs of histogram kernels, all within a range in which no product of three
values leaves the normal numbers. Only that makes the formulas free of guards; `mercer.kernels.engine` sees to it.
"""

import numpy as np

from mercer._native.elementary import (
    exp2_double,
    exp2_single,
    log2_ratio_double,
    log2_ratio_over_z_double,
    log2_ratio_single,
    one_minus_exp2_double,
    one_minus_exp2_single,
)
from mercer._native.jit import inline


@inline
def minimum_pair(x, log_x, y, log_y, p):
    """min(x, y)"""
    return min(x, y)


@inline
def chi2_pair(x, log_x, y, log_y, p):
    """2 x y / (x + y), in the order that neither overflows nor underflows"""
    low = min(x, y)
    return (low + low) * (max(x, y) / (x + y))


@inline
def chi2_two(x0, a0, y0, b0, x1, a1, y1, b1, p):
    # One division for two bins: n0/d0 + n1/d1 = (n0 d1 + n1 d0) / (d0 d1). The loop is bound by the divider.
    s0 = x0 + y0
    s1 = x1 + y1
    half = (x0 * y0 * s1 + x1 * y1 * s0) / (s0 * s1)
    return half + half


@inline
def jensen_shannon_single_pair(x, log_x, y, log_y, p):
    """(x log2((x + y) / x) + y log2((x + y) / y)) / 2

    With l = min, h = max and z = l / (2h + l), so that log2((1 + z) / (1 - z)) = log2(1 + l/h), this is half of
    (x + y) log2(1 + l/h) + l |log2 x - log2 y|: positive terms only, hence no cancellation.
    """
    low = min(x, y)
    total = x + y
    z = low / (max(x, y) + total)
    return np.float32(0.5) * (total * log2_ratio_single(z) + low * abs(log_x - log_y))


@inline
def jensen_shannon_double_pair(x, log_x, y, log_y, p):
    """As the single-precision function, with the longer polynomial."""
    low = min(x, y)
    total = x + y
    z = low / (max(x, y) + total)
    return 0.5 * (total * log2_ratio_double(z) + low * abs(log_x - log_y))


@inline
def jensen_shannon_wide_pair(x, log_x, y, log_y, p):
    """As the double-precision function, for values so far apart that their ratio underflows."""
    low = min(x, y)
    total = x + y
    scale = max(x, y) + total
    return low * (0.5 * ((total / scale) * log2_ratio_over_z_double(low / scale) + abs(log_x - log_y)))


@inline
def power_mean_single_pair(x, log_x, y, log_y, p):
    """((x^-p + y^-p) / 2)^(-1/p), p > 0 here: the kernel of exponent -p. [wu12power]

    = min(x, y) 2^(m / p), where m = -log2((1 + u) / 2) and u = (min / max)^p = 2^(-p |log2 x - log2 y|).
    With w = 1 - u, m = log2((1 + z) / (1 - z)) for z = w / (4 - w).
    """
    w = one_minus_exp2_single(p * abs(log_x - log_y))
    return min(x, y) * exp2_single(log2_ratio_single(w / (np.float32(4) - w)) / p)


@inline
def power_mean_double_pair(x, log_x, y, log_y, p):
    """As the single-precision function, with the longer polynomials."""
    w = one_minus_exp2_double(p * abs(log_x - log_y))
    root = exp2_double(log2_ratio_double(w / (4.0 - w)) / (p + p))  # of a factor that may leave the range by itself
    return (min(x, y) * root) * root


@inline
def common_part_pair(x, log_x, y, log_y, p):
    """min(|x|, |y|) where the signs agree, else 0: |x - y| = |x| + |y| - 2 common_part(x, y)"""
    return max(max(min(x, y), min(-x, -y)), x - x)


@inline
def difference_pair(x, log_x, y, log_y, p):
    """|x - y|, for any signs, zeros included"""
    return abs(x - y)


@inline
def chi2_distance_pair(x, log_x, y, log_y, p):
    """(x - y)^2 / (x + y), zeros included; p is the smallest positive number"""
    return (x - y) * ((x - y) / max(x + y, p))
