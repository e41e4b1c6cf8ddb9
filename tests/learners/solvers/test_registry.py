"""Which solver, and what happens when the first one gets nowhere."""

import numpy as np
import pytest
from scipy import sparse

from mercer.learners.solvers import registry as _solve
from mercer.learners.solvers.losses import get_loss
from mercer.learners.solvers.problem import Problem
from mercer.learners.solvers.registry import choose_solver, solve
from mercer.spaces import BitRows, BlockFactor, CodeRows, CSRRows, CumulativeSum, DenseRows, Design, Identity

HINGE, SQUARED_HINGE, JOINT = (get_loss(name) for name in ("hinge", "squared_hinge", "crammer_singer"))


def problem(rng, loss="hinge", C=100.0):
    """Rows of which hardly two classes can be told apart, at a large C: hard for every solver."""
    X = rng.standard_normal((120, 10)) * np.geomspace(1, 30, 10)
    signs = np.where(X[:, [0]] + 0.5 * rng.standard_normal((120, 1)) > 0, 1, -1).astype(np.int8)
    return Problem(Design(X, Identity(10)), get_loss(loss), signs, np.ones(120), 1, C)


@pytest.mark.parametrize(
    ("rows", "inner", "loss", "intercept", "expected"),
    [
        (DenseRows(np.ones((200, 8))), Identity(8), HINGE, "scaled", "dual"),
        (DenseRows(np.ones((900, 8))), Identity(8), HINGE, "scaled", "newton"),
        (DenseRows(np.ones((200, 8))), Identity(8), HINGE, "free", "bundle"),
        (CSRRows(sparse.csr_array(np.ones((9, 40)))), Identity(40), SQUARED_HINGE, "none", "dual"),
        (CodeRows(np.zeros((9, 2), np.uint8), 3), CumulativeSum(np.ones((2, 3))), HINGE, "scaled", "dual"),
        (CodeRows(np.zeros((9, 2), np.uint8), 3), CumulativeSum(np.ones((2, 3))), JOINT, "scaled", "dual"),
        (CodeRows(np.zeros((9, 2), np.uint8), 3), BlockFactor(np.ones((2, 1, 3))), HINGE, "scaled", "dual"),
        (CodeRows(np.zeros((6000, 300), np.uint8), 3), BlockFactor(np.ones((300, 4, 3))), HINGE, "scaled", "dual"),
        (BitRows(np.zeros((9000, 8), np.uint8), 64), Identity(64), HINGE, "scaled", "newton"),
        (BitRows(np.zeros((900, 8), np.uint8), 64), Identity(64), HINGE, "scaled", "dual"),
        (DenseRows(np.ones((200, 8))), Identity(8), JOINT, "scaled", "bundle"),
    ],
)
def test_the_solver_follows_from_the_shapes(rows, inner, loss, intercept, expected):
    assert choose_solver(rows, inner, loss, intercept) == expected


def test_another_solver_takes_over_when_the_first_gets_nowhere(rng, monkeypatch):
    monkeypatch.setattr(_solve, "PATIENCE", 2)
    hard = problem(rng)
    assert choose_solver(hard.design.rows, hard.design.inner, hard.loss, hard.intercept) == "dual"
    alone = solve(hard, "dual", tol=1e-6, max_iter=2)
    assert not alone.converged
    found = solve(hard, "auto", tol=1e-6)
    assert found.converged
    assert found.solver == "bundle", "the last in turn"
    assert found.n_iter >= alone.n_iter, "passes of the first solver are not counted"
    assert found.objectives <= alone.objectives


def test_a_path_goes_on_with_the_solver_that_finished(rng, monkeypatch):
    monkeypatch.setattr(_solve, "PATIENCE", 2)
    first = solve(problem(rng, C=10.0), tol=1e-5)
    calls = []
    monkeypatch.setattr(_solve, "_run", lambda problem, name, *rest: calls.append(name) or first)
    solve(problem(rng, C=20.0), tol=1e-5, start=first.state)
    assert calls == [first.solver] == ["bundle"]


def test_passes_are_limited_over_all_solvers(rng, monkeypatch):
    monkeypatch.setattr(_solve, "PATIENCE", 2)
    found = solve(problem(rng), tol=1e-12, max_iter=5)
    assert not found.converged
    assert found.n_iter <= 5
