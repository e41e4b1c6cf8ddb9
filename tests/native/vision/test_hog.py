"""Histograms of gradients against dot products, tents and padding; normalisation against its formulas."""

import numpy as np
import pytest

from mercer._native.vision import hog as native
from tests.reference.vision import hog as reference

CASES = {
    "whole cells": ((24, 40), 8),
    "pixels left over, an odd cell": ((23, 31), 5),
    "less than half a cell left over": ((19, 26), 8),
    "one cell": ((9, 10), 8),
    "cells of one pixel": ((6, 7), 1),
    "no pixel with neighbours": ((2, 5), 2),
}


def picture(rng, shape, dtype):
    """Few levels, so that gradients straight up, equal in two channels and of length zero all occur."""
    return rng.integers(0, 7, shape).astype(dtype) * (np.uint8(30) if dtype == np.uint8 else dtype(0.37))


def histograms_of(function, image, n_channels, cell_size):
    height, width = image.shape[0], image.shape[1] // n_channels
    rows, columns = height // cell_size, width // cell_size
    real = np.float32 if image.dtype == np.uint8 else np.float64
    found = np.full((rows, columns, 18), np.nan, dtype=np.float32)
    scratch = np.empty(width, real), np.empty(width, np.int32), np.full((2, columns + 2, 20), np.nan)
    function(image, n_channels, cell_size, *scratch, found)
    return found


@pytest.mark.parametrize(("shape", "cell_size"), CASES.values(), ids=CASES)
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("n_channels", [1, 3])
def test_votes_are_the_sum_over_tents_of_the_longest_gradient(rng, shape, cell_size, dtype, n_channels):
    image = picture(rng, (shape[0], shape[1] * n_channels), dtype)
    if n_channels == 3:
        image += rng.integers(0, 2, image.shape).astype(dtype)
    got, want = (histograms_of(module.sum_votes, image, n_channels, cell_size) for module in (native, reference))
    # magnitudes and results are rounded to float32, all terms are positive: two roundings, and one of the twin
    np.testing.assert_allclose(got, want, rtol=2e-7, atol=1e-30)


def cells(rng, rows=5, columns=7):
    """Histograms with an empty corner, faint cells, and strong ones that are clipped."""
    histograms = (rng.exponential(size=(rows, columns, 18)) ** 3).astype(np.float32)
    histograms[:2, :3] = 0
    histograms[3, 4:] *= np.float32(1e-5)
    return histograms


def factors_of(module, histograms):
    shape = histograms.shape[0] + 1, histograms.shape[1] + 1
    factors, again = np.full(shape, np.nan, np.float32), np.full(shape, np.nan, np.float32)
    module.block_factors(histograms, np.empty(histograms.shape[:2]), factors)
    module.clipped_factors(histograms, factors, again)
    return factors, again


def test_factors_of_blocks_are_those_of_padded_cells(rng):
    histograms = cells(rng)
    for got, want in zip(factors_of(native, histograms), factors_of(reference, histograms), strict=True):
        # opposite directions are added in float32; its relative error of 6e-8 goes through squares and a root
        np.testing.assert_allclose(got, want, rtol=3e-7)


@pytest.mark.parametrize("shape", [(5, 7), (1, 1), (1, 4)])
def test_features_are_clipped_quotients(rng, shape):
    histograms = cells(rng, *shape) if shape == (5, 7) else rng.exponential(size=(*shape, 18)).astype(np.float32)
    factors, again = factors_of(reference, histograms)
    for name, width, more in [
        ("write_felzenszwalb", 31, ()),
        ("write_felzenszwalb", 32, ()),
        ("write_dalal_triggs", 36, (again,)),
    ]:
        got, want = np.full((2, *shape, width), np.nan, dtype=np.float32)
        getattr(native, name)(histograms, factors, *more, got)
        getattr(reference, name)(histograms, factors, *more, want)
        # sums of 18 numbers in float32, all positive: 18 eps
        np.testing.assert_allclose(got, want, rtol=2e-6, atol=1e-30)
