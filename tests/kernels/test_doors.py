"""The public door: names, parameters, composition, and what is refused with which words."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from mercer import InputError
from mercer.kernels import (
    KERNELS,
    RBF,
    CallableKernel,
    Chi2,
    ExpChi2,
    Exponential,
    GeneralizedIntersection,
    Intersection,
    JensenShannon,
    Linear,
    MinMax,
    NormalizedKernel,
    PowerMean,
    ProductKernel,
    SumKernel,
    get_kernel,
)

X = np.array([[0.5, 0.5], [0.0, 1.0]])


@pytest.mark.parametrize("name", KERNELS)
def test_every_name_gives_a_value_that_compares_hashes_copies_and_pickles(name):
    kernel = get_kernel(name)
    assert kernel.name == name
    twin = get_kernel(name.upper().replace("-", "_"))
    assert kernel == twin
    assert hash(kernel) == hash(twin)
    assert clone(kernel, safe=False) == kernel
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert type(kernel)(**kernel.get_params()) == kernel


def test_names_have_aliases_parameters_and_near_misses():
    assert get_kernel("js") == JensenShannon()
    assert get_kernel("hik", signed=True) == Intersection(signed=True)
    assert get_kernel("rbf", gamma=0.5) == RBF(0.5)
    kernel = Chi2()
    assert get_kernel(kernel) is kernel
    with pytest.raises(InputError, match=r"no kernel 'chi'. Did you mean 'chi2'\? Kernels: linear, "):
        get_kernel("chi")
    with pytest.raises(InputError, match="Kernel 'rbf' got beta; it takes gamma"):
        get_kernel("rbf", beta=1)
    with pytest.raises(InputError, match="already has its parameters"):
        get_kernel(kernel, signed=True)
    with pytest.raises(InputError, match="name, a Kernel object or a function; got 3"):
        get_kernel(3)


def test_kernels_add_and_multiply():
    total = Chi2() + 0.5 * (Linear() + RBF(2))
    assert total == SumKernel((Chi2(), Linear(), RBF(2)), (1.0, 0.5, 0.5))
    np.testing.assert_allclose(total(X), Chi2()(X) + 0.5 * Linear()(X) + 0.5 * RBF(2)(X))
    product = Chi2() * RBF(2) * Linear()
    assert product == ProductKernel((Chi2(), RBF(2), Linear()))
    np.testing.assert_allclose(product(X), Chi2()(X) * RBF(2)(X) * Linear()(X))
    assert (Chi2() + Intersection()).additive
    assert (Chi2() + Intersection()).homogeneity == 1
    assert (Chi2() + Linear()).homogeneity is None
    assert (Chi2() * Intersection()).homogeneity == 2
    assert (Chi2() + Linear()).positive_definite_on == "non-negative"
    assert isinstance(Chi2().normalized(), NormalizedKernel)
    assert MinMax().normalized() == MinMax()


def test_parameters_can_be_searched_over():
    assert RBF(1.0).set_params(gamma=3.0) == RBF(3.0)
    with pytest.raises(InputError, match="gamma > 0"):
        RBF(1.0).set_params(gamma=-1)


def test_a_function_is_a_kernel():
    block = CallableKernel(lambda A, B: A @ B.T)
    rows = CallableKernel(lambda a, b: float(a @ b), rows=True)
    for kernel in (block, rows, get_kernel(lambda A, B: A @ B.T)):
        np.testing.assert_allclose(kernel(X), X @ X.T)
        np.testing.assert_allclose(kernel.diag(X), (X * X).sum(1))
        assert kernel.positive_definite_on == "unknown"
    with pytest.raises(InputError, match=r"returned shape \(2,\).*pass rows=True"):
        CallableKernel(lambda a, b: (a * b).sum(1))(X)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_a_negative_value_is_named_with_the_way_out(storage):
    bad = storage(np.array([[0.0, 1.0, 0.0], [0.0, 2.0, -0.25]]))
    with pytest.raises(InputError, match=r"Chi2 needs values >= 0, but X\[1, 2\] is -0.25. Use Chi2\(signed=True\)"):
        Chi2()(bad)
    with pytest.raises(InputError, match=r"JensenShannon needs values >= 0, but Y\[1, 2\]"):
        JensenShannon()(storage(np.ones((1, 3))), bad)
    with pytest.raises(InputError, match=r"MinMax needs values >= 0.*no signed form"):
        MinMax()(bad)
    with pytest.raises(InputError, match=r"ExpChi2 needs values >= 0"):
        ExpChi2()(bad)
    for kernel in (Chi2(), MinMax(), ExpChi2()):  # rows scaled by the range of others are the usual cause
        with pytest.raises(InputError, match=r"MinMaxScaler\(clip=True\)"):
            kernel(bad)
    assert np.isfinite(Chi2(signed=True)(bad)).all()
    assert np.isfinite(Exponential(Chi2(signed=True))(bad)).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: PowerMean(1), r"PowerMean\(p=1\) is not positive definite. Use p <= 0"),
        (lambda: PowerMean(np.nan), "not positive definite"),
        (lambda: GeneralizedIntersection(0), "finite beta > 0, got beta=0"),
        (lambda: RBF(0), "RBF needs a finite gamma > 0 or None, got gamma=0"),
        (lambda: RBF(np.inf), "finite gamma > 0"),
        (lambda: Exponential("chi2"), "needs a kernel object, got 'chi2'"),
        (lambda: SumKernel(()), "needs one or more kernel objects"),
        (lambda: SumKernel((Chi2(),), (1.0, 2.0)), "1 kernels but 2 weights"),
        (lambda: -1 * Chi2(), "finite number > 0, got -1"),
        (lambda: Chi2() + 3, "added to another kernel, not to 3"),
        (lambda: CallableKernel("f"), "needs a function, got 'f'"),
        (lambda: Chi2()(X, np.ones((2, 3))), "X has 2 columns and Y has 3"),
        (lambda: Chi2().top_k(X, k=0), "integer k >= 1; got k=0"),
        (lambda: Chi2().top_k(X, k=2.5), "integer k >= 1; got k=2.5"),
        (lambda: (Chi2() + Linear()).normalize(X), r"not homogeneous.*Use kernel.normalized\(\)"),
        (lambda: Chi2()(X, n_jobs=0), "n_jobs must not be 0"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(call, words):
    with pytest.raises(InputError, match=words):
        call()


@pytest.mark.parametrize(
    "bad", [[1.0, 2.0], [[np.nan, 1.0]], [[np.inf, 1.0]], [["a", "b"]], np.ones((0, 2)), np.ones((2, 0))]
)
def test_what_is_not_a_matrix_of_finite_numbers_is_refused(bad):
    with pytest.raises(ValueError, match=r".+"):
        Chi2()(bad)


def test_data_that_scikit_learn_accepts_is_accepted(rng):
    counts = rng.integers(0, 9, (5, 4))
    expected = Chi2()(counts.astype(float))
    for same in (counts.astype("u1"), counts.tolist(), np.asfortranarray(counts), sparse.csc_matrix(counts)):
        np.testing.assert_allclose(Chi2()(same), expected, rtol=1e-14)
    duplicated = sparse.coo_array((np.ones(4), ([0, 0, 1, 1], [1, 1, 0, 2])), shape=(2, 3)).tocsr()
    np.testing.assert_allclose(Intersection().diag(duplicated), [2, 2])
