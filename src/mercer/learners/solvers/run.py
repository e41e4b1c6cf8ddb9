"""A problem to its solution: by the solvers of a choice, one after the other.

Each solver but the last has a number of passes: which one is quick on a problem, its conditioning decides, and that is
not known beforehand.
"""

__all__ = ["run", "solve"]

from dataclasses import replace

import numpy as np

from mercer.learners.solvers.columns import are_apart, solve_apart
from mercer.learners.solvers.few_rows import few_rows
from mercer.learners.solvers.registry import SOLVERS, choose, in_turn

PATIENCE = 200  # passes after which another solver takes over


def solve(problem, solver="auto", tol=1e-3, max_iter=1000, random_state=0, start=None):
    """Solve a problem.

    Parameters
    ----------
    problem : Problem
    solver : ``"auto"``, or the name of one of ``SOLVERS``
    tol : relative duality gap, (primal - dual) / primal, at which the work ends
    max_iter : passes over the rows at most
    random_state : order in which coordinate descent visits rows
    start : ``Solution.state`` of an earlier solution for the same rows and targets by the same solver, or None
    """
    design = problem.design
    choice = choose(design.rows, design.inner, problem.loss, problem.intercept, solver)
    return run(problem, choice, tol, max_iter, random_state, start)


def run(problem, choice, tol=1e-3, max_iter=1000, random_state=0, start=None):
    """Solve a problem as :func:`solve` does, by solvers that are chosen already."""
    options = {"tol": tol, "max_iter": max_iter, "random_state": random_state}
    few = few_rows(problem.design) if choice.is_free and _has_few_rows(problem) else None
    if few is not None:  # other rows, and a choice of their own
        found = solve(replace(problem, design=few.design), "auto", start=start, **options)
        return replace(found, u=few.weights(found.u))
    if not are_apart(problem):
        return _in_turn(problem, choice, start=start, **options)

    name = "auto" if choice.is_free else choice.name  # fewer rows may have another choice
    return solve_apart(problem, lambda part, own: _solve_part(part, name, start=own, **options), start)


def _has_few_rows(problem):
    return problem.loss.form is not None and problem.intercept != "free"


def _solve_part(part, name, **options):
    """The problem of one column on its rows. Plain rows stay as they are: each column would need a Gram matrix."""
    rows, inner = part.design.rows, part.design.inner
    if name == "auto" and not (rows.kind == "dense" and inner.is_identity):
        return solve(part, name, **options)
    return _in_turn(part, choose(rows, inner, part.loss, part.intercept, name), **options)


def _in_turn(problem, choice, tol, max_iter, random_state, start):
    """The solution by the solvers of a choice."""
    if not choice.is_free:
        return choice.solvers[0].solve(problem, tol, max_iter, random_state, start)
    solvers = _going_on(problem, choice, start)
    start = start if solvers[0].left(start) else None
    best, which, passes = None, np.arange(problem.n_problems), 0
    for solver, later in zip(solvers, [*solvers[1:], None], strict=True):
        most = max_iter - passes if later is None else min(max_iter - passes, PATIENCE)
        found = solver.solve(_part(problem, which), tol, most, random_state, start)
        passes += found.n_iter
        best = found if best is None else _merged(best, found, which, tol)
        which = np.flatnonzero(best.gaps > tol)
        if not len(which) or found.interrupted or passes >= max_iter:
            break
        columns = slice(None) if problem.loss.joint else which
        start = None if later is None else later.start_at(best.u[:, columns], best.intercept[columns])
    return replace(best, n_iter=passes)


def _going_on(problem, choice, start):
    """The solvers of a choice, from the one that has left the state: it has been the right one before."""
    if start is None and not choice.solvers[0].suits_rows(problem.design):
        choice = in_turn(SOLVERS[-1], problem.design.inner, problem.loss)
    known = [k for k, solver in enumerate(choice.solvers) if solver.left(start)]
    return choice.solvers[known[0] :] if known else choice.solvers


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
