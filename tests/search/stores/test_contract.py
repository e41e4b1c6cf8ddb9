"""Stores: whichever scans, it finds what a numpy scan of the decoded rows finds."""

import warnings

import numpy as np
import pytest

from mercer import InputError, thread_limit
from mercer.codes import ProductQuantizer, SignHash
from mercer.search.model.coders import BitCoder, FlatCoder, WordCoder
from mercer.search.storage.api import Segment
from mercer.search.stores import CodeStore, FaissStore, FastScanStore, VectorStore
from mercer.search.stores import codes as _codes

N, K = 700, 9


@pytest.fixture(scope="module")
def embedded():
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(20, 8))
    return (centres[rng.integers(0, 20, N + 20)] + 0.3 * rng.normal(size=(N + 20, 8))).astype(np.float32)


@pytest.fixture(scope="module")
def coders(embedded):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        words = ProductQuantizer(n_blocks=3, rotation="allocation", random_state=0, n_iter=4).fit(embedded)
        packed = ProductQuantizer(n_blocks=7, bits=4, random_state=0, n_iter=4).fit(embedded)
    return {
        "words": WordCoder(words, 1.1),
        "packed": WordCoder(packed, 0.9),
        "bits": BitCoder(SignHash(n_bits=32, random_state=0).fit(embedded), asymmetric=True),
        "flat": FlatCoder(8, 0.9),
    }


def scores_of(coder, queries, codes):
    """All scores, from decoded rows."""
    if isinstance(coder, WordCoder):
        decoded = coder.quantizer.inverse_transform(codes)
    elif isinstance(coder, FlatCoder):
        decoded = codes.view(np.float32)
    else:
        signs = 2.0 * np.unpackbits(codes, axis=1, bitorder="little") - 1
        return (queries @ coder.hasher.directions_) @ signs.T
    return queries @ decoded.T - (decoded**2).sum(axis=1) / (2 * coder.scale)


def assert_nearest(found, scores, allowed, k):
    """Positions are allowed ones with the largest scores; equal to rounding is equal."""
    positions, values = found
    assert positions.shape == values.shape == (len(scores), k)
    n = min(k, int(np.count_nonzero(allowed)))
    assert ((positions >= 0).sum(axis=1) == n).all()
    assert (values[positions < 0] == -np.inf).all()
    if not n:
        return
    kept = positions[:, :n]
    assert allowed[kept].all()
    assert all(len(set(row)) == n for row in kept.tolist())
    best = -np.sort(-np.where(allowed, scores, -np.inf), axis=1)[:, :n]
    np.testing.assert_allclose(np.take_along_axis(scores, kept, axis=1), best, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(values[:, :n], best, rtol=1e-4, atol=1e-4)


# name: (code, store)
STORES = {
    "words": ("words", CodeStore),
    "packed": ("packed", CodeStore),
    "bits": ("bits", CodeStore),
    "flat": ("flat", CodeStore),
    "fast scan": ("packed", FastScanStore),
    "lists": ("words", lambda: FaissStore(7, n_probe=7)),
    "lists of packed words": ("packed", lambda: FaissStore(7, n_probe=7)),
}


@pytest.fixture(params=STORES)
def case(request, coders, embedded):
    """(store with all rows in two parts, scores of all rows, queries)."""
    name, made = STORES[request.param]
    coder = coders[name]
    store: VectorStore = made()
    store.create(coder)
    codes = coder.encode(embedded[:N])
    store.upsert(np.arange(400), codes[:400])
    store.upsert(np.arange(400, N), codes[400:])
    queries = embedded[N:]
    return store, scores_of(coder, queries, codes), queries


def test_the_largest_scores_are_found(case):
    store, scores, queries = case
    everything = np.ones(N, dtype=bool)
    for k in (1, K, N, N + 5):
        assert_nearest(store.search(queries, k), scores, everything, k)
    assert_nearest(store.search(queries[:1], K), scores[:1], everything, K)
    assert store.count() == N


def test_masks_and_deleted_rows_are_honoured(case, rng):
    store, scores, queries = case
    for share in (0.5, 0.01, 0.0):
        allowed = rng.random(N) < share
        assert_nearest(store.search(queries, K, allowed), scores, allowed, K)
    gone = rng.permutation(N)[:300]
    store.delete(gone[:100])
    store.delete(gone[100:])
    left = ~np.isin(np.arange(N), gone)
    assert store.count() == N - 300
    assert_nearest(store.search(queries, K), scores, left, K)
    allowed = rng.random(N) < 0.5
    assert_nearest(store.search(queries, K, allowed), scores, allowed & left, K)
    store.delete(np.arange(N))
    assert_nearest(store.search(queries, K), scores, np.zeros(N, dtype=bool), K)


@pytest.mark.parametrize("kind", ["words", "bits", "flat"])
def test_how_codes_are_cut_and_threads_change_nothing(kind, coders, embedded, monkeypatch):
    coder = coders[kind]
    codes = coder.encode(embedded[:N])
    codes[300:] = codes[:400]  # ties, across the pieces
    store = CodeStore()
    store.create(coder)
    store.upsert(np.arange(N), codes)
    with thread_limit(1):
        whole = store.search(embedded[N:], 40)
    monkeypatch.setattr(_codes, "TASK_ROWS", 64)
    monkeypatch.setattr(_codes, "FLAT_ROWS", 64)
    pieces = [Segment(first, 50, {"codes": codes[first : first + 50]}) for first in range(0, N, 50)]
    cut = CodeStore(n_jobs=2)
    cut.create(coder)
    cut.attach(pieces, np.zeros(N, dtype=bool))
    for got, want in zip(cut.search(embedded[N:], 40), whole, strict=True):
        if kind == "flat":  # blocks of a matrix product are summed in an order of their own
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=300 if got.dtype == np.int64 else 1e-5)
        else:
            np.testing.assert_array_equal(got, want)


def test_equal_scores_come_in_the_order_of_positions(coders, embedded):
    store = CodeStore()
    for coder in coders.values():
        store.create(coder)
        store.upsert(np.arange(60), np.tile(coder.encode(embedded[:1]), (60, 1)))
        positions, _ = store.search(embedded[:3], 5)
        assert positions.tolist() == [list(range(5))] * 3


def test_a_row_can_be_given_a_new_code(coders, embedded):
    coder = coders["words"]
    store, codes = CodeStore(), coder.encode(embedded[:N])
    store.create(coder)
    store.upsert(np.arange(N), codes)
    store.delete([5, 6])
    store.upsert(np.array([5, 8, N]), codes[[20, 21, 22]])  # two old positions and a new one
    changed = np.concatenate([codes, codes[22:23]])
    changed[[5, 8]] = codes[[20, 21]]
    allowed = np.arange(N + 1) != 6
    assert store.count() == N
    assert_nearest(store.search(embedded[N:], K), scores_of(coder, embedded[N:], changed), allowed, K)


def test_an_empty_store_finds_nothing(coders, embedded):
    store = CodeStore()
    for coder in coders.values():
        store.create(coder)
        positions, scores = store.search(embedded[:3], 4)
        assert store.count() == 0
        assert (positions == -1).all()
        assert (scores == -np.inf).all()


# ------------------------------------------------------------------------------------------------- inverted lists


def test_lists_are_looked_at_until_nearly_all_is_found(coders, embedded):
    coder = coders["words"]
    codes = coder.encode(embedded[:N])
    store = FaissStore(16)
    store.create(coder)
    store.upsert(np.arange(N), codes)
    assert 1 <= store.probes < 16
    _, scores = store.search(embedded[N:], 10)
    best = -np.sort(-scores_of(coder, embedded[N:], codes), axis=1)[:, 9:10]
    assert np.mean(scores >= best - 1e-4) > 0.9  # 99 % of the rows' own neighbors; measured 0.96 on others


def test_a_seed_gives_the_same_lists(coders, embedded):
    found = []
    for n_jobs in (1, 2):
        store = FaissStore(16, n_probe=2, seed=3, n_jobs=n_jobs)
        store.create(coders["words"])
        with thread_limit(n_jobs):
            store.upsert(np.arange(N), coders["words"].encode(embedded[:N]))
            found.append(store.search(embedded[N:], 10)[0])
    np.testing.assert_array_equal(*found)


def test_what_lists_cannot_do_is_said(coders, embedded):
    codes = coders["words"].encode(embedded[:5])
    with pytest.raises(InputError, match=r"stores product-quantized rows\. Use code='pq' or code='opq'"):
        FaissStore(2).create(coders["bits"])
    store = FaissStore(6)
    store.create(coders["words"])
    with pytest.raises(InputError, match=r"cannot make 6 lists of 5 rows. Use fewer lists"):
        store.upsert(np.arange(5), codes)
    store = FaissStore(2)
    store.create(coders["words"])
    store.upsert(np.arange(5), codes)
    with pytest.raises(InputError, match="accepts new positions only"):
        store.upsert(np.arange(4, 6), codes[:2])
