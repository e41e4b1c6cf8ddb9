"""scikit-learn's own checks on every estimator, and the ways its users combine estimators."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import (
    KLSH,
    RMMH,
    FourierMap,
    HomogeneousMap,
    InputError,
    IntersectionSVC,
    IntersectionSVR,
    KernelClassifier,
    KernelClassifierCV,
    KernelIndex,
    KernelNeighbors,
    KernelPCA,
    KernelRegressor,
    LevelQuantizer,
    NystroemMap,
    ProductQuantizer,
    ProjectedMap,
    SearchModel,
    SignHash,
    SpectralEntropyWeighting,
    UniversalEmbedding,
)
from mercer.kernels import RBF, Chi2
from mercer.maps import MAPS


def estimators():
    """One of each estimator at a size that keeps the checks quick."""
    small = {
        "nystroem": {"n_landmarks": 10},
        "kpca": {"n_landmarks": 10, "n_components": 3},
        "sparse": {"n_landmarks": 10, "n_nonzero": 3},
        "fourier": {"n_components": 16},
        "minhash": {"n_hashes": 16},
        "projected": {"map": HomogeneousMap(), "n_components": 8},
        "reduction": {"n_dims": 1},
    }
    search = {"bytes_per_item": 2, "n_landmarks": 10, "n_components": 3, "embedding": "kpca", "effort": "low"}
    return [
        *(MAPS[name](**small.get(name, {})) for name in MAPS),
        ProductQuantizer(2, bits=3),
        KernelClassifier("linear"),
        KernelClassifierCV("chi2", Cs=2, cv=3, tol=1e-2),
        KernelRegressor("rbf"),
        LevelQuantizer(),
        SpectralEntropyWeighting(),
        SignHash(n_bits=12),
        KLSH(n_bits=12, n_landmarks=10),
        RMMH("rbf", n_bits=12, n_landmarks=10),
        UniversalEmbedding(n_bits=12),
        IntersectionSVC(),
        IntersectionSVR(),
        SearchModel("linear", **search),
        KernelIndex("chi2", **search),
        KernelNeighbors("linear", n_neighbors=2),
    ]


def variants():
    """The same classes with other parameters, which the checks of scikit-learn hardly look at."""
    return [
        HomogeneousMap("intersection", order=2, signed=True),
        NystroemMap("chi2", n_components=2, per_dimension=True),
        FourierMap(RBF(0.1), n_components=16),
        ProductQuantizer(3, bits=4, kernel="chi2"),
        ProductQuantizer(2, bits=4, rotation="opq"),
        KernelClassifier(map=ProductQuantizer(2, bits=3), multi_class="ovo"),
        LevelQuantizer(7, "adaptive"),
        SignHash(KernelPCA("chi2", n_components=3, n_landmarks=10, random_state=0), n_bits=12),
        IntersectionSVC(kernel="auto", fit_intercept=True),
        IntersectionSVC(multi_class="crammer_singer", C=0.1),
    ]


def expected_failures(estimator):
    """Checks that an estimator does not pass, with the reason."""
    found = {}
    if isinstance(estimator, KernelClassifierCV):
        for kind in ("dense", "sparse"):
            found[f"check_sample_weight_equivalence_on_{kind}_data"] = (
                "A row that stands twice may be learned from in one fold and judged in another."
            )
        found["check_class_weight_classifiers"] = (
            "The check gives rows with negative values, which the chi2 kernel refuses."
        )
    return found


@parametrize_with_checks(estimators(), expected_failed_checks=expected_failures)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(variants(), expected_failed_checks=expected_failures)
def test_scikit_learns_checks_of_variants(estimator, check):
    check(estimator)


@pytest.mark.parametrize("make", [KernelClassifier, KernelRegressor, NystroemMap, HomogeneousMap, KLSH, SearchModel])
def test_a_wrong_kernel_can_be_shown_and_is_refused_by_fit(make):
    estimator = make(kernel="tpyo")
    assert "tpyo" in repr(estimator)
    get_tags(estimator)
    with pytest.raises(InputError, match="There is no kernel 'tpyo'"):
        estimator.fit(np.ones((4, 2)), np.array([0, 0, 1, 1]))


def test_maps_work_in_pipelines_and_searches():
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300]
    search = GridSearchCV(
        make_pipeline(NystroemMap(RBF(1.0), n_landmarks=30, random_state=0), LogisticRegression(max_iter=2000)),
        {"nystroemmap__kernel__gamma": [1e-3, 10.0], "nystroemmap__n_landmarks": [10, 60]},
        cv=2,
    ).fit(X, y)
    assert search.best_params_ == {"nystroemmap__kernel__gamma": 1e-3, "nystroemmap__n_landmarks": 60}
    assert search.best_score_ > 0.85


def test_features_have_names():
    names = HomogeneousMap("chi2").fit(np.ones((2, 3))).get_feature_names_out()
    assert names.tolist() == [f"x{j}~chi2_{i}" for j in range(3) for i in range(3)]
    assert NystroemMap("rbf").fit(np.eye(2, 3)).get_feature_names_out().tolist() == ["nystroemmap0", "nystroemmap1"]


def test_nested_maps_take_nested_parameters():
    projected = ProjectedMap(HomogeneousMap("chi2"), n_components=8)
    projected.set_params(map__order=2, map__kernel=Chi2(signed=True))
    assert projected.map.order == 2
    assert projected.fit(sparse.random_array((20, 9), density=0.3, random_state=np.random.default_rng(0))).transform(
        np.ones((2, 9))
    ).shape == (2, 8)
