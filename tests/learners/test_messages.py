"""What learners say where something is missing: in the words of the caller's own parameters."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import mercer
from mercer import RBF, InputError, KernelClassifier, KernelClassifierCV, NystroemMap


@pytest.fixture
def data(rng):
    X = rng.random((60, 4))
    return X, np.where(X[:, 0] > 0.5, "high", "low")


def test_the_width_of_a_kernel_can_be_searched_where_the_kernel_is_an_object(data):
    grid = {"kernel__gamma": [0.1, 1.0]}
    with pytest.raises(InputError, match=r"kernel='rbf' is a name and has no parameters. Use kernel=RBF\(\) to set"):
        GridSearchCV(KernelClassifier("rbf"), grid).fit(*data)
    search = GridSearchCV(KernelClassifier(RBF()), grid, cv=2).fit(*data)
    assert search.best_estimator_.kernel.gamma == search.best_params_["kernel__gamma"]
    with pytest.raises(InputError, match=r"kernel=None has no parameters. Use an object such as"):
        KernelClassifier().set_params(kernel__gamma=1)
    with pytest.raises(InputError, match=r"map=None has no parameters. Use an object as map"):
        KernelClassifier("chi2").set_params(map__n_landmarks=1)
    with pytest.raises(InputError, match=r"Use kernel=RBF\(\)"):
        NystroemMap("gaussian").set_params(kernel__gamma=1)


def test_a_name_can_be_replaced_by_an_object_and_its_parameters_at_once():
    model = clone(KernelClassifier("rbf").set_params(kernel=RBF(), kernel__gamma=3.0))
    assert model.kernel == RBF(gamma=3.0)


def test_a_model_without_probabilities_says_how_to_have_them(data):
    model = KernelClassifier("chi2").fit(*data)
    assert not hasattr(model, "predict_proba")
    for ask in (lambda: model.predict_proba(data[0]), lambda: KernelClassifier.predict_proba(model, data[0])):
        with pytest.raises(AttributeError, match="only with kernel=None, with probability=True, or with loss="):
            ask()
    assert KernelClassifier("chi2", loss="logistic").fit(*data).predict_proba(data[0]).shape == (60, 2)


@pytest.mark.parametrize("missing", [None, np.nan, "NA"])
@pytest.mark.parametrize("make", [KernelClassifier, KernelClassifierCV])
def test_a_missing_label_is_named(data, make, missing):
    pandas = pytest.importorskip("pandas")
    X, y = data[0], data[1].astype(object)
    y[[3, 5]] = pandas.NA if missing == "NA" else missing
    for labels in (y, y.tolist(), pandas.Series(y)):
        with pytest.raises(InputError, match=rf"{make.__name__}: y\[3\] is .*2 of 60 labels are missing"):
            make("chi2").fit(X, labels)


def test_a_search_is_not_saved_but_its_best_estimator(data, tmp_path):
    search = GridSearchCV(KernelClassifier("chi2"), {"C": [1.0]}, cv=2)
    with pytest.raises(TypeError, match=r"save\(search.best_estimator_, path\)"):
        mercer.save(search, tmp_path / "model.mercer")
    with pytest.raises(mercer.ModelFileError, match=r"is a directory, and a model is a file.*model\.mercer"):
        mercer.save(KernelClassifier(), tmp_path)
    assert not list(tmp_path.iterdir())


def test_values_beyond_the_grid_are_reported_by_the_estimator(data):
    model = KernelClassifier("intersection").fit(*data)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model.predict(2 * data[0])
    assert [str(one.message).partition(":")[0] for one in seen] == ["KernelClassifier"]
