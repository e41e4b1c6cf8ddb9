"""SignHash and UniversalEmbedding: Hamming distances have the expectations that the papers give."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, sparse
from sklearn.pipeline import make_pipeline

from mercer import HomogeneousMap, InputError, KernelPCA, SignHash, UniversalEmbedding
from mercer.kernels.universal_rbf import share_of_bits


def shares(codes, n_bits):
    """Share of different bits between the first row and the others."""
    return np.bitwise_count(codes[0] ^ codes[1:]).sum(axis=1) / n_bits


# ----------------------------------------------------------------------------------------------------------- signs


@pytest.mark.parametrize("orthogonal", [False, True])
def test_signs_differ_with_probability_angle_over_pi(orthogonal):
    angles = np.array([0.05, 0.5, 1.0, np.pi / 2, 2.5, np.pi])
    X = np.zeros((7, 5))
    X[:, 1], X[:, 3] = np.cos(np.r_[0, angles]), np.sin(np.r_[0, angles])
    n_bits = 20_000
    codes = SignHash(n_bits=n_bits, orthogonal=orthogonal, random_state=0).fit_transform(X)
    p = angles / np.pi
    # 5 standard deviations of a binomial share; orthogonal directions have less, or (beyond pi / 2) twice as much
    bound = 5 * np.sqrt(p * (1 - p) / n_bits) * (1.5 if orthogonal else 1)
    assert np.all(np.abs(shares(codes, n_bits) - p) <= bound)


def test_orthogonal_directions_lower_the_variance():
    """Codes of 16 bits in 16 dimensions, 2,000 of them in a row."""
    X = np.eye(2, 16)
    X[1] = 0.5 * X[0] + np.sqrt(0.75) * X[1]  # 60 degrees
    variance = {}
    for orthogonal in (False, True):
        codes = SignHash(n_bits=32_000, orthogonal=orthogonal, random_state=0).fit_transform(X)
        found = np.bitwise_count(codes[0] ^ codes[1]).reshape(2000, 2).sum(axis=1) / 16
        assert found.mean() == pytest.approx(1 / 3, abs=5 * np.sqrt(2 / 9 / 16 / 2000))
        variance[orthogonal] = found.var()
    assert variance[False] == pytest.approx(2 / 9 / 16, rel=0.15)  # 5 standard errors of a variance of 2,000
    assert variance[True] < 0.8 * variance[False]


@pytest.mark.parametrize("n_bits", [7, 20])
def test_orthogonal_directions_are_orthogonal_in_groups(n_bits):
    R = SignHash(n_bits=n_bits, random_state=0).fit(np.ones((2, 9))).directions_
    for first in range(0, n_bits, 9):
        group = R[:, first : first + 9]
        np.testing.assert_allclose(group.T @ group, np.eye(group.shape[1]), atol=1e-12)


def test_signs_do_not_see_lengths_and_turn_with_the_rows(rng):
    X = rng.normal(size=(50, 6))
    hashed = SignHash(n_bits=13, random_state=0).fit(X)
    codes = hashed.transform(X)
    np.testing.assert_array_equal(hashed.transform(X * rng.gamma(1.0, size=(50, 1))), codes)
    complement = np.packbits(np.ones((1, 13), dtype=bool), axis=1, bitorder="little")
    np.testing.assert_array_equal(hashed.transform(-X), codes ^ complement)
    assert not hashed.transform(np.zeros((1, 6))).any()


def test_signs_of_a_map_are_signs_of_its_features(rng):
    X = rng.dirichlet(np.ones(8), size=100)
    pca = KernelPCA("chi2", n_components=6, n_landmarks=30, random_state=0)
    hashed = SignHash(pca, n_bits=40, random_state=0).fit(X)
    assert not hasattr(pca, "landmarks_")  # the given map is cloned
    projections = pca.fit(X).transform(X) @ hashed.directions_
    expected = np.packbits(projections > 0, axis=1, bitorder="little")
    np.testing.assert_array_equal(hashed.transform(X), expected)
    assert hashed.kernel_ == pca.kernel_


def test_signs_of_a_map_stand_for_the_angles_of_its_kernel(rng):
    X = rng.dirichlet(np.ones(6), size=30)
    n_bits = 20_000
    codes = SignHash(HomogeneousMap("chi2", order=3), n_bits=n_bits, random_state=0).fit_transform(sparse.csr_array(X))
    angles = np.arccos(np.minimum(HomogeneousMap("chi2", order=3).fit(X).kernel_(X)[0, 1:], 1))  # K(x, x) = 1
    # 5 standard deviations, and 0.02 for the map
    np.testing.assert_allclose(shares(codes, n_bits), angles / np.pi, atol=2.5 / np.sqrt(n_bits) + 0.02)


# ------------------------------------------------------------------------------------------------------- universal


def test_the_series_is_the_mean_of_the_wrapped_quantiser():
    """g(d) = E T(d Z / delta), T the triangle wave of period 2 and Z normal, by quadrature."""

    def wave(t):
        return abs((t + 1) % 2 - 1)

    for ratio in (0.01, 0.0999, 0.1, 0.3, 0.63, 1.0, 3.0):
        corners = np.arange(1, 40) / ratio
        density = lambda z, r=ratio: 2 * wave(r * z) * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)  # noqa: E731
        parts = np.r_[0, corners[corners < 12], 12]
        expected = sum(integrate.quad(density, a, b, epsabs=1e-14)[0] for a, b in pairwise(parts))
        assert share_of_bits(np.array(ratio)) == pytest.approx(expected, rel=1e-11)


def test_the_map_of_distances_is_zero_at_zero_rises_and_ends_at_one_half():
    ratios = np.linspace(0, 4, 2001)
    g = share_of_bits(ratios)
    assert g[0] == 0
    assert np.all(np.diff(g) >= 0)
    assert g[-1] == 0.5
    # (10) to (12), with sqrt(2) delta
    gaussian = np.exp(-((np.pi * ratios) ** 2) / 2)
    assert np.all(g >= 0.5 - 0.5 * gaussian - 1e-15)
    assert np.all(g <= np.minimum(0.5 - 4 / np.pi**2 * gaussian, np.sqrt(2 / np.pi) * ratios) + 1e-15)


def test_a_share_g_of_the_bits_differs_and_a_step_wrong_by_three_percent_would_show():
    distances = np.array([0.02, 0.1, 0.3, 0.45, 0.6, 0.9, 1.5, 5.0]) * 0.7
    X = np.zeros((9, 3))
    X[1:, 1] = distances
    X += [3.0, -2.0, 1.0]
    n_bits = 2**19
    embedding = UniversalEmbedding(n_bits, delta=0.7, random_state=0).fit(X)
    found = shares(embedding.transform(X), n_bits)
    bound = 2.5 / np.sqrt(n_bits)  # 5 standard deviations
    assert np.abs(found - embedding.expected_distance(distances)).max() < bound
    for wrong in (0.97, 1.03):
        assert np.abs(found - share_of_bits(distances / (0.7 * wrong))).max() > bound


def test_the_step_follows_the_distances_of_the_rows(rng):
    X = rng.normal(size=(500, 20))
    delta = UniversalEmbedding(8, random_state=0).fit(X).delta_
    # the distance of two rows is sqrt(2) times a chi variable of 20 degrees of freedom, whose lower quartile is 3.931
    assert delta * np.sqrt(np.pi / 8) == pytest.approx(np.sqrt(2) * 3.931, rel=0.05)
    assert UniversalEmbedding(8, random_state=0).fit(3 * X).delta_ == pytest.approx(3 * delta)
    assert UniversalEmbedding(8, random_state=0).fit(sparse.csr_array(X)).delta_ == pytest.approx(delta)
    assert UniversalEmbedding(8, random_state=0).fit(X + 7).delta_ == pytest.approx(delta)
    assert UniversalEmbedding(8).fit(np.ones((5, 3))).delta_ == 1.0


def test_rows_far_from_the_origin_keep_their_bits(rng):
    """16 bits for 50,000 would leave nothing for differences of 1/8: rows are centered first."""
    X = (rng.integers(0, 8, (60, 4)) / 8 + 50_000).astype(np.float32)
    n_bits = 20_000
    embedding = UniversalEmbedding(n_bits, delta=1.0, random_state=0).fit(X)
    codes = embedding.transform(X)
    np.testing.assert_array_equal(codes, embedding.transform(X.astype(np.float64)))
    expected = embedding.expected_distance(np.linalg.norm(X[1:].astype(np.float64) - X[0], axis=1))
    np.testing.assert_allclose(shares(codes, n_bits), expected, atol=2.5 / np.sqrt(n_bits))


def test_distances_below_zero_are_refused():
    embedding = UniversalEmbedding(8).fit(np.eye(3))
    with pytest.raises(InputError, match="needs distances >= 0, got -1"):
        embedding.expected_distance([0.5, -1.0])


def test_universal_embeddings_follow_a_map_in_a_pipeline(rng):
    X, n_bits = rng.dirichlet(np.ones(8), size=200), 9000
    pipeline = make_pipeline(KernelPCA("chi2", n_components=None), UniversalEmbedding(n_bits, random_state=0))
    found = shares(pipeline.fit_transform(X), n_bits)
    expected = pipeline[1].expected_distance(pipeline[0].kernel_.distance(X[:1], X[1:])[0])
    np.testing.assert_allclose(found, expected, atol=2.5 / np.sqrt(n_bits))  # 5 standard deviations; all components
