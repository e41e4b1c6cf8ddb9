"""Projected gradient: the same optimum as cutting planes, in few passes when there are more factors than rows."""

from dataclasses import replace

import numpy as np
import pytest

from mercer import InputError
from mercer.learners.solvers.bundle.solver import solve_bundle
from mercer.learners.solvers.losses import LOSSES_WITH_BOX, get_loss
from mercer.learners.solvers.problem import Problem
from mercer.learners.solvers.projected import solve_projected
from mercer.spaces import BlockFactor, CodeRows, DenseRows, Identity
from mercer.spaces.design import Design


def make_problem(loss, C=10.0, intercept="scaled", shift=0.0, n=60, d=200):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) + shift
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    targets = rng.integers(-1, 2, (n, 3)).astype(np.int8)  # 0: not part of the problem
    loss = get_loss(loss)
    if loss.task == "regression":
        targets = rng.standard_normal((n, 3)) + 1.0
    weights = rng.uniform(0, 2, n)
    weights[:5] = 0.0
    return Problem(Design(DenseRows(X), Identity(d)), loss, targets, weights, 3, C, intercept, 0.7)


@pytest.mark.parametrize("loss", LOSSES_WITH_BOX)
@pytest.mark.parametrize("intercept", ["scaled", "none"])
def test_both_solvers_enclose_the_same_optimum(loss, intercept):
    problem = make_problem(loss, intercept=intercept)
    projected, bundle = solve_projected(problem, tol=1e-5), solve_bundle(problem, tol=1e-3)
    assert projected.converged
    assert projected.gaps.max() <= 1e-5
    assert (projected.objectives <= bundle.objectives * (1 + 1e-5)).all()
    assert (projected.dual_objectives >= bundle.dual_objectives * (1 - 1e-5)).all()
    assert (bundle.dual_objectives <= projected.objectives * (1 + 1e-9)).all()


@pytest.mark.parametrize("shift", [0.0, 1.0], ids=["centred", "with a common mean"])
def test_few_passes_do_when_there_are_more_factors_than_rows(shift):
    problem = make_problem("hinge", C=100.0, shift=shift, d=600)
    assert solve_projected(problem).n_iter <= 40  # measured 15 to 20; cutting planes need hundreds


def test_the_objective_is_that_of_the_weights_returned():
    problem = make_problem("hinge")
    found = solve_projected(problem)
    scores = problem.design.scores(found.u) + found.intercept
    losses, _, _ = problem.loss.evaluate(scores, problem.targets, problem.weights)
    sq_norms = (found.u**2).sum(axis=0) + (found.intercept / 0.7) ** 2
    np.testing.assert_allclose(found.objectives, 0.5 * sq_norms + 10.0 * losses, rtol=1e-9)


def test_a_path_of_C_starts_where_the_last_one_ended():
    problem = make_problem("hinge", C=1.0)
    first = solve_projected(problem, tol=1e-6)
    larger = replace(problem, C=1.1)
    warm, cold = solve_projected(larger, tol=1e-6, start=first.state), solve_projected(larger, tol=1e-6)
    np.testing.assert_allclose(warm.objectives, cold.objectives, rtol=2e-6)
    assert warm.n_iter < cold.n_iter


def test_codes_are_learnt_from_without_expansion():
    rng = np.random.default_rng(1)
    factors = rng.standard_normal((30, 4, 16)).astype(np.float32)
    rows, inner = CodeRows(rng.integers(0, 16, (50, 30)).astype(np.uint8), 16), BlockFactor(factors)
    targets = np.where(rng.random((50, 2)) < 0.5, 1, -1).astype(np.int8)
    coded = Problem(Design(rows, inner), get_loss("hinge"), targets, np.ones(50), 2, 0.1)
    expanded = replace(coded, design=Design(inner.project(rows.toarray().T).T, Identity(120)))
    np.testing.assert_allclose(
        solve_projected(coded, tol=1e-4).objectives, solve_projected(expanded, tol=1e-4).objectives, rtol=2e-4
    )


def test_what_it_cannot_do_is_refused_with_the_solver_that_can():
    with pytest.raises(InputError, match="solver='bundle'"):
        solve_projected(replace(make_problem("hinge"), intercept="free"))
    with pytest.raises(InputError, match="solver='bundle'"):
        solve_projected(replace(make_problem("hinge"), loss=get_loss("logistic")))
