"""Data of any size: what a map, code, learner or index makes of it is finite and can be saved, or it is refused."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer import (
    KLSH,
    RBF,
    RMMH,
    CompactEmbedding,
    ConvexReduction,
    FourierMap,
    HomogeneousMap,
    InputError,
    IntersectionSVC,
    KernelClassifier,
    KernelIndex,
    KernelPCA,
    KernelRegressor,
    LevelQuantizer,
    NystroemMap,
    ProductQuantizer,
    ProjectedMap,
    QuantizedJL,
    SignHash,
    SparseAdditiveMap,
    SparseMap,
    UniversalEmbedding,
    WeightedMinHash,
)
from mercer._base.errors import ApproximationWarning
from mercer.maps import MAPS

TRANSFORMERS = {
    "homogeneous": HomogeneousMap("chi2"),
    "homogeneous-intersection": HomogeneousMap("intersection"),
    "nystroem": NystroemMap("chi2", n_landmarks=8, random_state=0),
    "nystroem-rbf": NystroemMap(RBF(), n_landmarks=8, random_state=0),
    "nystroem-per-dimension": NystroemMap("chi2", per_dimension=True),
    "kpca": KernelPCA("chi2", n_components=3),
    "fourier": FourierMap(RBF(), n_components=8, random_state=0),
    "sparse": SparseMap("chi2", n_landmarks=8, random_state=0),
    "sparse-additive": SparseAdditiveMap("intersection", n_points=4),
    "minhash": WeightedMinHash(n_hashes=8, random_state=0),
    "reduction": ConvexReduction("chi2", n_dims=4),
    "projected": ProjectedMap(HomogeneousMap("chi2"), n_components=8, random_state=0),
    "product": ProductQuantizer(4, bits=4, random_state=0),
    "levels": LevelQuantizer(4),
    "klsh": KLSH("chi2", 8, n_landmarks=10, random_state=0),
    "rmmh": RMMH("chi2", 8, n_landmarks=20, random_state=0),
    "sign-hash": SignHash(n_bits=8, random_state=0),
    "universal": UniversalEmbedding(16, random_state=0),
    "quantized-jl": QuantizedJL(16, random_state=0),
    "compact": CompactEmbedding(8, random_state=0),
}
ANY_SIZE = ("homogeneous", "homogeneous-intersection", "fourier", "sparse", "minhash", "levels")
SCALES = {
    "d": [1e-320, 1e-300, 1e-160, 1e-29, 1.0, 1e29, 1e160, 1e300],
    "f": [1e-42, 1e-36, 1e-29, 1.0, 1e29, 1e36],
}


@pytest.fixture(autouse=True)
def _no_noise():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ApproximationWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def numbers(Z):
    return Z.data if sparse.issparse(Z) else np.asarray(Z)


def workable(scale):
    return 1e-30 < scale < 1e30


def test_every_registered_map_is_tried():
    assert set(MAPS.values()) <= {type(model) for model in TRANSFORMERS.values()}


@pytest.mark.parametrize("dtype", SCALES)
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_features_are_finite_and_survive_a_file_or_are_refused(name, dtype, rng, tmp_path):
    from sklearn.base import clone

    U = rng.random((40, 8))
    for scale in SCALES[dtype]:
        X, model = (U * scale).astype(dtype), clone(TRANSFORMERS[name])
        if not workable(scale) and name not in ANY_SIZE:
            with pytest.raises(InputError, match=f"{type(model).__name__}.* needs rows whose largest absolute value"):
                model.fit(X)
            continue
        Z = model.fit(X).transform(X[:5])
        assert np.isfinite(numbers(Z)).all(), scale
        mercer.save(model, tmp_path / "model")
        np.testing.assert_array_equal(numbers(mercer.load(tmp_path / "model").transform(X[:5])), numbers(Z))
        if name not in ANY_SIZE:
            with pytest.raises(InputError, match="needs rows whose largest absolute value"):
                model.transform(X[:5].astype("d") / scale * 1e160)


def test_a_column_too_small_for_a_table_is_refused_by_its_number(rng):
    X = rng.random((40, 3)) * [1.0, 1e-320, 1.0]
    with pytest.raises(InputError, match=r"per_dimension=True.* largest value of column 1 is .*Scale the column"):
        NystroemMap("chi2", per_dimension=True).fit(X)


LEARNERS = {
    "classifier-chi2": KernelClassifier("chi2"),
    "classifier-rbf": KernelClassifier("rbf", random_state=0),
    "classifier-intersection": KernelClassifier("intersection"),
    "regressor-linear": KernelRegressor("linear"),
    "regressor-rbf": KernelRegressor("rbf", random_state=0),
    "intersection-svc": IntersectionSVC(),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_predictions_are_finite_or_refused(name, rng):
    from sklearn.base import clone

    U = rng.random((60, 5))
    y = U[:, 0] - U[:, 1] if name.startswith("regressor") else U[:, 0] > U[:, 1]
    for dtype, scale in (("d", 1e-150), ("d", 1e-29), ("f", 1e-29), ("f", 1e29), ("d", 1e29), ("d", 1e150)):
        model, X = clone(LEARNERS[name]), (U * scale).astype(dtype)
        if not workable(scale):
            with pytest.raises(InputError, match=f"{type(model).__name__} needs rows whose largest absolute value"):
                model.fit(X, y)
            continue
        assert np.isfinite(model.fit(X, y).predict(X)).all()
        with pytest.raises(InputError, match="needs rows whose largest absolute value"):
            model.predict(U * 1e150)
        if "rbf" in name:  # its gamma follows the data
            assert model.score(X, y) > 0.9


@pytest.mark.parametrize("kernel", ["chi2", "linear"])
def test_an_index_finds_rows_of_any_workable_size(kernel, rng):
    U = rng.random((60, 5))
    for scale in (1e-29, 1e29):
        X = (U * scale).astype("f4")
        index = KernelIndex(kernel, random_state=0).fit(X)
        index.add(X)
        for exact in (False, True):
            ids, similarity = index.search(X[:5], k=1, exact=exact)[:2]
            assert np.asarray(ids).ravel().tolist() == [0, 1, 2, 3, 4]
            np.testing.assert_allclose(similarity, 1, rtol=1e-5)
    for scale in (1e-150, 1e150):
        with pytest.raises(InputError, match="KernelIndex needs rows whose largest absolute value"):
            KernelIndex(kernel).fit(U * scale)
