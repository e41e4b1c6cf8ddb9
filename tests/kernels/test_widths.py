"""Widths that are left open: measured by whoever fits, 1 where a kernel is called."""

import numpy as np
import pytest
from scipy import sparse

import mercer
from mercer import RBF, Chi2, ExpChi2, Exponential, InputError, Intersection, Laplacian, UniversalRBF, get_kernel
from mercer.kernels import closed, resolve_kernel

OPEN = {
    "rbf": RBF(),
    "laplacian": Laplacian(),
    "exp-chi2": ExpChi2(),
    "exponential": Exponential(),
    "exponential-intersection": Exponential(Intersection()),
}


@pytest.fixture
def X(rng):
    values = rng.random((300, 6)) * (rng.random((300, 6)) < 0.7)
    return values.astype(np.float32).astype(np.float64)  # an index keeps float32


def _mean_exponent(kernel, X):
    return -np.log(kernel(X))[~np.eye(len(X), dtype=bool)].mean()


@pytest.mark.parametrize("name", OPEN)
def test_an_open_gamma_makes_the_mean_exponent_one_at_any_scale(name, X):
    for scale in (1e-6, 1.0, 1e6):
        found = resolve_kernel(OPEN[name], scale * X)
        assert _mean_exponent(found, scale * X) == pytest.approx(1.0)
    assert resolve_kernel(OPEN[name], sparse.csr_array(X)).gamma == pytest.approx(resolve_kernel(OPEN[name], X).gamma)


@pytest.mark.parametrize("block_size", [None, 2])
def test_the_open_step_of_universal_bits_is_that_of_the_gaussian_beside_it(block_size, X):
    found = resolve_kernel(UniversalRBF(block_size=block_size), X)
    blocks = [X] if block_size is None else [X[:, :2], X[:, 2:4], X[:, 4:]]
    exponents = [_mean_exponent(RBF(np.pi**2 / (2 * found.delta**2)), block) for block in blocks]
    assert np.mean(exponents) == pytest.approx(1.0)


def test_parts_of_a_kernel_are_resolved_before_the_whole(X):
    gamma = resolve_kernel("rbf", X).gamma
    for kernel, expected in (
        (Chi2() + 0.5 * RBF(), Chi2() + 0.5 * RBF(gamma)),
        (Chi2() * RBF() * Laplacian(3.0), Chi2() * RBF(gamma) * Laplacian(3.0)),
        ((Chi2() + RBF()).normalized(), (Chi2() + RBF(gamma)).normalized()),
    ):
        assert resolve_kernel(kernel, X) == expected
    twice = resolve_kernel(Exponential(RBF()), X)
    assert twice.kernel == RBF(gamma)
    assert _mean_exponent(twice, X) == pytest.approx(1.0)


def test_a_width_that_was_given_is_kept(X):
    for kernel in (RBF(1.0), Exponential(Chi2(), 0.3), UniversalRBF(2.0), Chi2() + RBF(0.1), get_kernel("chi2")):
        assert resolve_kernel(kernel, X) is kernel
        assert closed(kernel) == kernel


def test_rows_without_distances_have_width_one():
    for rows in (np.ones((3, 2)), np.ones((1, 2))):
        assert resolve_kernel("rbf", rows) == RBF(1.0)
        assert resolve_kernel("universal-rbf", rows) == UniversalRBF(1.0)


def test_a_kernel_that_is_called_directly_has_width_one(X):
    for kernel in (*OPEN.values(), UniversalRBF(), Chi2() + RBF(), Chi2() * Laplacian()):
        assert closed(kernel) != kernel
        np.testing.assert_array_equal(kernel(X[:20], X), closed(kernel)(X[:20], X))
        np.testing.assert_array_equal(kernel.distance(X[:20]), closed(kernel).distance(X[:20]))
        np.testing.assert_array_equal(
            kernel.pair_values(X[:20], X[20:40]), closed(kernel).pair_values(X[:20], X[20:40])
        )
    assert repr(RBF()) == "RBF(gamma=None)"


def test_rows_outside_the_domain_are_refused_before_they_are_measured():
    with pytest.raises(InputError, match="Negative"):
        resolve_kernel("exp-chi2", np.array([[1.0], [-1.0]]))


@pytest.mark.parametrize("kernel", ["rbf", RBF(), Chi2() + RBF()], ids=str)
@pytest.mark.parametrize(
    "estimator",
    [
        mercer.NystroemMap(n_landmarks=20, random_state=0),
        mercer.KernelPCA(n_components=5, n_landmarks=20, random_state=0),
        mercer.SparseMap(n_landmarks=20, random_state=0),
        mercer.KLSH(n_bits=8, n_landmarks=20, random_state=0),
        mercer.RMMH(n_bits=8, n_landmarks=20, random_state=0),
        mercer.KernelIndex(bytes_per_item=4, n_landmarks=20, random_state=0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_every_estimator_keeps_the_kernel_that_it_measured(estimator, kernel, X):
    fitted = estimator.set_params(kernel=kernel).fit(X)
    assert fitted.kernel_ == resolve_kernel(kernel, X)
    assert fitted.kernel == kernel


def test_what_contains_a_map_has_the_kernel_that_the_map_measured(X):
    nystroem = mercer.NystroemMap("rbf", n_landmarks=20, random_state=0)
    for outer in (
        mercer.ConvexReduction("linear", n_dims=3, map=nystroem, random_state=0),
        mercer.ProjectedMap(nystroem, 4, random_state=0),
        mercer.SignHash(nystroem, n_bits=8, random_state=0),
    ):
        assert outer.fit(X).kernel_ == outer.map_.kernel_
        assert outer.kernel_.gamma not in (None, 1.0)


def test_random_frequencies_follow_the_measured_width(X):
    by_name, by_number = (
        mercer.FourierMap(kernel, 16, random_state=0).fit(X) for kernel in ("rbf", resolve_kernel("rbf", X))
    )
    np.testing.assert_array_equal(by_name.frequencies_, by_number.frequencies_)


def test_learners_score_alike_by_name_and_by_object(X):
    y = (np.linalg.norm(X - 0.5, axis=1) > 0.9).astype(int)
    for scale in (1e-3, 1e3):
        by_name, by_object = (
            mercer.KernelClassifier(kernel, random_state=0).fit(scale * X, y).decision_function(scale * X)
            for kernel in ("rbf", RBF())
        )
        np.testing.assert_array_equal(by_name, by_object)


def test_an_index_keeps_the_width_it_has_measured_on_the_disk_and_in_a_model(X, tmp_path):
    index = mercer.KernelIndex("rbf", bytes_per_item=4, n_landmarks=20, random_state=0).fit(X).add(X)
    values = index.search(X[:5], 3, exact=True)[1]
    np.testing.assert_allclose(values[0], np.sort(index.kernel_(X[:1], X)[0])[::-1][:3], rtol=1e-12)  # rounding
    with index.persist(tmp_path / "index"):
        pass
    with mercer.KernelIndex.open(tmp_path / "index") as opened:
        assert opened.kernel_ == index.kernel_
        assert repr(index.kernel_) in opened.stats()["kernel"]
        np.testing.assert_array_equal(opened.search(X[:5], 3, exact=True)[1], values)


def test_a_model_from_before_open_widths_has_width_one(X, tmp_path):
    model = mercer.KernelIndex(RBF(1.0), bytes_per_item=4, n_landmarks=20, random_state=0).fit(X).model_
    model.kernel = "rbf"  # as it was written then: a name, and no kernel_
    del model.kernel_
    mercer.save(model, tmp_path / "old.mercer")
    assert mercer.load(tmp_path / "old.mercer").kernel_ == RBF(1.0)
