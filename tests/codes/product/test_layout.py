"""Words of 1 to 16 bits: how they lie in a code, and that whatever takes codes takes these."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mercer
from mercer import InputError, KernelClassifier
from mercer._base.errors import ApproximationWarning
from mercer.codes import ProductQuantizer
from mercer.codes.product.layout import code_columns, code_type, pack_words, unpack_words


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    return (rng.standard_normal((1500, 4)) @ rng.standard_normal((4, 10)) + rng.standard_normal((1500, 10))).astype(
        "f4"
    )


def fitted(X, bits, **parameters):
    return ProductQuantizer(**{"n_blocks": 5, "bits": bits, "random_state": 0, "n_iter": 4, **parameters}).fit(X)


@given(st.integers(1, 16), st.integers(0, 5), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_words_come_back_from_codes_of_the_size_that_is_said(bits, n, M, seed):
    words = np.random.default_rng(seed).integers(0, 2**bits, (n, M)).astype(code_type(bits))
    codes = pack_words(words, bits)
    assert codes.dtype == code_type(bits)
    assert codes.shape == (n, code_columns(M, bits))
    np.testing.assert_array_equal(unpack_words(codes, M, bits), words)


def test_four_bits_are_the_low_half_of_a_byte_and_then_the_high_one(X):
    quantizer = fitted(X, 4)
    words, codes = quantizer.rows(X).codes.astype(int), quantizer.transform(X)
    assert (codes.dtype, codes.shape, quantizer.code_size_) == (np.uint8, (len(X), 3), 3)
    np.testing.assert_array_equal(codes[:, 0], words[:, 0] + 16 * words[:, 1])
    np.testing.assert_array_equal(codes[:, 2], words[:, 4])  # the spare half is zero
    np.testing.assert_array_equal(quantizer.inverse_transform(codes | [0, 0, 240]), quantizer.inverse_transform(codes))


@pytest.mark.parametrize("bits", [1, 3, 4, 8, 9, 10])
def test_a_row_of_words_is_coded_by_them_and_decoded_to_itself(X, bits):
    quantizer = fitted(X, bits)
    assert quantizer.code_size_ == {4: 3, 9: 10, 10: 10}.get(bits, 5)
    rng = np.random.default_rng(1)
    chosen = rng.integers(0, 2**bits, (50, 5))
    rows = np.hstack([words[chosen[:, m]] for m, words in enumerate(quantizer.codebooks_)])
    codes = quantizer.transform(rows)
    assert codes.dtype == (np.uint16 if bits > 8 else np.uint8)
    assert codes.nbytes == len(rows) * quantizer.code_size_
    np.testing.assert_array_equal(quantizer.inverse_transform(codes), rows)


def test_more_bits_lose_less(X):
    def lost(bits):
        quantizer = fitted(X[:1400], bits)
        return float(((quantizer.inverse_transform(quantizer.transform(X[1400:])) - X[1400:]) ** 2).sum())

    errors = [lost(bits) for bits in (2, 4, 6, 8, 10)]
    assert all(more > 1.2 * less for more, less in pairwise(errors))


@pytest.mark.parametrize("bits", [4, 9])
def test_a_learner_on_codes_is_one_on_decoded_rows_and_is_saved_with_them(X, bits, tmp_path):
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    quantizer = fitted(X, bits)
    scores = {}
    for expansion in ("delayed", "immediate", "dense"):
        # a smooth loss has one answer, which all three ways of decoding reach
        model = KernelClassifier(map=quantizer, expansion=expansion, loss="squared_hinge", tol=1e-6)
        scores[expansion] = model.fit(X, y).decision_function(X)
    np.testing.assert_allclose(scores["delayed"], scores["dense"], atol=2e-3)
    np.testing.assert_allclose(scores["immediate"], scores["dense"], atol=2e-3)
    mercer.save(model, tmp_path / "m.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "m.mercer").decision_function(X), scores["dense"])


def test_words_that_no_block_has_are_refused(X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApproximationWarning)
        few, wide = fitted(X[:11], 4), fitted(X[:11], 9)
    with pytest.raises(InputError, match="has the word 15 in block 1, whose words range from 0 to 10"):
        few.inverse_transform(np.array([[240, 0, 0]], dtype=np.uint8))
    with pytest.raises(InputError, match="has the word 300 in block 2, whose words range from 0 to 10"):
        wide.inverse_transform(np.array([[0, 0, 300, 0, 0]], dtype=np.uint16))
    with pytest.raises(InputError, match="codes of this ProductQuantizer have 5 integers from 0 to 65535"):
        wide.inverse_transform(np.full((1, 5), 65536))
    with pytest.raises(InputError, match="have 3 integers from 0 to 255 per row, got an array of shape"):
        few.inverse_transform(np.zeros((1, 5), dtype=np.uint8))  # words, not codes
