"""Twins of `mercer._native.vision.sift`: filters of scipy, angles by arctan2, tents as matrices, frames one by one."""

import numpy as np
from scipy import ndimage


def blur(image, kernel, row, out):
    both_sides = np.concatenate([kernel[:0:-1], kernel]).astype(float)
    smooth = image.astype(float)
    for axis in (0, 1):
        smooth = ndimage.correlate1d(smooth, both_sides, axis=axis, mode="nearest")
    out[:] = smooth


def slopes(image, axis):
    """Half the difference of the neighbors along an axis; at the border that of two pixels."""
    return np.gradient(image.astype(float), axis=axis) if image.shape[axis] > 1 else np.zeros(image.shape)


def write_votes(image, directions, near, far, votes):
    dx, dy = slopes(image, 1), slopes(image, 0)
    turn = np.arctan2(dy, dx) / (np.pi / 4) % 8
    for k in range(8):
        away = np.abs((turn - k + 4) % 8 - 4)  # from direction k, the short way round
        votes[..., k] = np.maximum(0, 1 - away) * np.hypot(dx, dy)


def tents(n_pixels, n_places, size, spacing, start):
    """Weights of pixels (columns) at places (rows); what lies beside the image is counted at its border."""
    offsets = np.arange(1 - size, size)
    weights = np.zeros((n_places, n_pixels))
    for r in range(n_places):
        pixels = np.clip(start + r * spacing + offsets, 0, n_pixels - 1)
        np.add.at(weights[r], pixels, size - np.abs(offsets))
    return weights


def bin_flat(image, size, spacing, start, scale, shift, factor, scratch, ring, sums, line, grid):
    votes = np.empty((*image.shape, 8))
    write_votes(image, None, None, None, votes)
    rows = tents(image.shape[0], grid.shape[0], size, spacing, start)
    columns = tents(image.shape[1], grid.shape[1], size, spacing, start)
    grid[:] = factor * np.einsum("ry,cx,yxo->rco", rows, columns, votes, optimize=True)


def sum_cells(grid, masses, energies):
    masses[:] = grid.sum(axis=2, dtype=float)
    energies[:] = (grid.astype(float) ** 2).sum(axis=2)


def frame_sums(cells, weights, step, size, sums):
    for y in range(sums.shape[0]):
        for x in range(sums.shape[1]):
            part = cells[y * step :: size, x * step :: size][:4, :4].astype(float)
            sums[y, x] = (np.outer(weights, weights) * part).sum()


def unit(values):
    norm = np.linalg.norm(values)
    return values / norm if norm > 0 else values


def write_sift(grid, weights, step, size, energies, frames, values):
    for n, frame in enumerate(frames):
        y, x = divmod(int(frame), energies.shape[1])
        cells = grid[y * step :: size, x * step :: size][:4, :4].astype(float)
        values[n] = unit(np.minimum(unit(cells * np.outer(weights, weights)[..., None]), 0.2)).ravel()
