"""Which rows of a block may be the nearest, by the sums that its lists have given them.

Where a query touches many rows, nobody notes which. All rows are looked at then, and stretches of them passed over by a
comparison in single precision that errs on the safe side: that takes less time than the notes.
"""

import math

import numpy as np

from mercer._native.jit import inline, jit

PLAIN, COSINE, DICE, JACCARD, APART = range(5)
CHUNK = 128  # rows that are passed over together
ROUNDING = 4e-6  # of the comparison in single precision, relative; weights are off by 2e-6 at most
TINIEST = 1e-300  # energies may vanish


@inline
def _reaches(form, s, a, b, inverse, limit):
    """Whether the ranking of a row reaches a limit: see `_rank`"""
    if form == PLAIN:
        return s >= limit
    if form == COSINE:
        return s * inverse >= limit
    if form == DICE:
        return s + s >= limit * (a + b)
    if form == JACCARD:
        return s * (1.0 + limit) >= limit * (a + b)
    return s + s - a - b >= limit


@inline
def _comparison(form, limit, a, scale, most_total, share, extra, margin):
    """(c1, c2, c0): where a row reaches a limit, s weight >= c0 of a cosine, else c1 s - c2 weight >= c0"""
    c1, c2 = 1.0 + share, 0.0
    if form == COSINE:
        c0 = (limit - margin) / (scale * c1)
    elif form == PLAIN:
        c0 = limit - extra
    elif form == DICE:
        c1, c2 = 2.0 * c1, limit
        c0 = limit * a - 2.0 * extra
    elif form == JACCARD:
        c1, c2 = c1 * (1.0 + limit), limit
        c0 = limit * a - (1.0 + limit) * extra
    else:
        c1, c2 = 2.0 * c1, 1.0
        c0 = limit + a - 2.0 * extra
    return np.float32(c1), np.float32(c2), np.float32(c0 - ROUNDING * (abs(c0) + abs(c2) * (a + most_total)))


@inline
def _rank(form, s, a, b, inverse):
    """s; s / sqrt(a b); 2 s / (a + b); s / (a + b - s); -(a + b - 2 s)"""
    if form == PLAIN:
        return s
    if form == COSINE:
        return s * inverse
    if form == DICE:
        return (s + s) / (a + b)
    if form == JACCARD:
        return s / (a + b - s)
    return s + s - a - b


@jit
def keep_nearest(
    form, sums, touched, n, weights, most_total, a, scale, totals, inverses, share, tiny, slack, margin, more, least,
    most, allowed, lows, size, kept, highs,
):  # fmt: skip
    """Rows whose rank may be among the k largest; returns (how many, the new size of the heap)

    form                        int64     how rows are ranked
    sums     (N,)               float32
    touched  (n,)               int32     rows with sums
    weights  (N,) or (0,)       float32   given: all n rows are looked at, and stretches passed over. Of a cosine
                                          1 / sqrt(b), not smaller than it is; else the total b, not larger
    most_total                  float64   the largest total
    a, scale                    float64   total of the query, and 1 / sqrt(a)
    totals   (N,)               float64   of the rows
    inverses (N,)               float64   1 / sqrt(b), 0 of empty rows
    share, tiny, slack          float64   a sum is within share * |s| + tiny + slack (a + b) of what it stands for
    margin                      float64   of the cosine: what all but the first of these and what is missing come to
    more                        float64   and at most sqrt(more * b) is missing from it
    least                       bool      at most min(more, b), that is
    most                        int64     rows beyond which there are too many, and the loop ends
    allowed  (N,) or (0,)       bool      rows that are looked for
    lows     (k,)               float64   heap of the largest lower bounds, the smallest on top; written
    size                        int64     of the heap
    kept     (N,)               int32     written: the rows
    highs    (N,)               float64   written: the upper ends of their ranks
    """
    k, every = lows.shape[0], weights.shape[0] > 0
    missing = 0.0 if more == 0 else min(more, most_total) if least else math.sqrt(more * most_total)
    extra = tiny + slack * (a + most_total) + missing
    count = 0
    for start in range(0, n, CHUNK):
        if count > most:
            break
        stop = min(start + CHUNK, n)
        if every and size == k:
            c1, c2, c0 = _comparison(form, lows[0], a, scale, most_total, share, extra, margin)
            hits = np.int32(0)
            s_part, w_part = sums[start:stop], weights[start:stop]
            if form == COSINE:
                for t in range(s_part.shape[0]):
                    hits += np.int32(s_part[t] * w_part[t] >= c0)
            else:
                for t in range(s_part.shape[0]):
                    hits += np.int32(c1 * s_part[t] - c2 * w_part[t] >= c0)
            if hits == 0:
                continue
        for t in range(start, stop):
            row = t if every else np.int64(touched[t])
            s = np.float64(sums[row])
            # most rows end here, without a look at their totals
            if form == COSINE and size == k and (s + share * abs(s)) * inverses[row] * scale + margin < lows[0]:
                continue
            b, inverse = totals[row], inverses[row] * scale
            error = share * abs(s) + tiny + slack * (a + b)
            high = s + error
            if more > 0:
                high += min(more, b) if least else math.sqrt(more * b)
            if size == k and not _reaches(form, high, a, b, inverse, lows[0]):
                continue
            if allowed.shape[0] > 0 and not allowed[row]:
                continue
            kept[count] = row
            highs[count] = _rank(form, high, a, b, inverse)
            count += 1
            low = _rank(form, s - error, a, b, inverse)
            if size < k or low > lows[0]:
                size = _push_low(lows, size, low)
    return count, size


@jit
def plan_lists(form, begins, ends, x, logs, energies, a, scale, least_total, most_total, least, limit):
    """Put lists first that are short for their energy; returns (how many must be read, the energy in the others)

    A row that is in none of the first lists shares at most the rest of the query with it: with R the energy of that
    rest, s <= sqrt(R b), or min(R, b) of kernels that are `least`. Over all b between two totals a plain sum is largest
    at the largest b, a ratio with sqrt(R b) at the b nearest to a, every other rank at the b nearest to R.

    begins, ends, x, logs  (m,)  see `list_sums`; put in order
    energies  (m,)  float64      k(x, x) of the values of the query; put in order
    a, scale        float64      as in `keep_nearest`
    least_total, most_total  float64   of the rows of the block that are not empty
    limit           float64      the rank that a row must reach
    """
    m = begins.shape[0]
    order = np.argsort((ends - begins) / np.maximum(energies, TINIEST), kind="mergesort")
    _permute(begins, order)
    _permute(ends, order)
    _permute(x, order)
    _permute(logs, order)
    _permute(energies, order)
    rest = 0.0
    needed = m
    for i in range(m - 1, -1, -1):
        more = rest + energies[i]
        at_query = not least and form in (DICE, JACCARD)
        b = most_total if form == PLAIN else min(max(a if at_query else more, least_total), most_total)
        s = (min(more, b) if least else math.sqrt(more * b)) * (1.0 + 1e-9)
        if _reaches(form, s, a, b, scale / math.sqrt(b), limit):
            break
        rest, needed = more, i
    return needed, rest


@jit
def _permute(values, order):
    """values[:] = values[order]"""
    values[:] = values[order]


@jit
def _push_low(lows, size, low):
    """Put a number into a heap of the len(lows) largest, dropping the smallest; returns the new size"""
    k = lows.shape[0]
    if size < k:
        place = size
        size += 1
        while place > 0 and lows[(place - 1) // 2] > low:
            lows[place] = lows[(place - 1) // 2]
            place = (place - 1) // 2
    else:
        place = 0
        while True:
            child = 2 * place + 1
            if child >= k:
                break
            if child + 1 < k and lows[child + 1] < lows[child]:
                child += 1
            if low <= lows[child]:
                break
            lows[place] = lows[child]
            place = child
    lows[place] = low
    return size
