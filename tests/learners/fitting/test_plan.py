"""Plans: which map stands for a kernel, where rows are kept, what is said before the work."""

import time
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from mercer import HomogeneousMap, InputError, IntersectionSVC, NystroemMap, SparseAdditiveMap, get_kernel
from mercer._base.tables import open_rows
from mercer.codes import ProductQuantizer
from mercer.kernels import (
    KERNELS,
    Chi2,
    GeneralizedIntersection,
    Hellinger,
    Intersection,
    Linear,
    PowerMean,
    resolve_kernel,
)
from mercer.learners import KernelClassifier, KernelClassifierCV, KernelRegressor, Plan
from mercer.learners.fitting import plan as _plan
from mercer.learners.fitting.targets import class_columns


@pytest.fixture
def data(rng):
    X = rng.random((300, 6)) * (rng.random((300, 6)) < 0.7)
    return X, rng.integers(0, 3, 300)


@pytest.mark.parametrize(
    ("kernel", "kind"),
    [
        ("chi2", HomogeneousMap),
        ("js", HomogeneousMap),
        ("hellinger", HomogeneousMap),
        (PowerMean(-2), HomogeneousMap),
        (PowerMean(-9), SparseAdditiveMap),
        ("linear", HomogeneousMap),
        ("intersection", SparseAdditiveMap),
        ("generalized-intersection", SparseAdditiveMap),
        (Intersection(signed=True), SparseAdditiveMap),
        (Chi2() + Linear(), SparseAdditiveMap),
        (Chi2() + Intersection(), SparseAdditiveMap),
        ("rbf", NystroemMap),
        ("exp-chi2", NystroemMap),
        ("min-max", NystroemMap),
        (Chi2().normalized(), NystroemMap),
    ],
)
def test_every_kernel_has_a_map_that_is_true_to_it(kernel, kind, data):
    X, _ = data
    kernel = get_kernel(kernel)
    found = _plan.choose_map(kernel, 6, random_state=0)
    assert type(found) is kind
    K = resolve_kernel(kernel, X)(X)
    assert np.linalg.norm(found.fit(X).approximate_kernel(X) - K) < 0.01 * np.linalg.norm(K)


def test_very_many_columns_have_no_grid_each():
    assert type(_plan.choose_map(Intersection(), 2**13)) is SparseAdditiveMap
    assert type(_plan.choose_map(Intersection(), 2**14)) is HomogeneousMap


def test_a_plan_without_fitting_is_the_one_that_a_fit_reports(data):
    X, y = data
    for model in (KernelClassifier("intersection", random_state=0), KernelRegressor("chi2", tol=0.1)):
        expected = model.plan(X, y)
        assert not hasattr(model, "plan_")
        assert isinstance(expected, Plan)
        reported = model.fit(X, y).plan_
        assert reported == replace(expected, solver=reported.solver)  # a solver may hand over to another on its way


def test_a_plan_knows_the_sizes_that_a_fit_has(data):
    X, y = data
    X = sparse.csr_array(np.tile(X, (40, 1)))
    plan = KernelClassifier("chi2", loss="logistic").plan(X, np.tile(y, 40))
    rows = HomogeneousMap("chi2", 3, "least-squares").fit(X).rows(X.astype(np.float32))  # as learners keep them
    assert (plan.n_rows, plan.n_features) == rows.shape
    assert plan.rows_bytes == pytest.approx(rows.nbytes, rel=0.05)
    assert plan.total_bytes >= plan.rows_bytes + plan.work_bytes
    text = str(plan)
    for part in ("HomogeneousMap", "7 numbers per column (42 in all)", "pairs of classes", "sparse", plan.solver):
        assert part in text


def test_a_quantiser_is_planned_by_its_codes(data):
    X, y = data
    X = np.tile(X.astype("f4"), (1, 4))
    for expansion, width in (("delayed", 1), ("immediate", 1), ("dense", 4 * 4)):
        plan = KernelClassifier(map=ProductQuantizer(4, bits=4, random_state=0), expansion=expansion).plan(X, y)
        codebooks = 4 * 6 * 16 * 4 if expansion == "immediate" else 0
        assert plan.rows_bytes == 300 * 6 * width + codebooks
        assert (plan.n_factors, plan.tables_bytes) == (24, 0)  # scores come from codebooks, block by block


def test_the_disk_is_used_when_the_rows_would_fill_the_memory(data, monkeypatch, tmp_path):
    X, y = data
    np.save(tmp_path / "X.npy", X)
    plan = KernelClassifier("chi2").plan(open_rows(tmp_path / "X.npy"), y)
    assert plan.storage == "memory"
    monkeypatch.setattr(_plan, "available_memory", lambda: 2 * plan.rows_bytes - 2)
    assert KernelClassifier("chi2").plan(X, y).storage == "disk"
    assert KernelClassifier("chi2", storage="memory").plan(X, y).storage == "memory"
    assert "on disk" in str(KernelClassifier("chi2").plan(X, y))


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (KernelClassifier("chi2"), "40 columns of scores (one-vs-rest) of 80 rows, more than 75% of the 97.7 KiB"),
        (
            KernelClassifier("chi2", multi_class="ovo"),
            "780 columns of scores (one-vs-one) of 80 rows, .* multi_class='ovr'",
        ),
        (KernelClassifier("chi2", loss="multinomial"), "40 columns of scores (joint) of 80 rows"),
        (KernelClassifierCV(cv=2), "KernelClassifierCV would need"),
        (IntersectionSVC(), "IntersectionSVC would need"),
    ],
)
def test_classes_that_do_not_fit_into_the_memory_are_refused(monkeypatch, rng, model, words):
    X, y = rng.random((80, 3)), np.arange(80) % 40
    monkeypatch.setattr(_plan, "available_memory", lambda: 100_000)
    with pytest.raises(InputError, match=words.replace("(", r"\(").replace(")", r"\)")):
        clone(model).fit(X, y)
    monkeypatch.setattr(_plan, "available_memory", lambda: 2**40)
    clone(model).fit(X[:40], y[:40] % 2)


def test_numbers_that_do_not_fit_into_the_memory_are_refused(monkeypatch, rng):
    monkeypatch.setattr(_plan, "available_memory", lambda: 100_000)
    with pytest.raises(
        InputError, match=r"80 columns of scores .one per target. of 80 rows.*some columns of y at a time"
    ):
        KernelRegressor("chi2").fit(rng.random((80, 3)), rng.random((80, 80)))


@pytest.mark.filterwarnings("ignore:The number of unique classes")  # scikit-learn's, since 1.7
def test_pairs_of_20_000_classes_are_refused_at_once(rng):
    start = time.perf_counter()
    with pytest.raises(InputError, match="199,990,000 columns of scores"):
        KernelClassifier("chi2", multi_class="ovo").fit(rng.random((20_000, 3)), np.arange(20_000))
    assert time.perf_counter() - start < 20  # two hundred million pairs in a list take minutes


def test_pairs_are_in_the_order_of_their_classes():
    columns = class_columns("ovo", 5)
    assert list(zip(columns.first, columns.second, strict=True)) == list(combinations(range(5), 2))
    assert columns.n_columns == 10


@pytest.mark.parametrize("kernel", [*(cls() for cls in KERNELS.values()), Chi2() + Hellinger(), Chi2() + Linear(),
                                    Linear() + GeneralizedIntersection(beta=2.0)], ids=repr)  # fmt: skip
def test_a_kernel_knows_whether_it_has_a_spectrum(kernel):
    try:
        HomogeneousMap(kernel).fit(np.ones((1, 1)))
    except InputError:
        assert not kernel.has_spectrum
    else:
        assert kernel.has_spectrum
