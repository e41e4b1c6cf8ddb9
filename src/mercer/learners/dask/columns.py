"""Columns of scores that are problems of their own, each solved by one worker of a Dask cluster on all rows."""

__all__ = ["solve_columns"]

import itertools
from dataclasses import replace

import numpy as np

from mercer.learners.dask.rows import joined
from mercer.learners.dask.tasks import itself
from mercer.learners.solvers.problem import Solution


def solve_columns(problem, solve):
    """The solution of a problem whose columns are problems of their own, each by a task of its own on all rows.

    Parameters
    ----------
    problem : Problem whose design is a DaskDesign
    solve : function of a Problem in one process that returns its solution
    """
    tasks, design = problem.design.tasks, problem.design
    whole = tasks.submit("rows", _together, design.blocks, design.bundles)
    facts = tasks.submit("problem", itself, replace(problem, design=None, targets=None, n_columns=1))
    columns = [np.ascontiguousarray(problem.targets[:, [c]]) for c in range(problem.n_columns)]
    found = tasks.gather(tasks.each("class", _solved, [(whole, facts, column, solve) for column in columns]))

    def side_by_side(name, axis=0):
        return np.concatenate([getattr(one, name) for one in found], axis=axis)

    return Solution(
        u=side_by_side("u", 1),
        intercept=side_by_side("intercept"),
        objectives=side_by_side("objectives"),
        dual_objectives=side_by_side("dual_objectives"),
        floors=side_by_side("floors"),
        n_iter=max(one.n_iter for one in found),
        converged=all(one.converged for one in found),
        solver=found[0].solver,
    )


def _together(bundles, numbers):
    """The design of all rows, in their order."""
    designs = dict(zip(itertools.chain(*numbers), itertools.chain(*bundles), strict=True))
    return joined([designs[i].rows for i in range(len(designs))], designs[0].inner)


def _solved(design, facts, targets, solve):
    found = solve(replace(facts, design=design, targets=targets))
    return replace(found, state=None, history={})
