"""Which solver, and one call for all of them.

- dual: coordinate descent, for plain rows (H = I) that are not many more than features: text, dense features; and for
  levels, where a step changes few entries of a table
- newton: few factors and many rows, where second derivatives pay
- projected: at least as many factors as rows, through any H
- bundle: everything, through any H: joint losses, a free intercept, what the others do not do
"""

__all__ = ["SOLVERS", "choose_solver", "solve"]

import numpy as np

from mercer._base.errors import InputError
from mercer._base.threads import single_threaded
from mercer.learners._bundle import solve_bundle
from mercer.learners._coordinates import has_coordinates
from mercer.learners._dual import FORMS, solve_dual
from mercer.learners._newton import solve_newton
from mercer.learners._projected import BOXES, solve_projected
from mercer.spaces.inner import Identity

SOLVERS = ("auto", "bundle", "dual", "newton", "projected")
FEW_FACTORS = 1000  # so many that a Hessian is formed
WIDE_SPREAD, SAMPLE_ROWS = 0.25, 256  # Fisher vectors have 0.5; histograms of few bins, seen through any kernel, 0.1
MOST_PROJECTED = 200  # passes after which cutting planes take over
# rows per factor from which second derivatives beat coordinates and planes, for losses with a corner and without
ROWS_PER_FACTOR = {False: 100, True: 30}


def choose_solver(rows, inner, loss, intercept):
    """The name of the fastest solver that fits.

    Parameters
    ----------
    rows, inner : rows and their inner product
    loss : Loss
    intercept : ``"scaled"``, ``"free"`` or ``"none"``
    """
    if loss.joint:
        return "bundle"
    n, r = rows.shape[0], inner.n_factors
    enough = n >= ROWS_PER_FACTOR[loss.is_smooth] * r
    has_levels = not isinstance(inner, Identity)
    if has_coordinates(rows, inner) and loss.name in FORMS and intercept != "free" and (has_levels or not enough):
        return "dual"
    if r <= FEW_FACTORS and (enough or (loss.is_smooth and n >= r)):
        return "newton"
    if r >= n and loss.name in BOXES and intercept != "free":
        return "projected"
    return "bundle"


def solve(problem, solver="auto", tol=1e-3, max_iter=1000, random_state=0, start=None):
    """Solve a problem.

    Parameters
    ----------
    problem : Problem
    solver : one of ``SOLVERS``
    tol : relative duality gap, (primal - dual) / primal, at which the work ends
    max_iter : passes over the rows at most
    random_state : order in which coordinate descent visits rows
    start : ``Solution.state`` of an earlier solution for the same rows and targets by the same solver, or None
    """
    if solver not in SOLVERS:
        raise InputError(f"There is no solver {solver!r}. Solvers: {', '.join(SOLVERS)}.")
    design = problem.design
    if solver == "auto":
        solver = choose_solver(design.rows, design.inner, problem.loss, problem.intercept)
        if solver == "projected":
            return _projected_or_bundle(problem, tol, max_iter, start)
    if solver == "dual":
        return solve_dual(problem, tol, max_iter, random_state, start)
    if solver == "newton":
        return solve_newton(problem, tol, max_iter, start)
    if solver == "projected":
        return solve_projected(problem, tol, max_iter, start)
    return solve_bundle(problem, tol, max_iter, start=start)


def _projected_or_bundle(problem, tol, max_iter, start):
    """Projected gradient where rows point in many directions, as long as it gets on; cutting planes where not."""
    if start is not None and "planes" in start:
        return solve_bundle(problem, tol, max_iter, start=start)
    if start is None and _spread(problem.design) < WIDE_SPREAD:
        return solve_bundle(problem, tol, max_iter)
    found = solve_projected(problem, tol, min(max_iter, MOST_PROJECTED), start)
    if found.converged or found.interrupted or found.n_iter >= max_iter:
        return found
    return solve_bundle(problem, tol, max_iter - found.n_iter, start={"u": found.u, "intercept": found.intercept})


def _spread(design):
    """Number of directions of a sample of rows, as a share of its size: (sum of eigenvalues)^2 / sum of squares / m."""
    m = min(SAMPLE_ROWS, len(design))
    which = np.linspace(0, len(design) - 1, m).astype(np.int64)
    vectors = design.take(which).accumulate(np.eye(m)).astype(np.float64, copy=False)
    with single_threaded():
        vectors -= vectors.mean(axis=1, keepdims=True)
        gram = vectors.T @ vectors
    squares = float((gram**2).sum())
    return float(np.trace(gram)) ** 2 / squares / m if squares > 0 else 0.0
