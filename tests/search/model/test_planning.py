"""What fit chooses: measured on a sample, honest about bytes, and the same for one seed on any number of threads."""

import warnings

import numpy as np
import pytest
from scipy import sparse

import mercer
from mercer import InputError, thread_limit
from mercer.kernels import RBF, Chi2, JensenShannon, Linear
from mercer.search import SearchModel
from mercer.search.model.parameters import CODES
from tests.pairs import all_pairs
from tests.search.index_samples import histograms

pytestmark = pytest.mark.filterwarnings("ignore::mercer._base.errors.ApproximationWarning")
X = histograms(600, 16, n_centres=40)
SMALL = {"bytes_per_item": 4, "n_landmarks": 64, "random_state": 0}


def fitted(kernel="chi2", rows=X, **parameters):
    return SearchModel(kernel, **{**SMALL, **parameters}).fit(rows)


def test_auto_tries_both_embeddings_and_takes_the_best():
    plan = fitted().plan_
    tried = {entry["tried"]: entry["recall"] for entry in plan["tried"]}
    names = {name.split(",")[0] for name in tried if "components" in name}
    assert names == {"kpca", "map"}
    chosen = f"{plan['embedding']}, {plan['n_components']} components"
    assert tried[chosen] == max(recall for name, recall in tried.items() if "components" in name)
    assert plan["reason"].startswith(f"{plan['embedding']} with {plan['n_components']} components: the best mean of")
    assert plan["sample"] == {"rows": 525, "queries": 75}
    assert plan["code"] == "pq"
    assert plan["rotation"] == "allocation"


def test_a_kernel_without_a_map_is_projected():
    assert fitted(RBF(2.0)).plan_["embedding"] == "kpca"
    assert fitted(Chi2() * RBF(2.0)).plan_["embedding"] == "kpca"


def test_low_effort_measures_no_embedding_when_there_is_one():
    plan = fitted(embedding="kpca", effort="low").plan_
    assert not [entry for entry in plan["tried"] if "components" in entry["tried"]]
    assert plan["n_components"] == 16


def test_high_effort_tries_rotations():
    plan = fitted(effort="high", embedding="kpca", n_components=16).plan_
    assert {"rotation allocation", "rotation opq"} <= {entry["tried"] for entry in plan["tried"]}
    assert plan["rotation"] in ("allocation", "opq")


@pytest.mark.parametrize("n_components", [1, 5, 24])
def test_components_that_are_asked_for_are_given(n_components):
    for embedding in ("kpca", "map"):
        model = fitted(embedding=embedding, n_components=n_components)
        assert model.plan_["n_components"] == n_components == model.embedding_._n_features_out


@pytest.mark.parametrize(
    ("code", "normalize", "kind"),
    all_pairs(list(CODES), [True, False], ["similarity", "distance"]),
)
def test_a_code_has_the_bytes_that_were_asked_for(code, normalize, kind):
    parameters = {"code": code, "normalize": normalize, "measure": kind, "bytes_per_item": 8}
    if not normalize and (code == "lsh" or (code == "universal" and kind == "similarity")):
        with pytest.raises(InputError, match=rf"KernelIndex\(code='{code}'\).*Use code='pq'"):
            fitted(effort="low", **parameters)
        return
    model = fitted(effort="low", **parameters)
    Z, lost = model.embed(X[:50])
    codes = model.coder_.encode(Z)
    assert (codes.dtype, codes.shape) == (np.uint8, (50, 8))
    assert model.plan_["bytes_per_item"] == model.coder_.n_bytes == 8
    assert lost.shape == (50,)
    assert (lost < 0.5).all() or code == "flat"  # 8 bytes are two numbers
    assert model.embed_queries(X[:3]).shape == (3, Z.shape[1])


def test_rows_of_different_norms_get_a_number_that_makes_them_equal():
    rows = X * np.random.default_rng(0).uniform(0.5, 2, (600, 1)).astype(np.float32)
    model = fitted(rows=rows, normalize=False, embedding="kpca", n_components=10)
    Z, _ = model.embed(rows)
    norms = np.einsum("ij,ij->i", Z, Z)
    assert Z.shape[1] == 11
    np.testing.assert_allclose(norms, model.highest_energy_, rtol=1e-5)
    queries = model.embed_queries(rows[:5])
    assert (queries[:, -1] == 0).all()
    np.testing.assert_allclose(queries[:, :-1], Z[:5, :-1], atol=1e-5)


@pytest.mark.parametrize("embedding", ["kpca", "map"])
def test_features_are_those_of_the_normalised_kernel(embedding):
    scaled = X * np.random.default_rng(0).uniform(0.5, 2, (600, 1)).astype(np.float32)
    model = fitted("intersection", rows=scaled, embedding=embedding, n_components=400, n_landmarks=500)
    Z, _ = model.embed(scaled[:60])
    wanted = mercer.Intersection().normalized()(scaled[:60])
    # a random projection to 400 numbers errs by about 1 / sqrt(400), and the map itself by a few hundredths
    # 400 components of 500 landmarks lose up to 0.05 of a row
    np.testing.assert_allclose(Z @ Z.T, wanted, atol=0.25 if embedding == "map" else 0.06)
    assert np.mean(abs(Z @ Z.T - wanted)) < 0.06


def test_a_map_of_the_callers_own():
    fourier = mercer.FourierMap(RBF(4.0), n_components=64, random_state=0)
    for given in (fourier, mercer.NystroemMap(RBF(4.0), n_landmarks=20, random_state=0)):
        model = fitted(RBF(4.0), embedding=given)
        assert type(model.embedding_) is type(given)
        assert model.embedding_ is not given
        assert model.plan_["embedding"] == "given"
    plain = fitted("chi2", embedding=mercer.NystroemMap("chi2", n_landmarks=20, random_state=0))
    assert plain.embed(X[:5])[0].shape == (5, 20)
    with pytest.raises(InputError, match=r"got a map of .*Use the same kernel for both"):
        fitted("chi2", embedding=mercer.KernelPCA("js"))
    with pytest.raises(InputError, match="needs an embedding with dense features"):
        fitted("intersection", embedding=mercer.SparseAdditiveMap("intersection", n_points=4))
    with pytest.raises(InputError, match=r"HomogeneousMap does not produce here. Wrap it in a ProjectedMap"):
        fitted("chi2", rows=sparse.csr_array(X), embedding=mercer.HomogeneousMap("chi2"))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"code": "zip"}, "`code` must be one of 'pq', 'opq', 'lsh', 'universal', 'flat'"),
        ({"code": None}, "`code` must be one of 'pq', 'opq', 'lsh', 'universal', 'flat'"),
        ({"measure": "angle"}, "`measure` must be one of 'similarity', 'distance'"),
        ({"effort": "huge"}, "`effort` must be one of 'low', 'default', 'high'"),
        ({"embedding": "pca"}, "`embedding` must be 'auto', 'kpca', 'map', or a map"),
        ({"bytes_per_item": 0}, "`bytes_per_item` must be an integer >= 1"),
        ({"bytes_per_item": 4.0}, "`bytes_per_item` must be an integer >= 1"),
        ({"bytes_per_item": True}, "`bytes_per_item` must be an integer >= 1"),
        ({"n_landmarks": 0}, "`n_landmarks` must be an integer >= 1"),
        ({"n_components": -1}, "`n_components` must be an integer >= 1, or None"),
        ({"code": "flat", "bytes_per_item": 6}, "must be a multiple of 4; got 6"),
        ({"kernel": "rbf", "embedding": "map"}, "needs an additive, homogeneous kernel, which RBF"),
        ({"kernel": "chi"}, "no kernel 'chi'"),
    ],
)
def test_what_cannot_be_is_refused_by_name(parameters, message):
    with pytest.raises(InputError, match=message):
        SearchModel(**{**SMALL, **parameters}).fit(X)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"embedding": "map"},
        {"code": "opq", "embedding": "kpca"},
        {"code": "lsh"},
        {"code": "universal"},
        {"code": "flat"},
    ],
    ids=str,
)
def test_one_seed_gives_the_same_bits_on_one_and_two_threads(parameters, tmp_path):
    codes = []
    for threads in (1, 2):
        with thread_limit(threads):
            model = fitted(**parameters)
            mercer.save(model, tmp_path / f"{threads}.mercer")
            codes.append(model.coder_.encode(model.embed(X)[0]))
    assert (tmp_path / "1.mercer").read_bytes() == (tmp_path / "2.mercer").read_bytes()
    np.testing.assert_array_equal(*codes)


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("code", CODES)
def test_a_few_rows_are_enough(code, n):
    for rows in (X[:n], sparse.csr_array(X[:n]), np.ones((n, 4), dtype=np.float32), np.zeros((n, 4))):
        model = fitted(rows=rows, code=code)
        codes = model.coder_.encode(model.embed(model.validated(rows))[0])
        assert len(codes) == n
        assert codes.shape[1] <= 4


def test_the_slack_is_what_neighbours_were_underestimated_by():
    model = fitted("js")
    assert model.slope_ > 0
    assert 0 <= model.slack_ < 0.2  # measured 0.02
    assert 0 < model.residual_limit_ < 1


def test_rows_unlike_those_seen_lose_more_than_the_limit(rng):
    model = fitted("js", embedding="kpca", n_components=60, n_landmarks=200)
    own = model.embed(X)[1]
    other = model.embed(np.eye(16, dtype=np.float32)[rng.integers(0, 16, 50)])[1]
    assert np.mean(own > model.residual_limit_) < 0.02
    assert np.mean(other > model.residual_limit_) > 0.9


def test_sparse_rows_of_many_bins_prefer_the_map(rng):
    counts = sparse.random_array((800, 2000), density=0.006, format="csr", random_state=rng, dtype=np.float32)
    counts.data += 0.1
    model = fitted(JensenShannon(), rows=counts, bytes_per_item=8)
    assert {entry["tried"].split(",")[0] for entry in model.plan_["tried"]} >= {"kpca", "map"}
    assert model.embed(counts[:7])[0].shape == (7, model.plan_["n_components"])


def test_all_kinds_of_numbers(rng):
    counts = rng.integers(0, 200, (300, 8))
    codes = []
    for rows in (
        counts.astype(np.uint8),
        counts,
        counts.astype(np.float32),
        counts.astype(np.float64),
        counts.tolist(),
    ):
        model = fitted(Linear(), rows=rows, embedding="kpca", n_components=8, effort="low")
        codes.append(model.coder_.encode(model.embed(model.validated(rows))[0]))
    for other in codes[1:]:
        np.testing.assert_array_equal(other, codes[0])


def test_no_remark_of_numpy_escapes():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        fitted(rows=np.concatenate([X[:50], np.zeros((10, 16), dtype=np.float32)]))
