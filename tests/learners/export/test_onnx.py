"""Models as ONNX: onnxruntime answers what the library answers, and what cannot be written is refused with a reason."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_digits, load_wine

import mercer
from mercer import (
    RBF,
    Chi2,
    ExpChi2,
    FourierMap,
    HomogeneousMap,
    IntersectionSVC,
    IntersectionSVR,
    KernelClassifier,
    KernelClassifierCV,
    KernelRegressor,
    Laplacian,
    NystroemMap,
    ProductQuantizer,
    ProjectedMap,
    SparseAdditiveMap,
)

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

TOLERANCE = 1e-5  # of the largest score: rows are float32, sums of the library partly too


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    X = (X / 16).astype(np.float32)
    return X[:300], y[:300], X[300:500]


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order].astype(np.float32), np.array(["barolo", "grignolino", "barbera"])[y[order]]
    return X[:120], y[:120], X[120:]


def asked(model, X, path):
    """The answers of the written model, by name."""
    mercer.to_onnx(model, path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": X}), strict=True))


def check_classes(model, X, path):
    found = asked(model, X, path)
    expected = model.decision_function(X)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found["scores"].reshape(expected.shape), expected, rtol=0, atol=TOLERANCE * scale)
    np.testing.assert_array_equal(found["label"], model.predict(X))
    if "probabilities" in found:
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), rtol=0, atol=TOLERANCE)
    assert ("probabilities" in found) == hasattr(model, "predict_proba")


SIGNED = mercer.Intersection(signed=True)
MODELS = {
    "linear": KernelClassifier("linear"),
    "chi2 by pairs": KernelClassifier("chi2"),
    "logistic one-vs-rest": KernelClassifier("js", loss="logistic", multi_class="ovr"),
    "logistic by pairs": KernelClassifier("chi2", loss="logistic", multi_class="ovo"),
    "multinomial": KernelClassifier("hellinger", loss="multinomial"),
    "probabilities": KernelClassifier("chi2", probability=True, random_state=0),
    "cross-validated": KernelClassifierCV("chi2", Cs=[0.1, 1.0], cv=2),
    "grid": KernelClassifier("intersection"),
    "signed grid": KernelClassifier(map=SparseAdditiveMap(SIGNED)),
    "tables": KernelClassifier(map=NystroemMap("chi2", n_components=2, per_dimension=True, random_state=0)),
    "levels": IntersectionSVC(),
    "levels of a column": IntersectionSVC(binning="column", bins=20),
    "rbf of rows": KernelClassifier("rbf"),
    "laplacian": KernelClassifier(Laplacian(0.1)),
    "landmarks": KernelClassifier(map=NystroemMap(ExpChi2(0.3), n_landmarks=40, random_state=0)),
    "min-max": KernelClassifier("min-max"),
    "product": KernelClassifier(map=NystroemMap(Chi2() * RBF(0.1) + Chi2(), n_landmarks=40, random_state=0)),
    "fourier": KernelClassifier(map=FourierMap(RBF(0.1), n_components=65, random_state=0)),
    "projected": KernelClassifier(map=ProjectedMap(HomogeneousMap("chi2"), n_components=64, random_state=0)),
    "codes": KernelClassifier(map=ProductQuantizer(block_size=8, bits=4, rotation="opq", random_state=0)),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_classifier_answers_the_same_in_onnxruntime(name, digits, tmp_path):
    X, y, other = digits
    check_classes(MODELS[name].fit(X, y), other, tmp_path / "m.onnx")


@pytest.mark.parametrize("kernel", ["chi2", "rbf"])
def test_two_classes_have_one_column_of_scores(kernel, digits, tmp_path):
    X, y, other = digits
    check_classes(KernelClassifier(kernel, probability=True, random_state=0).fit(X, y > 4), other, tmp_path / "m.onnx")
    check_classes(KernelClassifier(kernel).fit(X, y % 2), other, tmp_path / "m.onnx")


@pytest.mark.parametrize("scaling", ["none", "unit", "standard", "ranks", "rows"])
def test_a_model_of_trials_brings_its_scaling_and_its_softmax(scaling, wine, tmp_path):
    X, y, other = wine
    model = KernelClassifier(scaling=scaling, budget=1, random_state=0).fit(X, y)
    assert model.link_ is not None
    check_classes(model, other, tmp_path / "m.onnx")


def test_labels_and_their_probabilities_are_answered(digits, tmp_path):
    X, y, other = digits
    labels = np.stack([y > 4, y % 2 == 0], axis=1).astype(np.int64)
    check_classes(KernelClassifier("chi2", probability=True, random_state=0).fit(X, labels), other, tmp_path / "m.onnx")


@pytest.mark.parametrize(
    "model", [KernelRegressor("rbf"), KernelRegressor(random_state=0, budget=1), IntersectionSVR()]
)
def test_a_regressor_answers_the_same(model, tmp_path):
    X, y = load_diabetes(return_X_y=True)
    X = X.astype(np.float32)
    found = asked(model.fit(X[:200], y[:200]), X[200:], tmp_path / "m.onnx")["predictions"]
    expected = model.predict(X[200:])
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE * np.abs(expected).max())


def test_the_file_knows_the_names_of_the_columns_and_the_plan(digits):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(digits[0], columns=[f"p{i}" for i in range(64)])
    model = KernelClassifier("chi2").fit(frame, digits[1])
    facts = {each.key: each.value for each in mercer.to_onnx(model).metadata_props}
    assert facts["columns"].startswith('["p0", "p1"')
    assert facts["plan"] == model.plan_.summary


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda X, y: HomogeneousMap("chi2").fit(X), "not HomogeneousMap"),
        (lambda X, y: KernelClassifier(map=mercer.SparseMap("rbf", n_landmarks=20)).fit(X, y), "SparseMap"),
        (lambda X, y: KernelClassifier(map=SparseAdditiveMap("chi2")).fit(X, y), "grids of the intersection"),
        (lambda X, y: IntersectionSVC(binning="adaptive", bins=9).fit(X, y), "adaptive bins"),
        (lambda X, y: KernelClassifier(lambda A, B: A @ B.T).fit(X, y), "does not support the kernel"),
    ],
)
def test_what_cannot_be_written_is_refused_with_the_reason(make, reason, digits, tmp_path):
    model = make(*digits[:2])
    with pytest.raises(mercer.InputError, match=reason):
        mercer.to_onnx(model, tmp_path / "m.onnx")
    assert not list(tmp_path.iterdir())
