"""Falkon: the optimum of the dense route for every loss and intercept, its certificate, and what it starts from."""

from dataclasses import replace

import numpy as np
import pytest

from mercer import InputError, KernelClassifier, KernelRegressor, NystroemMap, load, save, thread_limit
from mercer._base.progress import show_progress
from mercer.kernels import RBF
from mercer.learners.solvers.falkon import solver as _falkon
from mercer.learners.solvers.falkon.solver import solve_falkon
from mercer.learners.solvers.losses import get_loss
from mercer.learners.solvers.newton.solver import solve_newton
from mercer.learners.solvers.problem import Problem
from mercer.learners.solvers.registry import choose
from mercer.maps.landmarks import nystroem as _nystroem
from mercer.spaces import DenseRows, Design, Identity
from mercer.spaces.landmarks.inner import LandmarkProduct
from mercer.spaces.landmarks.rows import LandmarkRows, Landmarks
from tests.learners.solvers.test_dual import Impatient

N, M, P = 400, 60, 2
LOSSES = ["squared", "squared_hinge", "logistic", "hinge", "huber_hinge", "absolute", "epsilon_insensitive"]
KERNEL = RBF(2.0)


@pytest.fixture(autouse=True)
def one_thread():
    with thread_limit(1):
        yield


def raw(n=N):
    rng = np.random.default_rng(0)
    X = rng.random((n, 4))
    Y = np.stack([np.sin(5 * X[:, 0]) + X[:, 1] * X[:, 2], X[:, 3] - X[:, 1]], axis=1)
    return X, Y + 0.3 * rng.standard_normal(Y.shape), rng.uniform(0, 2, n)


def make_problem(loss, C=1.0, intercept="scaled", n=N, Z=None):
    X, Y, weights = raw(n)
    Z = X[:M] if Z is None else Z
    design = Design(LandmarkRows(X, Landmarks.of(KERNEL, Z)), LandmarkProduct(KERNEL, Z))
    loss = get_loss(loss)
    targets = Y if loss.task == "regression" else np.where(np.median(Y, axis=0) < Y, 1, -1).astype(np.int8)
    return Problem(design, loss, targets, weights, P, C, intercept, 0.7)


def dense(problem):
    """The same rows with features L^-1 K(Z, x), in full."""
    rows, inner = problem.design.rows, problem.design.inner
    features = inner.project(rows.toarray().T.astype(np.float64)).T
    return replace(problem, design=Design(features, Identity(features.shape[1])))


@pytest.mark.parametrize("intercept", ["scaled", "free", "none"])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_optimum_is_that_of_the_dense_route(monkeypatch, loss, intercept):
    monkeypatch.setattr(_falkon, "FORMED_WORK", 0)
    problem = make_problem(loss, C=0.5, intercept=intercept)
    found, expected = solve_falkon(problem, tol=1e-4), solve_newton(dense(problem), tol=1e-7)
    assert found.converged
    assert found.gaps.max() <= 1e-4
    assert found.solver == "falkon"
    np.testing.assert_allclose(found.objectives, expected.objectives, rtol=1.5e-4)  # the gap, and float32 values
    assert (found.dual_objectives <= expected.objectives * (1 + 1e-5)).all()


@pytest.mark.parametrize("intercept", ["scaled", "none"])
def test_ridge_regression_is_its_closed_form(intercept):
    problem = make_problem("squared", C=3.0, intercept=intercept)
    found = solve_falkon(problem, tol=1e-6)
    Z = dense(problem).design.rows.X
    Z = np.hstack([Z, np.full((N, 1), 0.7)]) if intercept == "scaled" else Z
    weighted = Z.T * problem.weights
    u = np.linalg.solve(np.eye(Z.shape[1]) + 3.0 * weighted @ Z, 3.0 * weighted @ problem.targets)
    residuals = problem.targets - Z @ u
    best = 0.5 * (u**2).sum(axis=0) + 1.5 * (problem.weights[:, None] * residuals**2).sum(axis=0)
    np.testing.assert_allclose(found.objectives, best, rtol=1e-5)  # kernel values in float32
    assert found.n_iter <= 6  # evaluations included


def test_conjugate_gradients_and_the_closed_form_agree(monkeypatch):
    problem = make_problem("squared", C=3.0)
    formed = solve_falkon(problem, tol=1e-6)
    monkeypatch.setattr(_falkon, "FORMED_WORK", 0)
    np.testing.assert_allclose(solve_falkon(problem, tol=1e-6).objectives, formed.objectives, rtol=2e-6)


@pytest.mark.parametrize("loss", ["squared", "squared_hinge", "logistic"])
def test_equal_landmarks_and_more_landmarks_than_rows_are_solved(monkeypatch, loss):
    monkeypatch.setattr(_falkon, "FORMED_WORK", 0)
    X = raw()[0]
    repeated = make_problem(loss, Z=np.concatenate([X[:M], X[:M]]))
    found, single = solve_falkon(repeated, tol=1e-5), solve_falkon(make_problem(loss), tol=1e-5)
    np.testing.assert_allclose(found.objectives, single.objectives, rtol=1e-4)
    assert solve_falkon(make_problem(loss, n=M // 2, Z=X[:M]), tol=1e-5).converged


@pytest.mark.parametrize("loss", ["squared", "squared_hinge", "logistic"])
def test_weights_are_repetitions(loss):
    problem = make_problem(loss)
    counts = np.random.default_rng(1).integers(0, 3, N)
    whole = replace(problem, weights=counts.astype(float))
    which = np.repeat(np.arange(N), counts)
    repeated = replace(
        problem, design=problem.design.take(which), targets=problem.targets[which], weights=np.ones(len(which))
    )
    found, expected = solve_falkon(whole, tol=1e-6), solve_falkon(repeated, tol=1e-6)
    np.testing.assert_allclose(found.objectives, expected.objectives, rtol=5e-6)


@pytest.mark.parametrize("loss", ["squared", "squared_hinge", "logistic"])
def test_a_penalty_starts_from_its_neighbor(monkeypatch, loss):
    monkeypatch.setattr(_falkon, "FORMED_WORK", 0)
    problem = make_problem(loss, C=2.0)
    before = solve_falkon(replace(problem, C=1.8), tol=1e-4)
    cold, warm = solve_falkon(problem, tol=1e-4), solve_falkon(problem, tol=1e-4, start=before.state)
    assert warm.n_iter < cold.n_iter
    np.testing.assert_allclose(warm.objectives, cold.objectives, rtol=2e-4)


def test_the_hessian_of_the_squared_loss_serves_other_penalties(monkeypatch):
    problem = make_problem("squared", C=1.0)
    before = solve_falkon(problem, tol=1e-6)
    monkeypatch.setattr(_falkon, "hessians", None)  # not computed again
    after = solve_falkon(replace(problem, C=10.0), tol=1e-6, start=before.state)
    np.testing.assert_allclose(after.objectives, solve_newton(dense(replace(problem, C=10.0)), 1e-7).objectives, 1e-4)


def test_ctrl_c_keeps_what_conjugate_gradients_have_found(monkeypatch):
    monkeypatch.setattr(_falkon, "FORMED_WORK", 0)
    problem = make_problem("squared", C=10.0)
    with show_progress(Impatient(3, "Conjugate gradients")):
        found = solve_falkon(problem, tol=1e-9)
    assert found.interrupted
    assert not found.converged
    scores = problem.design.scores(found.u) + found.intercept
    size = 0.5 * (found.u**2).sum(axis=0) + 0.5 * (found.intercept / 0.7) ** 2
    losses = 5.0 * (problem.weights[:, None] * (scores - problem.targets) ** 2).sum(axis=0)
    np.testing.assert_allclose(found.objectives, size + losses, rtol=1e-4)
    start = 5.0 * (problem.weights[:, None] * problem.targets**2).sum(axis=0)
    assert (found.objectives < 0.7 * start).all()


def test_threads_change_no_bit(monkeypatch):
    monkeypatch.setattr(_falkon, "FORMED_WORK", 0)
    found = []
    for n_threads in (1, 2):
        with thread_limit(n_threads):
            found.append(solve_falkon(make_problem("squared_hinge")))
    np.testing.assert_array_equal(found[0].u, found[1].u)


def test_it_is_chosen_for_landmarks_and_refused_for_others():
    problem = make_problem("logistic")
    design = problem.design
    assert choose(design.rows, design.inner, problem.loss, "scaled").name == "falkon"
    assert choose(design.rows, design.inner, get_loss("multinomial"), "scaled").name == "bundle"
    with pytest.raises(InputError, match="NystroemMap"):
        solve_falkon(replace(problem, design=Design(DenseRows(np.eye(N)), Identity(N))))


# ------------------------------------------------------------------------------------------------ through the estimator


@pytest.fixture
def many(monkeypatch):
    """Sixty landmarks count as many."""
    monkeypatch.setattr(_nystroem, "MOST_EIGENVECTORS", 50)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_a_classifier_is_that_of_few_landmarks(monkeypatch, loss, tmp_path):
    X, Y, weights = raw()
    y = (Y > 0.5).sum(axis=1)
    learner = KernelClassifier(map=NystroemMap(KERNEL, landmarks=np.arange(M)), loss=loss, tol=1e-5)
    plain = learner.fit(X, y, weights).predictor_(X), learner.objective_
    monkeypatch.setattr(_nystroem, "MOST_EIGENVECTORS", 50)
    learner.set_params(solver="falkon").fit(X, y, weights)  # by itself it would write out so few rows
    assert learner.plan_.solver == "falkon"
    assert learner.plan_.rows == "LandmarkRows of float32"
    np.testing.assert_allclose(learner.objective_, plain[1], rtol=1e-4)
    np.testing.assert_allclose(learner.predictor_(X), plain[0], atol=0.02)  # objectives are flatter than scores
    save(learner, tmp_path / "model.mercer")
    loaded = load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(loaded.decision_function(X), learner.decision_function(X))
    assert (tmp_path / "model.mercer").stat().st_size < 8 * M * M + 2**15  # no matrix of landmarks in it


@pytest.mark.parametrize("storage", ["memory", "disk"])
def test_a_regressor_takes_rows_from_disk(many, storage, tmp_path):
    X, Y, _ = raw()
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    learner = KernelRegressor(
        map=NystroemMap(KERNEL, landmarks=X[:M]), loss="squared", storage=storage, solver="falkon"
    )
    assert learner.fit(mapped, Y).plan_.storage == storage
    np.testing.assert_allclose(learner.predict(X), learner.fit(X, Y).predict(X), atol=1e-5)


def test_features_of_many_landmarks_have_the_usual_inner_product(many, tmp_path, rng):
    X = raw()[0]
    fitted = NystroemMap(KERNEL, n_landmarks=N).fit(X)
    assert fitted.normalization_ is None
    features = fitted.transform(X)
    np.testing.assert_allclose(features @ features.T, KERNEL(X), atol=1e-4)  # the jitter
    weights = rng.standard_normal(N)
    np.testing.assert_allclose(fitted.fold(weights)(X), features @ weights, atol=1e-6)
    save(fitted, tmp_path / "map.mercer")
    np.testing.assert_array_equal(load(tmp_path / "map.mercer").transform(X), features)
