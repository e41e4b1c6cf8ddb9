"""``mercer encode``: codes and features of rows, and the way back from codes."""

import io

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

import mercer


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A quantizer, a learner on its codes, a map, and rows for them."""
    path = tmp_path_factory.mktemp("encode")
    X, y = load_digits(n_class=3, return_X_y=True)
    X, y = (X[:200] / 16).astype(np.float32), y[:200]
    quantiser = mercer.ProductQuantizer(block_size=8, bits=5, random_state=0).fit(X)
    mercer.save(quantiser, path / "pq.mercer")
    mercer.save(mercer.KernelClassifier(map=quantiser, random_state=0).fit(X, y), path / "coded.mercer")
    mercer.save(mercer.HomogeneousMap("chi2").fit(X), path / "chi2.mercer")
    np.save(path / "X.npy", X)
    np.save(path / "y.npy", y)
    return path


@pytest.fixture(autouse=True)
def _inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


@pytest.fixture
def X():
    return np.load("X.npy")


@pytest.mark.parametrize("working_memory", [1024, 0.02])  # MiB: one block, and a dozen rows at a time
def test_codes_are_bytes_and_decode_to_the_rows_they_stand_for(succeeds, X, working_memory):
    import sklearn

    quantiser = mercer.load("pq.mercer")
    with sklearn.config_context(working_memory=working_memory):
        document = succeeds("encode", "pq.mercer", "X.npy", "--out", "codes.npy", "--json")
        succeeds("encode", "pq.mercer", "codes.npy", "--decode", "--out", "decoded.npy")
    codes = np.load("codes.npy")
    assert codes.dtype == np.uint8
    assert (document["shape"], document["bytes_per_row"]) == ([len(X), 8], 8)
    np.testing.assert_array_equal(codes, quantiser.transform(X))
    np.testing.assert_array_equal(np.load("decoded.npy"), quantiser.inverse_transform(codes))


def test_a_learner_shows_what_it_sees(succeeds, X):
    succeeds("encode", "coded.mercer", "X.npy", "--out", "codes.csv")
    codes = np.loadtxt("codes.csv", delimiter=",", dtype=np.uint8)
    np.testing.assert_array_equal(codes, mercer.load("coded.mercer").map_.transform(X))
    succeeds("encode", "coded.mercer", "codes.csv", "--decode", "--out", "decoded.npz")
    expected = mercer.load("coded.mercer").map_.inverse_transform(codes)
    np.testing.assert_array_equal(np.load("decoded.npz")["X"], expected)


def test_features_of_a_map_stay_sparse_unless_asked(succeeds, fails, X):
    expected = mercer.load("chi2.mercer").transform(X)
    sp.save_npz("S.npz", sp.csr_matrix(X))
    assert succeeds("encode", "chi2.mercer", "S.npz", "--out", "F.npz", "--json")["sparse"] is True
    np.testing.assert_allclose(sp.load_npz("F.npz").toarray(), expected, rtol=1e-6, atol=1e-7)
    fails(2, ["sparse", "npz", "--dense"], "encode", "chi2.mercer", "S.npz", "--out", "F.npy")
    for source, options in (("S.npz", ["--dense"]), ("X.npy", [])):
        succeeds("encode", "chi2.mercer", source, *options, "--out", "F.npy")
        np.testing.assert_allclose(np.load("F.npy"), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("bits", "dtype", "size"), [(4, np.uint8, 4), (9, np.uint16, 16)])
def test_codes_of_half_a_byte_and_of_two_are_decoded_from_what_was_written(succeeds, X, bits, dtype, size):
    fit = ("map", "fit", "X.npy", "--map", f"pq:bits={bits},n_iter=2", "--out", "words.mercer")
    succeeds(*fit)
    document = succeeds("encode", "words.mercer", "X.npy", "--out", "codes.npy", "--json")
    succeeds("encode", "words.mercer", "codes.npy", "--decode", "--out", "decoded.npy")
    codes, quantiser = np.load("codes.npy"), mercer.load("words.mercer")
    assert (codes.dtype, document["bytes_per_row"], quantiser.code_size_) == (dtype, size, size)
    np.testing.assert_array_equal(np.load("decoded.npy"), quantiser.inverse_transform(quantiser.transform(X)))


@pytest.mark.filterwarnings("ignore::mercer._base.errors.ApproximationWarning")
@pytest.mark.parametrize("name", ["sign", "klsh", "rmmh"])
def test_bits_of_a_hash_are_fitted_encoded_and_learned_on(succeeds, fails, X, name):
    map = f"{name}:n_bits=90" + ("" if name == "sign" else ",n_landmarks=100")
    succeeds("map", "fit", "X.npy", "--map", map, "-k", "chi2", "--out", "hash.mercer")
    document = succeeds("encode", "hash.mercer", "X.npy", "--out", "codes.npy", "--json")
    fitted = mercer.load("hash.mercer")
    assert fitted.kernel_ == mercer.Chi2()
    assert (document["bits"], document["bytes_per_row"], document["shape"]) == (90, 12, [len(X), 12])
    np.testing.assert_array_equal(np.load("codes.npy"), fitted.transform(X))
    succeeds("fit", "X.npy", "--labels", "y.npy", "--map", map, "-k", "chi2", "--out", "learner.mercer")
    learner = mercer.load("learner.mercer")
    assert learner.plan_.rows == "BitRows of int8"
    assert learner.score(X, np.load("y.npy")) > 0.9
    fails(2, ["does not produce bits for a message"], "encode", "hash.mercer", "X.npy", "--out", "codes.mrcw")
    fails(2, ["codes of 90 bits", "not 64"], "encode", "hash.mercer", "X.npy", "--bits", "64", "--out", "codes.npy")


def test_codes_pass_through_a_pipe(process, X):
    code, out, err = process("encode", "pq.mercer", "X.npy", "--out", "-", "--quiet")
    assert (code, err) == (0, "")
    codes = np.loadtxt(io.BytesIO(out), delimiter=",", dtype=np.uint8)
    np.testing.assert_array_equal(codes, mercer.load("pq.mercer").transform(X))


@pytest.mark.parametrize(
    ("code", "words", "arguments"),
    [
        (2, ["no file nowhere.mercer"], ["nowhere.mercer", "X.npy"]),
        (2, ["Chi2", "mercer map fit"], ["kernel.mercer", "X.npy"]),
        (2, ["ProductQuantizer", "mercer map fit"], ["unfitted.mercer", "X.npy"]),
        (2, ["HomogeneousMap", "quantizer", "decoded"], ["chi2.mercer", "X.npy", "--decode"]),
        (1, ["3 columns", "64"], ["pq.mercer", "narrow.csv"]),
        (1, ["3 columns", "8"], ["pq.mercer", "narrow.csv", "--decode"]),
        (1, ["narrow8.csv", "codes of this quantizer:", "0 to 255"], ["pq.mercer", "narrow8.csv", "--decode"]),
        (1, ["large.csv", "200", "0 to 31"], ["pq.mercer", "large.csv", "--decode"]),
        (1, ["missing.npy", "row 0", "nan"], ["pq.mercer", "missing.npy"]),
    ],
)
def test_each_mistake_has_its_sentence_and_code(fails, folder, code, words, arguments):
    mercer.save(mercer.Chi2(), "kernel.mercer")
    mercer.save(mercer.ProductQuantizer(), "unfitted.mercer")
    (folder / "narrow.csv").write_text("1,2,3\n")
    (folder / "narrow8.csv").write_text("1,2,3,4,5,6,7,256\n")
    (folder / "large.csv").write_text("1,2,3,4,5,6,7,200\n")  # 5 bits: codes end at 31
    np.save("missing.npy", np.full((2, 64), np.nan, dtype=np.float32))
    fails(code, words, "encode", *arguments, "--out", "codes.npy")
