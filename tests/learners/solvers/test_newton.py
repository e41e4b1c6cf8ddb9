"""Newton's method: the optimum of an independent solver for every loss, geometry and intercept; few passes."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import LinearSVC

from mercer import InputError, thread_limit
from mercer._base.progress import show_progress
from mercer.learners.solvers.losses import get_loss
from mercer.learners.solvers.newton import hessian as _hessian
from mercer.learners.solvers.newton import solver as _newton
from mercer.learners.solvers.newton.solver import solve_newton
from mercer.learners.solvers.problem import Problem
from mercer.spaces import BlockFactor, CodeRows, CumulativeSum, DenseRows, Identity
from mercer.spaces.design import Design
from tests.learners.solvers.test_dual import Impatient
from tests.pairs import all_pairs
from tests.reference import solvers

N, D, P, SCALING = 80, 9, 3, 0.7
LOSSES = ["hinge", "squared_hinge", "logistic", "huber_hinge", "squared", "absolute", "epsilon_insensitive"]


@pytest.fixture(autouse=True)
def one_thread():
    """The problems are small: threads would only wait for each other."""
    with thread_limit(1):
        yield


def make_problem(loss, C=1.0, intercept="scaled", design=None, n=N):
    """Targets that leave some rows out, weights of which some are 0."""
    rng = np.random.default_rng(0)
    if design is None:
        design = Design(rng.standard_normal((n, D)), Identity(D))
    loss = get_loss(loss)
    targets = rng.integers(-1, 2, (n, P)).astype(np.int8)
    if loss.task == "regression":
        targets = 2 * rng.standard_normal((n, P)) + 1.0
    weights = rng.uniform(0, 2, n)
    weights[:5] = 0.0
    return Problem(design, loss, targets, weights, P, C, intercept, SCALING)


def explicit_rows(design):
    return design.inner.project(np.ascontiguousarray(design.rows.toarray().T, dtype=np.float64)).T


def optimum(problem):
    _, _, values = solvers.solve(
        explicit_rows(problem.design),
        problem.loss.name,
        problem.targets,
        problem.weights,
        problem.n_columns,
        problem.C,
        problem.intercept,
        SCALING,
        getattr(problem.loss, "epsilon", 0.0),
    )
    return values


def objectives(problem, found):
    """From the definition, at the weights that were found."""
    scores = explicit_rows(problem.design) @ found.u + found.intercept
    epsilon = getattr(problem.loss, "epsilon", 0.0)
    settings = problem.C, problem.intercept, SCALING, epsilon
    return solvers.objectives(
        scores, found.u, found.intercept, problem.loss.name, problem.targets, problem.weights, *settings
    )


def assert_solved(problem, found, tol):
    assert found.converged
    assert found.gaps.max() <= tol
    np.testing.assert_allclose(found.objectives, objectives(problem, found), rtol=1e-6)
    best = optimum(problem)
    assert (found.objectives >= best * (1 - 1e-6)).all()
    assert (found.dual_objectives <= best * (1 + 1e-6)).all()


@pytest.mark.parametrize(
    ("C", "intercept", "loss"),
    all_pairs([1e-4, 1.0, 300.0], ["scaled", "free", "none"], list(LOSSES)),
)
def test_the_optimum_is_that_of_an_independent_solver(loss, intercept, C):
    problem = make_problem(loss, C, intercept)
    assert_solved(problem, solve_newton(problem, tol=1e-5), 1e-5)


def coded_design(rng, n):
    factors = rng.standard_normal((3, 4, 6)).astype(np.float32)
    return Design(CodeRows(rng.integers(0, 6, (n, 3)).astype(np.uint8), 6), BlockFactor(factors))


def grid_design(rng, n):
    rows = np.where(rng.random((n, 6)) < 0.5, rng.random((n, 6)), 0)
    return Design(sparse.csr_array(rows), CumulativeSum.of_grids([[0.1, 0.4, 1.0], [0.2, 0.3, 0.9]]))


DESIGNS = {
    "codes": coded_design,
    "sums along grids": grid_design,
    "float32 rows": lambda rng, n: Design(rng.standard_normal((n, D)).astype(np.float32), Identity(D)),
}


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("few", [256, 0], ids=["Hessian", "conjugate gradients"])
def test_any_inner_product_will_do_with_and_without_a_hessian(monkeypatch, loss, name, few):
    monkeypatch.setattr(_hessian, "FORMED_FACTORS", few)
    problem = make_problem(loss, design=DESIGNS[name](np.random.default_rng(1), N))
    assert_solved(problem, solve_newton(problem, tol=1e-4), 1e-4)


@pytest.mark.parametrize("intercept", ["scaled", "free"])
def test_the_hessian_of_a_sample_saves_conjugate_gradient_steps(monkeypatch, intercept):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((400, 20)) * np.logspace(0, 2, 20)  # columns of very different size
    problem = make_problem("logistic", 10.0, intercept, Design(X, Identity(20)), n=400)
    monkeypatch.setattr(_hessian, "FORMED_FACTORS", 0)
    found = solve_newton(problem, tol=1e-4)
    monkeypatch.setattr(_hessian, "MOST_FACTORS", 0)
    plain = solve_newton(problem, tol=1e-4)
    assert_solved(problem, found, 1e-4)
    assert found.n_iter < 0.5 * plain.n_iter


def test_large_C_in_float32_keeps_the_ridge():
    rng = np.random.default_rng(3)
    X = np.repeat(rng.random((2000, 3)), 2, axis=1).astype(np.float32)  # every column twice: the ridge alone decides
    problem = make_problem("squared_hinge", 1e4, "none", Design(X, Identity(6)), n=2000)
    assert _hessian.SINGLE_PRECISION < 1e4 * 2000
    found = solve_newton(problem, tol=1e-4)
    assert found.converged
    assert found.n_iter <= 25
    np.testing.assert_allclose(found.u[::2], found.u[1::2], rtol=1e-3, atol=1e-3 * np.abs(found.u).max())


def test_a_sample_of_many_rows_gives_the_start(monkeypatch):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((20_000, 4)).astype(np.float32)
    y = np.where(X[:, :1] + rng.standard_normal((20_000, 1)) > 0, 1, -1).astype(np.int8)
    problem = Problem(Design(X, Identity(4)), get_loss("hinge"), y, np.ones(20_000), 1)
    found = solve_newton(problem)
    monkeypatch.setattr(_newton, "SAMPLE_PER_FACTOR", 10**9)
    cold = solve_newton(problem)
    assert found.converged
    assert found.n_iter < 0.6 * cold.n_iter
    assert found.objectives[0] == pytest.approx(cold.objectives[0], rel=2e-3)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_objective_is_that_of_linear_svc(loss):
    problem = make_problem(loss)
    problem = replace(problem, targets=np.where(problem.targets > 0, 1, -1).astype(np.int8), weights=np.ones(N))
    found = solve_newton(problem, tol=1e-7)
    for p in range(P):
        svc = LinearSVC(loss=loss, intercept_scaling=SCALING, tol=1e-10, max_iter=100_000, dual=True, random_state=0)
        scores = svc.fit(problem.design.rows.X, problem.targets[:, p]).decision_function(problem.design.rows.X)
        value, _, _ = problem.loss.evaluate(scores[:, None], problem.targets[:, [p]], np.ones(N))
        theirs = 0.5 * (svc.coef_**2).sum() + 0.5 * (svc.intercept_[0] / SCALING) ** 2 + value[0]
        assert found.objectives[p] == pytest.approx(theirs, rel=1e-6)


@pytest.mark.parametrize("loss", LOSSES[:4])
@pytest.mark.parametrize("intercept", ["scaled", "none"])
def test_columns_with_one_class_or_no_rows_and_rows_of_zeros_are_solved(loss, intercept):
    problem = make_problem(loss, intercept=intercept)
    targets = np.zeros((N, P), dtype=np.int8)
    targets[:, 0] = 1
    X = problem.design.rows.X.copy()
    X[:40] = 0
    problem = replace(problem, targets=targets, design=Design(X, Identity(D)))
    found = solve_newton(problem, tol=1e-4)
    assert found.converged
    alone = replace(problem, targets=targets[:, :1].copy(), n_columns=1)
    best = optimum(alone)[0]
    assert found.dual_objectives[0] * (1 - 1e-6) <= best <= found.objectives[0] * (1 + 1e-6)
    np.testing.assert_array_equal(found.objectives[1:], 0.0)
    np.testing.assert_array_equal(found.u[:, 1:], 0.0)


def test_bits_do_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((9000, 6)).astype(np.float32)
    problem = make_problem("hinge", design=Design(DenseRows(X), Identity(6)), n=9000)
    with thread_limit(1):
        alone = solve_newton(problem)
    with thread_limit(2):
        together = solve_newton(problem)
    assert alone.u.tobytes() == together.u.tobytes()


def test_a_path_of_C_starts_where_the_last_one_ended():
    problem = make_problem("logistic")
    first = solve_newton(problem, tol=1e-6)
    larger = replace(problem, C=1.1)
    warm, cold = solve_newton(larger, tol=1e-6, start=first.state), solve_newton(larger, tol=1e-6)
    np.testing.assert_allclose(warm.objectives, cold.objectives, rtol=2e-6)
    assert warm.n_iter < cold.n_iter


def test_an_interrupt_keeps_the_best_weights_so_far():
    problem = make_problem("hinge", C=100.0)
    with show_progress(Impatient(3)):
        found = solve_newton(problem, tol=1e-9)
    assert found.interrupted
    assert not found.converged
    np.testing.assert_allclose(found.objectives, objectives(problem, found), rtol=1e-9)
    assert len({len(values) for values in found.history.values()}) == 1


def test_work_ends_where_the_precision_of_the_scores_does():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((3000, 5)).astype(np.float32)
    problem = make_problem("squared_hinge", 1e3, design=Design(X, Identity(5)), n=3000)
    found = solve_newton(problem, tol=1e-14, max_iter=10_000)
    assert not found.converged
    assert found.n_iter < 1000
    np.testing.assert_allclose(found.objectives, objectives(problem, found), rtol=1e-7)


def test_joint_losses_are_refused_with_what_can():
    problem = make_problem("hinge")
    with pytest.raises(InputError, match="solver='bundle'"):
        solve_newton(replace(problem, loss=get_loss("multinomial"), targets=np.zeros(N, dtype=np.int64)))
