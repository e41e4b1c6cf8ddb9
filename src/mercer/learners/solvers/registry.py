"""Which solver, and one call for all of them.

- dual: coordinate descent, for plain rows (H = I) that are not many more than features: text, dense features, bits; for
  words of a product quantiser; and for levels, where a step changes few entries of a table
- newton: few factors and many rows, where second derivatives pay
- projected: at least as many factors as rows, through any H
- bundle: everything, through any H: joint losses, a free intercept, what the others do not do

"auto" gives each solver but the last a number of passes: which one is quick on a problem, its conditioning decides, and
that is not known beforehand.
"""

__all__ = ["SOLVERS", "choose_solver", "solve"]

from dataclasses import replace

import numpy as np

from mercer._base.errors import InputError, did_you_mean
from mercer._base.threads import single_threaded
from mercer.learners.solvers.bundle.solver import solve_bundle
from mercer.learners.solvers.dual.coordinates import are_words
from mercer.learners.solvers.dual.joint import solve_joint_dual
from mercer.learners.solvers.dual.solver import FORMS, JOINT_FORM, solve_dual
from mercer.learners.solvers.few_rows import are_few, few_rows
from mercer.learners.solvers.newton.solver import solve_newton
from mercer.learners.solvers.projected import BOXES, solve_projected
from mercer.spaces.coded_rows import BitRows, CodeRows
from mercer.spaces.factored import CumulativeSum
from mercer.spaces.inner import Identity
from mercer.spaces.rows import CSRRows, DenseRows

SOLVERS = ("auto", "bundle", "dual", "newton", "projected")
FEW_FACTORS = 1000  # so many that a Hessian is formed
WIDE_SPREAD, SAMPLE_ROWS = 0.25, 256  # Fisher vectors have 0.5; histograms of few bins, seen through any kernel, 0.1
PATIENCE = 200  # passes after which another solver takes over
# what the states of each solver have and others' have not
STATES = {"dual": "b", "newton": "deltas", "projected": "a", "bundle": "planes"}
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
        # on plain rows of text, cutting planes are many times faster
        has_levels = isinstance(rows, CodeRows) and isinstance(inner, CumulativeSum)
        return "dual" if has_levels and loss.name == JOINT_FORM and intercept != "free" else "bundle"
    n, r = rows.shape[0], inner.n_factors
    enough = n >= ROWS_PER_FACTOR[loss.is_smooth] * r
    if loss.name in FORMS and intercept != "free" and _suits_coordinates(rows, inner, enough):
        return "dual"
    if r <= FEW_FACTORS and (enough or (loss.is_smooth and n >= r)):
        return "newton"
    if r >= n and loss.name in BOXES and intercept != "free":
        return "projected"
    return "bundle"


def _suits_coordinates(rows, inner, enough):
    if are_few(rows, inner):
        return not enough
    if isinstance(inner, Identity):
        return isinstance(rows, (BitRows, CSRRows, DenseRows)) and not enough
    if isinstance(inner, CumulativeSum):
        return isinstance(rows, (CSRRows, CodeRows))
    return are_words(rows, inner) and not enough and inner.n_factors <= rows.shape[0]  # else projected gradients


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
        hint = did_you_mean(solver, SOLVERS)
        raise InputError(f"There is no solver {solver!r}. {hint}Solvers: {', '.join(SOLVERS)}.")
    if solver != "auto":
        return _run(problem, solver, tol, max_iter, random_state, start)
    few = few_rows(problem.design) if problem.loss.name in FORMS and problem.intercept != "free" else None
    if few is not None:
        found = solve(replace(problem, design=few.design), solver, tol, max_iter, random_state, start)
        return replace(found, u=few.weights(found.u))
    names = _in_turn(problem, start)
    start = start if start is not None and STATES[names[0]] in start else None
    best, which, passes = None, np.arange(problem.n_problems), 0
    for name, later in zip(names, [*names[1:], None], strict=True):
        most = max_iter - passes if later is None else min(max_iter - passes, PATIENCE)
        found = _run(_part(problem, which), name, tol, most, random_state, start)
        passes += found.n_iter
        best = found if best is None else _merged(best, found, which, tol)
        which = np.flatnonzero(best.gaps > tol)
        if not len(which) or found.interrupted or passes >= max_iter:
            break
        columns = slice(None) if problem.loss.joint else which
        start = {"u": best.u[:, columns], "intercept": best.intercept[columns]} if later == "bundle" else None
    return replace(best, n_iter=passes)


def _part(problem, which):
    """The problem with some of its columns, which are problems of their own unless the loss is joint."""
    if len(which) == problem.n_problems:
        return problem
    return replace(problem, targets=np.ascontiguousarray(problem.targets[:, which]), n_columns=len(which))


def _merged(first, second, which, tol):
    """The better solution of every problem; ``second`` has those numbered ``which``."""
    if len(which) == len(first.objectives) and (second.objectives <= first.objectives).all():
        kept = replace(second, dual_objectives=np.maximum(first.dual_objectives, second.dual_objectives))
        return replace(kept, converged=bool((kept.gaps <= tol).all()))
    u, intercept = first.u.copy(), first.intercept.copy()
    objectives, duals = first.objectives.copy(), first.dual_objectives.copy()
    better = second.objectives < objectives[which]
    objectives[which[better]] = second.objectives[better]
    duals[which] = np.maximum(duals[which], second.dual_objectives)
    columns = which[better]
    if len(objectives) == u.shape[1]:
        u[:, columns], intercept[columns] = second.u[:, better], second.intercept[better]
    elif better.all():
        u, intercept = second.u, second.intercept
    merged = replace(
        second, u=u, intercept=intercept, objectives=objectives, dual_objectives=duals, floors=first.floors
    )
    return replace(merged, converged=bool((merged.gaps <= tol).all()), state=None)


def _run(problem, solver, tol, max_iter, random_state, start):
    if solver == "dual" and problem.loss.name == JOINT_FORM:
        return solve_joint_dual(problem, tol, max_iter, random_state, start)
    if solver == "dual":
        return solve_dual(problem, tol, max_iter, random_state, start)
    if solver == "newton":
        return solve_newton(problem, tol, max_iter, start)
    if solver == "projected":
        return solve_projected(problem, tol, max_iter, start)
    return solve_bundle(problem, tol, max_iter, start=start)


def _in_turn(problem, start):
    """Solvers to try one after the other: the likely quickest, then the more robust.

    One that has left a state has been the right one before.
    """
    design, r = problem.design, problem.design.inner.n_factors
    first = choose_solver(design.rows, design.inner, problem.loss, problem.intercept)
    if first == "projected" and start is None and _spread(design) < WIDE_SPREAD:
        first = "bundle"
    if first == "dual" and isinstance(design.inner, Identity) and r > FEW_FACTORS:
        return [first]  # text at a large C: nothing is quick there, and this is the least slow
    names = [first]
    if not problem.loss.joint and r <= FEW_FACTORS:
        names += ["newton"]
    names = list(dict.fromkeys([*names, "bundle"] if first != "bundle" else names))
    known = [name for name in names if start is not None and STATES[name] in start]
    return names[names.index(known[0]) :] if known else names


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
