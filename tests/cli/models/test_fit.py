"""``mercer fit``: the library's learners from files, and what is said before and after the work."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_diabetes, load_digits

import mercer

WORDS = np.array(["zero", "one", "two"])
NO_BINS = ("--bins", "none")


@pytest.fixture(autouse=True)
def _inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def digits():
    """Rows and labels of three digits, also as X.npy and y.npy."""
    X, y = load_digits(n_class=3, return_X_y=True)
    X, y = (X[:150] / 16).astype(np.float32), y[:150]
    np.save("X.npy", X)
    np.save("y.npy", y)
    return X, y


@pytest.fixture
def fitted(succeeds):
    """The model that the command makes from X.npy and y.npy."""

    def fit(*arguments, data=("X.npy", "--labels", "y.npy")):
        succeeds("fit", *data, *arguments, "--out", "m.mercer")
        return mercer.load("m.mercer")

    return fit


def test_the_model_is_that_of_the_library(fitted, digits):
    X, y = digits
    model = fitted("--kernel", "chi2")
    same = mercer.KernelClassifier("chi2", random_state=0).fit(X, y)
    assert model.get_params() == same.get_params()
    np.testing.assert_array_equal(model.decision_function(X), same.decision_function(X))


def test_every_format_and_every_way_to_say_labels_gives_the_same_model(fitted, digits):
    from pyarrow import parquet, table
    from sklearn.datasets import dump_svmlight_file

    X, y = digits
    expected = fitted("--kernel", "chi2").decision_function(X)
    np.savez("Xy.npz", X=X, y=y)
    np.savez("parts.npz", rows=X, kinds=y)
    names = [f"p{i}" for i in range(64)]
    header = ",".join([*names, "kind"])
    np.savetxt("Xy.csv", np.column_stack([X, y]), delimiter=",", fmt="%.9g", header=header, comments="")
    np.savetxt("y.csv", y, fmt="%d")
    np.savetxt("titled.csv", y, fmt="%d", header="kind", comments="")
    parquet.write_table(table(dict(zip(names, X.T, strict=True)) | {"kind": y}), "Xy.parquet")
    parquet.write_table(table({"kind": y}), "y.parquet")
    dump_svmlight_file(X, y, "Xy.svm", zero_based=False)
    sp.save_npz("S.npz", sp.csr_matrix(X))
    ways = [
        ["Xy.npz"],
        ["parts.npz::rows", "--label", "kinds"],
        ["X.npy", "--labels", "parts.npz::kinds"],
        ["X.npy", "--labels", "Xy.npz"],
        ["X.npy", "--labels", "y.csv"],
        ["X.npy", "--labels", "titled.csv"],
        ["X.npy", "--labels", "y.parquet"],
        ["Xy.csv", "--label", "kind"],
        ["Xy.parquet", "--label", "kind"],
        ["Xy.svm", "--n-features", "64"],
        ["S.npz", "--labels", "y.npy"],
        ["X.npy", "--labels", "y.npy", "--storage", "disk"],
    ]
    for way in ways:
        model = fitted("--kernel", "chi2", data=way)
        np.testing.assert_array_equal(model.classes_, [0, 1, 2], err_msg=str(way))
        np.testing.assert_allclose(model.decision_function(X), expected, atol=2e-2, err_msg=str(way))


def test_labels_may_be_words(fitted, digits):
    X, y = digits
    np.savetxt("words.csv", WORDS[y], fmt="%s")
    model = fitted("--kernel", "chi2", data=["X.npy", "--labels", "words.csv"])
    np.testing.assert_array_equal(model.classes_, sorted(WORDS))
    assert (model.predict(X) == WORDS[y]).mean() > 0.95


def test_what_was_done_is_told_without_praise(succeeds, digits):
    arguments = ("fit", "X.npy", "--labels", "y.npy", "--kernel", "chi2", "--out", "m.mercer")
    document = succeeds(*arguments, "--tol", "0.01", "--json")
    model = mercer.load("m.mercer")
    assert document["objective"] == pytest.approx(model.objective_)
    assert document["gap"] == pytest.approx(model.gap_)
    assert 0 <= document["gap"] <= 0.01
    assert document["iterations"] == model.n_iter_ > 0
    assert (document["rows"], document["columns"], document["classes"]) == (len(digits[0]), 64, [0, 1, 2])
    assert document["plan"]["solver"]
    text = succeeds(*arguments)
    for word in ("chi2 kernel through a map of 7 numbers per column (448 in all)", "solver", "m.mercer"):
        assert word in text
    assert "gap" not in text


def test_a_fit_ends_with_an_accuracy_of_rows_that_were_left_out(succeeds, digits):
    X, y = digits
    arguments = ("fit", "X.npy", "--labels", "y.npy", "--kernel", "chi2", "--out", "m.mercer")
    document = succeeds(*arguments, "--json")
    assert document["judged_by"] == "a held-out fifth (30 rows)"
    assert round(document["accuracy"] * 30, 9) % 1 == 0
    np.testing.assert_array_equal(  # all rows are learned from nevertheless
        mercer.load("m.mercer").decision_function(X),
        mercer.KernelClassifier("chi2", random_state=0).fit(X, y).decision_function(X),
    )
    last = succeeds(*arguments).split("\n")[-3:]
    assert f"accuracy     {document['accuracy']:.4f} on a held-out fifth (30 rows)" in "".join(last)
    assert "accuracy" not in succeeds(*arguments, "--no-evaluate")
    chosen = succeeds(*arguments, "--C", "auto", "--json")
    assert chosen["accuracy"] == mercer.load("m.mercer").scores_.mean(axis=0).max()
    np.savez("diabetes.npz", **dict(zip("Xy", load_diabetes(return_X_y=True), strict=True)))
    found = succeeds("fit", "diabetes.npz", "--task", "regress", "--kernel", "rbf", "--out", "m.mercer", "--json")
    assert 0.2 < found["R2"] < 0.7


def test_random_labels_are_not_learned_and_the_accuracy_says_so(succeeds, digits, rng):
    np.save("noise.npy", rng.integers(0, 3, len(digits[0])))
    arguments = ("fit", "X.npy", "--labels", "noise.npy", "--kernel", "chi2", "--C", "100", "--out", "m.mercer")
    assert succeeds(*arguments, "--json")["accuracy"] < 0.6


def test_inspect_shows_the_plan_of_a_learner(succeeds, fitted, digits):
    plan = fitted("--kernel", "chi2").plan_
    assert succeeds("inspect", "m.mercer", "--json")["plan"] == plan.get_params()
    text = succeeds("inspect", "m.mercer")
    assert all(word in text for word in ("plan solver", plan.solver, "plan rows_bytes", "gap_", "classes_"))
    assert "history_" not in text


def test_a_dry_run_gives_the_plan_and_writes_nothing(succeeds, digits, tmp_path):
    arguments = ("fit", "X.npy", "--labels", "y.npy", "--kernel", "chi2")
    plan = succeeds(*arguments, "--json", "--dry-run", "--out", "m.mercer")["plan"]
    assert not (tmp_path / "m.mercer").exists()
    assert plan == succeeds(*arguments, "--json", "--out", "m.mercer")["plan"]
    text = succeeds(*arguments, "--dry-run", "--quiet")
    assert "solver" in text
    assert "memory" in text


def test_options_reach_the_estimator(fitted, digits):
    model = fitted(
        *("--map", "nystroem:n_landmarks=20", "-k", "rbf", "-p", "kernel__gamma=0.5", "--seed", "3", "--C", "0.5"),
        *("--loss", "squared_hinge", "--multi-class", "ovo", "--class-weight", "balanced", "--max-iter", "77"),
        *("--tol", "0.02", "--storage", "memory", "--probability"),
    )
    assert model.map.get_params() == mercer.NystroemMap(mercer.RBF(0.5), n_landmarks=20, random_state=3).get_params()
    expected = {"C": 0.5, "loss": "squared_hinge", "multi_class": "ovo", "class_weight": "balanced", "max_iter": 77}
    expected |= {"tol": 0.02, "storage": "memory", "probability": True, "random_state": 3}
    assert {name: getattr(model, name) for name in expected} == expected
    assert fitted("-k", "rbf", "-p", "kernel__gamma=0.5").kernel == mercer.RBF(0.5)
    quantised = fitted("--map", "pq:block_size=4,bits=5", "--expansion", "immediate")
    assert isinstance(quantised.map_, mercer.ProductQuantizer)
    assert (quantised.map.block_size, quantised.map.bits, quantised.expansion) == (4, 5, "immediate")


def test_ctrl_c_keeps_the_best_model_so_far(command, digits, monkeypatch, tmp_path):
    from dataclasses import replace

    import mercer.learners.base as base

    run = base.run
    monkeypatch.setattr(base, "run", lambda *a, **k: replace(run(*a, **k), converged=False, interrupted=True))
    result = command("fit", "X.npy", "--labels", "y.npy", "--kernel", "chi2", "--out", "m.mercer")
    assert result.exit_code == 130
    assert "interrupted" in result.stderr
    assert mercer.load("m.mercer").predict(digits[0]).shape == digits[1].shape


def test_c_can_be_chosen_by_cross_validation(succeeds, digits):
    arguments = ("fit", "X.npy", "--labels", "y.npy", "--C", "auto")
    document = succeeds(*arguments, "--kernel", "chi2", "--out", "m.mercer", "--json")
    model = mercer.load("m.mercer")
    assert isinstance(model, mercer.KernelClassifierCV)
    assert document["C"] == pytest.approx(model.C_)


def test_fractions_are_predicted_and_whole_numbers_only_on_request(fitted, digits):
    X, y = digits
    np.savez("d.npz", X=X, y=y / 2)
    model = fitted("--kernel", "chi2", "--epsilon", "0.5", "--C", "10", "--tol", "0.05", data=["d.npz"])
    assert isinstance(model, mercer.KernelRegressor)
    assert (model.epsilon, model.C) == (0.5, 10)
    model = fitted("--task", "regress", "--loss", "squared")
    assert (type(model), model.loss) == (mercer.KernelRegressor, "squared")


def test_whole_numbers_that_look_like_quantities_are_pointed_out(command):
    X, y = load_diabetes(return_X_y=True, scaled=False)
    np.savez("d.npz", X=X, y=y)
    result = command("fit", "d.npz", "--dry-run")
    assert "214 classes" in result.stderr
    assert "--task regress" in result.stderr


def test_a_column_of_ids_is_no_column_of_labels(fails, command):
    X = np.random.default_rng(0).random((20_000, 3))
    for ids in (np.arange(20_000), np.char.add("row ", np.arange(20_000).astype(str))):
        np.savez("d.npz", X=X, y=ids)
        fails(
            1,
            ["look like ids: 20,000 rows have 20,000 different labels", "--task classify"],
            "fit",
            "d.npz",
            "--out",
            "m",
        )
    result = command("fit", "d.npz", "--task", "classify", "--dry-run")
    assert result.exit_code == 0


def test_progress_goes_to_a_log_in_lines_unless_it_is_quiet(command, digits, monkeypatch):
    monkeypatch.setattr("mercer._base.progress.SECONDS", 0.0)
    arguments = ("fit", "X.npy", "--labels", "y.npy", "--kernel", "chi2", "--C", "auto", "--out", "m.mercer")
    assert "mercer: Cross-validation 10% (1 of 10)" in command(*arguments).stderr
    assert "Cross-validation" not in command(*arguments, "--quiet").stderr


def test_without_a_kernel_everything_is_chosen_as_in_the_library(fitted, digits):
    X, y = digits
    model = fitted()
    same = mercer.KernelClassifier(random_state=0).fit(X, y)
    assert model.get_params() == same.get_params()
    assert (model.kernel_, model.C_, model.plan_.columns) == (same.kernel_, same.C_, same.plan_.columns)
    np.testing.assert_array_equal(model.predict_proba(X), same.predict_proba(X))
    model = fitted("--C", "auto", "--scaling", "ranks", "--budget", "20", "--seed", "3")
    assert (type(model), model.C, model.scaling, model.budget) == (mercer.KernelClassifier, None, "ranks", 20)
    assert {row[0].split(",")[0] for row in model.plan_.trials} == {"columns as ranks"}
    np.savez("d.npz", X=X, y=y / 2)
    model = fitted("--C", "0.3", data=["d.npz"])
    assert (type(model), model.C, model.C_) == (mercer.KernelRegressor, 0.3, pytest.approx(0.3))


def test_trials_are_told_with_what_they_reached(succeeds, digits):
    arguments = ("fit", "X.npy", "--labels", "y.npy", "--out", "m.mercer")
    document = succeeds(*arguments, "--json")
    model = mercer.load("m.mercer")
    plan = document["plan"]
    assert (plan["kernel"], document["C"]) == (f"RBF(gamma={model.kernel_.gamma:.4g})", pytest.approx(model.C_))
    assert plan["score"] == model.plan_.score
    assert len(plan["trials"]) == len(model.plan_.trials) > 10
    assert {"objective", "gap", "iterations"}.isdisjoint(document)
    text = " ".join(succeeds(*arguments).split())
    assert f"accuracy {plan['score']:.4f} on left-out rows" in text
    assert f"{len(plan['trials'])} candidates" in text


def test_a_dry_run_of_trials_makes_none(succeeds, digits, tmp_path):
    plan = succeeds("fit", "X.npy", "--labels", "y.npy", "--dry-run", "--json")["plan"]
    assert (plan["n_rows"], plan["n_inputs"], plan["trials"]) == (150, 64, [])
    assert "chosen by trials" in succeeds("fit", "X.npy", "--labels", "y.npy", "--dry-run")
    assert not list(tmp_path.glob("*.mercer"))


def test_models_of_trials_are_used_like_others(succeeds, fitted, digits):
    X, y = digits
    model = fitted()
    assert succeeds("predict", "m.mercer", "X.npy", "--json")["labels"] == model.predict(X).tolist()
    found = succeeds("predict", "m.mercer", "X.npy", "--proba", "--json")["probabilities"]
    np.testing.assert_allclose(found, model.predict_proba(X), rtol=1e-12)
    found = succeeds("evaluate", "m.mercer", "X.npy", "--labels", "y.npy", "--json")
    assert found["accuracy"] == model.score(X, y) > 0.95
    assert succeeds("inspect", "m.mercer", "--json")["plan"] == model.plan_.get_params()
    assert repr(model.kernel_) in succeeds("inspect", "m.mercer")


def test_options_of_solvers_take_chi2_where_no_kernel_is_named(fitted, digits):
    for said in (("--loss", "logistic"), ("--solver", "bundle"), ("--multi-class", "ovr"), ("--storage", "disk")):
        assert fitted(*said).kernel == "chi2"


def test_icd_is_the_machine_of_the_library_from_any_format(fitted, digits):
    X, y = digits
    counts = 16 * X
    same = mercer.IntersectionSVC(solver="icd", random_state=0).fit(counts, y)
    np.savez("counts.npz", X=counts, y=y)
    np.savetxt("counts.csv", np.column_stack([counts, y]), delimiter=",", fmt="%d")
    model = fitted("--solver", "icd", data=["counts.npz"])
    assert model.get_params() == same.get_params()
    assert model.plan_.levels == "integers as levels, up to 16"
    np.testing.assert_array_equal(model.decision_function(counts), same.decision_function(counts))
    model = fitted("--solver", "icd", data=["counts.csv", "--label", "-1"])
    np.testing.assert_array_equal(model.decision_function(counts), same.decision_function(counts))


def test_options_of_icd_reach_the_estimator(fitted, digits):
    model = fitted(
        *("--solver", "icd", "--bins", "12", "--binning", "column", "--kernel", "chi2", "--multi-class", "ovr"),
        *("--C", "0.02", "--loss", "hinge", "--class-weight", "balanced", "--seed", "3", "--tol", "0.01"),
    )
    expected = {"bins": 12, "binning": "column", "kernel": "chi2", "multi_class": "ovr", "C": 0.02, "loss": "hinge"}
    expected |= {"class_weight": "balanced", "random_state": 3, "tol": 0.01, "solver": "icd"}
    assert {name: getattr(model, name) for name in expected} == expected
    assert model.plan_.levels == "12 bins for each column"
    model = fitted("--solver", "icd", "-k", "power-mean", "-p", "kernel__p=-3", "--bins", "auto")
    assert (model.kernel_, model.bins, model.C) == (mercer.PowerMean(-3), "auto", None)
    X, y = digits
    np.savez("d.npz", X=16 * X, y=y / 2)
    model = fitted("--solver", "icd", "--bins", "none", "--epsilon", "0.2", data=["d.npz"])
    assert (type(model), model.bins, model.epsilon) == (mercer.IntersectionSVR, None, 0.2)


def test_icd_tells_its_levels_and_what_chose_its_kernel(succeeds, digits):
    arguments = ("fit", "X.npy", "--labels", "y.npy", "--solver", "icd", "--kernel", "auto")
    plan = succeeds(*arguments, "--dry-run", "--json")["plan"]
    assert plan["levels"] in succeeds(*arguments, "--dry-run")
    document = succeeds(*arguments, "--out", "m.mercer", "--json")
    model = mercer.load("m.mercer")
    assert document["plan"] == plan
    assert document["trial_scores"] == pytest.approx(model.trial_scores_)
    assert f"intersection {model.trial_scores_['intersection']:.4g}" in succeeds(*arguments, "--out", "m.mercer")


def test_models_of_icd_are_used_like_others(succeeds, fitted, digits):
    X, y = digits
    model = fitted("--solver", "icd", "--probability")
    assert succeeds("predict", "m.mercer", "X.npy", "--json")["labels"] == model.predict(X).tolist()
    assert succeeds("predict", "m.mercer", "X.npy", "--proba", "--json")["probabilities"][0] == pytest.approx(
        model.predict_proba(X)[0]
    )
    found = succeeds("evaluate", "m.mercer", "X.npy", "--labels", "y.npy", "--json")
    assert found["accuracy"] == model.score(X, y)
    assert succeeds("inspect", "m.mercer", "--json")["plan"]["levels"] == model.plan_.levels
    succeeds("encode", "m.mercer", "X.npy", "--out", "levels.npy")
    np.testing.assert_array_equal(np.load("levels.npy"), model.map_.transform(X))


@pytest.mark.parametrize(
    ("code", "words", "arguments"),
    [
        (2, ["X.npy has no labels", "--label", "--labels"], ["X.npy", "--out", "m"]),
        (2, ["--out", "--dry-run"], ["X.npy", "--labels", "y.npy"]),
        (2, ["no directory"], ["X.npy", "--labels", "y.npy", "--out", "nowhere/m"]),
        (2, ["no file nowhere.npy"], ["X.npy", "--labels", "nowhere.npy", "--out", "m"]),
        (2, ["--label and --labels"], ["X.npy", "--labels", "y.npy", "--label", "0", "--out", "m"]),
        (1, ["few.npy holds 3 labels", "rows"], ["X.npy", "--labels", "few.npy", "--out", "m"]),
        (1, ["two.csv has 2 columns"], ["X.npy", "--labels", "two.csv", "--out", "m"]),
        (2, ["no member 'z'"], ["X.npy", "--labels", "y.npz::z", "--out", "m"]),
        (1, ["one class"], ["X.npy", "--labels", "same.npy", "--out", "m"]),
        (1, ["missing.npz", "row 0", "nan"], ["missing.npz", "--out", "m"]),
        (1, ["holds -0.3125"], ["negative.npz", "--kernel", "chi2", "--out", "m"]),
        (2, ["--C", "0"], ["Xy.npz", "--C", "0", "--out", "m"]),
        (2, ["--C", "auto", "nan"], ["Xy.npz", "--C", "nan", "--out", "m"]),
        (2, ["--C", "auto", "best"], ["Xy.npz", "--C", "best", "--out", "m"]),
        (2, ["--tol"], ["Xy.npz", "--tol", "-1", "--out", "m"]),
        (2, ["'hing'", "hinge"], ["Xy.npz", "--loss", "hing", "--out", "m"]),
        (2, ["'squared'", "classify", "squared_hinge"], ["Xy.npz", "--loss", "squared", "--out", "m"]),
        (2, ["'homogenous'", "Did you mean 'homogeneous'?"], ["Xy.npz", "--map", "homogenous", "--out", "m"]),
        (2, ["pq", "no parameter 'blocksize'"], ["Xy.npz", "--map", "pq:blocksize=8", "--out", "m"]),
        (2, ["chi3"], ["Xy.npz", "--kernel", "chi3", "--out", "m"]),
        (2, ["'order'", "--map"], ["Xy.npz", "-p", "order=2", "--out", "m"]),
        (2, ["'simplex'", "bundle"], ["Xy.npz", "--solver", "simplex", "--out", "m"]),
        (2, ["--bins", "works only", "Add --solver icd"], ["Xy.npz", "--bins", "9", "--out", "m"]),
        (2, ["--binning", "works only", "Add --solver icd"], ["Xy.npz", "--binning", "global", "--out", "m"]),
        (2, ["--kernel auto", "add --solver icd"], ["Xy.npz", "--kernel", "auto", "--out", "m"]),
        (2, ["--loss crammer_singer"], ["Xy.npz", "--multi-class", "crammer_singer", "--out", "m"]),
        (2, ["does not support --C auto", "Remove --C"], ["Xy.npz", "--solver", "icd", "--C", "auto", "--out", "m"]),
        (2, ["--map", "bins the values itself"], ["Xy.npz", "--solver", "icd", "--map", "pq", "--out", "m"]),
        (2, ["--storage", "does not use"], ["Xy.npz", "--solver", "icd", "--storage", "disk", "--out", "m"]),
        (2, ["--expansion", "Remove it"], ["Xy.npz", "--solver", "icd", "--expansion", "delayed", "--out", "m"]),
        (2, ["additive kernel", "rbf"], ["Xy.npz", "--solver", "icd", "--kernel", "rbf", "--out", "m"]),
        (2, ["--bins", "65,535", "few"], ["Xy.npz", "--solver", "icd", "--bins", "few", "--out", "m"]),
        (2, ["--bins", "65,535", "0"], ["Xy.npz", "--solver", "icd", "--bins", "0", "--out", "m"]),
        (2, ["'adaptive'"], ["Xy.npz", "--solver", "icd", "--binning", "equal", "--out", "m"]),
        (2, ["has no effect"], ["Xy.npz", "--solver", "icd", *NO_BINS, "--binning", "column", "--out", "m"]),
        (2, ["not levels"], ["Xy.npz", "--solver", "icd", "--kernel", "linear", "--bins", "9", "--out", "m"]),
        (2, ["'logistic'", "squared_hinge"], ["Xy.npz", "--solver", "icd", "--loss", "logistic", "--out", "m"]),
        (2, ["'order'", "--solver icd"], ["Xy.npz", "--solver", "icd", "-p", "order=2", "--out", "m"]),
        (1, ["integers", "fractions"], ["Xy.npz", "--solver", "icd", *NO_BINS, "--out", "m"]),
        (2, ["--probability", "numbers"], ["Xy.npz", "--task", "regress", "--probability", "--out", "m"]),
        (
            2,
            ["--C auto", "only for classification"],
            ["Xy.npz", "-k", "chi2", "--task", "regress", "--C", "auto", "--out", "m"],
        ),
        (
            2,
            ["--C auto", "only for classification"],
            ["X.npy", "-k", "chi2", "--labels", "fractions.npy", "--C", "auto", "--out", "m"],
        ),
        (
            2,
            ["--scaling", "only to automatic fitting"],
            ["Xy.npz", "--scaling", "unit", "--kernel", "rbf", "--out", "m"],
        ),
        (
            2,
            ["--scaling", "only to automatic fitting"],
            ["Xy.npz", "--scaling", "ranks", "-k", "rbf", "--C", "auto", "--out", "m"],
        ),
        (2, ["--budget", "only to automatic fitting"], ["Xy.npz", "--budget", "5", "--loss", "logistic", "--out", "m"]),
        (2, ["--budget", "only to automatic fitting"], ["Xy.npz", "--budget", "5", "--solver", "icd", "--out", "m"]),
        (2, ["--budget", "0"], ["Xy.npz", "--budget", "0", "--out", "m"]),
        (2, ["'ranks'"], ["Xy.npz", "--scaling", "rank", "--out", "m"]),
        (2, ["--epsilon"], ["Xy.npz", "--epsilon", "0.2", "--out", "m"]),
        (2, ["text"], ["X.npy", "--labels", "words.npy", "--task", "regress", "--out", "m"]),
        (2, ["fractions"], ["X.npy", "--labels", "fractions.npy", "--task", "classify", "--out", "m"]),
    ],
)
def test_each_mistake_has_its_sentence_and_code(fails, digits, tmp_path, code, words, arguments):
    X, y = digits
    np.save("few.npy", y[:3])
    np.save("same.npy", np.ones_like(y))
    np.save("words.npy", WORDS[y])
    np.save("fractions.npy", y / 2)
    np.savez("y.npz", y=y)
    np.savez("Xy.npz", X=X, y=y)
    np.savez("missing.npz", X=np.where(X == 0, np.nan, X), y=y)
    np.savez("negative.npz", X=-X, y=y)
    np.savetxt("two.csv", np.column_stack([y, y]), delimiter=",", fmt="%d")
    fails(code, words, "fit", *arguments)
    assert not (tmp_path / "m").exists()
