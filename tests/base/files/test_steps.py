"""A pipeline in a file is asked, judged, inspected and served like any other model."""

import json
import warnings

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from typer.testing import CliRunner

import mercer
from mercer._base.files.steps import last_step, without_names
from mercer.cli.main import app

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4)).astype(np.float32)
Y = (X[:, 0] > 0).astype(int)


def command(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture
def files(tmp_path):
    """Paths of a pipeline and of labelled rows, and the pipeline."""
    model = make_pipeline(MinMaxScaler(clip=True), mercer.KernelClassifier("chi2")).fit(X, Y)
    mercer.save(model, tmp_path / "model.mercer")
    np.savez(tmp_path / "rows.npz", X=X, y=Y)
    return tmp_path / "model.mercer", tmp_path / "rows.npz", model


def test_the_commands_take_a_pipeline(files):
    path, rows, model = files
    assert command("predict", path, rows, "--json")["labels"] == model.predict(X).tolist()
    scores = command("predict", path, rows, "--scores", "--json")["scores"]
    np.testing.assert_allclose(np.ravel(scores), model.decision_function(X))
    judged = command("evaluate", path, rows, "--json")
    assert (judged["learner"], judged["accuracy"]) == ("Pipeline", model.score(X, Y))
    shown = command("inspect", path, "--json")
    assert shown["class"] == "sklearn.Pipeline"
    assert "sklearn.MinMaxScaler" in shown["parameters"]["steps"]


def test_the_service_answers_by_a_pipeline(files):
    from mercer.serving.model.served import load_served

    path, _, model = files
    served = load_served(path)
    served.warm_up()
    assert (served.name, served.task, served.n_features, served.classes) == ("Pipeline", "classification", 4, [0, 1])
    np.testing.assert_array_equal(served.answer("rows", X).labels, model.predict(X))
    regressor = TransformedTargetRegressor(Ridge(), transformer=StandardScaler()).fit(X, X[:, 0])
    mercer.save(regressor, path)
    np.testing.assert_array_equal(load_served(path).answer("rows", X).labels, regressor.predict(X))


def test_a_pipeline_without_a_learner_at_its_end_is_refused(files):
    path, rows, _ = files
    for model in (make_pipeline(MinMaxScaler()).fit(X), Pipeline([("a", MinMaxScaler()), ("b", "passthrough")]).fit(X)):
        mercer.save(model, path)
        result = CliRunner().invoke(app, ["predict", str(path), str(rows)])
        assert result.exit_code == 2
        assert "not a fitted learner of rows" in result.stderr


def test_names_are_taken_out_of_every_part():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    columns = ColumnTransformer([("scaled", MinMaxScaler(), ["d", "b"])], remainder="passthrough")
    model = make_pipeline(columns, mercer.KernelClassifier("rbf")).fit(frame, Y)
    assert last_step(model) is model[-1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(without_names(model).decision_function(X), model.decision_function(frame))
    assert list(model.feature_names_in_) == list("abcd")
