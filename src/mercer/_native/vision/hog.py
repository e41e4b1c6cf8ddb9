"""Histograms of oriented gradients: votes of pixels for cells, and their normalisation by blocks of four cells.

Notation ([felzenszwalb10object] 6.1)
    paper    code          meaning                                                                     shape
    r        magnitudes    lengths of the gradients of pixels
    B1       bins          their directions: 0, 20, ..., 340 degrees, y pointing down
    C        histograms    votes of the pixels around a cell, for each direction                       (R, C, 18)
    N        1 / factors   norm of a block; block (i, j) has the cell (i, j) at its lower right        (R + 1, C + 1)
    alpha    CLIP          what normalised votes are cut off at

A mirrored image has the same bits in mirrored cells and directions, as long as the sums of votes are exact: gradients
are binned by their absolute values, votes are summed in float64 with whole weights, and what a mirror exchanges is
added in pairs. Sums are exact for bytes and cells of up to 24 pixels: magnitudes are below 2^9 and, as float32,
multiples of 2^-23, and the weights of a cell sum to 4 cell_size^4.
"""

__all__ = ["block_factors", "clipped_factors", "sum_votes", "write_dalal_triggs", "write_felzenszwalb"]

import numpy as np

from mercer._native.jit import inline, jit

SIGNED, UNSIGNED = 18, 9
# A gradient that points straight up or down lies midway between two directions: it has bins of its own while votes
# are summed, and is shared out at the end.
DOWN, UP = 18, 19
BINS = 20
TAN_10, TAN_30, TAN_50, TAN_70 = (float(np.tan(np.deg2rad(degrees))) for degrees in (10, 30, 50, 70))
CLIP = np.float32(0.2)
TEXTURE = np.float32(0.2357)  # 1 / sqrt(18), [felzenszwalb10object] as published in the authors' code
EPSILON = 1e-9  # that of the same code, 1e-4 for values up to 255, for values up to 1; keeps flat blocks at zero
HALF = np.float32(0.5)


@inline
def _bin(dx, dy, real):
    """The nearest of 18 directions 20 degrees apart; DOWN or UP where dx is 0."""
    ax, ay = abs(dx), abs(dy)
    steps = (
        np.int32(ay > real(TAN_10) * ax)
        + np.int32(ay > real(TAN_30) * ax)
        + np.int32(ay > real(TAN_50) * ax)
        + np.int32(ay > real(TAN_70) * ax)
    )
    upwards = dy < 0
    rightwards = np.int32(SIGNED) - steps if upwards and steps > 0 else steps
    leftwards = np.int32(UNSIGNED) + steps if upwards else np.int32(UNSIGNED) - steps
    vertical = np.int32(UP) if upwards else np.int32(DOWN)
    return rightwards if dx > 0 else (leftwards if dx < 0 else vertical)


@jit
def _bin_grey(above, row, below, stop, magnitudes, bins):
    real = magnitudes.dtype.type
    for x in range(1, stop):
        dx, dy = real(row[x + 1]) - real(row[x - 1]), real(below[x]) - real(above[x])
        magnitudes[x] = np.sqrt(dx * dx + dy * dy)
        bins[x] = _bin(dx, dy, real)


@jit
def _bin_colour(above, row, below, stop, magnitudes, bins):
    # three channels written out, with a stride that the compiler knows: it then takes eight pixels at a time
    real = magnitudes.dtype.type
    for x in range(1, stop):
        i = 3 * x
        dx, dy = real(row[i + 3]) - real(row[i - 3]), real(below[i]) - real(above[i])
        dx1, dy1 = real(row[i + 4]) - real(row[i - 2]), real(below[i + 1]) - real(above[i + 1])
        dx2, dy2 = real(row[i + 5]) - real(row[i - 1]), real(below[i + 2]) - real(above[i + 2])
        square, square1, square2 = dx * dx + dy * dy, dx1 * dx1 + dy1 * dy1, dx2 * dx2 + dy2 * dy2
        if square1 > square:
            dx, dy, square = dx1, dy1, square1
        if square2 > square:
            dx, dy, square = dx2, dy2, square2
        magnitudes[x] = np.sqrt(square)
        bins[x] = _bin(dx, dy, real)


@jit
def sum_votes(image, n_channels, cell_size, magnitudes, bins, votes, histograms):
    """histograms = np.einsum("ry,cx,yxo->rco", tents of rows, tents of columns, lengths of gradients by direction)

    where a tent is max(0, 1 - |(y + 1/2) / cell_size - (r + 1/2)|). Pixels of the outermost rows and columns have no
    gradient.

    image       (H, W * n_channels)  uint8, float32 or float64; n_channels is 1 or 3, the strongest gradient counts
    magnitudes  (W,)                 float32 for bytes, float64 for floats; scratch, its type is that of gradients
    bins        (W,)                 int32; scratch
    votes       (2, C + 2, 20)       float64; scratch for the two rows of cells that a row of pixels lies between
    histograms  (R, C, 18)           float32, written in place
    """
    n_rows, n_columns = histograms.shape[:2]
    width = 2 * cell_size
    # pixels beyond these are more than half a cell away from the last cell
    x_stop = min(image.shape[1] // n_channels - 1, n_columns * cell_size + cell_size // 2)
    y_stop = min(image.shape[0] - 1, n_rows * cell_size + cell_size // 2)
    votes[:] = 0.0
    flat = votes.reshape(2, (n_columns + 2) * BINS)
    finished = 0  # rows of cells, counted with one above the image
    for y in range(1, y_stop):
        if n_channels == 3:
            _bin_colour(image[y - 1], image[y], image[y + 1], x_stop, magnitudes, bins)
        else:
            _bin_grey(image[y - 1], image[y], image[y + 1], x_stop, magnitudes, bins)
        # weights are whole numbers, 2 cell_size times those of the formula: sums of few enough bits are exact
        place = 2 * y + 1 + cell_size
        r = place // width
        lower = place - r * width
        upper = width - lower
        while finished < r:
            _finish_row(votes[finished % 2], finished - 1, width, histograms)
            finished += 1
        above, below = flat[r % 2], flat[(r + 1) % 2]
        for c in range(n_columns + 1):
            first = c * cell_size - (cell_size + 1) // 2
            for x in range(max(first, 1), min(first + cell_size, x_stop)):
                right = 2 * x + 1 + cell_size - c * width
                magnitude = np.float64(np.float32(magnitudes[x]))
                vote_left, vote_right = magnitude * (width - right), magnitude * right
                k = np.uint64(c * BINS + bins[x])  # unsigned, so that no index is taken to count from the end
                above[k] += upper * vote_left
                below[k] += lower * vote_left
                above[k + np.uint64(BINS)] += upper * vote_right
                below[k + np.uint64(BINS)] += lower * vote_right
    while finished <= n_rows:
        _finish_row(votes[finished % 2], finished - 1, width, histograms)
        finished += 1


@jit
def _finish_row(votes, r, width, histograms):
    """histograms[r] = votes / width^2, what points down or up shared by halves; then votes = 0. Row -1 is outside."""
    if r >= 0:
        scale = 1.0 / (width * width)
        for c in range(histograms.shape[1]):
            cell = votes[c + 1]
            for o in range(4, 6):
                cell[o] += 0.5 * cell[DOWN]
                cell[o + UNSIGNED] += 0.5 * cell[UP]
            for o in range(SIGNED):
                histograms[r, c, o] = np.float32(scale * cell[o])
    votes[:] = 0.0


@inline
def _unsigned(histograms, r, c, o):
    return histograms[r, c, o] + histograms[r, c, o + UNSIGNED]


@inline
def _square(value):
    # of a float32, so that it has no rounding error and it does not matter what is fused
    return np.float64(value) * np.float64(value)


@inline
def _block(energies, i, j):
    """The sum over the four cells of block (i, j); cells outside are those at the border."""
    top, bottom = max(i - 1, 0), min(i, energies.shape[0] - 1)
    left, right = max(j - 1, 0), min(j, energies.shape[1] - 1)
    return (energies[top, left] + energies[top, right]) + (energies[bottom, left] + energies[bottom, right])


@jit
def block_factors(histograms, energies, factors):
    """factors = 1 / np.sqrt(sum of the energies of the four cells of each block + 1e-9)

    with energies = (unsigned histograms ** 2).sum(axis=2); a cell that a block has outside is the one at the border.

    histograms  (R, C, 18)      float32
    energies    (R, C)          float64; scratch
    factors     (R + 1, C + 1)  float32, written in place
    """
    for r in range(energies.shape[0]):
        for c in range(energies.shape[1]):
            energy = _square(_unsigned(histograms, r, c, 0))
            for o in range(1, 5):
                energy += _square(_unsigned(histograms, r, c, o)) + _square(_unsigned(histograms, r, c, UNSIGNED - o))
            energies[r, c] = energy
    for i in range(factors.shape[0]):
        for j in range(factors.shape[1]):
            factors[i, j] = np.float32(1.0 / np.sqrt(_block(energies, i, j) + EPSILON))


@jit
def clipped_factors(histograms, factors, again):
    """again = 1 / np.sqrt((np.minimum(unsigned block * factors, 0.2) ** 2).sum() + 1e-9) for each block

    histograms  (R, C, 18)      float32
    factors     (R + 1, C + 1)  float32   those of `block_factors`
    again       (R + 1, C + 1)  float32, written in place
    """
    n_rows, n_columns = histograms.shape[:2]
    for i in range(factors.shape[0]):
        top, bottom = max(i - 1, 0), min(i, n_rows - 1)
        for j in range(factors.shape[1]):
            left, right = max(j - 1, 0), min(j, n_columns - 1)
            factor = factors[i, j]
            upper = _clipped(histograms, top, left, factor) + _clipped(histograms, top, right, factor)
            lower = _clipped(histograms, bottom, left, factor) + _clipped(histograms, bottom, right, factor)
            again[i, j] = np.float32(1.0 / np.sqrt((upper + lower) + EPSILON))


@inline
def _clipped(histograms, r, c, factor):
    """The energy of a cell after clipping."""
    energy = _square(min(_unsigned(histograms, r, c, 0) * factor, CLIP))
    for o in range(1, 5):
        energy += _square(min(_unsigned(histograms, r, c, o) * factor, CLIP)) + _square(
            min(_unsigned(histograms, r, c, UNSIGNED - o) * factor, CLIP)
        )
    return energy


@jit
def write_felzenszwalb(histograms, factors, features):
    """features = [0.5 * signed.sum(blocks), 0.5 * unsigned.sum(blocks), 0.2357 * signed.sum(directions), 0]

    where signed and unsigned are np.minimum(histograms * factor, 0.2) for the blocks below right, above right, below
    left and above left of a cell, in this order. The zero is there if the features have 32 channels.

    histograms  (R, C, 18)      float32
    factors     (R + 1, C + 1)  float32
    features    (R, C, 31 or 32)   float32, written in place
    """
    for r in range(histograms.shape[0]):
        for c in range(histograms.shape[1]):
            cell, out = histograms[r, c], features[r, c]
            for o in range(SIGNED):
                out[o] = _over_blocks(cell[o], factors, r, c)
            for o in range(UNSIGNED):
                out[SIGNED + o] = _over_blocks(cell[o] + cell[UNSIGNED + o], factors, r, c)
            out[27] = TEXTURE * _over_directions(cell, factors[r + 1, c + 1])
            out[28] = TEXTURE * _over_directions(cell, factors[r, c + 1])
            out[29] = TEXTURE * _over_directions(cell, factors[r + 1, c])
            out[30] = TEXTURE * _over_directions(cell, factors[r, c])
            if features.shape[2] == 32:
                out[31] = np.float32(0)


@inline
def _over_blocks(value, factors, r, c):
    below = min(value * factors[r + 1, c + 1], CLIP) + min(value * factors[r + 1, c], CLIP)
    above = min(value * factors[r, c + 1], CLIP) + min(value * factors[r, c], CLIP)
    return HALF * (below + above)


@inline
def _over_directions(cell, factor):
    # a mirror exchanges directions o and 9 - o
    total = min(cell[0] * factor, CLIP) + min(cell[9] * factor, CLIP)
    for o in range(1, 5):
        total += min(cell[o] * factor, CLIP) + min(cell[9 - o] * factor, CLIP)
    for o in range(10, 14):
        total += min(cell[o] * factor, CLIP) + min(cell[27 - o] * factor, CLIP)
    return total


@jit
def write_dalal_triggs(histograms, factors, again, features):
    """features[:, :, 9 b + o] = np.minimum(unsigned[:, :, o] * factor, 0.2) * again, for the block b of a cell

    in the order below right, above right, below left, above left.

    histograms  (R, C, 18)      float32
    factors     (R + 1, C + 1)  float32
    again       (R + 1, C + 1)  float32
    features    (R, C, 36)      float32, written in place
    """
    for r in range(histograms.shape[0]):
        for c in range(histograms.shape[1]):
            for b in range(4):
                i, j = r + 1 - b % 2, c + 1 - b // 2
                for o in range(UNSIGNED):
                    clipped = min(_unsigned(histograms, r, c, o) * factors[i, j], CLIP)
                    features[r, c, UNSIGNED * b + o] = clipped * again[i, j]
