"""Dense SIFT: smoothing, votes of gradients for eight directions, their sums over bins, and normalised descriptors.

Votes of pixels are whole numbers while they are summed. A sum under a tent is then the second difference of a sum of
sums, whose cost does not depend on the width of the tent, and it is exact, even where the sums of sums exceed 32 bits:
these are known up to a multiple of 2^32, and so are their differences, which are smaller than that. In floats the same
steps would leave rounding errors where the image is flat, and normalising would make descriptors of them.
"""

__all__ = ["bin_flat", "blur", "frame_sums", "sum_cells", "write_sift", "write_votes"]

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial

from mercer._native.jit import inline, jit

DIRECTIONS = 8
BITS = np.int64(2**32 - 1)
CLIP = np.float32(0.2)
HALF, ZERO, ONE, TWO, FOUR, EIGHT = (np.float32(value) for value in (0.5, 0, 1, 2, 4, 8))


def _slope(u):
    """atan(sqrt(u)) / sqrt(u), in units of 45 degrees."""
    return np.arctan(np.sqrt(u)) / np.sqrt(u) * (4 / np.pi)


# Interpolated between 0 and 1, at the nodes of Chebyshev; its error is 2e-7 of 45 degrees.
A0, A1, A2, A3, A4, A5, A6 = (
    np.float32(value) for value in Chebyshev.interpolate(_slope, 6, [0, 1]).convert(kind=Polynomial).coef
)


@jit
def blur(image, kernel, row, out):
    """out = scipy.ndimage.correlate1d, on both axes, by the kernel and its mirror image, with mode="nearest"

    image   (H, W)   float32
    kernel  (K,)     float32   the weight of a pixel, of its neighbours, of theirs and so on
    row     (W + 2 * K - 2,)   float32; scratch, a row with what is beside the image
    out     (H, W)   float32, written in place
    """
    height, width = image.shape
    reach = kernel.shape[0] - 1
    line = row[reach : reach + width]
    for y in range(height):
        middle = image[y]
        for x in range(width):
            line[x] = kernel[0] * middle[x]
        for k in range(1, reach + 1):
            above, below, weight = image[max(y - k, 0)], image[min(y + k, height - 1)], kernel[k]
            for x in range(width):
                line[x] += weight * (above[x] + below[x])
        row[:reach] = line[0]
        row[reach + width :] = line[width - 1]
        target = out[y]
        for x in range(width):
            target[x] = kernel[0] * line[x]
        for k in range(1, reach + 1):
            left, right, weight = row[reach - k :], row[reach + k :], kernel[k]
            for x in range(width):
                target[x] += weight * (left[x] + right[x])


@inline
def _vote(dx, dy):
    """(direction, share of this direction, share of the next) of a gradient; directions are 45 degrees apart."""
    ax, ay = abs(dx), abs(dy)
    large, small = max(ax, ay), min(ax, ay)
    length = np.sqrt(dx * dx + dy * dy)
    t = small / large if large > ZERO else ZERO
    u = t * t
    turn = t * (A0 + u * (A1 + u * (A2 + u * (A3 + u * (A4 + u * (A5 + u * A6))))))
    turn = TWO - turn if ay > ax else turn
    turn = FOUR - turn if dx < ZERO else turn
    turn = EIGHT - turn if dy < ZERO else turn
    direction = np.int32(turn)
    far = length * (turn - np.float32(direction))
    return direction & np.int32(7), length - far, far


@jit
def _vote_row(above, row, below, factor, scale, directions, near, far):
    """Votes of a row of pixels, times the scale; the gradient along y is (below - above) * factor."""
    last = row.shape[0] - 1
    for x in range(1, last):
        direction, a, b = _vote(HALF * (row[x + 1] - row[x - 1]), factor * (below[x] - above[x]))
        directions[x] = direction
        near[x] = scale * a
        far[x] = scale * b
    for x in (0, last):
        dx = row[min(x + 1, last)] - row[max(x - 1, 0)]
        direction, a, b = _vote(dx, factor * (below[x] - above[x]))
        directions[x] = direction
        near[x] = scale * a
        far[x] = scale * b


@jit
def write_votes(image, directions, near, far, votes):
    """votes = lengths of the gradients of an image, shared between the two directions next to them

    The gradient is half the difference of the pixels beside a pixel, at the border that of two pixels. The direction k
    is 45 k degrees, 0 to the right and 90 down. Shares are linear in the angle.

    image       (H, W)     float32
    directions  (W,)       int32; scratch
    near, far   (W,)       float32; scratch
    votes       (H, W, 8)  float32, written in place
    """
    last = image.shape[0] - 1
    votes[:] = ZERO
    for y in range(last + 1):
        factor = HALF if 0 < y < last else ONE
        _vote_row(image[max(y - 1, 0)], image[y], image[min(y + 1, last)], factor, ONE, directions, near, far)
        for x in range(image.shape[1]):
            votes[y, x, directions[x]] = near[x]
            votes[y, x, (directions[x] + 1) & 7] = far[x]


@jit
def bin_flat(image, size, spacing, start, scale, shift, factor, scratch, ring, sums, line, grid):
    """grid = factor * np.einsum("ry,cx,yxo->rco", tents of rows, tents of columns, votes)

    for the votes of `write_votes`. The tent of row r is max(0, size - |y - start - r * spacing|), and the same for
    columns; pixels beside the image have the votes of those at the border. Votes are rounded to multiples of
    1 / scale, sums over rows to 2^shift times this, so that no sum reaches 2^31.

    image    (H, W)               float32
    scratch  (3, W)               float32; for the votes of a row
    ring     (2 size + 1, 8 W)    uint32; for sums of sums of rows
    sums     (8 W,)               uint32; for sums of rows
    line     (8 (2 size + (C - 1) spacing + 1),)  uint32; a row of sums, with what is beside the image
    grid     (R, C, 8)            float32, written in place
    """
    height = image.shape[0]
    near, far, directions = scratch[0], scratch[1], scratch[2].view(np.int32)
    ring[:] = 0
    sums[:] = 0
    n_rows, period = grid.shape[0], ring.shape[0]
    done = -1  # the row of pixels whose votes are in the scratch
    for n in range(2, 2 * size + (n_rows - 1) * spacing + 1):
        y = min(max(n + start - size - 1, 0), height - 1)
        if y != done:
            done = y
            steep = HALF if 0 < y < height - 1 else ONE
            above, below = image[max(y - 1, 0)], image[min(y + 1, height - 1)]
            _vote_row(above, image[y], below, steep, scale, directions, near, far)
        _add_votes(directions, near, far, sums)
        _add_rows(ring[(n - 1) % period], sums, ring[n % period])
        r = (n - 2 * size) // spacing
        if r >= 0 and n == 2 * size + r * spacing:
            _fold_rows(ring[n % period], ring[(n - size) % period], ring[(n + 1) % period], shift, size, start, line)
            _fold_columns(line, size, spacing, factor, grid[r])


@inline
def _sum(a, b):
    """a + b, cut to 32 bits; the compiler takes 32 bits throughout."""
    return (np.int64(a) + np.int64(b)) & BITS


@inline
def _second_difference(new, middle, old):
    """new - 2 middle + old of numbers that were cut; what it stands for is from 0 to 2^31 - 1."""
    return (np.int64(new) - np.int64(2) * np.int64(middle) + np.int64(old)) & BITS


@jit
def _add_votes(directions, near, far, sums):
    for x in range(directions.shape[0]):
        k = np.uint64(8 * x)  # unsigned, so that no index is taken to count from the end
        a, b = k + np.uint64(directions[x]), k + np.uint64((directions[x] + 1) & 7)
        sums[a] = _sum(sums[a], np.int32(near[x] + HALF))
        sums[b] = _sum(sums[b], np.int32(far[x] + HALF))


@jit
def _add_rows(before, sums, now):
    for j in range(sums.shape[0]):
        now[j] = _sum(before[j], sums[j])


@jit
def _fold_rows(new, middle, old, shift, size, start, line):
    """The second difference, rounded to 2^shift; then the same pixels as the line needs, from two zeros on."""
    half = np.int64(1) << np.int64(shift) >> np.int64(1)
    first = max(start - size + 1, 0)  # the first and the last column of the image that the line needs
    last = min(start - size - 2 + line.shape[0] // 8, new.shape[0] // 8 - 1)
    inside = line[8 * (first - start + size + 1) :]
    for j in range(8 * (last - first + 1)):
        k = 8 * first + j
        inside[j] = (_second_difference(new[k], middle[k], old[k]) + half) >> shift
    line[:16] = 0
    begin, end = 8 * (first - start + size + 1), 8 * (last - start + size + 2)
    for j in range(begin - 8, 8, -8):
        line[j : j + 8] = line[begin : begin + 8]
    for j in range(end, line.shape[0], 8):
        line[j : j + 8] = line[end - 8 : end]


@jit
def _fold_columns(line, size, spacing, factor, cells):
    for _ in range(2):
        for j in range(8, line.shape[0]):
            line[j] = _sum(line[j], line[j - 8])
    for c in range(cells.shape[0]):
        old = 8 * c * spacing
        middle, new = old + 8 * size, old + 16 * size
        for o in range(DIRECTIONS):
            total = _second_difference(line[new + o], line[middle + o], line[old + o])
            cells[c, o] = factor * np.float32(np.int32(total))


@jit
def sum_cells(grid, masses, energies):
    """masses, energies = grid.sum(axis=2), (grid ** 2).sum(axis=2)

    grid             (R, C, 8)  float32
    masses, energies (R, C)     float32, written in place
    """
    for r in range(grid.shape[0]):
        for c in range(grid.shape[1]):
            cell = grid[r, c]
            mass = ((cell[0] + cell[1]) + (cell[2] + cell[3])) + ((cell[4] + cell[5]) + (cell[6] + cell[7]))
            energy = ((cell[0] * cell[0] + cell[1] * cell[1]) + (cell[2] * cell[2] + cell[3] * cell[3])) + (
                (cell[4] * cell[4] + cell[5] * cell[5]) + (cell[6] * cell[6] + cell[7] * cell[7])
            )
            masses[r, c], energies[r, c] = mass, energy


@jit
def frame_sums(cells, weights, step, size, sums):
    """sums[y, x] = (np.outer(weights, weights) * cells[y * step :: size, x * step :: size][:4, :4]).sum()

    cells    (R, C)      float32
    weights  (4,)        float32
    sums     (n_y, n_x)  float32, written in place
    """
    for y in range(sums.shape[0]):
        target = sums[y]
        target[:] = ZERO
        for i in range(4):
            row = cells[y * step + i * size]
            for j in range(4):
                weight = weights[i] * weights[j]
                for x in range(target.shape[0]):
                    target[x] += weight * row[x * step + j * size]


@jit
def write_sift(grid, weights, step, size, energies, frames, values):
    """values = v / |v| of v = np.minimum(u / |u|, 0.2), u = weighted cells of a frame, row after row

    A frame at (y, x) has the cells grid[y * step + i * size, x * step + j * size], weighted by weights[i] * weights[j].

    grid      (R, C, 8)   float32
    weights   (4,)        float32
    energies  (n_y, n_x)  float32   |u|^2
    frames    (n,)        int64     y * n_x + x of the frames that are written
    values    (n, 128)    float32, written in place; zeros where |u| is 0
    """
    n_x = energies.shape[1]
    tiny = np.float32(1e-37)
    for n in range(frames.shape[0]):
        y, x = frames[n] // n_x, frames[n] % n_x
        out = values[n]
        factor = ONE / np.sqrt(max(energies[y, x], tiny))
        e0 = e1 = e2 = e3 = e4 = e5 = e6 = e7 = ZERO
        for i in range(4):
            row = grid[y * step + i * size]
            for j in range(4):
                cell = row[x * step + j * size]
                weight = factor * (weights[i] * weights[j])
                k = 8 * (4 * i + j)
                v0, v1 = min(weight * cell[0], CLIP), min(weight * cell[1], CLIP)
                v2, v3 = min(weight * cell[2], CLIP), min(weight * cell[3], CLIP)
                v4, v5 = min(weight * cell[4], CLIP), min(weight * cell[5], CLIP)
                v6, v7 = min(weight * cell[6], CLIP), min(weight * cell[7], CLIP)
                out[k], out[k + 1], out[k + 2], out[k + 3] = v0, v1, v2, v3
                out[k + 4], out[k + 5], out[k + 6], out[k + 7] = v4, v5, v6, v7
                e0, e1, e2, e3 = e0 + v0 * v0, e1 + v1 * v1, e2 + v2 * v2, e3 + v3 * v3
                e4, e5, e6, e7 = e4 + v4 * v4, e5 + v5 * v5, e6 + v6 * v6, e7 + v7 * v7
        again = ONE / np.sqrt(max(((e0 + e1) + (e2 + e3)) + ((e4 + e5) + (e6 + e7)), tiny))
        for k in range(128):
            out[k] *= again
