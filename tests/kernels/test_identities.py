"""What the kernels must satisfy whatever computes them: definitions, identities between them, positive definiteness."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist, jensenshannon
from sklearn.metrics.pairwise import (
    additive_chi2_kernel,
    chi2_kernel,
    laplacian_kernel,
    rbf_kernel,
)

from mercer.kernels import (
    KERNELS,
    RBF,
    BrayCurtis,
    Chi2,
    DotTanimoto,
    ExpChi2,
    Exponential,
    GeneralizedIntersection,
    Hellinger,
    Intersection,
    JensenShannon,
    Laplacian,
    Linear,
    MinMax,
    PowerMean,
)

SIGNED = [Hellinger, Chi2, Intersection, JensenShannon, PowerMean]


@pytest.fixture
def sides(rng):
    """Two sets of rows that sum to 1, with many empty bins."""
    X, Y = (rng.random((n, 40)) ** 3 * (rng.random((n, 40)) < 0.7) for n in (30, 25))
    return X / X.sum(1, keepdims=True), Y / Y.sum(1, keepdims=True)


def test_bray_curtis_dissimilarity_is_one_minus_the_intersection_on_rows_that_sum_to_one(sides):
    dissimilarity = cdist(*sides, "braycurtis")
    np.testing.assert_allclose(1 - Intersection()(*sides), dissimilarity, atol=1e-14)
    np.testing.assert_allclose(1 - BrayCurtis()(*sides), dissimilarity, atol=1e-14)


def test_bray_curtis_on_counts_is_the_ecologists_similarity(rng):
    X, Y = rng.integers(0, 50, (20, 8)), rng.integers(0, 5000, (15, 8))
    np.testing.assert_allclose(1 - BrayCurtis()(X, Y), cdist(X, Y, "braycurtis"), atol=1e-14)


def test_jensen_shannon_is_one_minus_the_divergence_in_bits(sides):
    X, Y = sides
    divergence = cdist(X, Y, lambda x, y: jensenshannon(x, y, base=2) ** 2)
    np.testing.assert_allclose(JensenShannon()(X, Y), 1 - divergence, atol=1e-13)


def test_jensen_shannon_is_the_unweighted_spectral_entropy_similarity(sides):
    def entropy(rows):
        return -np.sum(np.where(rows > 0, rows * np.log(np.where(rows > 0, rows, 1)), 0), axis=-1)

    X, Y = sides
    mixed = entropy((X[:, None] + Y[None]) / 2)
    similarity = 1 - (2 * mixed - entropy(X)[:, None] - entropy(Y)) / np.log(4)
    np.testing.assert_allclose(JensenShannon()(X, Y), similarity, atol=1e-13)


def test_scikit_learns_kernels_are_the_same_functions(sides, rng):
    X, Y = sides
    # its additive chi2 kernel is minus the squared distance of ours
    np.testing.assert_allclose(Chi2().distance(X, Y) ** 2, -additive_chi2_kernel(X, Y), atol=1e-13)
    np.testing.assert_allclose(ExpChi2(0.7)(X, Y), chi2_kernel(X, Y, gamma=0.7), atol=1e-13)
    A, B = rng.normal(size=(20, 6)), rng.normal(size=(11, 6))
    np.testing.assert_allclose(RBF(0.3)(A, B), rbf_kernel(A, B, gamma=0.3), atol=1e-13)
    np.testing.assert_allclose(Laplacian(0.3)(A, B), laplacian_kernel(A, B, gamma=0.3), atol=1e-13)


def test_min_max_is_the_tanimoto_of_counts_and_defines_empty_rows():
    X = np.array([[2.0, 1, 0], [0, 0, 0], [1, 1, 1]])
    expected = [[1, 0, 2 / 4], [0, 1, 0], [2 / 4, 0, 1]]
    np.testing.assert_allclose(MinMax()(X), expected)
    np.testing.assert_allclose(MinMax()(X, X.copy()), expected)
    np.testing.assert_allclose(BrayCurtis()(X), [[1, 0, 4 / 6], [0, 1, 0], [4 / 6, 0, 1]])


def test_the_tanimoto_of_products_is_the_jaccard_index_of_sets_and_defines_empty_rows(rng):
    X, Y = rng.integers(0, 4, (20, 30)) * 1.0, rng.integers(0, 4, (15, 30)) * 1.0
    common = X @ Y.T
    expected = common / ((X**2).sum(1)[:, None] + (Y**2).sum(1) - common)
    np.testing.assert_allclose(DotTanimoto()(X, Y), expected, rtol=1e-14)
    np.testing.assert_allclose(DotTanimoto()(X > 0, Y > 0), MinMax()(X > 0, Y > 0), rtol=1e-14)
    assert DotTanimoto()([[0.0, 0.0], [1e-300, 0.0]], [[0.0, 0.0], [1e300, 0.0]]).tolist() == [[1, 0], [0, 0]]


@pytest.mark.parametrize(
    ("p", "limit"),
    [
        (-1, Chi2()),
        (0, Hellinger()),
        (-np.inf, Intersection()),
        (-1 + 1e-9, Chi2()),
        (-1e-7, Hellinger()),
        (-1e6, Intersection()),
    ],
)
def test_the_power_mean_meets_its_limits(sides, p, limit):
    np.testing.assert_allclose(PowerMean(p)(*sides), limit(*sides), rtol=2e-6)


@pytest.mark.parametrize("p", [-0.01, -0.5, -2, -7.5, -100])
def test_the_power_mean_is_the_power_mean_in_both_precisions(sides, p):
    X, Y = sides
    x, y = np.where(X > 0, X, np.nan)[:, None], np.where(Y > 0, Y, np.nan)[None]
    with np.errstate(invalid="ignore"):  # empty bins are NaN here and left out of the sum
        log_mean = np.logaddexp(p * np.log(x), p * np.log(y)) - np.log(2)
    expected = np.nansum(np.exp(log_mean / p), axis=-1)
    np.testing.assert_allclose(PowerMean(p)(X, Y), expected, rtol=1e-12)
    np.testing.assert_allclose(PowerMean(p)(X.astype("f4"), Y.astype("f4")), expected, rtol=3e-6)


def test_the_generalized_intersection_takes_any_signs(rng):
    X = rng.normal(size=(12, 5))
    powers = np.abs(X) ** 0.4
    expected = np.minimum(powers[:, None], powers[None]).sum(-1)
    np.testing.assert_allclose(GeneralizedIntersection(0.4)(X), expected, rtol=1e-12)


@pytest.mark.parametrize("kernel", SIGNED)
def test_the_signed_form_is_the_odd_extension(rng, kernel):
    X, Y = rng.normal(size=(14, 9)), rng.normal(size=(10, 9))
    plain, signed = kernel(), kernel(signed=True)
    positive, negative = np.maximum(X, 0), np.maximum(-X, 0)
    up, down = np.maximum(Y, 0), np.maximum(-Y, 0)
    expected = plain(positive, up) + plain(negative, down) - plain(positive, down) - plain(negative, up)
    np.testing.assert_allclose(signed(X, Y), expected, atol=1e-12)
    np.testing.assert_allclose(signed(-X, Y), -signed(X, Y), atol=1e-12)
    np.testing.assert_allclose(signed(np.abs(X), np.abs(Y)), plain(np.abs(X), np.abs(Y)), atol=1e-12)


ALL = [kernel() for kernel in KERNELS.values()] + [
    PowerMean(-0.3),
    GeneralizedIntersection(0.5),
    Exponential(Intersection(), 2.0),
    Chi2() + 0.5 * Linear(),
    Chi2() * RBF(0.2),
    Chi2().normalized(),
    *(kernel(signed=True) for kernel in SIGNED),
]


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_gram_matrices_are_positive_semidefinite_and_symmetric(rng, kernel):
    X = rng.random((60, 7)) * (rng.random((60, 7)) < 0.6)
    if kernel.positive_definite_on == "real":
        X = X * rng.choice([-1.0, 1.0], size=X.shape)
    K = kernel(X)
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-12 * np.trace(K)


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_diagonal_distance_and_normalisation_follow_from_the_gram_matrix(rng, kernel):
    X, Y = rng.random((20, 6)) + 0.1, rng.random((15, 6))
    K, dx, dy = kernel(X, Y), kernel.diag(X), kernel.diag(Y)
    np.testing.assert_allclose(np.diag(kernel(X)), dx, rtol=1e-12)
    np.testing.assert_allclose(kernel.distance(X, Y) ** 2, dx[:, None] + dy - 2 * K, atol=1e-11)
    assert (np.diag(kernel.distance(X)) == 0).all()
    normalized = kernel.normalized()
    np.testing.assert_allclose(normalized(X, Y), K / np.sqrt(dx[:, None] * dy), rtol=1e-11)
    if kernel.homogeneity or normalized is kernel:
        np.testing.assert_allclose(kernel.diag(kernel.normalize(X)), 1, rtol=1e-12)


@pytest.mark.parametrize("kernel", [k for k in ALL if k.homogeneity is not None], ids=repr)
def test_the_stated_homogeneity_holds(rng, kernel):
    X = rng.random((10, 6))
    np.testing.assert_allclose(kernel(3 * X), 3**kernel.homogeneity * kernel(X), rtol=1e-12)


@pytest.mark.parametrize("kernel", [k for k in ALL if k.additive], ids=repr)
def test_an_additive_kernel_is_the_sum_of_its_scalar_kernel(rng, kernel):
    X, Y = rng.random((10, 6)) * (rng.random((10, 6)) < 0.7), rng.random((8, 6))
    np.testing.assert_allclose(kernel.scalar(X[:, None], Y[None]).sum(-1), kernel(X, Y), rtol=1e-12)
