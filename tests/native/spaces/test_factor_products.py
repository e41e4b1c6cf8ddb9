import numpy as np
import pytest

from mercer._native import lanes
from mercer._native.jit import jit
from mercer._native.spaces import factor_products as coded
from tests.reference.spaces import factor_products as twin

ROUNDING = {np.float32: 2e-6, np.float64: 1e-14}  # of sums of about a hundred numbers of size 1


def plain_lanes(target, source, factors):
    lanes.add_lanes(target, 3, source, 5)
    lanes.add_words(target, 8, source, 0, 8, 11, 24)
    lanes.add_products(target, 17, factors, 2, 3, source, 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_instructions_for_eight_numbers_do_what_the_plain_functions_do(dtype):
    rng = np.random.default_rng(0)
    target, source, factors = (rng.standard_normal(40).astype(dtype) for _ in range(3))
    expected = target.copy()
    plain_lanes(expected, source, factors)
    jit(plain_lanes)(target, source, factors)
    np.testing.assert_allclose(target, expected, rtol=0, atol=ROUNDING[dtype] * 10)


def make_factors(dtype, n_blocks):
    """Blocks of 1 to 9 factors and 1 to 11 words, as mercer._native.spaces.factors lays them out."""
    rng = np.random.default_rng(n_blocks)
    words, ranks = rng.integers(1, 12, n_blocks), rng.integers(1, 10, n_blocks)
    sizes = words * ranks
    flat = rng.standard_normal(sizes.sum()).astype(dtype)
    return words, flat, ranks, np.cumsum(sizes) - sizes, np.concatenate([[0], np.cumsum(ranks)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("codes_type", [np.uint8, np.uint16])
@pytest.mark.parametrize("blocks", [(7, 0, 7), (7, 2, 4), (7, 1, 6), (1, 0, 1), (9, 3, 3)])
def test_products_of_codes_equal_their_twins(dtype, codes_type, blocks):
    n_blocks, first, last = blocks
    words, *factors = make_factors(dtype, n_blocks)
    rank_starts = factors[-1]
    rng = np.random.default_rng(1)
    codes = (rng.random((n_blocks, 30)) * words[:, None]).astype(codes_type)
    u = rng.standard_normal((2, rank_starts[-1], 8)).astype(dtype)
    r = rng.standard_normal((2, 30, 8)).astype(dtype)
    scores, expected = np.ones((2, 2, 30, 8), dtype=dtype)
    coded.score_coded(codes, words, *factors, u, first, last, np.empty((4, words.max(), 8), dtype=dtype), scores)
    twin.score_coded(codes, words, *factors, u, first, last, None, expected)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=20 * ROUNDING[dtype])
    sums, expected = np.ones((2, 2, rank_starts[last] - rank_starts[first], 8), dtype=dtype)
    coded.accumulate_coded(codes, words, *factors, r, first, last, np.empty((2, words.max(), 8), dtype=dtype), sums)
    twin.accumulate_coded(codes, words, *factors, r, first, last, None, expected)
    np.testing.assert_allclose(sums, expected, rtol=0, atol=30 * ROUNDING[dtype])
