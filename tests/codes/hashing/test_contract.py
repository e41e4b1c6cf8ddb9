"""What every binary code promises, run over the codes: a new one is tested by being added to CASES."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import mercer
from mercer import (
    KLSH,
    RMMH,
    HomogeneousMap,
    KernelClassifier,
    KernelPCA,
    ProductQuantizer,
    SignHash,
    UniversalEmbedding,
    thread_limit,
)
from mercer.kernels import RBF

PCA = KernelPCA("chi2", n_components=6, n_landmarks=40, random_state=0)
CASES = {
    "signs of rows": (SignHash, {}),
    "signs, independent": (SignHash, {"orthogonal": False}),
    "signs of components": (SignHash, {"map": PCA}),
    "signs of sparse features": (SignHash, {"map": HomogeneousMap("js")}),
    "signs of words": (SignHash, {"map": ProductQuantizer(4, bits=4, random_state=0)}),
    "klsh": (KLSH, {"n_landmarks": 60}),
    "klsh, not centered": (KLSH, {"n_landmarks": 60, "center": False, "n_sampled": 1}),
    "rmmh": (RMMH, {"n_landmarks": 60}),
    "rmmh, rbf": (RMMH, {"kernel": RBF(2.0), "n_landmarks": 60, "n_sampled": 8, "C": 100.0}),
    "universal": (UniversalEmbedding, {}),
    "universal, given step": (UniversalEmbedding, {"delta": 0.3}),
}


@pytest.fixture(params=CASES)
def case(request):
    cls, parameters = CASES[request.param]

    def build(**more):
        return cls(**{"n_bits": 21, "random_state": 0, **parameters, **more})

    return build


@pytest.fixture
def data(rng):
    """Histograms with empty bins around a few centers."""
    centres = rng.dirichlet(np.full(12, 0.4), size=10)
    X = centres[rng.integers(0, 10, 300)] * rng.gamma(3.0, 0.3, (300, 12)) * (rng.random((300, 12)) < 0.9) + 1e-3
    X[X < 2e-3] = 0
    return X / X.sum(axis=1, keepdims=True)


def share_of_different_bits(left, right, n_bits):
    return np.bitwise_count(left ^ right).sum() / (len(left) * n_bits)


def test_codes_are_bytes_whose_spare_bits_are_zero(case, data):
    hashed = case().fit(data)
    codes = hashed.transform(data)
    assert (codes.dtype, codes.shape) == (np.uint8, (len(data), 3))
    assert not (codes[:, 2] >> 5).any()  # 21 bits: 3 of the last byte are spare
    assert hashed.get_feature_names_out().tolist() == [f"{type(hashed).__name__.lower()}{i}" for i in range(3)]
    assert all(codes[:, byte].any() for byte in range(3))


def test_near_rows_have_near_codes(case, data, rng):
    hashed = case(n_bits=256).fit(data)
    codes = hashed.transform(data)
    moved = data * rng.uniform(0.99, 1.01, data.shape)
    near = share_of_different_bits(codes, hashed.transform(moved / moved.sum(axis=1, keepdims=True)), 256)
    other = share_of_different_bits(codes, codes[rng.permutation(len(codes))], 256)
    assert near < 0.25 * other  # measured 0.01 to 0.16


def test_one_seed_gives_the_same_bits_on_any_number_of_threads(case, data):
    many = np.tile(data, (8, 1))  # more than one block of rows
    found = []
    for n_jobs in (1, 2):
        found.append(case(n_jobs=n_jobs).fit(data).transform(many))
        with thread_limit(n_jobs):
            found.append(case().fit(data).transform(many))
    for codes in found[1:]:
        np.testing.assert_array_equal(codes, found[0])
    assert not np.array_equal(case(random_state=1).fit(data).transform(many), found[0])


def test_dense_sparse_single_and_double_rows_have_the_same_codes(case, data):
    hashed = case(n_bits=64).fit(data)
    codes = hashed.transform(data)
    np.testing.assert_array_equal(hashed.transform(sparse.csr_matrix(data)), codes)
    np.testing.assert_array_equal(case(n_bits=64).fit(sparse.csr_array(data)).transform(data), codes)
    np.testing.assert_array_equal(np.vstack([hashed.transform(data[i : i + 1]) for i in range(9)]), codes[:9])
    # float32 rows move a projection by 1e-7 of its size: seldom across a threshold
    single = data.astype(np.float32)
    assert share_of_different_bits(hashed.transform(single), codes, 64) < 1e-3
    assert share_of_different_bits(hashed.transform(sparse.csr_array(single)), codes, 64) < 1e-3


def test_learners_see_the_share_of_bits_that_are_equal(case, data, tmp_path):
    model = KernelClassifier(map=case(), loss="squared_hinge").fit(data, data[:, 0] > np.median(data[:, 0]))
    assert model.plan_.rows == "BitRows of int8"
    codes, n_bits = model.map_.transform(data[:30]), model.map_.n_bits
    signs = 2.0 * np.unpackbits(codes, axis=1, bitorder="little", count=n_bits) - 1
    length = 0.5 if isinstance(model.map_, UniversalEmbedding) else 1.0  # K(x, x)
    expected = length * (1 - 2 * np.bitwise_count(codes[:, None] ^ codes).sum(axis=2) / n_bits)
    np.testing.assert_allclose(model.map_.approximate_kernel(data[:30]), expected, rtol=1e-12, atol=1e-12)
    scores = signs @ model.coef_.ravel() * np.sqrt(length / n_bits) + model.intercept_
    np.testing.assert_allclose(model.decision_function(data[:30]), scores, rtol=1e-9, atol=1e-9)
    mercer.save(model, tmp_path / "m.mercer")
    again = mercer.load(tmp_path / "m.mercer").decision_function(data[:30])
    np.testing.assert_array_equal(again, model.decision_function(data[:30]))


def test_saved_codes_are_the_same_codes(case, data, tmp_path):
    hashed = case().fit(data)
    path = tmp_path / "hash.mercer"
    mercer.save(hashed, path)
    codes = hashed.transform(data)
    for restored in (mercer.load(path), mercer.load(path, mmap=True), pickle.loads(pickle.dumps(hashed))):
        np.testing.assert_array_equal(restored.transform(data), codes)
        assert repr(clone(restored)) == repr(clone(hashed))
    mercer.save(case(), path)
    assert repr(mercer.load(path)) == repr(case())


def test_a_change_of_parameters_after_fit_changes_nothing_before_the_next_fit(case, data):
    hashed = case().fit(data)
    codes = hashed.transform(data)
    hashed.set_params(n_bits=5)
    np.testing.assert_array_equal(hashed.transform(data), codes)
    assert hashed.fit(data).transform(data).shape == (len(data), 1)


def test_sparse_landmarks_are_saved_too(data, tmp_path):
    hashed = KLSH("js", n_bits=16, n_landmarks=50, random_state=0).fit(sparse.csr_array(data))
    mercer.save(hashed, tmp_path / "klsh.mercer")
    restored = mercer.load(tmp_path / "klsh.mercer")
    assert sparse.issparse(restored.landmarks_)
    np.testing.assert_array_equal(restored.transform(data), hashed.transform(data))


BAD = {
    "no bits": (SignHash(n_bits=0), "`n_bits` must be an integer >= 1"),
    "half a bit": (KLSH(n_bits=1.5), "`n_bits` must be an integer >= 1"),
    "a map of another library": (SignHash(map="chi2"), "SignHash needs a map of Mercer"),
    "one landmark": (KLSH(n_landmarks=1), "`n_landmarks` must be an integer >= 2"),
    "all landmarks in one direction": (
        KLSH(n_landmarks=20, n_sampled=20),
        "n_sampled=20 of 20 landmarks gives a single",
    ),
    "no samples": (KLSH(n_sampled=0), "`n_sampled` must be an integer >= 1, or None"),
    "an odd sample": (RMMH(n_sampled=5), "n_sampled of RMMH must be even.*got n_sampled=5"),
    "a sample larger than the pool": (RMMH(n_landmarks=10, n_sampled=12), "cannot draw n_sampled=12 rows .* from 10"),
    "no cost": (RMMH(C=0), "`C` must be a number > 0"),
    "infinite cost": (RMMH(C=np.inf), "`C` must be a number > 0"),
    "a step that is none": (UniversalEmbedding(delta=0), "`delta` must be a number > 0, or 'auto'"),
    "a step by an unknown rule": (UniversalEmbedding(delta="median"), "`delta` must be a number > 0, or 'auto'"),
    "a kernel that does not exist": (RMMH("chi3"), "chi3"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_parameter_that_cannot_be_is_named(name, data):
    hashed, message = BAD[name]
    with pytest.raises(mercer.InputError, match=message):
        hashed.fit(data)


def test_rows_outside_the_domain_of_the_kernel_are_refused(data):
    negative = data.copy()
    negative[3, 4] = -0.5
    for hashed in (KLSH(n_landmarks=60), RMMH(n_landmarks=60), SignHash(PCA)):
        with pytest.raises(mercer.InputError, match=r"X\[3, 4\] is -0.5"):
            hashed.fit(negative)
        with pytest.raises(mercer.InputError, match=r"X\[3, 4\] is -0.5"):
            hashed.fit(data).transform(negative)
    with pytest.raises(mercer.InputError, match="KLSH needs at least 2 rows"):
        KLSH().fit(data[:1])


HOSTILE = {
    "weights of another number": (KLSH(n_landmarks=60), {"coefficients_": np.zeros((60, 20))}),
    "weights of another type": (KLSH(n_landmarks=60), {"coefficients_": np.zeros((60, 21), dtype=np.float32)}),
    "weights that are NaN": (KLSH(n_landmarks=60), {"coefficients_": np.full((60, 21), np.nan)}),
    "thresholds that are none": (KLSH(n_landmarks=60), {"intercept_": np.zeros(0)}),
    "thresholds in a table": (RMMH(n_landmarks=60), {"intercept_": np.zeros((21, 1))}),
    "no kernel": (RMMH(n_landmarks=60), {"kernel_": "chi2"}),
    "landmarks outside the domain": (RMMH(n_landmarks=60), {"landmarks_": np.full((60, 12), -1.0)}),
    "landmarks of another width": (KLSH(n_landmarks=60), {"landmarks_": np.ones((60, 11))}),
    "infinite landmarks": (KLSH(n_landmarks=60), {"landmarks_": np.full((60, 12), np.inf)}),
    "directions of another width": (SignHash(), {"directions_": np.ones((11, 21))}),
    "no directions": (SignHash(), {"directions_": np.ones((12, 0))}),
    "a map of another width": (SignHash(), {"map_": HomogeneousMap().fit(np.ones((2, 4)))}),
    "directions for features": (SignHash(PCA), {"map_": None}),
    "a step of zero": (UniversalEmbedding(), {"delta_": 0.0}),
    "a specification that is none": (UniversalEmbedding(), {"specification_json_": "{}"}),
    "a specification of other rows": (
        UniversalEmbedding(),
        {"specification_json_": lambda: UniversalEmbedding().fit(np.eye(2)).specification_json_},
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_that_does_not_describe_a_code_is_refused(name, data, tmp_path):
    hashed, changes = HOSTILE[name]
    hashed = clone(hashed).set_params(n_bits=21, random_state=0).fit(data)
    for attribute, value in changes.items():
        setattr(hashed, attribute, value() if callable(value) else value)
    mercer.save(hashed, tmp_path / "hash.mercer")
    with pytest.raises(mercer.ModelFileError, match=f"does not describe a valid {type(hashed).__name__}"):
        mercer.load(tmp_path / "hash.mercer")
