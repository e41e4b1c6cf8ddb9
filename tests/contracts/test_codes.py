"""What every quantizer promises, run over its options: a new option is tested by being added to CASES."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import mercer
from mercer import thread_limit
from mercer.codes import ProductQuantizer
from mercer.kernels import Chi2
from mercer.spaces import Design

CASES = {
    "linear": {},
    "ragged": {"block_size": 5},
    "n_blocks": {"n_blocks": 5},
    "one column per block": {"block_size": 1},
    "permutation": {"rotation": "permutation"},
    "random rotation": {"rotation": "random"},
    "opq": {"rotation": "opq", "block_size": 5},
    "allocation": {"rotation": "allocation"},
    "chi2": {"kernel": "chi2"},
    "intersection, permuted": {"kernel": "intersection", "rotation": "permutation"},
    "js": {"kernel": "js", "block_size": 5},
    "signed chi2": {"kernel": Chi2(signed=True)},
}


@pytest.fixture(params=CASES)
def case(request):
    def build(**more):
        return ProductQuantizer(**{"block_size": 4, "bits": 4, "random_state": 0, **CASES[request.param], **more})

    build.signed = request.param == "signed chi2" or "kernel" not in CASES[request.param]
    return build


@pytest.fixture
def data(case, rng):
    """Correlated rows with empty bins; with signs where the kernel takes them."""
    centres = rng.gamma(0.7, 1.0, (8, 12))
    X = centres[rng.integers(0, 8, 600)] * rng.gamma(3.0, 0.3, (600, 12)) * (rng.random((600, 12)) < 0.9)
    return (X * np.where(rng.random(12) < 0.5, -1, 1) if case.signed else X).astype(np.float32)


def relative_error(quantizer, X):
    K = quantizer.kernel_(X)
    return np.linalg.norm(quantizer.approximate_kernel(X) - K) / np.linalg.norm(K)


def test_more_bits_less_error(case, data):
    errors = [relative_error(case(bits=bits).fit(data[:500]), data[500:]) for bits in (1, 4, 8)]
    assert errors[0] > 1.3 * errors[1] > 1.3**2 * errors[2]
    assert errors[2] < 0.25  # measured 0.06 to 0.20


def test_a_row_of_words_is_its_own_code(case, data):
    quantizer = case().fit(data)
    codes = quantizer.transform(data)
    assert codes.dtype == np.uint8
    assert codes.shape == (len(data), quantizer.code_size_) == (len(data), len(quantizer.get_feature_names_out()))
    words = quantizer.rows(data).codes
    assert words.shape[1] == len(quantizer.block_sizes_)
    assert all(np.array_equal(np.unique(words[:, m]), np.arange(16)) for m in range(words.shape[1]))
    decoded = quantizer.inverse_transform(codes)
    assert (decoded.dtype, decoded.shape) == (np.float32, data.shape)
    if quantizer.reconstruction_ is None:  # a mean in the space of a kernel is no row
        np.testing.assert_array_equal(quantizer.transform(decoded), codes)
        again = quantizer.inverse_transform(quantizer.transform(decoded))
        np.testing.assert_array_equal(again, decoded)
    assert np.linalg.norm(decoded - data) < 0.6 * np.linalg.norm(data)


def test_the_three_expansions_are_one_geometry(case, data, rng):
    quantizer = case().fit(data)
    codes = quantizer.transform(data)
    delayed, immediate, dense = (
        Design(*quantizer.expanded_rows(given, expansion))
        for given, expansion in ((codes, "delayed"), (quantizer.rows(data), "immediate"), (data, "dense"))
    )
    full = dense.rows.toarray()
    of_blocks = quantizer.rows(data).codes
    words = [quantizer.codebooks_[m][of_blocks[:, m]] for m in range(of_blocks.shape[1])]
    np.testing.assert_array_equal(full, np.hstack(words))
    u, slopes = rng.normal(size=(full.shape[1], 3)), rng.normal(size=(len(data), 3))
    for design in (delayed, immediate):
        # float32 sums of up to 600 products
        np.testing.assert_allclose(design.scores(u), dense.scores(u), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(design.accumulate(slopes), dense.accumulate(slopes), rtol=1e-3, atol=1e-2)


def test_the_kernel_of_the_codes_is_the_inner_product_of_the_words(case, data):
    quantizer = case().fit(data)
    rows = quantizer.rows(data[:40])
    full = quantizer.expanded_rows(rows, "dense")[0].toarray().astype(np.float64)
    np.testing.assert_allclose(quantizer.inner_.gram(rows), full @ full.T, rtol=1e-6)
    np.testing.assert_allclose(quantizer.approximate_kernel(data[:40], data[:9]), full @ full[:9].T, rtol=1e-5)
    if quantizer.reconstruction_ is None:
        decoded = quantizer.inverse_transform(rows).astype(np.float64)
        np.testing.assert_allclose(decoded @ decoded.T, full @ full.T, rtol=1e-4, atol=1e-4)


def test_one_seed_gives_the_same_bits_on_any_number_of_threads(case, data):
    fitted = []
    for n_threads in (1, 2):
        with thread_limit(n_threads):
            fitted.append(case().fit(data))
    one, two = fitted
    np.testing.assert_array_equal(one.inner_.layout.flat, two.inner_.layout.flat)
    np.testing.assert_array_equal(one.transform(data), two.transform(data))
    other = case(random_state=1).fit(data)
    assert not np.array_equal(one.inner_.layout.flat, other.inner_.layout.flat)


def test_dense_sparse_and_every_type_of_number_agree(case, data):
    quantizer = case().fit(data)
    codes = quantizer.transform(data)
    with warnings.catch_warnings(record=True):  # that CSR is smaller, which may well be
        same = case().fit(sparse.csr_matrix(data.astype(np.float64)))
    np.testing.assert_array_equal(same.inner_.layout.flat, quantizer.inner_.layout.flat)
    for given in (data.astype(np.float64), sparse.csr_array(data), np.asfortranarray(data)):
        np.testing.assert_array_equal(quantizer.transform(given), codes)
    np.testing.assert_array_equal(quantizer.transform(data[7:8]), codes[7:8])


def test_folded_weights_predict_from_raw_rows(case, data, rng):
    quantizer = case().fit(data)
    u = rng.normal(size=(quantizer.inner_.n_factors, 3))
    v = quantizer.inner_.lift(u)
    expected = quantizer.rows(data).scores(v)
    np.testing.assert_allclose(quantizer.fold(v)(data), expected, rtol=1e-9, atol=1e-9)
    by_factors = quantizer.fold_factors(u)
    for n in (len(data), 5):  # more rows than words, and fewer
        np.testing.assert_allclose(by_factors(data[:n]), expected[:n], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(quantizer.fold_factors(u[:, 0])(data), expected[:, 0], rtol=1e-4, atol=1e-4)


def test_saved_quantisers_give_the_same_codes(case, data, tmp_path, rng):
    quantizer = case().fit(data)
    path = tmp_path / "codes.mercer"
    mercer.save(quantizer, path)
    codes = quantizer.transform(data)
    for restored in (mercer.load(path), mercer.load(path, mmap=True), pickle.loads(pickle.dumps(quantizer))):
        np.testing.assert_array_equal(restored.transform(data), codes)
        np.testing.assert_array_equal(restored.inverse_transform(codes), quantizer.inverse_transform(codes))
        np.testing.assert_array_equal(restored.inner_.layout.flat, quantizer.inner_.layout.flat)
        assert repr(clone(restored)) == repr(clone(quantizer))
    predictor = quantizer.fold_factors(rng.normal(size=(quantizer.inner_.n_factors, 2)))
    mercer.save(predictor, path)
    np.testing.assert_array_equal(mercer.load(path)(data), predictor(data))


def test_all_zero_rows_are_coded(case, data):
    quantizer = case().fit(data)
    zero = np.zeros((2, data.shape[1]))
    assert np.isfinite(quantizer.approximate_kernel(zero)).all()
    assert np.isfinite(quantizer.inverse_transform(quantizer.transform(zero))).all()
