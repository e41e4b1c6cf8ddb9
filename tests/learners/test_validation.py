"""X is validated once, at the public door: by the learner, and not again by its map and its predictor."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils import validation

from mercer import IntersectionSVC, KernelClassifier, NystroemMap, ProductQuantizer
from mercer.codes.product import quantizer

N = 300
LEARNERS = {
    "chi2": KernelClassifier("chi2"),
    "rbf": KernelClassifier(map=NystroemMap("rbf", n_landmarks=20, random_state=0)),
    "pq": KernelClassifier(map=ProductQuantizer(block_size=2, bits=3, random_state=0)),
    "intersection": IntersectionSVC(),
    "linear": IntersectionSVC(kernel="linear"),
}


@pytest.fixture
def passes(monkeypatch):
    """Names of the functions that looked through all rows, as they are called."""
    seen = []

    def counted(module, name):
        function = getattr(module, name)

        def count(X, *args, **kwargs):
            seen.extend([name] if np.shape(X)[:1] == (N,) and len(np.shape(X)) == 2 else [])
            return function(X, *args, **kwargs)

        monkeypatch.setattr(module, name, count)

    counted(validation, "check_array")  # which validate_data asks
    counted(validation, "_assert_all_finite")
    counted(quantizer, "check_finite")
    return seen


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
def test_rows_are_validated_once(name, make, passes, rng):
    X, y = make(rng.integers(0, 9, (N, 8)).astype(np.float64)), rng.integers(0, 3, N)
    model = LEARNERS[name]
    model.fit(X, y)
    assert passes.count("check_array") == 1
    assert passes.count("check_finite") == 0
    passes.clear()
    model.predict(X)
    assert passes.count("check_array") == 1
    assert passes.count("check_finite") == 0
    assert passes.count("_assert_all_finite") == (not sparse.issparse(X))  # of a sparse matrix, its entries


def test_what_a_map_asks_of_rows_is_still_asked(rng):
    X, y = rng.random((N, 4)), rng.integers(0, 2, N)
    model = KernelClassifier("chi2").fit(X, y)
    with pytest.raises(ValueError, match="Negative values"):
        model.predict(-X)
    with pytest.raises(ValueError, match="Negative values"):
        KernelClassifier("chi2").fit(-X, y)
    with pytest.raises(ValueError, match="NaN"):
        model.map_.transform(np.full((1, 4), np.nan))
