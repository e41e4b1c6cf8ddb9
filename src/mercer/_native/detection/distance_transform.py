"""The best place of a part for every place of its root, in linear time. [felzenszwalb10object] Sec. 3.1

    best[i] = max over q of  f[q] - a (q - x_i)^2 - b (q - x_i)             x_i = first + step i

Multiplied out, every q is a line in x_i of slope 2 a q, and the maximum is their upper envelope. Slopes ascend with q,
so that a stack of lines is enough to build it. Rows first, then columns: costs of the two directions add up.

Deviations from the paper: lines in place of parabolas, and values at every second place only, where roots stand. Where
few displacements cost less than all scores differ by, these are tried one by one, many places at a time: the work is
linear as well, and a fraction of that of the envelope.
"""

__all__ = ["place_part"]

import numpy as np

from mercer._native.jit import inline, jit
from mercer._native.lanes import LANES, raise_eight

NEAR = 32  # displacements along one axis, that are tried one by one


@inline
def _best_along(values, a, b, first, step, lines, cuts, heights, inverses, out, where):
    """out[i] = max(values - a * (q - x_i) ** 2 - b * (q - x_i)), where[i] = its argmax, for x_i = first + step * i"""
    n = values.shape[0]
    top = 0
    lines[0] = 0
    heights[0] = np.float64(values[0])
    for q in range(1, n):
        height = np.float64(values[q]) - (a * q + b) * q
        # the line of q is above that of p from x = (height_p - height_q) / (slope (q - p)) on
        cut = (heights[top] - height) * inverses[q - lines[top]]
        while top > 0 and cut <= cuts[top]:
            top -= 1
            cut = (heights[top] - height) * inverses[q - lines[top]]
        top += 1
        lines[top], cuts[top], heights[top] = q, cut, height
    k = 0
    for i in range(out.shape[0]):
        x = first + step * i
        while k < top and cuts[k + 1] <= x:
            k += 1
        q = lines[k]
        distance = np.float64(q - x)
        out[i] = np.float64(values[q]) - (a * distance + b) * distance
        where[i] = q


@inline
def _invert(a, inverses):
    """inverses[d] = 1 / (2 a d): products take a tenth of the time of divisions"""
    for d in range(1, inverses.shape[0]):
        inverses[d] = 1.0 / (2.0 * a * d)


@jit
def place_part(
    scores, deformation, anchor, lines, cuts, heights, inverses, partial, columns, values, at, best, rows_at, columns_at
):
    """best[r, c] = (scores - dx2 * x ** 2 - dx * x - dy2 * y ** 2 - dy * y).max(), and where that is

    where x, y are the distances of a place from anchor + 2 (r, c).

    scores       (Y, X)    float32   of the part's filter
    deformation  (4,)      float64   dx2, dx, dy2, dy; dx2 and dy2 > 0
    anchor       (2,)      int64     row and column of the part where the root is at (0, 0)
    lines        (max(Y, X),)  int32; scratch
    cuts, heights, inverses  (max(Y, X),)  float64; scratch
    partial      (C, Y)    float32   scratch: best over x, column by column
    columns      (C, Y)    int32     scratch
    values, at   (max(R, C),)  float64 and int32; scratch
    best         (R, C)    float32   written in place
    rows_at, columns_at  (R, C)  int32   place of the part, written in place
    """
    n_rows, n_columns = best.shape
    Y, X = scores.shape
    stays = anchor[0] >= 0 and anchor[1] >= 0
    if stays and anchor[0] + 2 * (n_rows - 1) < Y and anchor[1] + 2 * (n_columns - 1) < X:
        spread = _spread(scores)
        right = _reach(deformation[0], deformation[1], spread)
        down = _reach(deformation[2], deformation[3], spread)
        if max(right[1] - right[0], down[1] - down[0]) < NEAR:
            _place_near(scores, deformation, anchor, right, down, best, rows_at, columns_at)
            return
    _invert(deformation[0], inverses[:X])
    for y in range(Y):
        _best_along(scores[y], deformation[0], deformation[1], anchor[1], 2, lines, cuts, heights,
                    inverses, values[:n_columns], at)  # fmt: skip
        for c in range(n_columns):
            partial[c, y] = values[c]
            columns[c, y] = at[c]
    _invert(deformation[2], inverses[:Y])
    for c in range(n_columns):
        _best_along(partial[c], deformation[2], deformation[3], anchor[0], 2, lines, cuts, heights,
                    inverses, values[:n_rows], at)  # fmt: skip
        for r in range(n_rows):
            best[r, c] = values[r]
            rows_at[r, c] = at[r]
            columns_at[r, c] = columns[c, at[r]]


@jit
def _spread(scores):
    """scores.max() - scores.min(), column by column first: many at a time"""
    low, high = scores[0].copy(), scores[0].copy()
    for y in range(1, scores.shape[0]):
        row = scores[y]
        for x in range(row.shape[0]):
            value, least, most = row[x], low[x], high[x]
            low[x] = value if value < least else least
            high[x] = value if value > most else most
    return np.float64(high.max()) - np.float64(low.min())


@jit
def _reach(a, b, spread):
    """The first and last d with a d^2 + b d <= spread: no other displacement can be better than none.

    What is farther than NEAR, or no number, is NEAR in both directions: too far to try one by one.
    """
    root = np.sqrt(b * b + 4.0 * a * spread)
    first, last = (-b - root) / (2.0 * a), (-b + root) / (2.0 * a)
    if not (first > -NEAR and last < NEAR):
        return np.int64(-NEAR), np.int64(NEAR)
    return np.int64(np.floor(first)), np.int64(np.ceil(last))


@jit
def _place_near(scores, deformation, anchor, right, down, best, rows_at, columns_at):
    """All displacements that may be best, one after the other, for whole rows at once."""
    n_rows, n_columns = best.shape
    Y, X = scores.shape
    line, line_at = np.empty(X + X % 2, dtype=np.float32), np.empty(X, dtype=np.int32)
    halves = np.empty((2, (X + 1) // 2), dtype=np.float32)  # even columns, odd columns
    for r in range(n_rows):
        start = anchor[0] + 2 * r
        line[:] = np.float32(-np.inf)
        line_at[:] = start  # where no score is a number, or all are -inf, the part stays
        for d in range(max(down[0], -start), min(down[1], Y - 1 - start) + 1):
            cost = np.float32((deformation[2] * d + deformation[3]) * d)
            _raise(scores[start + d], cost, np.int32(start + d), line[:X], line_at)
        for x in range(halves.shape[1]):
            halves[0, x], halves[1, x] = line[2 * x], line[2 * x + 1]
        best[r] = np.float32(-np.inf)
        columns_at[r] = 0
        for d in range(right[0], right[1] + 1):
            cost = np.float32((deformation[0] * d + deformation[1]) * d)
            first = anchor[1] + d  # column of the part where that of the root is 0
            low = max(0, (1 - first) // 2)
            high = min(n_columns, (X - first + 1) // 2)
            if low < high:
                own = halves[first % 2, first // 2 + low : first // 2 + high]
                _raise(own, cost, np.int32(d), best[r, low:high], columns_at[r, low:high])
        for c in range(n_columns):
            column = columns_at[r, c] + anchor[1] + 2 * c
            columns_at[r, c], rows_at[r, c] = column, line_at[column]


@inline
def _raise(values, cost, name, best, where):
    """best = np.maximum(best, values - cost); where = name where that is more than before"""
    n = best.shape[0]
    if n >= LANES:
        for i in range(0, n, LANES):
            k = np.uint64(min(i, n - LANES))  # the last eight may have been raised already, and stay
            raise_eight(best, k, where, values, k, cost, name)
    else:
        for i in range(n):
            if values[i] - cost > best[i]:
                best[i], where[i] = values[i] - cost, name
