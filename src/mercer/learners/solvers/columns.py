"""Columns that concern few of the rows, each solved on its own rows.

One-vs-one has a column for each pair of classes, and a row has a part in K - 1 of the K (K - 1) / 2 columns. Passes of
all columns over all rows would cost K / 2 times what they have to. Here each column becomes a problem on the rows that
its targets name, often small enough for a cache where all rows are not, and is solved to its end.
"""

__all__ = ["WHOLE", "are_apart", "solve_apart"]

from dataclasses import replace

import numpy as np

from mercer._base.threads import run_blocks, single_threaded
from mercer.learners.solvers.problem import FLOOR, Solution

MOST_SHARE = 0.7  # of the rows, that columns may have on the average: above, copies of rows cost what they save
WHOLE = "landmarks"  # rows whose products compute kernel values, which all columns of a pass share
MOST_BYTES = 2**32  # of the rows of a column: each is taken out, one at a time on each thread


def are_apart(problem):
    """Whether the columns have parts of the rows, small enough to be taken out.

    That follows from sizes alone, so that rows in memory and on disk have the same solution in every bit.
    """
    loss, design = problem.loss, problem.design
    if loss.joint or loss.task != "classification" or problem.n_columns < 2:  # a target of 0 may be one to meet
        return False
    if design.is_spread or design.rows.kind == WHOLE or not len(design):
        return False
    share = np.count_nonzero(problem.targets) / problem.targets.size
    return share <= MOST_SHARE and share * design.rows.nbytes <= MOST_BYTES


def solve_apart(problem, solve, start=None):
    """The Solution of all columns.

    Parameters
    ----------
    problem : Problem whose columns are apart
    solve : function (problem of one column, start) -> Solution
    start : ``Solution.state`` of an earlier call for the same rows and targets, or None
    """
    starts = (start or {}).get("columns", [None] * problem.n_columns)  # the state of another way is none
    found: list[Solution | None] = [None] * problem.n_columns
    is_over = False

    def run(p):
        nonlocal is_over
        if not is_over:  # Ctrl-C reaches a solver on the thread that it runs on, and the others here
            found[p] = solve(_own_rows(problem, p), starts[p])
            is_over = found[p].interrupted

    with single_threaded():  # once for all columns
        try:
            run_blocks(run, range(problem.n_columns), problem.design.n_jobs, "Training columns of scores")
        except KeyboardInterrupt:
            is_over = True
    return _joined(problem, found, is_over)


def _own_rows(problem, p):
    """The problem of one column, on its rows."""
    which = np.flatnonzero(problem.targets[:, p])
    return replace(
        problem,
        design=problem.design.take(which),
        targets=np.ascontiguousarray(problem.targets[which, p : p + 1]),
        weights=problem.weights[which],
        n_columns=1,
    )


def _joined(problem, found, is_over):
    """One solution of those of the columns; columns that were not begun have weights of 0."""
    floors, r = problem.floors(), problem.design.shape[1]
    done = [one for one in found if one is not None]
    u, intercept = np.zeros((r, problem.n_columns)), np.zeros(problem.n_columns)
    objectives, duals = floors / FLOOR, np.zeros(problem.n_columns)  # no loss is negative
    for p, one in enumerate(found):
        if one is not None:
            u[:, p], intercept[p] = one.u[:, 0], one.intercept[0]
            objectives[p], duals[p] = one.objectives[0], one.dual_objectives[0]
    return Solution(
        u=u,
        intercept=intercept,
        objectives=objectives,
        dual_objectives=duals,
        floors=floors,
        n_iter=max((one.n_iter for one in done), default=0),
        converged=len(done) == len(found) and all(one.converged for one in done),
        interrupted=is_over,
        solver=max(done, key=lambda one: one.n_iter).solver if done else "",
        history=_in_step([one.history for one in done]),
        state={"columns": [None if one is None else one.state for one in found]},
    )


def _in_step(histories):
    """What the history would be, had all columns taken their steps together: a column that is solved stays so."""
    together = {"objective": sum, "dual_objective": sum, "gap": max, "seconds": sum}
    return {
        name: [join(step) for step in _steps([history[name] for history in histories])]
        for name, join in together.items()
    }


def _steps(values):
    """The numbers of each step; a shorter list goes on with its last."""
    for k in range(max(map(len, values), default=0)):
        yield [own[min(k, len(own) - 1)] for own in values]
