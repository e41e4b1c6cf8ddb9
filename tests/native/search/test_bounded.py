"""Bounds that tighten level by level, against all bounds of all pairs; and the instructions that they are made of."""

import numpy as np
import pytest

from mercer._native import lanes
from mercer._native.jit import jit
from mercer._native.search.bounded import keep_candidates
from tests.reference.search import bounded as reference

LEVELS = {"one level": [0], "two levels": [0, 32], "four levels": [0, 32, 64, 128]}
N_QUERIES, N_STRIPS, N_COMPONENTS = 6, 20, 5
N_ROWS = 32 * N_STRIPS


def eighths(rng, shape, low=-8, high=8):
    """Numbers whose sums and products are exact in float32, so that the order of a sum does not matter."""
    return (rng.integers(low, high, shape) / 8).astype(np.float32)


def chunk(rng, ends, first=0, last=N_STRIPS):
    """The arguments of `keep_candidates`: the last rows are padding, and one row is not looked for."""
    offsets = eighths(rng, N_ROWS)
    offsets[[40, *range(N_ROWS - 11, N_ROWS)]] = -np.inf
    return [
        eighths(rng, (N_QUERIES, N_COMPONENTS)),
        eighths(rng, (N_STRIPS, N_COMPONENTS, 32)),
        first,
        last,
        eighths(rng, (N_QUERIES, ends[-1])),
        eighths(rng, N_ROWS * ends[-1]),
        np.array(ends, dtype=np.int64),
        eighths(rng, (len(ends), N_ROWS), low=0),
        eighths(rng, (len(ends), N_QUERIES), low=0),
        offsets,
    ]


def run(function, arguments, thresholds):
    """(pairs, bounds), in the order of pairs: the loop finds them strip by strip."""
    n = N_QUERIES * N_ROWS
    found, bounds = np.full((n, 2), -1, dtype=np.int32), np.full(n, np.nan, dtype=np.float32)
    scratch = np.empty(64, np.float32), np.empty((n, 2), np.int32), np.empty(n, np.float32)
    limits = np.broadcast_to(thresholds, N_QUERIES).astype(np.float32)
    count = function(*arguments, limits, *scratch, found, bounds)
    order = np.lexsort(found[:count].T[::-1])
    return found[:count][order], bounds[:count][order]


@pytest.mark.parametrize("ends", LEVELS.values(), ids=LEVELS)
@pytest.mark.parametrize("part", [(0, N_STRIPS), (1, 18)])
def test_what_every_level_allows_is_kept_with_its_last_bound(rng, ends, part):
    arguments = chunk(rng, ends, *part)
    thresholds = rng.integers(-1, 3, N_QUERIES)
    got, want = (run(function, arguments, thresholds) for function in (keep_candidates, reference.keep_candidates))
    assert 100 < len(want[0]) < N_QUERIES * N_ROWS - 100
    np.testing.assert_array_equal(got[0], want[0])
    np.testing.assert_array_equal(got[1], want[1])


def test_a_bound_that_equals_the_threshold_is_kept_and_one_below_is_not(rng):
    arguments = chunk(rng, [0])
    pairs, bounds = run(keep_candidates, arguments, -1000)
    looked_for = [j for j in range(N_ROWS - 11) if j != 40]  # not the padding, not the row left out
    assert pairs[pairs[:, 0] == 0][:, 1].tolist() == looked_for
    lowest = bounds.min()
    assert lowest in run(keep_candidates, arguments, lowest)[1]
    assert lowest not in run(keep_candidates, arguments, np.nextafter(lowest, np.float32(np.inf)))[1]


def plain_steps(x, strip, tails, offsets, products):
    lanes.multiply_strip(products, x, 2, 7, strip, 64)
    mask = lanes.reaching(products, 32, tails, offsets, 3, np.float32(0.5), np.float32(0.25))
    return lanes.inner_stride(x, 1, strip, 5), mask, lanes.lowest_bit(mask)


def test_the_steps_do_what_the_plain_functions_do(rng):
    x, strip, tails, offsets = (eighths(rng, n) for n in (40, 400, 40, 40))
    offsets[10] = -np.inf
    wanted, got = np.zeros(64, np.float32), np.zeros(64, np.float32)
    expected = plain_steps(x, strip, tails, offsets, wanted)
    assert jit(plain_steps)(x, strip, tails, offsets, got) == expected
    assert 0 < expected[1] < 2**32 - 1
    np.testing.assert_array_equal(got, wanted)
