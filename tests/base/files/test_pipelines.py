"""Pipelines of Mercer's and scikit-learn's estimators in model files: the same answers, or a refusal that says why."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.feature_selection import SelectKBest, SelectPercentile, VarianceThreshold, chi2, f_regression
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    LabelBinarizer,
    LabelEncoder,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVC, LinearSVR

import mercer
from mercer._base.errors import NotSaveableError
from mercer._base.files.sklearn_objects import LISTED, portable

RNG = np.random.default_rng(0)
X, Y = RNG.random((60, 4)), np.arange(60) % 3
HOLES = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
WORDS = np.array([["red", "small"], ["green", "large"], ["blue", "large"]] * 20, dtype=object)

TRANSFORMERS = [
    (StandardScaler(), X),
    (StandardScaler(with_mean=False), sparse.csr_array(X)),
    (StandardScaler(with_std=False), X),
    (MinMaxScaler(clip=True), X),
    (MaxAbsScaler(), X),
    (RobustScaler(with_centering=False), X),
    (Normalizer(), X),
    (Binarizer(threshold=0.5), X),
    (QuantileTransformer(n_quantiles=9, random_state=0), X),
    (PowerTransformer(), X),
    (PowerTransformer(standardize=False), X),
    (OneHotEncoder(), WORDS),
    (OneHotEncoder(drop="first", sparse_output=False, dtype=np.float32), WORDS),
    (OneHotEncoder(drop="if_binary", handle_unknown="ignore"), WORDS),
    (OneHotEncoder(), X.round(1)),
    (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), WORDS),
    (OrdinalEncoder(), HOLES.round(1)),
    (KBinsDiscretizer(3, strategy="uniform"), X),
    (KBinsDiscretizer(4, encode="ordinal", strategy="uniform"), X),
    (PolynomialFeatures(3), X),
    (PolynomialFeatures((2, 3), interaction_only=True, include_bias=False), sparse.csr_array(X)),
    (FunctionTransformer(), X),
    (SimpleImputer(), HOLES),
    (SimpleImputer(strategy="median", add_indicator=True), HOLES),
    (SimpleImputer(strategy="most_frequent", missing_values="red"), WORDS),
    (VarianceThreshold(), X),
    (SelectKBest(chi2, k=2), X),
    (SelectPercentile(f_regression, percentile=60), X),
    (PCA(2, whiten=True, random_state=0), X),
    (TruncatedSVD(2, random_state=0), X),
    (TfidfTransformer(), sparse.csr_array(X)),
    (TfidfTransformer(use_idf=False), sparse.csr_array(X)),
    (FeatureUnion([("scaled", MinMaxScaler()), ("none", "drop"), ("as it is", "passthrough")]), X),
    (ColumnTransformer([("a", StandardScaler(), [0, 2]), ("b", "drop", slice(1, 2))], remainder="passthrough"), X),
    (ColumnTransformer([("a", "passthrough", [True, False, True, False])], remainder=MinMaxScaler()), X),
    (make_pipeline(MinMaxScaler(clip=True), mercer.HomogeneousMap("chi2")), X),
]
PREDICTORS = [
    make_pipeline(MinMaxScaler(clip=True), mercer.KernelClassifier("chi2")),
    make_pipeline(MinMaxScaler(), mercer.HomogeneousMap("js"), LinearSVC(random_state=0)),
    make_pipeline(StandardScaler(), mercer.NystroemMap("rbf", n_landmarks=10, random_state=0), LogisticRegression()),
    make_pipeline(StandardScaler(), Ridge()),
    make_pipeline(StandardScaler(), LinearSVR(random_state=0)),
    LinearRegression(),
    TransformedTargetRegressor(mercer.KernelRegressor("rbf"), transformer=StandardScaler()),
    TransformedTargetRegressor(Ridge()),
]


def again(model, tmp_path, mmap=False):
    mercer.save(model, tmp_path / "model.mercer")
    return mercer.load(tmp_path / "model.mercer", mmap=mmap)


def dense(rows):
    return rows.toarray() if sparse.issparse(rows) else rows


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize(("model", "rows"), TRANSFORMERS, ids=lambda each: type(each).__name__)
def test_transformers_give_the_same_numbers(model, rows, mmap, tmp_path):
    model.fit(rows, Y)
    loaded = again(model, tmp_path, mmap)
    assert repr(loaded) == repr(model)
    expected, got = dense(model.transform(rows)), dense(loaded.transform(rows))
    assert expected.dtype == got.dtype
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("model", PREDICTORS, ids=lambda each: type(each).__name__)
def test_predictors_give_the_same_answers(model, tmp_path):
    model.fit(X, Y)
    loaded = again(model, tmp_path)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    if hasattr(model, "decision_function"):
        np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
        np.testing.assert_array_equal(loaded.classes_, model.classes_)


def test_encoders_of_labels_give_the_same_labels(tmp_path):
    for model, labels in ((LabelEncoder(), WORDS[:, 0]), (LabelBinarizer(), Y)):
        loaded = again(model.fit(labels), tmp_path)
        np.testing.assert_array_equal(loaded.transform(labels), model.transform(labels))


def test_a_table_of_named_columns_is_encoded_as_before(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"color": WORDS[:, 0], "size": WORDS[:, 1], "height": X[:, 0], "width": X[:, 1]})
    columns = ColumnTransformer(
        [("words", OneHotEncoder(), ["color", "size"]), ("numbers", MinMaxScaler(), ["height"])]
    )
    model = make_pipeline(columns, mercer.KernelClassifier("intersection")).fit(frame, Y)
    loaded = again(model, tmp_path)
    np.testing.assert_array_equal(loaded.decision_function(frame[::-1]), model.decision_function(frame[::-1]))
    np.testing.assert_array_equal(loaded[:-1].get_feature_names_out(), model[:-1].get_feature_names_out())
    assert list(loaded.feature_names_in_) == list(frame.columns)
    framed = MinMaxScaler().set_output(transform="pandas").fit(frame[["height"]])
    assert list(again(framed, tmp_path).transform(frame[["height"]]).columns) == ["height"]


def test_what_was_not_fitted_can_be_fitted_after_loading(tmp_path):
    model = again(make_pipeline(PCA(2), MinMaxScaler(), mercer.KernelClassifier("chi2")), tmp_path)
    assert model.fit(X, Y).predict(X).shape == (60,)


@pytest.mark.parametrize(
    ("cls", "others"),
    [
        (ColumnTransformer, {"transformers": [], "force_int_remainder_cols": "deprecated"}),  # of 1.7
        (KBinsDiscretizer, {"quantile_method": "warn"}),  # of 1.7
        (LinearRegression, {"tol": 1e-6}),  # of 1.7
        (LogisticRegression, {"multi_class": "deprecated"}),  # of 1.6
        (LogisticRegression, {"penalty": "deprecated"}),  # of 1.8
        (MaxAbsScaler, {"clip": False}),  # of 1.8
    ],
)
def test_parameters_that_other_versions_of_scikit_learn_write_are_no_hindrance(cls, others):
    model = cls(**portable(cls, others))
    if cls is not ColumnTransformer:  # which is checked when it is fitted
        model._validate_params()


def test_a_parameter_that_changes_the_answers_is_never_left_out():
    for cls, parameters in ((MaxAbsScaler, {"clip": True}), (LogisticRegression, {"multi_class": "ovr"})):
        assert portable(cls, parameters) == parameters


def test_the_same_pipeline_gives_the_same_bytes(tmp_path):
    model = PREDICTORS[0].fit(X, Y)
    mercer.save(model, tmp_path / "a"), mercer.save(again(model, tmp_path), tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def not_saved(model, *words):
    with pytest.raises(NotSaveableError) as caught:
        mercer.save(model, "never.mercer")
    assert all(word in str(caught.value) for word in words), caught.value


def test_what_is_code_or_unknown_is_refused_by_name():
    not_saved(FunctionTransformer(np.log1p), "FunctionTransformer.func", "a function is code")
    not_saved(make_pipeline(MinMaxScaler(), RandomForestClassifier()), "RandomForestClassifier", "neither a class of")
    not_saved(RandomForestClassifier(), "RandomForestClassifier")
    not_saved(Pipeline([("a", MinMaxScaler())], memory="cache"), "memory must be None")
    not_saved(SelectKBest(lambda X, y: X.sum(axis=0)), "score_func")
    not_saved(ColumnTransformer([("a", MinMaxScaler(), lambda frame: [0])]), "transformers")
    not_saved(OneHotEncoder(min_frequency=2).fit(WORDS), "min_frequency must be None")
    not_saved(OneHotEncoder().fit(np.array([[None], ["a"]], dtype=object)), "categories_")
    strange = StandardScaler().fit(X)
    strange.note = "mine"
    not_saved(strange, "StandardScaler", "note")

    class Scaler(StandardScaler):
        pass

    not_saved(make_pipeline(Scaler()), "Scaler")


def test_every_class_on_the_list_is_tried_here():
    tried = {type(model).__name__ for model, _ in TRANSFORMERS} | {"LabelEncoder", "LabelBinarizer", "MissingIndicator"}
    for model in PREDICTORS:
        parts = [part for _, part in model.steps] if isinstance(model, Pipeline) else [model]
        tried |= {type(part).__name__ for part in [*parts, model]}
    assert {name for classes in LISTED.values() for name in classes} <= tried
