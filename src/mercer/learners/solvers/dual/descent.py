"""Coordinate descent as one of the solvers: which rows it suits."""

__all__ = ["DualSolver"]

from mercer.learners.solvers.dual.joint import solve_joint_dual
from mercer.learners.solvers.dual.solver import JOINT_LOSS, solve_dual
from mercer.learners.solvers.few_rows import are_few
from mercer.learners.solvers.newton.solver import MOST_FACTORS
from mercer.learners.solvers.solver import Solver, are_many


class DualSolver(Solver):
    """One coordinate of the dual, which is one row, at a time."""

    name, leaves = "dual", "b"

    def suits(self, rows, inner, loss, intercept):
        if intercept == "free":
            return False
        if loss.joint:  # on plain rows of text, cutting planes are many times faster
            return loss.name == JOINT_LOSS and rows.kind == "codes" and inner.is_cumulative
        return loss.form is not None and self._has_quick_steps(
            rows, inner, are_many(rows.shape[0], inner.n_factors, loss)
        )

    def _has_quick_steps(self, rows, inner, many):
        if are_few(rows, inner):
            return not many
        if inner.is_identity:
            return rows.kind in ("bits", "csr", "dense") and not many
        if inner.is_cumulative:
            return rows.kind in ("codes", "csr")
        return inner.decodes(rows) and not many and inner.n_factors <= rows.shape[0]  # else projected gradients

    def is_last(self, inner):
        """Text at a large C: nothing is quick there, and this is the least slow."""
        return inner.is_identity and inner.n_factors > MOST_FACTORS

    def solves(self, loss, intercept):
        """Whether it has a dual of the loss whose rows can move one at a time."""
        return (loss.form is not None or loss.name == JOINT_LOSS) and intercept != "free"

    def solve(self, problem, tol, max_iter, random_state, start):
        solve = solve_joint_dual if problem.loss.name == JOINT_LOSS else solve_dual
        return solve(problem, tol, max_iter, random_state, start)
