"""The best place of a part for every place of its root, in linear time. [felzenszwalb10object] Sec. 3.1

    best[i] = max over q of  f[q] - a (q - x_i)^2 - b (q - x_i)             x_i = first + step i

Multiplied out, every q is a line in x_i of slope 2 a q, and the maximum is their upper envelope. Slopes ascend with q,
so that a stack of lines is enough to build it. Rows first, then columns: costs of the two directions add up.

Deviation from the paper: lines in place of parabolas, and values at every second place only, where roots stand.
"""

__all__ = ["place_part"]

import numpy as np

from mercer._native._jit import inline, jit


@inline
def _best_along(values, a, b, first, step, lines, cuts, heights, out, where):
    """out[i] = max(values - a * (q - x_i) ** 2 - b * (q - x_i)), where[i] = its argmax, for x_i = first + step * i"""
    n = values.shape[0]
    slope = 2.0 * a
    top = 0
    lines[0] = 0
    heights[0] = np.float64(values[0])
    for q in range(1, n):
        height = np.float64(values[q]) - (a * q + b) * q
        # the line of q is above that of p from x = (height_p - height_q) / (slope (q - p)) on
        cut = (heights[top] - height) / (slope * (q - lines[top]))
        while top > 0 and cut <= cuts[top]:
            top -= 1
            cut = (heights[top] - height) / (slope * (q - lines[top]))
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


@jit
def place_part(
    scores, deformation, anchor, lines, cuts, heights, partial, columns, values, at, best, rows_at, columns_at
):
    """best[r, c] = (scores - dx2 * x ** 2 - dx * x - dy2 * y ** 2 - dy * y).max(), and where that is

    where x, y are the distances of a place from anchor + 2 (r, c).

    scores       (Y, X)    float32   of the part's filter
    deformation  (4,)      float64   dx2, dx, dy2, dy; dx2 and dy2 > 0
    anchor       (2,)      int64     row and column of the part where the root is at (0, 0)
    lines        (max(Y, X),)  int32; scratch
    cuts, heights  (max(Y, X),)  float64; scratch
    partial      (C, Y)    float32   scratch: best over x, column by column
    columns      (C, Y)    int32     scratch
    values, at   (max(R, C),)  float64 and int32; scratch
    best         (R, C)    float32   written in place
    rows_at, columns_at  (R, C)  int32   place of the part, written in place
    """
    n_rows, n_columns = best.shape
    for y in range(scores.shape[0]):
        _best_along(scores[y], deformation[0], deformation[1], anchor[1], 2, lines, cuts, heights,
                    values[:n_columns], at)  # fmt: skip
        for c in range(n_columns):
            partial[c, y] = values[c]
            columns[c, y] = at[c]
    for c in range(n_columns):
        _best_along(partial[c], deformation[2], deformation[3], anchor[0], 2, lines, cuts, heights,
                    values[:n_rows], at)  # fmt: skip
        for r in range(n_rows):
            best[r, c] = values[r]
            rows_at[r, c] = at[r]
            columns_at[r, c] = columns[c, at[r]]
