"""Squared distances that kernels induce, for single pairs of rows, bin by bin and without cancellation.

K(x, x) + K(y, y) - 2 K(x, y) loses its digits where two rows are near each other and far from zero. Here every bin adds
a number >= 0 that is computed from the difference of its two values, so a sum is right to a few units in the last place
whatever the size of the rows. Slower than the loops of `mercer._native.kernels.gram`, so for the pairs that need it.

Every formula takes (x, y, p), values >= 0 but for "squared" and "absolute", and the kernel's parameter.
"""

import math
from functools import cache

from mercer._native.jit import inline, jit

LOG_2 = math.log(2.0)


@inline
def squared_difference(x, y, p):
    """(p (x - y))^2"""
    step = (x - y) * p
    return step * step


@inline
def absolute_difference(x, y, p):
    """|x - y|"""
    return abs(x - y)


@inline
def chi2_difference(x, y, p):
    """(x - y)^2 / (x + y) = x + y - 4 x y / (x + y), 0 where both are 0"""
    total = x + y
    return (x - y) * ((x - y) / total) if total > 0 else 0.0


@inline
def hellinger_difference(x, y, p):
    """(sqrt(x) - sqrt(y))^2, from the difference of the values themselves"""
    total = math.sqrt(x) + math.sqrt(y)
    step = (x - y) / total if total > 0 else 0.0
    return step * step


@inline
def jensen_shannon_difference(x, y, p):
    """x + y - x log2((x + y) / x) - y log2((x + y) / y)

    With m = (x + y) / 2 and t = (x - y) / (x + y) this is m (log(1 - t^2) + 2 t atanh(t)) / log(2), of which little
    cancels for |t| <= 1/3; with r = min / max, max ((1 + r) (1 - log2(1 + r)) + r log2(r)), for the others.
    """
    low, high = min(x, y), max(x, y)
    if low == 0:
        return high
    ratio = low / high
    if ratio < 0.5:
        return high * ((1 + ratio) * (1 - math.log1p(ratio) / LOG_2)) + low * (math.log2(low) - math.log2(high))
    t = (high - low) / (high + low)
    return (0.5 * (high + low)) * ((math.log1p(-t * t) + 2 * t * math.atanh(t)) / LOG_2)


@inline
def power_mean_difference(x, y, p):
    """x + y - 2 ((x^-p + y^-p) / 2)^(-1/p), p > 0

    With t = (x - y) / (x + y) the mean is (x + y) / 2 times exp(log(1 - t^2) / 2 - log(cosh(p atanh(t))) / p).
    """
    low, high = min(x, y), max(x, y)
    if low == 0:
        return high
    t = (high - low) / (high + low)
    if t < 0.5:
        a, half_log = math.atanh(t), 0.5 * math.log1p(-t * t)
    else:
        logs = math.log(high) - math.log(low)
        a, half_log = 0.5 * logs, LOG_2 - 0.5 * logs - math.log1p(low / high)
    z = p * a
    if z < 1:
        log_cosh = math.log1p(2 * math.sinh(0.5 * z) ** 2)
    else:
        log_cosh = z - LOG_2 + math.log1p(math.exp(-2 * z))
    return -(high + low) * math.expm1(half_log - log_cosh / p)


@inline
def power_difference(x, y, p):
    """|x^p - y^p|"""
    low, high = min(x, y), max(x, y)
    if low == 0:
        return high**p
    ratio = math.log1p((low - high) / high) if low > 0.5 * high else math.log(low) - math.log(high)
    return -(high**p) * math.expm1(p * ratio)


DIFFERENCES = {
    "squared": squared_difference,
    "absolute": absolute_difference,
    "chi2": chi2_difference,
    "hellinger": hellinger_difference,
    "jensen-shannon": jensen_shannon_difference,
    "power-mean": power_mean_difference,
    "power": power_difference,
}


def _between(name, signed):
    """The formula with signs: sign(x) sign(y) k(|x|, |y|) is at distance 2 (|x| + |y|) - D(|x|, |y|) across zero."""
    formula = DIFFERENCES[name]
    if not signed:
        return formula

    @inline
    def across(x, y, p):
        a, b = abs(x), abs(y)
        value = formula(a, b, p)
        return 2 * (a + b) - value if (x < 0 and y > 0) or (x > 0 and y < 0) else value

    return across


@cache
def dense_differences(name, signed=False):
    """The loop ``sum_differences(X, Y, left, right, p, out)``: out[i] = sum_k D(X[left[i], k], Y[right[i], k])"""
    between = _between(name, signed)

    @jit
    def sum_differences(X, Y, left, right, p, out):
        """X (n, d), Y (m, d) float64; left, right int64, rows of each; out float64, written, in ascending order of k"""
        for i in range(out.shape[0]):
            x, y = X[left[i]], Y[right[i]]
            total = 0.0
            for k in range(x.shape[0]):
                total += between(x[k], y[k], p)
            out[i] = total

    return sum_differences


@cache
def sparse_differences(name, signed=False):
    """As `dense_differences`, ``sum_differences(X's pointers, columns, values, the same of Y, left, right, p, out)``"""
    between = _between(name, signed)

    @jit
    def sum_differences(p_x, k_x, X, p_y, k_y, Y, left, right, p, out):
        """Rows as CSR with ascending columns: bins that either row has, in ascending order"""
        for i in range(out.shape[0]):
            q, q_end = p_x[left[i]], p_x[left[i] + 1]
            r, r_end = p_y[right[i]], p_y[right[i] + 1]
            total = 0.0
            while q < q_end or r < r_end:
                x, y = 0.0, 0.0
                has_x = r == r_end or (q < q_end and k_x[q] <= k_y[r])
                has_y = q == q_end or (r < r_end and k_y[r] <= k_x[q])
                if has_x:
                    x = X[q]
                if has_y:
                    y = Y[r]
                q += has_x
                r += has_y
                total += between(x, y, p)  # in one place: the same roundings as in the loop over dense rows
            out[i] = total

    return sum_differences
