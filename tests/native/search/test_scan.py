"""Scanning codes against all sums and a full sort."""

import numpy as np
import pytest

from mercer._native.search.scan import CHUNK, LIMITS, push, scan_codes
from tests.pairs import all_pairs
from tests.reference.search import scan as reference


def tables_of(rng, n_blocks):
    """Tables of eighths, whose sums are exact in float32 in any order, with many ties; zero beyond the blocks."""
    tables = np.zeros((-(-n_blocks // 4) * 4, 256, 8), dtype=np.float32)
    tables[:n_blocks] = rng.integers(-8, 8, (n_blocks, 256, 8)) / 8
    return tables


def heaps(k):
    return np.full((8, k), -np.inf, dtype=np.float32), np.full((8, k), -1, dtype=np.int64), np.zeros(8, dtype=np.int64)


def scanned(function, pieces, tables, allowed, k):
    """The heaps in order, after pieces of codes that follow each other."""
    scores, rows, sizes = heaps(k)
    sums, marks = np.empty(CHUNK * 8, dtype=np.float32), np.empty(CHUNK * 8, dtype=np.uint8)
    first = 0
    for codes in pieces:
        mask = allowed[first : first + len(codes)] if len(allowed) else allowed
        function(codes, tables, mask, first, sums, marks, np.empty(LIMITS, dtype=np.float32), scores, rows, sizes)
        first += len(codes)
    order = np.lexsort((rows, -scores), axis=1)
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(rows, order, axis=1), sizes


@pytest.mark.parametrize(
    ("masked", "k", "n_blocks"),
    all_pairs([False, True], [1, 5, 40], [1, 3, 4, 9]),
)
def test_the_best_rows_are_those_of_a_sort_and_ties_go_to_earlier_rows(rng, n_blocks, k, masked):
    codes = rng.integers(0, 256, (CHUNK + 77, n_blocks), dtype=np.uint8)
    pieces = np.split(codes, [CHUNK + 30])  # more than a chunk, then a short piece
    allowed = rng.random(len(codes)) < 0.02 if masked else np.empty(0, dtype=bool)
    tables = tables_of(rng, n_blocks)
    got, want = (scanned(function, pieces, tables, allowed, k) for function in (scan_codes, reference.scan_codes))
    for found, expected in zip(got, want, strict=True):
        np.testing.assert_array_equal(found, expected)
    if masked:
        assert allowed[got[1][got[1] >= 0]].all()
        assert got[2].max() == min(k, np.count_nonzero(allowed))


def test_equal_scores_keep_the_first_rows(rng):
    codes = np.zeros((200, 2), dtype=np.uint8)
    _, rows, _ = scanned(scan_codes, [codes], tables_of(rng, 2), np.empty(0, dtype=bool), 7)
    np.testing.assert_array_equal(rows, np.tile(np.arange(7), (8, 1)))


@pytest.mark.parametrize("k", [1, 2, 7, 8])
def test_a_heap_holds_the_best_entries_with_the_worst_on_top(rng, k):
    scores, rows, size = np.full(k, -np.inf, dtype=np.float32), np.full(k, -1, dtype=np.int64), 0
    plain_scores, plain_rows, plain_size = scores.copy(), rows.copy(), 0
    for row, score in enumerate(rng.integers(0, 6, 60).astype(np.float32)):
        plain_size = reference.push(plain_scores, plain_rows, plain_size, score, row)
        if size < k or score > scores[0]:
            size = push(scores, rows, size, score, row)
        assert size == plain_size
        assert sorted(zip(-scores, rows, strict=True)) == sorted(zip(-plain_scores, plain_rows, strict=True))
        assert (scores[0], rows[0]) == (plain_scores[size - 1], plain_rows[size - 1]) or size < k
