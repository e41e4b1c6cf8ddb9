"""Codes: the tables of a query add up to the score of the decoded row."""

import warnings

import numpy as np
import pytest

from mercer.codes import ProductQuantizer, SignHash, UniversalEmbedding
from mercer.search.model.coders import BitCoder, FlatCoder, WordCoder, bit_tables

WORD_CASES = {
    "plain": {"n_blocks": 4},
    "ragged": {"n_blocks": 3},
    "one column per byte": {"n_blocks": 10},
    "allocation": {"n_blocks": 4, "rotation": "allocation"},
    "permutation": {"n_blocks": 5, "rotation": "permutation"},
    "opq": {"n_blocks": 5, "rotation": "opq"},  # blocks of one size: else words have coordinates that no row has
    "few words": {"n_blocks": 2, "bits": 3},
    "two words to a byte": {"n_blocks": 4, "bits": 4, "rotation": "allocation"},
    "half of a byte": {"n_blocks": 3, "bits": 4},
}


@pytest.fixture
def Z(rng):
    """Embedded rows, of falling energy."""
    return (rng.normal(size=(400, 10)) * 0.8 ** np.arange(10)).astype(np.float32)


@pytest.fixture(params=WORD_CASES)
def quantizer(request, Z):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ProductQuantizer(**WORD_CASES[request.param], random_state=0, n_iter=4).fit(Z)


def scores_by_tables(coder, queries, codes):
    """Sums of table entries, (queries, rows)."""
    tables = coder.tables(queries)
    assert tables.dtype == np.float32
    assert tables.shape == (-(-len(queries) // 8), -(-codes.shape[1] // 4) * 4, 256, 8)
    assert not tables[:, codes.shape[1] :].any()
    sums = tables[:, np.arange(codes.shape[1]), codes].astype(np.float64).sum(axis=2)  # (groups, rows, 8)
    return sums.transpose(0, 2, 1).reshape(-1, len(codes))[: len(queries)]


@pytest.mark.parametrize("scale", [1.0, 0.85, 1.4])
def test_words_add_up_to_the_score_of_the_decoded_row(quantizer, Z, scale):
    coder = WordCoder(quantizer, scale)
    codes, queries = coder.encode(Z[:50]), Z[50:61]
    assert (codes.dtype, codes.shape) == (np.uint8, (50, coder.n_bytes))
    decoded = quantizer.inverse_transform(codes).astype(np.float64)
    want = queries @ decoded.T - (decoded**2).sum(axis=1) / (2 * scale)
    np.testing.assert_allclose(scores_by_tables(coder, queries, codes), want, atol=2e-5)  # sums in float32


def test_blocks_and_words_meet_in_the_same_coordinates(quantizer, Z):
    coder = WordCoder(quantizer)
    decoded = coder.decoded(coder.encode(Z))
    assert coder.blocks(Z).shape == decoded.shape
    lost = ((coder.blocks(Z) - decoded) ** 2).sum(axis=(1, 2))
    np.testing.assert_allclose(lost, ((Z - quantizer.inverse_transform(coder.encode(Z))) ** 2).sum(axis=1), atol=1e-4)


@pytest.mark.filterwarnings("ignore::mercer._base.errors.ApproximationWarning")
def test_words_that_a_quantiser_does_not_have_are_seen_in_both_halves_of_a_byte(Z):
    coder = WordCoder(ProductQuantizer(n_blocks=3, bits=4, random_state=0).fit(Z[:11]))  # eleven words per block
    assert coder.names_words(coder.encode(Z))
    for code, known in (([170, 10], True), ([171, 0], False), ([186, 0], False), ([0, 11], False)):
        assert coder.names_words(np.array([code], dtype=np.uint8)) is known


@pytest.mark.parametrize("n_bits", [8, 40])
def test_signs_add_up_to_strengths_of_the_query(Z, n_bits):
    hasher = SignHash(n_bits=n_bits, random_state=0).fit(Z)
    coder = BitCoder(hasher, asymmetric=True)
    codes = coder.encode(Z[:30])
    assert codes.shape == (30, coder.n_bytes) == (30, n_bits // 8)
    signs = 2.0 * np.unpackbits(codes, axis=1, bitorder="little") - 1
    want = (Z[40:53] @ hasher.directions_) @ signs.T
    np.testing.assert_allclose(scores_by_tables(coder, Z[40:53], codes), want, rtol=1e-4, atol=1e-3)


def test_universal_bits_count_how_many_agree(Z):
    hasher = UniversalEmbedding(n_bits=24, random_state=0).fit(Z)
    coder = BitCoder(hasher, asymmetric=False)
    codes, asked = coder.encode(Z[:30]), hasher.transform(Z[40:43])
    agree = 24 - np.bitwise_count(codes[None] ^ asked[:, None]).sum(axis=2)
    np.testing.assert_array_equal(scores_by_tables(coder, Z[40:43], codes), 2.0 * agree - 24)


def test_bits_beyond_the_last_add_nothing(rng):
    strengths = rng.normal(size=(3, 11))
    tables = bit_tables(strengths)
    assert tables.shape == (2, 256, 3)
    np.testing.assert_array_equal(tables[1, 0b11111000], tables[1, 0])
    np.testing.assert_allclose(tables[1, 0b101], strengths[:, 8] - strengths[:, 9] + strengths[:, 10], rtol=1e-6)


def test_flat_codes_are_the_rows_themselves(Z):
    coder = FlatCoder(10, scale=1.25)
    codes = coder.encode(Z[::2])  # not contiguous
    assert (coder.n_bytes, codes.shape, codes.dtype) == (40, (200, 40), np.uint8)
    np.testing.assert_array_equal(codes.view(np.float32), Z[::2])
    want = Z[:5] @ Z[::2].T - (Z[::2] ** 2).sum(axis=1) / 2.5
    np.testing.assert_allclose(coder.scores(Z[:5], codes), want, atol=1e-5)
