"""Projected maps: whatever the map's storage and geometry, the features are R F phi(x) with one matrix of signs R."""

import numpy as np
import pytest
from scipy import sparse

from mercer import InputError
from mercer.kernels import Linear
from mercer.maps import projected as _projected
from mercer.maps.base import FeatureMap
from mercer.maps.minhash import WeightedMinHash
from mercer.maps.projected import ProjectedMap
from mercer.spaces import CumulativeSum, Factor, Identity
from tests.reference.maps.signs import sign

D = 90
GEOMETRIES = {
    "identity": lambda rng: Identity(D),
    "cumulative sums": lambda rng: CumulativeSum(rng.random((9, D // 9))),
    "factor": lambda rng: Factor(rng.normal(size=(33, D))),
}


class Plain(FeatureMap):
    """phi(x) = x, stored and measured in the way a test asks for."""

    def __init__(self, geometry="identity", stored="csr"):
        self.geometry = geometry
        self.stored = stored

    def fit(self, X, y=None):
        X = self._checked(X, reset=True)
        self.kernel_ = Linear()
        self.inner_ = GEOMETRIES[self.geometry](np.random.default_rng(0)) if X.shape[1] == D else Identity(X.shape[1])
        return self

    def encode_rows(self, X):
        if self.stored == "dense":
            return X.toarray() if sparse.issparse(X) else X
        return sparse.csr_array(X)

    def resolved_kernel(self):
        return Linear()


@pytest.fixture(params=GEOMETRIES)
def geometry(request):
    return request.param


@pytest.fixture
def X(rng):
    return rng.normal(size=(200, D)) * (rng.random((200, D)) < 0.2)


def expected(fitted, X):
    r, m = fitted.map_.inner_.n_factors, fitted.inner_.n_features
    size = max(32, 2 ** int(np.ceil(np.log2(r))))
    R = [[sign(fitted.seed_, j, c, fitted.hadamard_rows_, size) for j in range(r)] for c in range(m)] / np.sqrt(m)
    return (R @ fitted.map_.inner_.project(X.T)).T


@pytest.mark.parametrize("stored", ["dense", "csr"])
@pytest.mark.parametrize("n_components", [1, 50, 130])
def test_features_are_the_projection_of_the_factors(geometry, stored, n_components, X):
    fitted = ProjectedMap(Plain(geometry, stored), n_components, random_state=3).fit(X)
    want = expected(fitted, X)
    np.testing.assert_allclose(fitted.transform(X), want, atol=1e-12)
    np.testing.assert_allclose(fitted.transform(X[:1]), want[:1], atol=1e-12)  # a few rows take another way
    single = fitted.transform(X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, want, atol=2e-5)


def test_small_blocks_change_nothing(geometry, X, monkeypatch):
    fitted = ProjectedMap(Plain(geometry), 100, random_state=0).fit(X)
    want = fitted.transform(X)
    for constant in ("CHUNK_ROWS", "ROWS_PER_TASK", "FEATURES_PER_TASK"):
        monkeypatch.setattr(_projected, constant, 37)
    monkeypatch.setattr(_projected, "PROJECTION_BYTES", 1)
    np.testing.assert_allclose(fitted.transform(X), want, atol=1e-12)


def test_signed_words_stay_sparse(rng):
    X = rng.poisson(1.0, size=(30, 12))
    fitted = ProjectedMap(WeightedMinHash(20, bits=4, random_state=0), 40, random_state=1).fit(X)
    np.testing.assert_allclose(fitted.transform(X), expected(fitted, fitted.map_.rows(X).toarray()), atol=1e-12)


@pytest.mark.parametrize("m", [64, 300])
def test_inner_products_keep_their_mean_and_have_the_variance_stated(rng, m):
    x, y = rng.random((2, 500))
    X = np.vstack([x, y])
    n, size = 300, 512
    products = []
    for seed in range(n):
        Z = ProjectedMap(Plain(), m, random_state=seed).fit_transform(X)
        products.append(Z[0] @ Z[1])
    deviation = np.sqrt((x @ x * (y @ y) + (x @ y) ** 2) / m * (size - m) / (size - 1))
    assert np.mean(products) == pytest.approx(x @ y, abs=4 * deviation / np.sqrt(n))
    assert np.std(products) == pytest.approx(deviation, rel=0.15)


@pytest.mark.parametrize("m", [128, 384])
def test_as_many_components_as_features_lose_nothing(X, m):
    Z = ProjectedMap(Plain(), m, random_state=0).fit_transform(X)  # 90 features: a matrix of 128 rows
    np.testing.assert_allclose(Z @ Z.T, X @ X.T, atol=1e-10)


def test_millions_of_features_cost_nothing(rng):
    wide = 50_000_000  # a stored projection matrix would take 25 GB
    columns, values = rng.integers(0, wide, size=(3, 20)), rng.random((3, 20))
    X = sparse.csr_array((values.ravel(), columns.ravel(), [0, 20, 40, 60]), shape=(3, wide))
    fitted = ProjectedMap(Plain(), 128, random_state=0).fit(X)
    for x, mine, z in zip(values, columns, fitted.transform(X), strict=True):
        signs = [[sign(fitted.seed_, j, c, fitted.hadamard_rows_, 2**26) for c in range(128)] for j in mine]
        np.testing.assert_allclose(z, x @ signs / np.sqrt(128), atol=1e-12)


def test_weights_are_folded_into_those_of_the_map(geometry, X, rng):
    fitted = ProjectedMap(Plain(geometry), 70, random_state=0).fit(X)
    for shape in ((70,), (70, 3)):
        v = rng.normal(size=shape)
        predictor = fitted.fold(v)
        assert isinstance(predictor.map, Plain)
        np.testing.assert_allclose(predictor(X), fitted.transform(X) @ v, atol=1e-10)
    with pytest.raises(InputError, match=r"\(70,\) or \(70, classes\)"):
        fitted.fold(np.ones(69))


def test_what_is_no_map_is_refused():
    with pytest.raises(InputError, match="ProjectedMap needs a map of Mercer"):
        ProjectedMap("chi2").fit([[1.0]])
    with pytest.raises(InputError, match="`n_components` must be an integer >= 1"):
        ProjectedMap(Plain(), 0).fit([[1.0]])
