"""Bounds that tighten level by level, against all bounds of all pairs."""

import numpy as np
import pytest

from mercer._native.bounded import keep_candidates, partial_product
from tests.reference import bounded as reference

LEVELS = {"one level": [0], "two levels": [0, 5], "four levels": [0, 3, 11, 27]}


def eighths(rng, shape, low=-8, high=8):
    """Numbers whose sums and products are exact in float32, so that the order of a sum does not matter."""
    return (rng.integers(low, high, shape) / 8).astype(np.float32)


def block(rng, ends, n_queries=5, n_rows=21, padded=24):
    """The arguments of `keep_candidates`: the last rows are padding, and one row is not looked for."""
    offsets = np.full(padded, -np.inf, dtype=np.float32)
    offsets[:n_rows] = eighths(rng, n_rows)
    offsets[2] = -np.inf
    return [
        eighths(rng, (n_queries, padded)),
        eighths(rng, (n_queries, ends[-1])),
        eighths(rng, (n_rows, ends[-1])),
        np.array(ends, dtype=np.int64),
        eighths(rng, (len(ends), padded), low=0),
        eighths(rng, (len(ends), n_queries), low=0),
        offsets,
    ]


def run(function, arguments, thresholds):
    n = arguments[0].size
    found, bounds = np.full((n, 2), -1, dtype=np.int32), np.full(n, np.nan, dtype=np.float32)
    marks = np.empty(arguments[0].shape[1], dtype=np.uint8)
    count = function(*arguments, np.asarray(thresholds, dtype=np.float32), marks, found, bounds)
    return found[:count], bounds[:count]


@pytest.mark.parametrize("ends", LEVELS.values(), ids=LEVELS)
def test_what_every_level_allows_is_kept_with_its_last_bound(rng, ends):
    arguments = block(rng, ends)
    thresholds = rng.integers(-1, 2, 5)
    got, want = (run(function, arguments, thresholds) for function in (keep_candidates, reference.keep_candidates))
    assert 0 < len(want[0]) < arguments[0].size
    np.testing.assert_array_equal(got[0], want[0])
    np.testing.assert_array_equal(got[1], want[1])


def test_a_bound_that_equals_the_threshold_is_kept_and_one_below_is_not(rng):
    arguments = block(rng, [0], n_queries=1)
    everything = run(keep_candidates, arguments, [-1000])
    assert everything[0][:, 1].tolist() == [j for j in range(21) if j != 2]  # not the padding, not the row left out
    lowest = everything[1].min()
    assert lowest in run(keep_candidates, arguments, [lowest])[1]
    assert lowest not in run(keep_candidates, arguments, [np.nextafter(lowest, np.float32(np.inf))])[1]


@pytest.mark.parametrize(("first", "last"), [(0, 0), (0, 7), (3, 11), (2, 37)])
def test_a_partial_product_is_that_of_the_columns(rng, first, last):
    A, B = eighths(rng, (2, 40)), eighths(rng, (3, 40))
    assert partial_product(A, 1, B, 2, first, last) == reference.partial_product(A, 1, B, 2, first, last)
