"""A pipeline in a file is asked, judged, inspected and served like any other model."""

import json
import warnings

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline, make_pipeline, make_union
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler

import mercer
from mercer._base.files.steps import last_step, takes_missing, without_names, word_columns
from tests.command import invoke

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4)).astype(np.float32)
Y = (X[:, 0] > 0).astype(int)


def command(*words):
    result = invoke(*words)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture
def files(tmp_path):
    """Paths of a pipeline and of labeled rows, and the pipeline."""
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
        result = invoke("predict", path, rows)
        assert result.exit_code == 2
        assert "not a fitted classifier or regressor" in result.stderr


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


def test_a_pipeline_takes_missing_values_if_it_fills_them_before_a_step_refuses_them():
    filled, kept = make_pipeline(SimpleImputer(), StandardScaler()), StandardScaler()
    for steps, takes in [
        ([SimpleImputer()], True),
        ([StandardScaler(), SimpleImputer()], True),
        (["passthrough", SimpleImputer()], True),
        ([StandardScaler()], False),
        ([SimpleImputer(missing_values=-1)], False),
        ([ColumnTransformer([("a", filled, [0, 1]), ("b", OneHotEncoder(), [2])])], True),
        ([ColumnTransformer([("a", filled, [0, 1]), ("b", kept, [2])])], False),
        ([ColumnTransformer([("a", filled, [0, 1]), ("b", kept, [2])]), SimpleImputer()], True),
        ([make_union(filled, SimpleImputer())], True),
        ([make_union(filled, kept)], False),
    ]:
        model = make_pipeline(*steps, Ridge()).fit(X, Y)
        assert takes_missing(model) == takes, model
        assert takes_missing(TransformedTargetRegressor(model).fit(X, Y)) == takes
    assert not takes_missing(mercer.KernelClassifier("rbf").fit(X, Y))


def with_gaps():
    rows = X.copy()
    rows[3, 1] = rows[7, 0] = np.nan
    return rows


def test_missing_values_are_passed_to_a_pipeline_that_fills_them(tmp_path):
    gaps = with_gaps()
    model = make_pipeline(SimpleImputer(), mercer.KernelClassifier("rbf")).fit(gaps, Y)
    mercer.save(model, tmp_path / "model.mercer")
    lines = (",".join("" if np.isnan(value) else repr(float(value)) for value in row) for row in gaps)
    (tmp_path / "gaps.csv").write_text("\n".join(f"{line},{label}" for line, label in zip(lines, Y, strict=True)))
    np.savez(tmp_path / "gaps.npz", X=gaps, y=Y)
    for file, label in (("gaps.csv", ["--label", "-1"]), ("gaps.npz", [])):
        asked = [tmp_path / "model.mercer", tmp_path / file, *label, "--json"]
        assert command("predict", *asked)["labels"] == model.predict(gaps).tolist()
        assert command("evaluate", *asked)["accuracy"] == model.score(gaps, Y)
        zeros = model.predict(np.nan_to_num(gaps)).tolist()
        assert command("predict", *asked, "--missing", "fill:0")["labels"] == zeros
        refused = invoke("predict", *asked, "--missing", "error")
        assert refused.exit_code == 1
        assert "a missing value" in refused.stderr
    endless = np.where(np.isnan(gaps), np.inf, gaps)
    np.savez(tmp_path / "gaps.npz", X=endless, y=Y)
    assert "holds inf" in invoke("predict", *asked).stderr


def test_the_service_takes_null_for_a_pipeline_that_fills_it(files):
    pytest.importorskip("fastapi")
    from tests.serving.running import Running

    gaps = with_gaps()
    model = make_pipeline(SimpleImputer(), mercer.KernelClassifier("rbf")).fit(gaps, Y)
    body = {"rows": [[None if np.isnan(value) else float(value) for value in row] for row in gaps]}
    with Running(model) as service:
        assert service.post("/v1/classify", body).json["labels"] == model.predict(gaps).tolist()
    with Running(files[2]) as service:
        assert service.post("/v1/classify", body).status == 422


def test_a_pipeline_that_encodes_words_says_that_python_is_to_be_asked(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"size": X[:, 0], "city": np.where(X[:, 1] > 0, "Rome", "Oslo"), "grade": Y})
    encoder = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    columns = ColumnTransformer([("a", StandardScaler(), ["size"]), ("b", encoder, ["city"]), ("c", "drop", ["grade"])])
    model = make_pipeline(columns, mercer.KernelClassifier("rbf")).fit(frame, Y)
    assert word_columns(model) == ["city"]
    assert word_columns(make_pipeline(OrdinalEncoder(), Ridge()).fit(frame[["grade"]], Y)) == []
    assert word_columns(make_pipeline(OrdinalEncoder(), Ridge()).fit(frame[["city"]].to_numpy(), Y)) == ["0"]
    mercer.save(model, tmp_path / "model.mercer")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    for verb in ("predict", "evaluate"):
        result = invoke(verb, tmp_path / "model.mercer", tmp_path / "rows.csv")
        assert result.exit_code == 2
        assert "encodes text (column 'city')" in result.stderr
        assert "Use it from Python, with a data frame" in result.stderr
        assert "--drop" not in result.stderr
    from mercer.serving.model.served import load_served

    with pytest.raises(mercer.InputError, match=r'encodes text \(column "city"\).*from Python'):
        load_served(tmp_path / "model.mercer")
