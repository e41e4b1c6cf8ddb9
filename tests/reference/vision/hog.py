"""Twins of `mercer._native.vision.hog`: directions by dot products, cells by tents, blocks by padding."""

import numpy as np

ANGLES = np.deg2rad(20 * np.arange(18))


def tents(n_pixels, n_cells, cell_size):
    """The share of each pixel in each cell; pixels without two neighbors have none."""
    centres = (np.arange(n_pixels) + 0.5) / cell_size
    shares = np.maximum(0, 1 - np.abs(centres - (np.arange(n_cells)[:, None] + 0.5)))
    shares[:, [0, -1]] = 0
    return shares


def gradients(image, n_channels):
    """(dx, dy) of the channel with the longest gradient, of every pixel; zero at the border."""
    height = image.shape[0]
    image = np.pad(image.reshape(height, -1, n_channels).astype(float), ((1, 1), (1, 1), (0, 0)), mode="edge")
    dx, dy = image[1:-1, 2:] - image[1:-1, :-2], image[2:, 1:-1] - image[:-2, 1:-1]
    strongest = np.argmax(dx**2 + dy**2, axis=2)[..., None]
    return np.take_along_axis(dx, strongest, 2)[..., 0], np.take_along_axis(dy, strongest, 2)[..., 0]


def sum_votes(image, n_channels, cell_size, magnitudes, bins, votes, histograms):
    dx, dy = gradients(image, n_channels)
    dots = dx[..., None] * np.cos(ANGLES) + dy[..., None] * np.sin(ANGLES)
    nearest = dots >= (1 - 1e-12) * dots.max(axis=2, keepdims=True)  # two where the gradient lies midway between them
    shares = nearest / nearest.sum(axis=2, keepdims=True) * np.hypot(dx, dy)[..., None]
    rows = tents(image.shape[0], histograms.shape[0], cell_size)
    columns = tents(image.shape[1] // n_channels, histograms.shape[1], cell_size)
    histograms[:] = np.einsum("ry,cx,yxo->rco", rows, columns, shares, optimize=True)


def unsigned(histograms):
    return histograms[..., :9].astype(float) + histograms[..., 9:]


def blocks(histograms):
    """The 36 unsigned numbers of each block of four cells; the cells at the border stand for those outside."""
    padded = np.pad(unsigned(histograms), ((1, 1), (1, 1), (0, 0)), mode="edge")
    cells = [padded[i : i + padded.shape[0] - 1, j : j + padded.shape[1] - 1] for i in (0, 1) for j in (0, 1)]
    return np.concatenate(cells, axis=2)


def block_factors(histograms, energies, factors):
    factors[:] = 1 / np.sqrt((blocks(histograms) ** 2).sum(axis=2) + 1e-9)


def clipped_factors(histograms, factors, again):
    clipped = np.minimum(blocks(histograms) * factors[..., None], 0.2)
    again[:] = 1 / np.sqrt((clipped**2).sum(axis=2) + 1e-9)


def of_each_cell(factors):
    """Factors of the blocks below right, above right, below left and above left: shape (4, R, C, 1)."""
    return np.stack([factors[1:, 1:], factors[:-1, 1:], factors[1:, :-1], factors[:-1, :-1]])[..., None]


def write_felzenszwalb(histograms, factors, features):
    around = of_each_cell(factors.astype(float))
    signed = np.minimum(histograms * around, 0.2)
    features[..., :18] = 0.5 * signed.sum(axis=0)
    features[..., 18:27] = 0.5 * np.minimum(unsigned(histograms) * around, 0.2).sum(axis=0)
    features[..., 27:31] = 0.2357 * np.moveaxis(signed.sum(axis=3), 0, 2)
    features[..., 31:] = 0


def write_dalal_triggs(histograms, factors, again, features):
    normalized = np.minimum(unsigned(histograms) * of_each_cell(factors), 0.2) * of_each_cell(again)
    features[:] = np.concatenate(normalized, axis=2)
