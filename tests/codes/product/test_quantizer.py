"""Product quantization: blocks, words, codes, and what is refused or warned about."""

import subprocess
import sys
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline

from mercer import CodeRows, InputError, KernelPCA
from mercer._base.errors import ApproximationWarning
from mercer.codes import ProductQuantizer
from mercer.codes.product import fitting as _fitting
from mercer.codes.product import reading as _reading
from mercer.kernels import RBF


@pytest.fixture
def X(rng):
    return (rng.standard_normal((700, 6)) @ rng.standard_normal((6, 22)) + rng.standard_normal((700, 22))).astype("f4")


def quantizer(**parameters):
    return ProductQuantizer(**{"block_size": 4, "bits": 4, "random_state": 0, **parameters})


def squared_error(fitted, X):
    return float(((fitted.inverse_transform(fitted.transform(X)) - X) ** 2).sum())


def test_a_code_is_the_nearest_word_of_its_block(X):
    fitted = quantizer(block_size=5).fit(X)
    assert fitted.block_sizes_.tolist() == [5, 5, 5, 5, 2]
    codes = fitted.rows(X).codes
    for m, start in enumerate(range(0, 22, 5)):
        distances = ((X[:, None, start : start + 5].astype("f8") - fitted.codebooks_[m]) ** 2).sum(axis=2)
        np.testing.assert_array_equal(codes[:, m], distances.argmin(axis=1))


def test_words_are_the_means_of_their_rows(X):
    # k-means has converged when every word is the mean of what it codes
    fitted = quantizer(n_iter=200).fit(X)
    codes, words = fitted.rows(X).codes, fitted.codebooks_[0]
    means = np.stack([X[codes[:, 0] == k, :4].mean(axis=0) for k in range(16)])
    np.testing.assert_allclose(words, means, atol=1e-4)


def test_a_ragged_last_block_is_a_full_one_padded_with_zeros(X):
    padded = np.hstack([X, np.zeros((len(X), 2), dtype="f4")])
    ragged, full = quantizer().fit(X), quantizer().fit(padded)
    np.testing.assert_array_equal(ragged.transform(X), full.transform(padded))
    np.testing.assert_allclose(full.codebooks_[-1][:, :2], ragged.codebooks_[-1], atol=1e-6)


def test_n_blocks_are_blocks_of_nearly_equal_size(X):
    assert quantizer(n_blocks=5).fit(X).block_sizes_.tolist() == [5, 5, 4, 4, 4]
    with pytest.raises(InputError, match="cannot split 22 columns into n_blocks=23"):
        quantizer(n_blocks=23).fit(X)


def test_permuted_columns_change_nothing_once_the_permutation_is_undone(X):
    fitted = quantizer(rotation="permutation").fit(X)
    order = fitted.rotation_
    assert sorted(order) == list(range(22))
    # the second quantizer draws the same permutation, then sees the columns where the first one put them
    plain = quantizer(rotation=None)
    plain.fit(X[:, order])
    plain.inner_ = fitted.inner_
    codes = fitted.transform(X)
    np.testing.assert_array_equal(plain.transform(X[:, order]), codes)
    np.testing.assert_array_equal(fitted.inverse_transform(codes)[:, order], plain.inverse_transform(codes))


def test_words_do_not_depend_on_how_columns_are_read(X, monkeypatch):
    whole = quantizer(block_size=3).fit(X)
    monkeypatch.setattr(_fitting, "STRIP_BYTES", 1)
    monkeypatch.setattr(_reading, "CHUNK_BYTES", 1)
    strips = quantizer(block_size=3).fit(X)
    np.testing.assert_array_equal(strips.inner_.layout.flat, whole.inner_.layout.flat)
    np.testing.assert_array_equal(strips.transform(X), whole.transform(X))


def test_powers_of_two_change_the_words_and_not_the_codes(X):
    fitted = quantizer().fit(X)
    for exponent in (-90, 90):
        scaled = quantizer().fit(np.ldexp(X, exponent))
        np.testing.assert_array_equal(scaled.transform(np.ldexp(X, exponent)), fitted.transform(X))
        np.testing.assert_array_equal(np.ldexp(scaled.codebooks_[1], -exponent), fitted.codebooks_[1])


def test_training_takes_a_sample(X):
    fitted = quantizer(max_samples=60).fit(X)
    assert squared_error(quantizer().fit(X), X) < squared_error(fitted, X)
    other = np.vstack([X, X])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(quantizer(max_samples=200).fit(other).transform(other)) == 1400


def test_few_different_rows_are_words_of_their_own_and_that_is_said(X):
    few = X[np.arange(700) % 11]
    few[:, 8:] = X[:, 8:]
    few[:, 4] = 0.0
    few[::2, 4] = -0.0  # is no other zero
    with pytest.warns(ApproximationWarning, match=r"2 of 6 blocks .* fewer than 16 .* \(the minimum is 11\)"):
        fitted = quantizer().fit(few)
    assert fitted.n_words_.tolist() == [11, 11, 16, 16, 16, 16]
    np.testing.assert_array_equal(fitted.inverse_transform(fitted.transform(few))[:, :8], few[:, :8])
    with pytest.warns(ApproximationWarning, match="the minimum is 1"):
        assert squared_error(quantizer().fit(X[:1]), X[:1]) == 0.0


@pytest.mark.process
def test_training_writes_nothing_to_the_terminal():
    code = (
        "import numpy as np, warnings; warnings.simplefilter('ignore')\n"
        "from mercer.codes import ProductQuantizer\n"
        "X = np.random.default_rng(0).normal(size=(40, 6))\n"
        "for rotation in (None, 'opq'):\n"
        "    for rows in (X, X[:3], X[:1]):\n"
        "        ProductQuantizer(4, bits=4, rotation=rotation).fit(rows).transform(X)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == run.stderr == ""


def test_sparse_rows_that_are_smaller_than_their_codes_are_said_with_both_sizes(rng):
    X = sparse.random_array(
        (500, 400), density=0.01, format="csr", random_state=np.random.default_rng(0), dtype=np.float32
    )
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # as scikit-learn may make them
    n_bytes = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    with pytest.warns(ApproximationWarning, match=f"take {n_bytes:,} bytes as a CSR matrix and 50,000 bytes as codes"):
        quantizer(bits=2).fit(X)
    dense = sparse.csr_array(rng.standard_normal((500, 16)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quantizer().fit(dense)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nan_and_infinity_are_refused(X, value):
    bad = X.copy()
    bad[650, 3] = value
    for given in (bad, sparse.csr_array(bad)):
        with pytest.raises(ValueError, match="Input X contains"):
            quantizer(max_samples=50).fit(given)
        with pytest.raises(ValueError, match="Input X contains"):
            quantizer().fit(X).transform(given)


def test_numbers_beyond_float32_are_refused(X):
    with pytest.raises(InputError, match=r"between 1e-32 and 1e\+30; the largest of X is 1e\+300\. Scale the data"):
        quantizer().fit(X).transform(np.full((2, 22), 1e300))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"bits": 17}, "`bits` must be an integer >= 1 and <= 16"),
        ({"bits": 0}, "`bits` must be an integer >= 1 and <= 16"),
        ({"block_size": 2.0}, "`block_size` must be an integer >= 1"),
        ({"n_iter": 0}, "`n_iter` must be an integer >= 1"),
        ({"max_samples": -1}, "`max_samples` must be an integer >= 1, or None"),
        ({"rotation": "pca"}, "`rotation` must be one of 'permutation', 'random', 'opq', 'allocation', or None"),
        ({"rotation": np.eye(3)}, "`rotation` must be one of 'permutation', 'random', 'opq', 'allocation', or None"),
    ],
)
def test_parameters_out_of_range_are_refused(X, parameters, message):
    with pytest.raises(InputError, match=message):
        quantizer(**parameters).fit(X)


def test_codes_that_are_none_are_refused(X):
    fitted = quantizer(bits=5).fit(X)
    codes = fitted.transform(X)
    for wrong in (codes[:, :3], codes - 0.5, codes.astype(int) + 256, codes.astype(str), -codes.astype(int)):
        with pytest.raises(InputError, match="codes of this ProductQuantizer have 6 integers from 0 to 255"):
            fitted.inverse_transform(wrong)
    with pytest.raises(InputError, match="has the word 32 in block 2"):
        fitted.inverse_transform(np.where(np.arange(6) == 2, 32, codes))
    with pytest.raises(InputError, match="do not belong to this ProductQuantizer"):
        fitted.inverse_transform(CodeRows(codes, 99))
    with pytest.raises(InputError, match="`expansion` must be one of 'delayed', 'immediate', 'dense'"):
        fitted.expanded_rows(codes, "late")
    expected = fitted.inverse_transform(codes)
    for right in (codes.astype(int), codes.astype(float), fitted.rows(X)):
        np.testing.assert_array_equal(fitted.inverse_transform(right), expected)


def test_kernels_that_are_not_additive_name_the_way_that_works(X):
    with pytest.raises(InputError, match=r"make_pipeline\(KernelPCA\(kernel\), ProductQuantizer\(\)\)"):
        quantizer(kernel="rbf").fit(X)
    kernel = RBF(0.001)
    model = make_pipeline(KernelPCA(kernel, n_components=16, n_landmarks=200, random_state=0), quantizer(bits=6))
    decoded = model[-1].inverse_transform(model.fit_transform(X))
    K = kernel(X)
    assert np.linalg.norm(decoded @ decoded.T - K) < 0.15 * np.linalg.norm(K)


def test_a_memory_mapped_file_is_never_copied(tmp_path, monkeypatch):
    path = tmp_path / "rows.npy"
    n, d = 200, 32768
    mapped = np.lib.format.open_memmap(path, "w+", np.float32, (n, d))
    mapped[:] = np.random.default_rng(0).standard_normal((n, d), dtype=np.float32)
    mapped.flush()
    del mapped
    monkeypatch.setattr(_fitting, "STRIP_BYTES", 2**20)
    monkeypatch.setattr(_reading, "CHUNK_BYTES", 2**20)
    monkeypatch.setattr(_reading, "PRODUCT_ROWS", 8)
    fitted = quantizer(block_size=512, bits=2, n_iter=2)
    fitted.fit(np.random.default_rng(1).standard_normal((n, 1024))).transform(np.zeros((2, 1024)))  # imports, compiles
    X = np.load(path, mmap_mode="r")
    before = resident_file_bytes()
    tracemalloc.start()
    codes = fitted.fit(X).transform(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert codes.shape == (n, 64)
    assert peak < X.nbytes / 4
    # what was read of the file does not stay in the memory of the process
    assert resident_file_bytes() - before < X.nbytes / 2


def resident_file_bytes():
    status = Path("/proc/self/status")
    if not status.exists():
        return 0
    return sum(int(line.split()[1]) * 1024 for line in status.read_text().splitlines() if line.startswith("RssFile"))


def test_maps_that_can_be_written_keep_their_changes(tmp_path, X):
    path = tmp_path / "rows.npy"
    np.save(path, X)
    mapped = np.load(path, mmap_mode="c")  # changes stay in memory
    mapped[:, 0] = 5.0
    quantizer().fit(mapped)
    assert np.array_equal(mapped[:, 0], np.full(700, 5.0))
