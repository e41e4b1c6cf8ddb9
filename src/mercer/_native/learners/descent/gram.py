"""Dual descent on a Gram matrix, two rows at a time: exact kernel machines without an equality constraint.

    minimise over b    1/2 b'(K + c) b + sum_i B_i b_i^2 / 2 - t_i b_i        with lower_i <= b_i <= upper_i

c is a constant that stands for the intercept, g_i = sum_j (K_ij + c) b_j + B_i b_i - t_i the gradient, and
h_i = K_ii + c + B_i the curvature of row i. A step takes the row i that gains most when it moves alone, then the row j
that gains most when it moves together with i, both inside their bounds. [steinwart11training] Moving single rows takes
several times as many steps, because the intercept couples all of them.
"""

__all__ = ["add_rows", "choose_rows", "descend_gram", "gather", "slopes_of"]

import numpy as np

from mercer._native.jit import inline, jit

FLAT = 1e-9  # of h_i h_j: a smaller determinant of two rows is taken for this; the bounds stop the step
COLUMNS = 2048  # sums that stay in the cache while rows are added


@inline
def _clip(x, lower, upper):
    x = lower if x < lower else x
    return upper if x > upper else x


@inline
def _gain(b, g, h, lower, upper):
    """What moving this row alone brings."""
    step = _clip(b - g / h, lower, upper) - b
    return -(g + 0.5 * h * step) * step


@inline
def _both(k, b_i, g_i, h_i, lower_i, upper_i, b, g, h, lower, upper):
    """(step of i, step of j, gain) of two rows with product k."""
    determinant = h_i * h - k * k
    least = FLAT * h_i * h
    determinant = least if determinant < least else determinant
    step_i = _clip(b_i + (g * k - g_i * h) / determinant, lower_i, upper_i) - b_i
    step = _clip(b - (g + k * step_i) / h, lower, upper) - b
    step_i = _clip(b_i - (g_i + k * step) / h_i, lower_i, upper_i) - b_i
    gain = -(g_i * step_i + g * step + 0.5 * (h_i * step_i * step_i + h * step * step) + k * step_i * step)
    return step_i, step, gain


@inline
def _argmax(values):
    """The first of the largest; four maxima at a time, because each would wait for the one before it."""
    n = values.shape[0]
    m0, m1, m2, m3 = values[0], values[0], values[0], values[0]
    k = 0
    while k + 4 <= n:
        m0 = values[k] if values[k] > m0 else m0
        m1 = values[k + 1] if values[k + 1] > m1 else m1
        m2 = values[k + 2] if values[k + 2] > m2 else m2
        m3 = values[k + 3] if values[k + 3] > m3 else m3
        k += 4
    while k < n:
        m0 = values[k] if values[k] > m0 else m0
        k += 1
    m0 = m1 if m1 > m0 else m0
    m2 = m3 if m3 > m2 else m2
    m0 = m2 if m2 > m0 else m0
    k = 0
    while k < n - 1 and values[k] < m0:
        k += 1
    return k


@jit
def slopes_of(scores, goals, bends, h, b, g, slopes):
    """g = scores - goals + bends * b; slopes = -g / sqrt(h): above 0, the row should rise; all float64 (n,)"""
    for i in range(b.shape[0]):
        g[i] = scores[i] - goals[i] + bends[i] * b[i]
        slopes[i] = -g[i] / np.sqrt(h[i])


@inline
def _mark_largest(values, count, least, marks):
    """Mark at most ``count`` rows, those of the largest values that are at least ``least``; how many are new."""
    n, threshold = values.shape[0], least
    if count < n:
        threshold = max(least, np.partition(values, n - count)[n - count])
    found, new = 0, 0
    for above in (True, False):  # of equal ones, the first
        for i in range(n):
            if found < count and (values[i] > threshold if above else values[i] == threshold and threshold > -np.inf):
                found += 1
                new += 0 if marks[i] else 1
                marks[i] = True
    return new


@jit
def choose_rows(slopes, lower, upper, b, before, size, out):
    """out[:m] = the rows of the next round, ascending; returns m, 0 if no row can gain

    A quarter of ``size`` are those that should rise most, a quarter those that should fall most, the others are rows
    of the round before, free ones first, then those next to their turning point. Where all rows that gain would move to
    one side, few steps satisfy them and the other side is wronged; so rows of the other side count as well, if their
    slope is no further from a gain than the largest one is beyond it.

    slopes, lower, upper, b  (n,)  float64
    before                   (k,)  int64, the rows of the round before
    out                      (n,)  int64, written in place
    """
    n, largest = b.shape[0], 0.0
    rising, falling = np.empty(n), np.empty(n)
    for i in range(n):
        rising[i] = slopes[i] if b[i] < upper[i] else -np.inf
        falling[i] = -slopes[i] if b[i] > lower[i] else -np.inf
        largest = max(largest, max(rising[i], falling[i]))
    if not largest > 0.0:
        return 0
    marks = np.zeros(n, dtype=np.bool_)
    count = _mark_largest(rising, size // 4, -largest, marks)
    count += _mark_largest(falling, size // 4, -largest, marks)
    kept = np.full(n, -np.inf)
    for k in range(before.shape[0]):
        i = before[k]
        if not marks[i]:
            kept[i] = 0.0 if lower[i] < b[i] and b[i] < upper[i] else -abs(slopes[i])
    _mark_largest(kept, size - count, -np.finfo(np.float64).max, marks)
    m = 0
    for i in range(n):
        if marks[i]:
            out[m] = i
            m += 1
    return m


@jit
def descend_gram(K, constant, bends, h, lower, upper, share, most, b, g, gains):
    """b, g = those after steps, at most ``most``; returns how many

    Every step gains more than ``share`` of what the rows would gain at first, on average, each alone.

    K             (q, q)  float32 or float64, symmetric
    constant      c
    bends         (q,)    B
    h             (q,)    K_ii + c + B_i, above 0
    lower, upper  (q,)    bounds of b
    b, g          (q,)    float64, written in place
    gains         (q,)    float64, room for what is computed on the way
    """
    n, steps, least = b.shape[0], 0, 0.0
    while steps < most:
        for j in range(n):
            gains[j] = _gain(b[j], g[j], h[j], lower[j], upper[j])
        if steps == 0:
            for j in range(n):
                least += share * gains[j] / n
        i = _argmax(gains)
        alone = gains[i]
        if not alone > least:
            break
        b_i, g_i, h_i, lower_i, upper_i = b[i], g[i], h[i], lower[i], upper[i]
        row = K[i]
        for j in range(n):
            k = np.float64(row[j]) + constant
            gains[j] = _both(k, b_i, g_i, h_i, lower_i, upper_i, b[j], g[j], h[j], lower[j], upper[j])[2]
        gains[i] = alone
        j = _argmax(gains)
        if i == j:
            step_i, step = _clip(b_i - g_i / h_i, lower_i, upper_i) - b_i, 0.0
        else:
            k = np.float64(row[j]) + constant
            step_i, step, _ = _both(k, b_i, g_i, h_i, lower_i, upper_i, b[j], g[j], h[j], lower[j], upper[j])
        other, shift = K[j], constant * (step_i + step)
        for q in range(n):
            g[q] += step_i * np.float64(row[q]) + step * np.float64(other[q]) + shift
        g[i] += bends[i] * step_i
        g[j] += bends[j] * step
        b[i] += step_i
        b[j] += step
        steps += 1
    return steps


@jit
def add_rows(K, rows, steps, first, out):
    """out += steps @ K[rows, first : first + n]

    K      (m, N)  float32 or float64
    rows   (q,)    int64
    steps  (q,)    float64
    out    (n,)    float64, written in place
    """
    n = out.shape[0]
    for start in range(0, n, COLUMNS):
        stop = min(start + COLUMNS, n)
        k = 0
        while k + 2 <= rows.shape[0]:
            x, y, s, t = K[rows[k], first:], K[rows[k + 1], first:], steps[k], steps[k + 1]
            for j in range(start, stop):
                out[j] += s * np.float64(x[j]) + t * np.float64(y[j])
            k += 2
        if k < rows.shape[0]:
            x, s = K[rows[k], first:], steps[k]
            for j in range(start, stop):
                out[j] += s * np.float64(x[j])


@jit
def gather(K, places, columns, out):
    """out = K[places[:, None], columns]

    K        (m, n)  float32 or float64
    places   (q,)    int64
    columns  (p,)    int64
    out      (q, p)  of the type of K, written in place
    """
    for k in range(places.shape[0]):
        row, target = K[places[k]], out[k]
        for j in range(columns.shape[0]):
            target[j] = row[np.uint64(columns[j])]
