"""Few rows are learned on as plain dense ones: the same optimum, certified, through every way of storing rows."""

from dataclasses import replace

import numpy as np
import pytest

from mercer.learners.solvers import few_rows as _few_rows
from mercer.learners.solvers.few_rows import are_few, few_rows
from mercer.learners.solvers.losses import get_loss
from mercer.learners.solvers.problem import Problem
from mercer.learners.solvers.registry import choose
from mercer.learners.solvers.run import solve
from mercer.spaces import BitRows, BlockFactor, CodeRows, DenseRows, Design, Factor, Identity


def designs(rng):
    """Every way of storing rows that are expanded, narrow and wide."""
    codes = rng.integers(0, 5, (60, 7)).astype(np.uint8)
    return {
        "bits": Design(BitRows(rng.integers(0, 256, (60, 3), dtype=np.uint8), 21, 0.3), Identity(21)),
        "many bits": Design(BitRows(rng.integers(0, 256, (60, 40), dtype=np.uint8), 317, 0.1), Identity(317)),
        "words": Design(CodeRows(codes, 5), BlockFactor(rng.normal(size=(7, 2, 5)))),
        "words of many factors": Design(CodeRows(codes, 5), BlockFactor(rng.normal(size=(7, 30, 5)))),
        "a factor": Design(DenseRows(rng.normal(size=(60, 9))), Factor(rng.normal(size=(4, 9)))),
        "wide": Design(DenseRows(rng.normal(size=(60, 400)).astype(np.float32)), Identity(400)),
        "wide, of low rank": Design(DenseRows(rng.normal(size=(60, 5)) @ rng.normal(size=(5, 300))), Identity(300)),
    }


@pytest.fixture(params=designs(np.random.default_rng(0)))
def design(request, rng):
    return designs(rng)[request.param]


@pytest.mark.parametrize(("loss", "intercept"), [("hinge", "scaled"), ("squared_hinge", "none")])
def test_the_optimum_is_that_of_the_rows_as_they_are(design, loss, intercept, rng):
    n = len(design)
    signs = np.where(rng.normal(size=(n, 3)) > 0.3, 1, -1).astype(np.int8)
    problem = Problem(design, get_loss(loss), signs, rng.uniform(0.5, 2, n), 3, 0.05, intercept)
    assert choose(design.rows, design.inner, problem.loss, intercept).name == "dual"
    found, other = solve(problem, tol=1e-5), solve(problem, "bundle", tol=1e-5)
    assert found.converged
    np.testing.assert_allclose(found.objectives, other.objectives, rtol=3e-5)
    np.testing.assert_allclose(_objectives(problem, found), found.objectives, rtol=1e-5)  # of these very weights
    assert found.u.shape == other.u.shape
    assert solve(replace(problem, C=0.1), tol=1e-5, start=found.state).converged


def _objectives(problem, solution):
    scores = problem.design.scores(solution.u).astype(np.float64) + solution.intercept
    short = np.maximum(0, 1 - problem.targets * scores)
    losses = short if problem.loss.name == "hinge" else short**2
    norms = (solution.u**2).sum(axis=0)
    if problem.intercept == "scaled":
        norms = norms + (solution.intercept / problem.intercept_scaling) ** 2
    return norms / 2 + problem.C * problem.weights @ losses


def test_many_rows_stay_coded(rng, monkeypatch):
    rows, inner = CodeRows(rng.integers(0, 5, (60, 7)).astype(np.uint8), 5), BlockFactor(rng.normal(size=(7, 3, 5)))
    assert few_rows(Design(rows, inner)) is not None
    monkeypatch.setattr(_few_rows, "MOST_NUMBERS", 60 * 21 - 1)
    assert not are_few(rows, inner)
    assert few_rows(Design(rows, inner)) is None


def test_wide_dense_rows_are_multiplied_a_few_columns_at_a_time(rng, monkeypatch):
    rows, inner = DenseRows(rng.normal(size=(20, 203)).astype(np.float32)), Identity(203)
    monkeypatch.setattr(_few_rows, "MOST_FEATURES", 20 * 203 - 1)  # of rows that must be copied
    assert are_few(rows, inner)
    monkeypatch.setattr(_few_rows, "GRAM_COLUMNS", 10)
    few = few_rows(Design(rows, inner)).design.rows.toarray()
    X = rows.X.astype(np.float64)
    np.testing.assert_allclose(few @ few.T, X @ X.T, atol=1e-12 * np.trace(X @ X.T))
    monkeypatch.setattr(_few_rows, "MOST_PLAIN", 20 * 203 - 1)
    assert not are_few(rows, inner)
