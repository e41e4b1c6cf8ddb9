"""Which solver, and what happens when the first one gets nowhere."""

import numpy as np
import pytest
from scipy import sparse

from mercer import KernelClassifier
from mercer.learners.solvers import registry as _registry
from mercer.learners.solvers import run as _run
from mercer.learners.solvers.bundle.solver import BundleSolver
from mercer.learners.solvers.dual.descent import DualSolver
from mercer.learners.solvers.losses import get_loss
from mercer.learners.solvers.problem import Problem, Solution
from mercer.learners.solvers.registry import SOLVERS, choose
from mercer.learners.solvers.run import solve
from mercer.learners.solvers.solver import Solver
from mercer.spaces import BitRows, BlockFactor, CodeRows, CSRRows, CumulativeSum, DenseRows, Design, Identity, RowShape

HINGE, SQUARED_HINGE, JOINT = (get_loss(name) for name in ("hinge", "squared_hinge", "crammer_singer"))


def problem(rng, loss="hinge", C=100.0):
    """Rows of which hardly two classes can be told apart, at a large C: hard for every solver."""
    X = rng.standard_normal((120, 10)) * np.geomspace(1, 30, 10)
    signs = np.where(X[:, [0]] + 0.5 * rng.standard_normal((120, 1)) > 0, 1, -1).astype(np.int8)
    return Problem(Design(X, Identity(10)), get_loss(loss), signs, np.ones(120), 1, C)


STEPS = "steps"  # an inner product that takes a compiled loop to make


@pytest.mark.parametrize(
    ("rows", "inner", "loss", "intercept", "expected"),
    [
        (DenseRows(np.ones((200, 8))), Identity(8), HINGE, "scaled", "dual"),
        (DenseRows(np.ones((900, 8))), Identity(8), HINGE, "scaled", "newton"),
        (DenseRows(np.ones((200, 8))), Identity(8), HINGE, "free", "bundle"),
        (CSRRows(sparse.csr_array(np.ones((9, 40)))), Identity(40), SQUARED_HINGE, "none", "dual"),
        (CodeRows(np.zeros((9, 2), np.uint8), 3), STEPS, HINGE, "scaled", "dual"),
        (CodeRows(np.zeros((9, 2), np.uint8), 3), STEPS, JOINT, "scaled", "dual"),
        (CodeRows(np.zeros((9, 2), np.uint8), 3), BlockFactor(np.ones((2, 1, 3))), HINGE, "scaled", "dual"),
        (CodeRows(np.zeros((6000, 300), np.uint8), 3), BlockFactor(np.ones((300, 4, 3))), HINGE, "scaled", "dual"),
        (BitRows(np.zeros((9000, 8), np.uint8), 64), Identity(64), HINGE, "scaled", "newton"),
        (BitRows(np.zeros((900, 8), np.uint8), 64), Identity(64), HINGE, "scaled", "dual"),
        (DenseRows(np.ones((200, 8))), Identity(8), JOINT, "scaled", "bundle"),
    ],
)
def test_the_solver_follows_from_the_shapes(rows, inner, loss, intercept, expected):
    inner = CumulativeSum(np.ones((2, 3))) if inner == STEPS else inner
    assert choose(rows, inner, loss, intercept).name == expected


def test_another_solver_takes_over_when_the_first_gets_nowhere(rng, monkeypatch):
    monkeypatch.setattr(_run, "PATIENCE", 2)
    hard = problem(rng)
    assert choose(hard.design.rows, hard.design.inner, hard.loss, hard.intercept).name == "dual"
    alone = solve(hard, "dual", tol=1e-6, max_iter=2)
    assert not alone.converged
    found = solve(hard, "auto", tol=1e-6)
    assert found.converged
    assert found.solver == "bundle", "the last in turn"
    assert found.n_iter >= alone.n_iter, "passes of the first solver are not counted"
    assert found.objectives <= alone.objectives


def test_a_path_goes_on_with_the_solver_that_finished(rng, monkeypatch):
    monkeypatch.setattr(_run, "PATIENCE", 2)
    first = solve(problem(rng, C=10.0), tol=1e-5)
    assert first.solver == "bundle"
    starts = []
    monkeypatch.setattr(BundleSolver, "solve", lambda self, problem, *rest: starts.append(rest[-1]) or first)
    solve(problem(rng, C=20.0), tol=1e-5, start=first.state)
    assert starts == [first.state]


def test_passes_are_limited_over_all_solvers(rng, monkeypatch):
    monkeypatch.setattr(_run, "PATIENCE", 2)
    found = solve(problem(rng), tol=1e-12, max_iter=5)
    assert not found.converged
    assert found.n_iter <= 5


def test_every_solver_has_a_name_and_a_state_of_its_own():
    assert len({solver.name for solver in SOLVERS}) == len({solver.leaves for solver in SOLVERS}) == len(SOLVERS)
    assert SOLVERS[-1].suits(DenseRows(np.ones((2, 2))), Identity(2), JOINT, "free"), "the last takes every problem"


def test_a_new_solver_is_one_line_in_the_list(rng, monkeypatch):
    class Lazy(Solver):
        """Leaves all work to whoever takes over."""

        name, leaves = "lazy", "nothing"

        def suits(self, rows, inner, loss, intercept):
            return True

        def solve(self, problem, tol, max_iter, random_state, start):
            u, zeros = np.zeros((problem.design.shape[1], 1)), np.zeros(1)
            return Solution(u, zeros, zeros + 1e6, zeros, problem.floors(), 1, False, solver=self.name)

    monkeypatch.setattr(_registry, "SOLVERS", (Lazy(), *SOLVERS))
    X, y = np.abs(rng.standard_normal((60, 3))), rng.integers(0, 2, 60)
    assert KernelClassifier("chi2").plan(X, y).solver == "lazy"
    assert KernelClassifier("chi2").fit(X, y).plan_.solver in ("newton", "bundle"), "which take over"
    assert solve(problem(rng), "lazy").solver == "lazy"


def test_a_fit_chooses_its_solver_once(rng, monkeypatch):
    """Of a RowShape, before there are encoded rows; rows that are rewritten because they are few are other rows."""
    asked = []
    suits = DualSolver.suits
    monkeypatch.setattr(DualSolver, "suits", lambda self, rows, *rest: asked.append(rows) or suits(self, rows, *rest))
    KernelClassifier("linear").fit(rng.random((40, 3)), rng.integers(0, 2, 40))
    assert [type(rows) for rows in asked] == [RowShape]
