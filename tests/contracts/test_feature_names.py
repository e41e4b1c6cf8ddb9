"""Names of columns: frames and row sources in another order, or with other names, are refused by every estimator."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

import mercer

pd = pytest.importorskip("pandas")
X, y = load_iris(return_X_y=True)
FRAME = pd.DataFrame(X, columns=list("abcd"))
ESTIMATORS = [
    (mercer.HomogeneousMap("chi2"), "transform"),
    (mercer.NystroemMap("rbf", n_landmarks=8, random_state=0), "transform"),
    (mercer.ConvexReduction(n_dims=2), "transform"),
    (mercer.ProductQuantizer(block_size=2, bits=3, random_state=0), "transform"),
    (mercer.LevelQuantizer(), "transform"),
    (mercer.SignHash(random_state=0), "transform"),
    (mercer.UniversalEmbedding(n_bits=16, random_state=0), "transform"),
    (mercer.KernelClassifier("chi2"), "predict"),
    (mercer.KernelRegressor("chi2"), "predict"),
    (mercer.KernelIndex("chi2", bytes_per_item=2, effort="low", random_state=0), "add"),
]


@pytest.mark.parametrize(("estimator", "method"), ESTIMATORS, ids=lambda each: type(each).__name__)
def test_other_names_and_another_order_are_refused_and_arrays_warned_about(estimator, method):
    estimator.fit(FRAME, y)
    assert estimator.feature_names_in_.tolist() == list("abcd")
    ask = getattr(estimator, method)
    ask(FRAME)
    for other in (FRAME[list("dcba")], FRAME[list("abc")], FRAME.rename(columns={"d": "z"})):
        with pytest.raises(ValueError, match="feature names should match"):
            ask(other)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        ask(X)


def as_arrow(frame):
    return pytest.importorskip("pyarrow").table(frame.to_dict("list"))


def as_polars(frame):
    return pytest.importorskip("polars").DataFrame(frame.to_dict("list"))


@pytest.mark.parametrize("made", [as_arrow, as_polars])
@pytest.mark.parametrize(("estimator", "method"), ESTIMATORS, ids=lambda each: type(each).__name__)
def test_polars_and_arrow_tables_are_taken_with_their_names(estimator, method, made):
    fitted = clone(estimator).fit(made(FRAME), y)
    assert fitted.feature_names_in_.tolist() == list("abcd")
    getattr(fitted, method)(made(FRAME))
    with pytest.raises(ValueError, match="feature names should match"):
        getattr(fitted, method)(made(FRAME[list("dcba")]))
    if method == "add":
        near, _ = fitted.search(made(FRAME[:5]), k=1)
        np.testing.assert_array_equal(near, clone(estimator).fit(FRAME).add(FRAME).search(FRAME[:5], k=1)[0])


@pytest.mark.parametrize(
    ("transformer", "names"),
    [
        (mercer.HomogeneousMap("chi2"), ["a~chi2_0", "a~chi2_1", "a~chi2_2", "b~chi2_0"]),
        (mercer.NystroemMap("js", n_components=2, per_dimension=True), ["a~jensen-shannon_0", "a~jensen-shannon_1"]),
        (mercer.LevelQuantizer(), ["a~level", "b~level", "c~level", "d~level"]),
        (mercer.ConvexReduction(n_dims=1, refit=False, random_state=0), ["a+3 more"]),
        (mercer.KernelPCA("chi2", n_components=2), ["kernelpca0", "kernelpca1"]),
    ],
)
def test_features_are_named_after_their_columns_in_every_kind_of_frame(transformer, names):
    for kind in ("pandas", "polars"):
        made = clone(transformer).set_output(transform=kind).fit(FRAME, y).transform(FRAME)
        assert type(made).__module__.split(".")[0] == kind
        assert list(made.columns)[: len(names)] == names
        np.testing.assert_array_equal(made.to_numpy(), clone(transformer).fit(FRAME, y).transform(FRAME))


def test_a_sparse_grid_names_its_features_too():
    assert mercer.SparseAdditiveMap("intersection").fit(FRAME).get_feature_names_out()[0] == "a~intersection_0"


def test_rows_of_a_file_are_compared_by_name_and_put_in_order_for_a_model(tmp_path):
    pytest.importorskip("pyarrow")
    FRAME.to_parquet(tmp_path / "a.parquet")
    FRAME[list("dcba")].to_parquet(tmp_path / "reversed.parquet")
    model = mercer.KernelClassifier("chi2").fit(mercer.open_rows(tmp_path / "a.parquet"), y)
    assert model.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(mercer.InputError, match="same order as in fit"):
        model.predict(mercer.open_rows(tmp_path / "reversed.parquet"))
    found = model.predict(mercer.open_rows(tmp_path / "reversed.parquet", like=model))
    np.testing.assert_array_equal(found, model.predict(FRAME))
