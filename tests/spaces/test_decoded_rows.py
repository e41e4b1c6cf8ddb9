"""Rows that are decoded as they are used, against the decoded matrix."""

import numpy as np
import pytest

from mercer._base.errors import InputError
from mercer._base.threads import thread_limit
from mercer.spaces import BlockFactor, CodeRows, Design, Identity
from mercer.spaces import blocks as cutting
from mercer.spaces.decoded_rows import DecodedRows

WORDS, SIZES = [5, 3, 1, 256], [4, 8, 1, 3]


def make(n=1100, dtype=np.float32, seed=0):
    """(rows, decoded matrix): more rows than are decoded at a time, blocks of different sizes."""
    rng = np.random.default_rng(seed)
    codebooks = [rng.standard_normal((words, size)).astype(dtype) for words, size in zip(WORDS, SIZES, strict=True)]
    codes = (rng.random((n, len(WORDS))) * WORDS).astype(np.uint8)
    full = np.hstack([codebook[codes[:, m]] for m, codebook in enumerate(codebooks)])
    return DecodedRows(codes, codebooks), full, codes, codebooks


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("tail", [(), (1,), (5,)])
def test_products_are_those_of_the_decoded_matrix(dtype, tail, rng):
    rows, full, _, _ = make(dtype=dtype)
    v = rng.standard_normal((full.shape[1], *tail)).astype(dtype)
    r = rng.standard_normal((len(full), *tail)).astype(dtype)
    atol = 1e-4 if dtype == np.float32 else 1e-11  # sums of 1,100 numbers of size 1
    assert rows.shape == full.shape
    assert rows.scores(v).dtype == rows.accumulate(r).dtype == dtype
    np.testing.assert_allclose(rows.scores(v), full @ v, atol=atol)
    np.testing.assert_allclose(rows.accumulate(r), full.T @ r, atol=atol)
    np.testing.assert_array_equal(rows.toarray(), full)
    np.testing.assert_allclose(rows.squared_norms(None), (full.astype(np.float64) ** 2).sum(axis=1), rtol=1e-12)


def test_parts_are_stored_in_the_same_way():
    rows, full, _, _ = make()
    mask = np.arange(len(full)) % 3 == 0
    np.testing.assert_array_equal(rows.take(mask).toarray(), full[mask])
    assert rows.take(slice(5, 9))._inner is rows._inner
    np.testing.assert_array_equal(np.vstack([block.toarray() for block, _ in rows.blocks(300)]), full)
    for i in (7, -1):
        columns, values = rows.entries(i)
        np.testing.assert_array_equal(values, full[i, columns])
        assert np.count_nonzero(full[i]) == len(columns)
    with pytest.raises(IndexError):
        rows.entries(len(full))


def test_results_have_the_same_bits_on_one_and_two_threads(rng, monkeypatch):
    monkeypatch.setattr(cutting, "TASK_ROWS", 64)
    rows, full, _, _ = make()
    v = rng.standard_normal((full.shape[1], 3)).astype(np.float32)
    r = rng.standard_normal((len(full), 3)).astype(np.float32)
    results = []
    for n_threads in (1, 2):
        with thread_limit(n_threads):
            results.append((rows.scores(v), rows.accumulate(r)))
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)


def test_decoded_rows_are_the_code_rows_seen_through_their_codebooks(rng):
    _, full, codes, codebooks = make()
    inner = BlockFactor([codebook.T for codebook in codebooks])
    shared = DecodedRows(CodeRows(codes, WORDS), inner)
    assert shared._inner is inner
    u, slopes = rng.standard_normal((full.shape[1], 4)), rng.standard_normal((len(full), 4))
    delayed, immediate = Design(CodeRows(codes, WORDS), inner), Design(shared, Identity(full.shape[1]))
    np.testing.assert_allclose(delayed.scores(u), immediate.scores(u), atol=1e-4)
    np.testing.assert_allclose(delayed.accumulate(slopes), immediate.accumulate(slopes), rtol=1e-4, atol=1e-3)


def test_codebooks_that_do_not_fit_are_refused():
    _, _, codes, codebooks = make(20)
    with pytest.raises(InputError, match="needs n_words to be an integer, or 4"):
        DecodedRows(codes, codebooks[:-1])
    with pytest.raises(InputError, match="has the word"):
        DecodedRows(codes, [codebooks[0][:2], *codebooks[1:]])
    with pytest.raises(InputError, match="needs one codebook for each"):
        DecodedRows(CodeRows(codes, 256), codebooks)
    assert DecodedRows(codes[:0], codebooks).scores(np.ones(16)).shape == (0,)
