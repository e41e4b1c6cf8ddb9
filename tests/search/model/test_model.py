"""The fitted part of an index: comes back from a file with the same codes, and a forged file is refused."""

from copy import copy
from functools import cache
from types import FunctionType

import numpy as np
import pytest
from scipy import sparse

import mercer
from mercer.codes import ProductQuantizer, SignHash
from mercer.kernels import RBF
from mercer.search import SearchModel
from tests.search.index_samples import histograms

pytestmark = pytest.mark.filterwarnings("ignore::mercer._base.errors.ApproximationWarning")
X = histograms(200)
SMALL = {"bytes_per_item": 4, "n_landmarks": 32, "n_components": 9, "effort": "low", "random_state": 0}
CASES = {
    "pq": {},
    "opq": {"code": "opq"},
    "lsh": {"code": "lsh"},
    "universal": {"code": "universal"},
    "flat": {"code": "flat"},
    "map": {"embedding": "map"},
    "plain similarity": {"normalize": False},
    "plain distance": {"normalize": False, "measure": "distance"},
    "rbf": {"kernel": RBF(2.0)},
    "own map": {"embedding": mercer.NystroemMap("chi2", n_landmarks=9, random_state=0), "n_components": None},
}


def fitted(name="pq", rows=X):
    return SearchModel(**{**SMALL, **CASES[name]}).fit(rows)


@pytest.mark.parametrize("name", CASES)
def test_a_saved_model_gives_the_same_codes_tables_and_estimates(name, tmp_path):
    model = fitted(name)
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    assert again.plan_ == model.plan_
    for one, other in zip(model.embed(X), again.embed(X), strict=True):
        np.testing.assert_array_equal(one, other)
    Z = model.embed(X)[0]
    np.testing.assert_array_equal(again.coder_.encode(Z), model.coder_.encode(Z))
    queries = model.embed_queries(X[:5])
    np.testing.assert_array_equal(again.embed_queries(X[:5]), queries)
    if name != "flat":
        np.testing.assert_array_equal(again.coder_.tables(queries), model.coder_.tables(queries))
    np.testing.assert_array_equal(again.estimates(np.arange(5.0)), model.estimates(np.arange(5.0)))


def test_sparse_rows_give_the_model_of_dense_ones():
    dense, from_sparse = fitted(), fitted(rows=sparse.csr_array(X))
    Z = [model.embed(rows)[0] for model, rows in ((dense, X), (from_sparse, sparse.csr_array(X)))]
    np.testing.assert_allclose(Z[0] @ Z[0].T, Z[1] @ Z[1].T, atol=1e-4)


def test_a_model_that_is_not_fitted_can_be_saved_and_says_so(tmp_path):
    mercer.save(SearchModel("js", code="lsh"), tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    assert (again.kernel, again.code) == ("js", "lsh")
    with pytest.raises(Exception, match="not fitted"):
        _ = again.coder_


def test_a_fit_again_forgets_the_first():
    model = fitted()
    before = model.coder_
    model.set_params(bytes_per_item=2).fit(X)
    assert before.n_bytes == 4
    assert model.coder_.n_bytes == 2


def quantizer(width=9, kernel="linear"):
    rows = np.random.default_rng(0).random((60, width), dtype=np.float32)
    return ProductQuantizer(n_blocks=4, kernel=kernel, bits=4, random_state=0).fit(rows)


# what takes a fit is made by the test that needs it
HOSTILE = {
    "no map": ("pq", {"embedding_": None}),
    "a map that is a kernel": ("pq", {"embedding_": RBF()}),
    "a map that is not fitted": ("pq", {"embedding_": mercer.KernelPCA("chi2")}),
    "a map of other rows": (
        "pq",
        {"embedding_": lambda: mercer.KernelPCA("chi2", n_components=9).fit(histograms(60, 11))},
    ),
    "a map of fewer components": ("pq", {"embedding_": lambda: mercer.KernelPCA("chi2", n_components=8).fit(X)}),
    "a map of a different kernel": ("pq", {"embedding_": lambda: mercer.KernelPCA("js", n_components=9).fit(X)}),
    "a map with sparse features": (
        "pq",
        {"embedding_": lambda: mercer.SparseAdditiveMap("intersection", n_points=4).fit(X), "kernel": "intersection"},
    ),
    "no quantizer": ("pq", {"quantizer_": None}),
    "a quantizer of a flat code": ("flat", {"quantizer_": quantizer}),
    "a hash for words": ("pq", {"quantizer_": lambda: SignHash(n_bits=32).fit(np.ones((9, 9)))}),
    "words for a hash": ("lsh", {"quantizer_": quantizer}),
    "words of another width": ("pq", {"quantizer_": lambda: quantizer(8)}),
    "words of another kernel": ("pq", {"quantizer_": lambda: quantizer(kernel="chi2")}),
    "a hash with a map": (
        "lsh",
        {"quantizer_": lambda: SignHash(mercer.HomogeneousMap("chi2"), n_bits=32).fit(np.eye(9))},
    ),
    "a quantizer that is not fitted": ("pq", {"quantizer_": ProductQuantizer(n_blocks=4)}),
    "no number of columns": ("pq", {"n_features_in_": "10"}),
    "another number of columns": ("pq", {"n_features_in_": 11}),
    "no plan": ("pq", {"plan_": None}),
    "a scale of nothing": ("pq", {"scale_": 0.0}),
    "a scale that is no number": ("pq", {"scale_": float("nan")}),
    "a slope of nothing": ("pq", {"slope_": 0.0}),
    "a falling slope": ("pq", {"slope_": -1.0}),
    "an intercept in words": ("pq", {"intercept_": "0"}),
    "infinite slack": ("pq", {"slack_": float("inf")}),
    "negative slack": ("pq", {"slack_": -1.0}),
    "negative energy": ("plain similarity", {"highest_energy_": -1.0}),
    "no limit": ("pq", {"residual_limit_": None}),
    "a code that does not exist": ("pq", {"code": "zip"}),
    "half a byte": ("pq", {"bytes_per_item": 0.5}),
    "a measure that does not exist": ("pq", {"measure": "angle"}),
    "a combination that does not exist": ("lsh", {"normalize": False}),
}


@cache
def honest(name):
    return fitted(name)


@pytest.mark.parametrize("what", HOSTILE)
def test_a_file_that_does_not_describe_a_model_is_refused(what, tmp_path):
    name, changes = HOSTILE[what]
    model = copy(honest(name))
    for attribute, value in changes.items():
        setattr(model, attribute, value() if isinstance(value, FunctionType) else value)
    mercer.save(model, tmp_path / "model.mercer")
    with pytest.raises(mercer.ModelFileError, match="does not describe a valid SearchModel"):
        mercer.load(tmp_path / "model.mercer")


def test_messages_name_the_index_and_not_its_model(rng):
    pandas = pytest.importorskip("pandas")
    rows = rng.random((40, 3))
    frame = pandas.DataFrame(rows, columns=list("abc"))
    index = mercer.KernelIndex("chi2").fit(frame).add(frame)
    with pytest.raises(ValueError, match="KernelIndex does not accept missing values"):
        index.search(frame.where(frame > 0.5))
    with pytest.raises(ValueError, match="but KernelIndex is expecting 3 features"):
        index.search(frame[["a", "b"]].to_numpy())
    with pytest.warns(UserWarning, match="but KernelIndex was fitted with feature names"):
        index.search(rows)
    assert index.model_.feature_names_in_.tolist() == ["a", "b", "c"]
    assert type(index.model_) is SearchModel
