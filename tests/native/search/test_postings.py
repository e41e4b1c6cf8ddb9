"""The loops of inverted lists against dictionaries and plain sums."""

import numpy as np
import pytest
from scipy import sparse

from mercer._native.search import postings
from tests.reference.search import postings as reference

N, WIDTH = 90, 12


def lists(seed, signed=False):
    """(offsets, rows, values) of a made-up block."""
    rng = np.random.default_rng(seed)
    X = rng.gamma(0.7, 1.0, (N, WIDTH)) * (rng.random((N, WIDTH)) < 0.3)
    X = X * rng.choice([-1, 1], X.shape) if signed else X
    turned = sparse.csc_array(X.astype(np.float32))
    turned.sort_indices()
    return turned.indptr.astype(np.int64), turned.indices.astype(np.uint16), turned.data


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("name", postings.PAIRS)
def test_sums_are_those_of_the_formula(name, signed):
    has_signs = name in ("product", "roots", "sizes", "powers", "common-part")
    offsets, rows, values = lists(0, signed or has_signs)
    rng = np.random.default_rng(1)
    x = rng.gamma(0.7, 1.0, WIDTH).astype(np.float32)
    if signed or name in ("product", "roots", "common-part"):
        x *= rng.choice([-1, 1], WIDTH)
    found = []
    for module, dtype in ((postings, np.float32), (reference, np.float64)):
        sums, seen, touched = np.zeros(N, dtype), np.zeros(N, np.uint8), np.zeros(N + 1, np.int32)
        more = np.log2(np.abs(x)), rows, values, np.float32(1.5), np.empty(postings.STRETCH, np.float32)
        loop, n = module.list_sums(name, signed), 0
        for part in ((0, 5), (5, WIDTH)):  # in two steps, as pruning does it
            n = loop(*part, offsets[:-1], offsets[1:], x, *more, sums, seen, touched, n)
        found.append((sums, seen, touched[:n].tolist()))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=2e-6, atol=2e-6)  # a dozen roundings of sums near 10
    np.testing.assert_array_equal(found[0][1], found[1][1])
    assert found[0][2] == found[1][2]
    for module, (sums, _, _) in zip((postings, reference), found, strict=True):
        again = np.zeros_like(sums)
        module.whole_sums(name, signed)(0, WIDTH, offsets[:-1], offsets[1:], x, *more, again)
        np.testing.assert_array_equal(again, sums)
    postings.forget(np.array(found[0][2], np.int32), len(found[0][2]), *found[0][:2])
    assert not found[0][0].any()
    assert not found[0][1].any()


@pytest.mark.parametrize("name", ["jensen-shannon", "minimum"])
def test_rows_that_are_looked_for_get_what_lists_would_add(name):
    offsets, rows, values = lists(2)
    rng = np.random.default_rng(2)
    x, kept = rng.random(WIDTH).astype("f4"), rng.permutation(N)[:30].astype(np.int32)
    found = []
    for module in (postings, reference):
        sums, chosen = np.zeros(N, "f4"), kept.copy()
        module.list_probes(name)(
            chosen, 30, 2, offsets[:-1], offsets[1:], x, np.log2(x), rows, values, np.float32(0), sums
        )
        found.append(sums)
    np.testing.assert_allclose(*found, rtol=2e-6, atol=1e-6)
    assert not np.delete(found[0], kept).any()


def test_lists_are_found_and_damage_is():
    offsets, rows, values = lists(3)
    columns = np.flatnonzero(np.diff(offsets)).astype(np.int32)
    offsets = np.unique(offsets)
    wanted = np.array([0, 1, 4, 7, 30], np.int32)
    places = [[np.empty(5, np.int64) for _ in range(2)] for _ in range(2)]
    for module, found in zip((postings, reference), places, strict=True):
        module.find_lists(wanted, columns, offsets, *found)
    np.testing.assert_array_equal(*places)
    begins, ends = places[0]
    changes = [(rows, 3, N), (rows, 5, 0), (values, 2, np.nan)]
    for array, at, value in [(rows, 0, rows[0]), *changes]:
        before, array[at] = array[at], value
        damaged = [
            module.first_damaged(begins, ends, rows, values, N, np.zeros(len(rows), bool))
            for module in (postings, reference)
        ]
        assert damaged[0] == damaged[1]
        assert (damaged[0] >= 0) == (before != value)
        array[at] = before


def test_lists_are_the_transpose_without_zeros():
    rng = np.random.default_rng(5)
    X = sparse.csr_array((rng.random((20, 6)) < 0.5) * rng.random((20, 6)).astype("f4"))
    X.data[::5] = 0
    counts = np.bincount(X.indices[X.data != 0], minlength=6)
    found = []
    for module in (postings, reference):
        rows, stored = np.empty(counts.sum(), np.uint16), np.empty(counts.sum(), np.float32)
        next_free = np.cumsum(counts) - counts
        module.fill_lists(X.indptr.astype(np.int64), X.data, X.indices.astype(np.int64), next_free, rows, stored)
        found.append([rows.tolist(), stored.tolist()])
    assert found[0] == found[1]
