"""Columns that concern few rows are solved on their own rows: the same optimum as with all rows at once."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from mercer import KernelClassifier
from mercer._base.progress import show_progress
from mercer._base.threads import thread_limit
from mercer.learners.solvers import columns
from mercer.learners.solvers.losses import get_loss
from mercer.learners.solvers.problem import FLOOR, Problem
from mercer.learners.solvers.run import solve
from mercer.spaces import Design, Identity
from tests.learners.solvers.test_dual import Impatient

N, D, P = 120, 6, 3  # three classes, and a column for each pair


def pairs(rng, loss="squared_hinge", kind="dense"):
    X, y = rng.random((N, D)), np.arange(N) % P
    X[:, 0] += y
    first, second = np.triu_indices(P, 1)
    targets = (y[:, None] == second).astype(np.int8) - (y[:, None] == first).astype(np.int8)
    design = Design(sparse.csr_array(X) if kind == "csr" else X, Identity(D))
    return Problem(design, get_loss(loss), targets, rng.uniform(0.5, 2.0, N), P, 0.5)


@pytest.mark.parametrize("kind", ["dense", "csr"])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "logistic"])
@pytest.mark.parametrize("solver", ["auto", "bundle"])
def test_the_optimum_is_that_of_all_rows_together(rng, monkeypatch, loss, kind, solver):
    problem = pairs(rng, loss, kind)
    assert columns.are_apart(problem)
    found = solve(problem, solver, tol=1e-5)
    monkeypatch.setattr(columns, "MOST_SHARE", 0.0)
    together = solve(problem, solver, tol=1e-5)
    assert found.converged
    np.testing.assert_allclose(found.objectives, together.objectives, rtol=2e-5)  # both gaps
    np.testing.assert_allclose(found.u, together.u, atol=0.02 * np.abs(together.u).max())
    np.testing.assert_allclose(found.intercept, together.intercept, atol=0.02 * np.abs(together.u).max())
    np.testing.assert_allclose(found.floors, together.floors)


def test_what_concerns_all_rows_or_is_too_large_is_solved_together(rng, monkeypatch):
    problem = pairs(rng)
    assert not columns.are_apart(replace(problem, targets=np.where(problem.targets > 0, 1, -1).astype(np.int8)))
    zeros = replace(problem, loss=get_loss("squared"), targets=problem.targets.astype(float))
    assert not columns.are_apart(zeros), "a target of 0 is a number to meet"
    monkeypatch.setattr(columns, "MOST_BYTES", problem.design.rows.nbytes // 2)
    assert not columns.are_apart(problem)


def test_a_path_of_C_starts_where_the_last_one_ended(rng):
    problem = pairs(rng)
    first = solve(problem, "dual", tol=1e-5)
    assert solve(problem, "dual", tol=1e-5, start=first.state).n_iter < first.n_iter / 2
    assert solve(problem, "dual", tol=1e-5, start={"of": "another way"}).n_iter == first.n_iter


def test_the_number_of_threads_does_not_change_the_bits(rng):
    problem, found = pairs(rng), []
    for n_threads in (1, 2):
        with thread_limit(n_threads):
            found.append(solve(problem).u.tobytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_interrupt_keeps_the_columns_that_are_done(rng, n_threads):
    problem = pairs(rng)
    with thread_limit(n_threads), show_progress(Impatient(1, "Training columns of scores")):
        found = solve(problem, tol=1e-5)
    whole = solve(problem, tol=1e-5)
    done = np.abs(found.u).max(axis=0) > 0
    assert found.interrupted
    assert done.any()
    assert found.converged == done.all()
    assert n_threads == 2 or not done.all()  # of two threads, one may have done the rest already
    np.testing.assert_array_equal(found.u[:, done], whole.u[:, done])
    np.testing.assert_allclose(found.objectives[~done], whole.floors[~done] / FLOOR)
    np.testing.assert_array_equal(found.gaps[~done], 1.0)


def test_the_history_is_that_of_columns_that_go_in_step(rng):
    found = solve(pairs(rng), "bundle", tol=1e-4)
    lengths = {len(values) for values in found.history.values()}
    assert len(lengths) == 1
    assert found.history["objective"][-1] == pytest.approx(found.objectives.sum())
    assert found.history["gap"][-1] == pytest.approx(found.gaps.max())
    assert (np.diff(found.history["objective"]) <= 1e-9).all()


def test_a_plan_names_the_solver_for_the_rows_of_a_pair(rng):
    X, y = rng.random((400, 2)), np.arange(400) % 8
    model = KernelClassifier("linear").fit(X, y)  # 400 rows are many for two factors, 100 are not that many
    assert model.plan(X, y).solver == model.plan_.solver
