"""The loops on coded rows against their twins, which decode each row."""

import numpy as np
import pytest

from mercer._native.learners.descent import coded as loops
from tests.native.learners.descent.test_dual import FORMS, GOAL, KEY, N, make_targets
from tests.reference.learners.descent import coded as twins

# without compilation, numpy warns of the overflow that random bits are made by
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in scalar")
SIGNS = (2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little") - 1).ravel()


def bits(rng, n_bits):
    packed = rng.integers(0, 256, (N, -(-n_bits // 8)), dtype=np.uint8)  # spare bits are set or not
    return (packed, SIGNS, 0.3, n_bits), 8 * packed.shape[1], np.full(N, n_bits * 0.09)


def words(rng, dtype, codes_dtype):
    sizes, n_words = np.array([1, 4, 6, 0, 9]), np.array([3, 5, 2, 4, 7])
    codes = np.stack([rng.integers(0, n, N) for n in n_words], axis=1).astype(codes_dtype)
    counts = sizes * n_words
    table = rng.standard_normal(counts.sum()).astype(dtype)
    starts, places = np.cumsum(counts) - counts, np.cumsum(sizes) - sizes
    first = starts + codes.astype(np.int64) * sizes
    decoded = [np.concatenate([table[q : q + size] for q, size in zip(row, sizes, strict=True)]) for row in first]
    norms = (np.array(decoded, dtype=np.float64) ** 2).sum(axis=1)
    return (codes, table, starts, sizes, places), int(sizes.sum()), norms


# Rows and targets are independent parts of a loop: targets of numbers with one kind of rows are enough.
KINDS = {
    "13 bits": ("bits", lambda rng: bits(rng, 13), np.int8),
    "64 bits": ("bits", lambda rng: bits(rng, 64), np.int8),
    "words": ("words", lambda rng: words(rng, np.float64, np.uint16), np.float64),
    "single words": ("words", lambda rng: words(rng, np.float32, np.uint8), np.int8),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_few_sweeps(rng, kind, form):
    name, make, numbers = KINDS[kind]
    rows, width, norms = make(rng)
    targets = make_targets(rng, form, N, numbers)
    caps = rng.uniform(0.1, 2.0, N)
    caps[[5, 11]] = 0.0
    found = []
    for module in (loops, twins):
        order, b, state = np.arange(N, dtype=np.int32), np.zeros(N), (np.zeros(width), np.zeros(1))
        best, values = np.zeros(N), np.array([np.inf, 0.0])
        descend = getattr(module, f"descend_{name}")
        counts = descend(rows, 0.5, norms, targets, caps, form, order, N, KEY, 2, GOAL, b, best, values, state)
        found.append((counts, b, best, values, *state))
    assert found[0][0][:2] == found[1][0][:2], "not the same number of visits and sweeps"
    for mine, theirs in zip(found[0][1:], found[1][1:], strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-8)
    assert np.abs(found[0][1]).max() > 0
