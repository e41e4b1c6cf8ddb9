"""``mercer predict``: the library's answers, in every format and however the rows are cut."""

import csv
import io

import numpy as np
import pytest
from sklearn.datasets import load_digits

import mercer

WORDS = np.array(["zero", "one, or so", 'two "2"'])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Models of words, of two classes and of numbers, and rows for them."""
    path = tmp_path_factory.mktemp("predict")
    X, y = load_digits(n_class=3, return_X_y=True)
    X, y = (X[:200] / 16).astype(np.float32), y[:200]
    mercer.save(
        mercer.KernelClassifier("chi2", probability=True, random_state=0).fit(X, WORDS[y]), path / "words.mercer"
    )
    mercer.save(mercer.KernelClassifier("chi2", random_state=0).fit(X[y < 2], y[y < 2]), path / "two.mercer")
    mercer.save(mercer.KernelRegressor("chi2", loss="squared", random_state=0).fit(X, y / 2), path / "numbers.mercer")
    np.save(path / "X.npy", X)
    return path


@pytest.fixture(autouse=True)
def _inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


@pytest.fixture
def X():
    return np.load("X.npy")


def test_labels_of_any_kind_are_one_per_line_or_an_array_of_one_dimension(succeeds, X):
    for model in ("words", "two", "numbers"):
        expected = mercer.load(f"{model}.mercer").predict(X)
        lines = list(csv.reader(io.StringIO(succeeds("predict", f"{model}.mercer", "X.npy", "--quiet"))))
        assert lines == [[str(label)] for label in expected]
        succeeds("predict", f"{model}.mercer", "X.npy", "--out", "p.npy")
        np.testing.assert_array_equal(np.load("p.npy"), expected)
        succeeds("predict", f"{model}.mercer", "X.npy", "--out", "p.npz")
        np.testing.assert_array_equal(np.load("p.npz")["labels"], expected)


@pytest.mark.parametrize("working_memory", [1024, 0.02])  # MiB: one block, and a dozen rows at a time
def test_scores_and_probabilities_have_the_classes_above_them(succeeds, X, working_memory):
    import sklearn

    model = mercer.load("words.mercer")
    for option, expected in (("--scores", model.decision_function(X)), ("--proba", model.predict_proba(X))):
        with sklearn.config_context(working_memory=working_memory):
            succeeds("predict", "words.mercer", "X.npy", option, "--out", "p.csv")
            succeeds("predict", "words.mercer", "X.npy", option, "--out", "p.npy")
        with open("p.csv", newline="") as stream:
            titles, *rows = csv.reader(stream)
        assert titles == sorted(WORDS)
        np.testing.assert_allclose(np.array(rows, dtype=np.float64), expected, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(np.load("p.npy"), expected, rtol=1e-6, atol=1e-7)


def test_two_classes_have_one_score(succeeds, X):
    lines = succeeds("predict", "two.mercer", "X.npy", "--scores", "--quiet").splitlines()
    assert lines[0] == "1"
    scores = mercer.load("two.mercer").decision_function(X)
    np.testing.assert_allclose(np.array(lines[1:], dtype=np.float64), scores, rtol=1e-6, atol=1e-7)


def test_several_labels_of_a_row_have_a_column_each(succeeds, fails, X):
    Y = np.column_stack([X[:, 20] > 0.5, X[:, 30] > 0.5]).astype(int)
    model = mercer.KernelClassifier("chi2", random_state=0).fit(X, Y)
    mercer.save(model, "several.mercer")
    succeeds("predict", "several.mercer", "X.npy", "--out", "p.npy")
    np.testing.assert_array_equal(np.load("p.npy"), model.predict(X))
    lines = succeeds("predict", "several.mercer", "X.npy", "--scores").splitlines()
    assert (lines[0], lines[1].count(",")) == ("0,1", 1)
    fails(2, ["several values per row"], "evaluate", "several.mercer", "X.npy")


def test_json_holds_the_answers_unless_they_go_to_a_file(succeeds, X):
    found = succeeds("predict", "two.mercer", "X.npy", "--json")
    assert found["labels"] == mercer.load("two.mercer").predict(X).tolist()
    assert found["classes"] == [0, 1]
    found = succeeds("predict", "two.mercer", "X.npy", "--json", "--out", "p.npy")
    assert (found["out"], "labels" in found) == ("p.npy", False)


def test_rows_pass_through_a_pipe(process, X):
    text = io.BytesIO()
    np.savetxt(text, X[:5], delimiter=",", fmt="%.9g")
    arguments = ("predict", "two.mercer", "-", "--format", "csv", "--quiet")
    code, out, err = process(*arguments, input=text.getvalue())
    assert (code, err) == (0, "")
    assert out.decode().split() == [str(label) for label in mercer.load("two.mercer").predict(X[:5])]


def test_a_label_column_is_no_feature(succeeds, X):
    np.savetxt("labelled.csv", np.column_stack([X, np.ones(len(X))]), delimiter=",", fmt="%.9g")
    with_column = succeeds("predict", "two.mercer", "labelled.csv", "--label", "-1")
    assert with_column == succeeds("predict", "two.mercer", "X.npy")


@pytest.mark.parametrize(
    ("code", "words", "arguments"),
    [
        (2, ["no file nowhere.mercer"], ["nowhere.mercer", "X.npy"]),
        (1, ["X.npy", "not a model file"], ["X.npy", "X.npy"]),
        (2, ["HomogeneousMap", "mercer fit"], ["map.mercer", "X.npy"]),
        (2, ["KernelClassifier", "mercer fit"], ["unfitted.mercer", "X.npy"]),
        (1, ["3 columns", "takes 64", "--label"], ["two.mercer", "narrow.csv"]),
        (1, ["missing.npy", "row 0", "nan"], ["two.mercer", "missing.npy"]),
        (1, ["needs values >= 0"], ["two.mercer", "negative.npy"]),
        (2, ["cannot be combined"], ["two.mercer", "X.npy", "--scores", "--proba"]),
        (2, ["--probability"], ["two.mercer", "X.npy", "--proba"]),
        (2, ["numbers", "scores"], ["numbers.mercer", "X.npy", "--scores"]),
        (2, ["cannot be inferred"], ["two.mercer", "X.npy", "--out", "p.mat"]),
    ],
)
def test_each_mistake_has_its_sentence_and_code(fails, X, folder, code, words, arguments):
    mercer.save(mercer.HomogeneousMap().fit(X), "map.mercer")
    mercer.save(mercer.KernelClassifier("chi2"), "unfitted.mercer")
    (folder / "narrow.csv").write_text("1,2,3\n")
    for name, value in (("missing", np.nan), ("negative", -1)):
        np.save(f"{name}.npy", np.full((2, 64), value, dtype=np.float32))
    fails(code, words, "predict", *arguments)


def test_json_and_answers_on_one_stream_are_refused(command, X):
    result = command("predict", "two.mercer", "X.npy", "--json", "--out", "-")
    assert result.exit_code == 2
    assert "standard output" in result.stderr


def test_nothing_is_left_behind_when_a_later_row_is_bad(command, X, tmp_path):
    import sklearn

    X = X.copy()
    X[-1, 0] = np.nan
    np.save("late.npy", X)
    with sklearn.config_context(working_memory=0.02):
        assert command("predict", "two.mercer", "late.npy", "--out", tmp_path / "p.csv").exit_code == 1
    assert not (tmp_path / "p.csv").exists()
