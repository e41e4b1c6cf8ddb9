"""The loops over code rows against their twins."""

import numpy as np
import pytest

from mercer._native.spaces import code_products as loops
from tests.reference.spaces import code_products as twins

N_ROWS, N_BLOCKS = 9, 7
# sums of 7 numbers of size 1, rounded once to the type of the result
TOLERANCE = {np.float32: 1e-6, np.float64: 1e-14}

types = pytest.mark.parametrize(("dtype", "word"), [(np.float32, np.uint8), (np.float64, np.uint16)])
n_classes = pytest.mark.parametrize("classes", [None, 1, 5])


def code_rows(rng, word):
    words = rng.integers(1, 300 if word == np.uint16 else 256, N_BLOCKS)
    codes = (rng.random((N_ROWS, N_BLOCKS)) * words).astype(word)
    return codes, np.cumsum(words) - words, int(words.sum())


def compare(name, arguments, shape, dtype):
    outs = [np.full(shape, 7.0, dtype=dtype) for _ in range(2)]
    for module, out in zip((loops, twins), outs, strict=True):
        getattr(module, name)(*arguments, out)
    np.testing.assert_allclose(*outs, rtol=TOLERANCE[dtype], atol=10 * TOLERANCE[dtype])
    return outs[0]


@types
@n_classes
def test_scores_are_sums_of_table_entries(rng, dtype, word, classes):
    codes, starts, n_features = code_rows(rng, word)
    tail, name = ((), "score_codes_vector") if classes is None else ((classes,), "score_codes_matrix")
    v = rng.standard_normal((n_features, *tail)).astype(dtype)
    out = compare(name, (codes, starts, v, 2, 8), (N_ROWS, *tail), dtype)
    assert np.unique(out[[0, 1, 8]]) == 7.0, "rows outside the block were written"


@types
@n_classes
def test_sums_are_histograms_added_to_what_is_there(rng, dtype, word, classes):
    codes, starts, n_features = code_rows(rng, word)
    tail, name = ((), "accumulate_codes_vector") if classes is None else ((classes,), "accumulate_codes_matrix")
    r = rng.standard_normal((N_ROWS, *tail)).astype(dtype)
    compare(name, (codes, starts, r, 2, 8), (n_features, *tail), np.float64)


@pytest.mark.parametrize("classes", [1, 4])
def test_byte_tables_hold_the_score_of_each_byte(rng, classes):
    compare("fill_byte_tables", (rng.standard_normal((24, classes)),), (3 * 256, classes), np.float64)
