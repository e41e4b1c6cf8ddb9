"""Signs of learned projections: the bits of the page, nearer to rows than random signs, the optimum of their method."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

from mercer import CompactEmbedding, KernelClassifier, QuantizedJL, load, save, thread_limit
from mercer.codes.wire.compact import _turned, learned_projections
from tests.reference.codes import wire_bits as page


@pytest.fixture
def X(rng):
    return rng.gamma(0.7, size=(40, 12)) * rng.integers(1, 4, 12)


@pytest.mark.parametrize("n_bits", [3, 12, 29])  # fewer than columns, as many, several rotations and a part of one
@pytest.mark.parametrize("shape", [(None, False), (4, True)])
def test_bits_are_those_of_the_page_and_survive_files(n_bits, shape, X, tmp_path):
    block_size, standardize = shape
    made = CompactEmbedding(n_bits, block_size=block_size, standardize=standardize, random_state=3).fit(X)
    far = np.concatenate([X[:3], 100 * X[3:5], -X[5:]])
    codes = made.transform(far)
    np.testing.assert_array_equal(codes, page.encode(made.specification_, far))
    np.testing.assert_array_equal(made.transform(sparse.csr_array(far)), codes)
    save(made, tmp_path / "code.mercer")
    for again in (pickle.loads(pickle.dumps(made)), load(tmp_path / "code.mercer")):
        np.testing.assert_array_equal(again.transform(far), codes)
    with thread_limit(1):
        one = CompactEmbedding(n_bits, block_size=block_size, standardize=standardize, random_state=3).fit(X)
    assert one.specification_.fingerprint == made.specification_.fingerprint


def test_planted_signs_are_found(rng):
    """Rows at the corners of a turned cube, with noise: the bits are the corners, up to order and sign."""
    signs = rng.choice([-1.0, 1.0], size=(2000, 6))
    turn = np.linalg.qr(rng.standard_normal((30, 30)))[0][:6]
    X = signs @ turn + 0.05 * rng.standard_normal((2000, 30)) + rng.normal(size=30)
    codes = CompactEmbedding(6, random_state=0).fit_transform(X)
    found = 2.0 * np.unpackbits(codes, axis=1, count=6, bitorder="little") - 1
    match = np.abs(found.T @ signs) / 2000
    np.testing.assert_allclose(np.sort(match.max(axis=0)), 1, atol=1e-9)
    assert sorted(match.argmax(axis=0)) == list(range(6))


def test_rotations_stay_rotations_and_lose_less_than_where_they_began(rng):
    V = (rng.standard_normal((500, 8)) ** 3 * np.linspace(3, 1, 8)).astype(np.float32)
    start = rng.standard_normal((8, 8))
    R = _turned(V, start).T
    np.testing.assert_allclose(R @ R.T, np.eye(8), atol=1e-5)

    def loss(R):
        return -np.abs(V @ R).sum()

    assert loss(R) < loss(np.linalg.qr(start)[0])
    for _ in range(20):  # a small turn further loses more, or as good as nothing less
        turn = np.linalg.qr(np.eye(8) + 1e-3 * rng.standard_normal((8, 8)))[0]
        turn *= np.sign(np.diag(turn))
        assert loss(R @ turn) > loss(R) * (1 + 1e-4)


def test_wide_rows_have_the_directions_of_narrow_ones(rng, monkeypatch):
    """Beyond some width directions come from the Gram matrix of rows."""
    rows = rng.standard_normal((50, 20)) @ np.diag(np.linspace(4, 1, 20))
    narrow = learned_projections(rows, 5, np.random.RandomState(0))
    monkeypatch.setattr("mercer.codes.wire.compact.WIDEST", 10)
    wide = learned_projections(rows, 5, np.random.RandomState(0))
    np.testing.assert_allclose(np.linalg.svd(wide @ narrow.T)[1], 1, atol=1e-4)  # they span the same


def test_inner_products_of_codes_stand_for_those_of_centred_rows(rng):
    X = rng.standard_normal((400, 24)) + 5
    made = CompactEmbedding(24 * 40, random_state=0).fit(X)
    centred = X - X.mean(axis=0)
    K, exact = made.approximate_kernel(X), centred @ centred.T
    assert np.corrcoef(K.ravel(), exact.ravel())[0, 1] > 0.95
    assert 0.5 < np.trace(K) / np.trace(exact) < 1


def test_few_learned_bits_tell_more_than_random_ones():
    X, y = load_digits(return_X_y=True)
    train, test = slice(0, 1200), slice(1200, None)
    scores = {}
    for make in (CompactEmbedding, QuantizedJL):
        model = KernelClassifier(map=make(32, random_state=0)).fit(X[train], y[train])
        scores[make] = model.score(X[test], y[test])
    assert scores[CompactEmbedding] > scores[QuantizedJL] + 0.05
