"""Bounds that tighten level by level, against all bounds of all pairs; and the instructions that they are made of."""

import numpy as np
import pytest

from mercer._native import byte_lanes, lanes
from mercer._native.jit import jit
from mercer._native.search.bounded import keep_candidates
from tests.reference.search import bounded as reference

LEVELS = {"one level": [6], "two levels": [6, 38], "four levels": [6, 38, 70, 134]}
N_QUERIES, N_STRIPS = 6, 20
N_ROWS = 32 * N_STRIPS


def undone(queries, ends):
    """0 and the negative factor of each tail."""
    tails = -queries[:, np.array(ends) - 1]
    return np.stack([np.zeros_like(tails), tails], axis=2).reshape(len(queries), -1)


def chunk(rng, ends, first=0, last=N_STRIPS):
    """The arguments of `keep_candidates`, of which all products and sums are exact in float32: no order matters."""
    whole = rng.integers
    wanted = whole(0, 2**32, N_STRIPS, dtype=np.uint32)
    wanted[[2, N_STRIPS - 1]] = 0, 2**31
    queries = whole(-9, 10, (N_QUERIES, ends[-1]), dtype=np.int16)
    queries[:, ends[0] :] //= 3
    return [
        queries,
        undone(queries, ends),
        whole(-128, 128, N_ROWS * ends[-1], dtype=np.int8),
        np.array(ends, dtype=np.int64),
        wanted,
        first,
        last,
        2.0 ** whole(-3, 1, N_QUERIES).astype(np.float32),
        whole(-80, 1500, (len(ends), N_QUERIES)).astype(np.float32),
        np.float32(0.5),
        2.0 ** whole(-1, 3, N_ROWS).astype(np.float32),
    ]


def scratch(n):
    return np.empty(32 * n, np.int32), np.empty(n, np.uint32), np.empty((n, 2), np.int32)


def run(function, arguments, thresholds, together=3):
    """(pairs, bounds), in the order of pairs: the loop finds them strip by strip."""
    n = N_QUERIES * N_ROWS
    found, bounds = np.full((n, 2), -1, dtype=np.int32), np.full(n, np.nan, dtype=np.float32)
    limits = np.broadcast_to(thresholds, N_QUERIES).astype(np.float32)
    count = function(*arguments, limits, *scratch(together * N_QUERIES), found, bounds)
    order = np.lexsort(found[:count].T[::-1])
    return found[:count][order], bounds[:count][order]


@pytest.mark.parametrize("ends", LEVELS.values(), ids=LEVELS)
@pytest.mark.parametrize("part", [(0, N_STRIPS), (1, 18)])
@pytest.mark.parametrize("together", [1, 64])
def test_what_every_level_allows_is_kept_with_its_last_bound(rng, ends, part, together):
    arguments = chunk(rng, ends, *part)
    thresholds = rng.integers(-200, 200, N_QUERIES)
    want = run(reference.keep_candidates, arguments, thresholds)
    got = run(keep_candidates, arguments, thresholds, together)
    assert 100 < len(want[0]) < N_QUERIES * N_ROWS - 100
    np.testing.assert_array_equal(got[0], want[0])
    np.testing.assert_array_equal(got[1], want[1])


def test_a_bound_that_equals_the_threshold_is_kept_and_one_below_is_not(rng):
    arguments = chunk(rng, [6])
    pairs, bounds = run(keep_candidates, arguments, -1e9)
    bits = np.unpackbits(arguments[4].view(np.uint8), bitorder="little")
    assert pairs[pairs[:, 0] == 0][:, 1].tolist() == np.flatnonzero(bits).tolist()
    lowest = bounds.min()
    assert lowest in run(keep_candidates, arguments, lowest)[1]
    assert lowest not in run(keep_candidates, arguments, np.nextafter(lowest, np.float32(np.inf)))[1]


def test_sums_of_the_largest_bytes_and_factors_are_exact():
    ends, n = [32, 64, 128], 32
    queries = np.full((2, 128), -32767, np.int16)
    queries[:, :32] = 32767
    strips = np.full(128 * n, 127, np.int8)
    strips[: 32 * n] = -128
    arguments = [
        queries, undone(queries, ends), strips, np.array(ends, np.int64), np.full(1, 2**32 - 1, np.uint32), 0, 1,
        np.ones(2, np.float32), np.zeros((3, 2), np.float32), np.float32(0), np.ones(n, np.float32),
    ]  # fmt: skip
    found, bounds = np.empty((64, 2), np.int32), np.empty(64, np.float32)
    count = keep_candidates(*arguments, np.full(2, -1e30, np.float32), *scratch(2), found, bounds)
    # of each level but the last its tail is replaced
    total = -128 * 32767 * 31 - 127 * 32767 * 31 - 127 * 32767 * 64
    assert count == 64
    assert (bounds == np.float32(total)).all()


def plain_steps(x, strip, norms, products):
    byte_lanes.multiply_bytes(products, 3, x, 2, 7, 6, strip, 64)
    byte_lanes.add_bytes(products, 5, x, 1, 4, strip, 9)
    mask = byte_lanes.reaching(
        products, 32, norms, 3, np.float32(0.5), np.float32(0.25), np.float32(0.5), np.float32(40)
    )
    return mask, lanes.lowest_bit(mask)


def test_the_steps_do_what_the_plain_functions_do(rng):
    x, strip = rng.integers(-900, 900, 40, dtype=np.int16), rng.integers(-128, 128, 400, dtype=np.int8)
    norms = 2.0 ** rng.integers(-2, 3, 40).astype(np.float32)
    wanted, got = np.zeros(70, np.int32), np.zeros(70, np.int32)
    expected = plain_steps(x, strip, norms, wanted)
    assert jit(plain_steps)(x, strip, norms, got) == expected
    assert 0 < expected[0] < 2**32 - 1
    np.testing.assert_array_equal(got, wanted)
