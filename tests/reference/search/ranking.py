"""Which rows may be the nearest, by sorting."""

import numpy as np


def ranks(form, s, a, b):
    """s; s / sqrt(a b); 2 s / (a + b); s / (a + b - s); -(a + b - 2 s)"""
    return [s, s / np.sqrt(a * b), 2 * s / (a + b), s / (a + b - s), -(a + b - 2 * s)][form]


def keep_nearest(
    form, sums, touched, n, weights, most_total, a, scale, totals, inverses, share, tiny, slack, margin, more, least,
    most, allowed, lows, size, kept, highs,
):  # fmt: skip
    """All rows whose upper end reaches the k-th largest lower end; the loop may keep more, and must keep these"""
    rows = np.arange(n) if len(weights) else touched[:n]
    if len(allowed):
        rows = rows[allowed[rows]]
    s, b = sums[rows].astype(np.float64), totals[rows]
    error = share * np.abs(s) + tiny + slack * (a + b)
    high = s + error + (np.minimum(more, b) if least else np.sqrt(more * b))
    merged = np.sort(np.concatenate([lows[:size], ranks(form, s - error, a, b)]))[::-1][: len(lows)]
    limit = merged[-1] if len(merged) == len(lows) else -np.inf
    lows[: len(merged)] = merged[::-1]
    top = ranks(form, high, a, b)
    found = rows[top >= limit]
    kept[: len(found)], highs[: len(found)] = found, top[top >= limit]
    return len(found), len(merged)


def plan_lists(form, begins, ends, x, logs, energies, a, scale, least_total, most_total, least, limit):
    """Lists first that are short for their energy; how many must be read, and the energy of the query in the others"""
    order = np.argsort((ends - begins) / np.maximum(energies, 1e-300), kind="stable")
    for values in (begins, ends, x, logs, energies):
        values[:] = values[order]
    needed, rest = len(begins), 0.0
    totals = np.geomspace(least_total, most_total, 1001)
    for i in reversed(range(len(begins))):
        more = rest + energies[i]
        s = np.minimum(more, totals) if least else np.sqrt(more * totals)
        if ranks(form, s, a, totals).max() >= limit:
            break
        needed, rest = i, more
    return needed, rest
