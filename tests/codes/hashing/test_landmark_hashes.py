"""KLSH and RMMH against what their equations say, written out with numpy and scikit-learn."""

import warnings

import numpy as np
import pytest
from scipy import linalg
from sklearn.svm import SVC

import mercer
from mercer import KLSH, RMMH
from mercer._base.errors import ApproximationWarning
from mercer.kernels import RBF, CallableKernel, Linear


def bits_of(hashed, X):
    return np.unpackbits(hashed.transform(X), axis=1, bitorder="little")[:, : hashed.n_bits].astype(bool)


def samples(n_landmarks, size, n_bits, seed=0):
    """The rows that each bit draws when all training rows are landmarks."""
    random_state = np.random.RandomState(seed)
    return [random_state.permutation(n_landmarks)[:size] for _ in range(n_bits)]


@pytest.mark.parametrize("center", [False, True])
def test_klsh_with_the_linear_kernel_projects_on_whitened_sums_of_landmarks(rng, center):
    """x' C^(-1/2) sum_S z_i, with C = Z'Z of full rank where K_ZZ = ZZ' has rank 5 of 80: no inverse would do."""
    Z, X = rng.normal(size=(80, 5)) @ rng.normal(size=(5, 5)) + 1, rng.normal(size=(200, 5)) + 1
    hashed = KLSH(Linear(), n_bits=24, n_landmarks=80, n_sampled=7, center=center, random_state=0).fit(Z)
    origin = Z.mean(axis=0) if center else np.zeros(5)
    whitening = linalg.inv(linalg.sqrtm((Z - origin).T @ (Z - origin)))
    sums = np.stack([(Z[chosen] - origin).sum(axis=0) for chosen in samples(80, 7, 24)], axis=1)
    projections = (X - origin) @ whitening @ sums
    np.testing.assert_allclose(
        hashed.kernel_(X, hashed.landmarks_) @ hashed.coefficients_ + hashed.intercept_, projections, atol=1e-9
    )
    np.testing.assert_array_equal(bits_of(hashed, X), projections > 0)


def test_klsh_weights_are_the_inverse_root_of_the_gram_matrix_at_a_few_landmarks(rng):
    """(15): K^(1/2) w = e_S, where K is well conditioned."""
    X = rng.normal(size=(50, 3))
    hashed = KLSH(RBF(3.0), n_bits=20, n_sampled=6, center=False, random_state=0).fit(X)
    members = linalg.sqrtm(RBF(3.0)(X)) @ hashed.coefficients_
    expected = np.zeros((50, 20))
    for bit, chosen in enumerate(samples(50, 6, 20)):
        expected[chosen, bit] = 1
    np.testing.assert_allclose(members, expected, atol=1e-6)
    assert not hashed.intercept_.any()


def test_klsh_draws_thirty_landmarks_or_a_quarter_of_them(rng):
    for n_landmarks, expected in ((200, 30), (40, 10), (3, 1)):
        hashed = KLSH(RBF(3.0), n_bits=5, n_landmarks=n_landmarks, center=False, random_state=0)
        hashed.fit(5 * rng.normal(size=(300, 4)))
        K = RBF(3.0)(hashed.landmarks_)
        np.testing.assert_allclose((linalg.sqrtm(K) @ hashed.coefficients_).sum(axis=0), expected, rtol=1e-6)


def test_klsh_survives_equal_rows_and_is_not_moved_by_the_scale_of_the_kernel(rng):
    X = rng.dirichlet(np.ones(6), size=30)
    twice = np.vstack([X, X])  # a singular Gram matrix
    hashed = KLSH("chi2", n_bits=32, random_state=0).fit(twice)
    assert np.abs(hashed.coefficients_).max() < 1e4  # rounding in an inverse would give 1e7 and more
    scaled = KLSH(4 * mercer.Chi2(), n_bits=32, random_state=0).fit(twice)
    np.testing.assert_array_equal(scaled.transform(X), hashed.transform(X))
    order = rng.permutation(6)
    permuted = KLSH("chi2", n_bits=32, random_state=0).fit(twice[:, order])
    np.testing.assert_array_equal(permuted.transform(X[:, order]), hashed.transform(X))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("center", [True, False])
def test_klsh_directions_have_the_length_of_their_sample(rng, center, dtype):
    """K^(-1/2) e_S is a vector of feature space no longer than |e_S|: a projection on it is at most sqrt(Q K(x, x)).

    The Gram matrix of 1,050 rows around 50 centers has eigenvalues down to rounding, and centering adds one of zero:
    with that one in the inverse, projections are a thousand times the bound.
    """
    H = np.vstack([rng.dirichlet(100 * centre, size=21) for centre in rng.dirichlet(np.ones(32), size=50)]).astype(
        dtype
    )
    hashed = KLSH("chi2", n_bits=16, n_landmarks=2000, n_sampled=9, center=center, random_state=0).fit(H)
    K = hashed.kernel_(H, hashed.landmarks_)
    projections = K @ hashed.coefficients_ + hashed.intercept_
    means = hashed.kernel_(hashed.landmarks_).mean(axis=0) if center else 0
    energy = 1 - 2 * K.mean(axis=1) + np.mean(means) if center else np.ones(len(H))
    assert np.all(np.abs(projections) <= 1.01 * np.sqrt(9 * energy)[:, None])


def test_klsh_says_when_bits_tell_nothing_apart(rng):
    """A sum of landmarks has a positive kernel with every row, so a kernel that is not centered gives ones only."""
    X = rng.dirichlet(np.ones(6), size=60)
    with pytest.warns(ApproximationWarning, match=r"KLSH: \d+ of 16 bits are the same .* Use center=True"):
        codes = KLSH("chi2", n_bits=16, center=False, random_state=0).fit_transform(X)
    assert np.bitwise_count(codes).mean() > 7.9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KLSH("chi2", n_bits=16, random_state=0).fit(X)
    with pytest.warns(ApproximationWarning, match="Use rows that differ"):
        KLSH("chi2", n_bits=16, random_state=0).fit(X[[0, 0, 0, 0]])


def test_klsh_says_when_the_kernel_is_not_positive_definite(rng):
    indefinite = CallableKernel(lambda X, Y: np.tanh(2 * X @ Y.T - 1))
    with pytest.warns(ApproximationWarning, match="KLSH: .* not positive definite"):
        KLSH(indefinite, n_bits=8, random_state=0).fit(rng.normal(size=(40, 3)))


@pytest.mark.parametrize("C", [0.5, 50.0])
def test_rmmh_bits_are_the_decisions_of_scikit_learns_machines(rng, C):
    Z, X = rng.dirichlet(np.full(8, 0.5), size=70), rng.dirichlet(np.full(8, 0.5), size=300)
    hashed = RMMH("chi2", n_bits=19, n_sampled=16, C=C, random_state=3).fit(Z)
    bits, labels = bits_of(hashed, X), np.repeat([-1, 1], 8)
    for bit, chosen in enumerate(samples(70, 16, 19, seed=3)):
        machine = SVC(C=C, kernel="precomputed").fit(hashed.kernel_(Z[chosen]), labels)
        np.testing.assert_array_equal(bits[:, bit], machine.decision_function(hashed.kernel_(X, Z[chosen])) > 0)


def test_rmmh_weights_are_feasible_and_balanced(rng):
    X = rng.dirichlet(np.full(8, 0.5), size=400)
    hashed = RMMH("chi2", n_bits=6, n_landmarks=200, n_sampled=10, C=2.0, random_state=0).fit(X)
    weights = hashed.coefficients_
    assert np.abs(weights).max() <= 2.0
    np.testing.assert_allclose(weights.sum(axis=0), 0, atol=1e-9)  # sum of alpha_i epsilon_i
    assert np.all((weights != 0).sum(axis=0) <= 10)
    assert weights.any(axis=1).all()  # what is no support vector is not kept
    assert len(weights) == len(hashed.landmarks_) <= 60
    np.testing.assert_array_equal(hashed.landmarks_, X[hashed.landmark_indices_])


def test_rmmh_takes_pairs_when_there_are_few_rows():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    hashed = RMMH("chi2", n_bits=8, C=100.0, random_state=0).fit(X)
    assert np.all((hashed.coefficients_ != 0).sum(axis=0) == 2)
    assert bits_of(hashed, X[:2]).sum(axis=0).tolist().count(1) > 0
