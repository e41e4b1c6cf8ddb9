"""Names of columns: frames and row sources in another order, or with other names, are refused by every estimator."""

import numpy as np
import pytest
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
