"""Twin of `mercer._native.detection.distance_transform`: every place of the part for every place of the root."""

import numpy as np


def place_part(
    scores, deformation, anchor, lines, cuts, heights, inverses, partial, columns, values, at, best, rows_at, columns_at
):
    dx2, dx, dy2, dy = deformation
    y, x = np.indices(scores.shape).astype(np.float64)
    for r, c in np.ndindex(best.shape):
        down, right = y - (anchor[0] + 2 * r), x - (anchor[1] + 2 * c)
        found = scores - dx2 * right**2 - dx * right - dy2 * down**2 - dy * down
        place = np.unravel_index(np.argmax(found), found.shape)
        best[r, c], rows_at[r, c], columns_at[r, c] = found[place], *place
