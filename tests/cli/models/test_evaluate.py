"""``mercer evaluate``: the figures of scikit-learn, and what happens to labels that do not fit."""

import io

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    confusion_matrix,
    mean_absolute_error,
    precision_score,
    r2_score,
    recall_score,
    root_mean_squared_error,
)

import mercer

WORDS = np.array(["zero", "one", "two", "three, or so"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model of four digits, one of numbers, and what is no model."""
    path = tmp_path_factory.mktemp("evaluate")
    X, y = load_digits(n_class=4, return_X_y=True)
    X = (X / 16).astype(np.float32)
    X += np.random.default_rng(0).uniform(0, 0.7, X.shape).astype(np.float32)  # so that there are mistakes
    mercer.save(mercer.KernelClassifier("chi2", random_state=0).fit(X[:200], y[:200]), path / "digits.mercer")
    mercer.save(mercer.KernelRegressor("chi2", loss="squared").fit(X[:200], y[:200] / 2), path / "numbers.mercer")
    mercer.save(mercer.Chi2(), path / "kernel.mercer")
    np.save(path / "X.npy", X[200:])
    np.save(path / "y.npy", y[200:])
    return path


@pytest.fixture(autouse=True)
def _inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


@pytest.fixture
def digits():
    """The classifier, and rows and labels that it has not seen."""
    return mercer.load("digits.mercer"), np.load("X.npy"), np.load("y.npy")


def test_the_figures_are_those_of_scikit_learn(succeeds, digits):
    model, X, y = digits
    found = succeeds("evaluate", "digits.mercer", "X.npy", "--labels", "y.npy", "--json")
    predicted, scores = model.predict(X), model.decision_function(X)
    assert found["rows"] == len(y)
    assert found["accuracy"] == pytest.approx((predicted == y).mean())
    assert 0.5 < found["accuracy"] < 1
    assert found["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(y, predicted))
    assert found["confusion"] == confusion_matrix(y, predicted).tolist()
    aps = [average_precision_score(y == c, scores[:, c]) for c in range(4)]
    assert found["map"] == pytest.approx(np.mean(aps), rel=1e-6)
    for c, line in enumerate(found["classes"]):
        assert (line["label"], line["rows"]) == (c, (y == c).sum())
        assert line["precision"] == pytest.approx(precision_score(y == c, predicted == c))
        assert line["recall"] == pytest.approx(recall_score(y == c, predicted == c))
        assert line["ap"] == pytest.approx(aps[c], rel=1e-6)
    text = succeeds("evaluate", "digits.mercer", "X.npy", "--labels", "y.npy")
    for figure in (found["accuracy"], found["balanced_accuracy"], found["map"], *(aps[c] for c in range(4))):
        assert f"{figure:.4f}" in text


def test_blocks_of_rows_change_nothing(succeeds, digits):
    import sklearn

    whole = succeeds("evaluate", "digits.mercer", "X.npy", "--labels", "y.npy", "--json")
    with sklearn.config_context(working_memory=0.05):  # MiB: a few dozen rows at a time
        cut = succeeds("evaluate", "digits.mercer", "X.npy", "--labels", "y.npy", "--json")
    assert whole | {"seconds": 0} == cut | {"seconds": 0}


def test_two_classes_have_an_average_precision_each(succeeds, digits):
    _, X, y = digits
    model = mercer.KernelClassifier("chi2").fit(X[y < 2], WORDS[y[y < 2]])
    mercer.save(model, "two.mercer")
    np.savez("two.npz", X=X[y < 2], y=WORDS[y[y < 2]])
    found = succeeds("evaluate", "two.mercer", "two.npz", "--json")
    scores = model.decision_function(X[y < 2])
    assert [line["label"] for line in found["classes"]] == ["one", "zero"]
    assert found["classes"][0]["ap"] == pytest.approx(average_precision_score(y[y < 2] == 1, -scores))
    assert found["classes"][1]["ap"] == pytest.approx(average_precision_score(y[y < 2] == 0, scores))


def test_labels_the_model_does_not_know_count_as_mistakes_and_absent_ones_are_left_out(succeeds, command, digits):
    _, X, y = digits
    np.savez("odd.npz", X=X[y < 3], y=np.where(y[y < 3] == 2, 7, y[y < 3]))
    result = command("evaluate", "digits.mercer", "odd.npz")
    assert result.exit_code == 0
    assert f"{(y == 2).sum()} rows have labels that the model does not know: 7." in result.stderr
    found = succeeds("evaluate", "digits.mercer", "odd.npz", "--json")
    assert found["unknown_rows"] == (y == 2).sum()
    lines = {line["label"]: line for line in found["classes"]}
    assert list(lines) == [0, 1, 2, 3, 7]
    assert lines[7]["recall"] == 0
    assert lines[7]["precision"] is lines[7]["ap"] is lines[3]["recall"] is lines[3]["ap"] is None
    recalls = [line["recall"] for line in found["classes"] if line["recall"] is not None]
    assert found["balanced_accuracy"] == pytest.approx(np.mean(recalls))


def test_words_that_look_like_numbers_are_still_words(succeeds, digits):
    _, X, y = digits
    names = np.array(["0", "1", "2", "many"])[y]
    mercer.save(mercer.KernelClassifier("chi2").fit(X, names), "words.mercer")
    np.savetxt("X.csv", X[y < 2], delimiter=",")
    np.savetxt("y.csv", names[y < 2], fmt="%s")  # read as integers
    assert succeeds("evaluate", "words.mercer", "X.csv", "--labels", "y.csv", "--json")["accuracy"] > 0.9


def test_numbers_are_judged_by_their_errors(succeeds, digits, folder):
    pytest.importorskip("matplotlib")
    _, X, y = digits
    np.savez("numbers.npz", X=X, y=y / 2)
    found = succeeds("evaluate", "numbers.mercer", "numbers.npz", "--plot", "values.png", "--json")
    predicted = mercer.load("numbers.mercer").predict(X)
    assert found["r2"] == pytest.approx(r2_score(y / 2, predicted))
    assert found["mae"] == pytest.approx(mean_absolute_error(y / 2, predicted))
    assert found["rmse"] == pytest.approx(root_mean_squared_error(y / 2, predicted))
    assert (folder / "values.png").read_bytes().startswith(b"\x89PNG")
    assert f"{found['rmse']:.4g}" in succeeds("evaluate", "numbers.mercer", "numbers.npz")


@pytest.mark.parametrize("n_classes", [2, 20, 70])
def test_confusion_is_drawn_for_few_and_many_classes(n_classes, tmp_path):
    pytest.importorskip("matplotlib")
    from mercer._base.evaluation.plots import draw_confusion

    confusion = np.eye(n_classes, dtype=int) * 9
    confusion[0, 0] = 0  # a class without rows
    with open(tmp_path / "c.png", "wb") as stream:
        draw_confusion(confusion, [f"class {i}" * 4 for i in range(n_classes)], "title", stream)
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("n_classes", [2, 3, 15])
def test_nothing_of_a_confusion_matrix_is_cut_off(n_classes):
    pytest.importorskip("matplotlib")
    from PIL import Image

    from mercer._base.evaluation.plots import draw_confusion

    stream = io.BytesIO()
    draw_confusion(np.eye(n_classes, dtype=int), [f"class {i}" for i in range(n_classes)], "", stream)
    picture = np.asarray(Image.open(stream).convert("L"))
    for edge in (picture[0], picture[-1], picture[:, 0], picture[:, -1]):
        assert (edge == 255).all()


def test_the_confusion_matrix_is_drawn(succeeds, folder):
    pytest.importorskip("matplotlib")
    text = succeeds("evaluate", "digits.mercer", "X.npy", "--labels", "y.npy", "--plot", "c.png", "--quiet")
    assert "accuracy" in text
    assert (folder / "c.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("code", "words", "arguments"),
    [
        (2, ["X.npy has no labels", "--label", "--labels"], ["digits.mercer", "X.npy"]),
        (2, ["no file nowhere.mercer"], ["nowhere.mercer", "X.npy"]),
        (2, ["Chi2", "mercer fit"], ["kernel.mercer", "X.npy", "--labels", "y.npy"]),
        (1, ["X.npy", "not a model file"], ["X.npy", "X.npy", "--labels", "y.npy"]),
        (1, ["4 labels", "X.npy", "rows"], ["digits.mercer", "X.npy", "--labels", "few.npy"]),
        (1, ["ham, spam", "0, 1, 2, 3"], ["digits.mercer", "foreign.npz"]),
        (2, ["no directory"], ["digits.mercer", "X.npy", "--labels", "y.npy", "--plot", "nowhere/c.png"]),
        (1, ["predicts numbers", "are not numbers"], ["numbers.mercer", "foreign.npz"]),
        (1, ["row 3", "no label", "--missing drop-rows"], ["numbers.mercer", "missing.npz"]),
    ],
)
def test_each_mistake_has_its_sentence_and_code(fails, digits, code, words, arguments):
    _, X, y = digits
    np.save("few.npy", y[:4])
    np.savez("missing.npz", X=X, y=np.where(np.arange(len(y)) == 3, np.nan, y))
    np.savez("foreign.npz", X=X, y=np.where(y < 2, "ham", "spam"))
    fails(code, words, "evaluate", *arguments)
