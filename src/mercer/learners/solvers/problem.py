"""What a solver is given, and what it returns.

    minimize over u (and b)   1/2 |u|^2 + C sum_i w_i L(y_i, f_i),      f = Phi F' u + s b

Weights live in the factor space of the inner product H = F'F, where the regularizer is the plain norm. The constant
s b is the intercept: regularized like the other weights (``intercept="scaled"``, s = intercept_scaling), free
(``intercept="free"``, s = 1 and b outside the norm) or absent (``"none"``). One-vs-rest and several outputs are P such
problems, one per column, solved side by side in the same passes over the rows; a joint loss (Crammer-Singer,
multinomial) couples its columns into one problem.

Notation
    symbol    code                 shape
    n, r, P   rows, factors, columns of scores
    Q         problems: P, or 1 when the loss is joint
    u         Solution.u           (r, P)
"""

__all__ = ["Problem", "Solution"]

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer._base.memory import row_chunks
from mercer.learners.solvers.bundle.row_side import RowSide

FLOOR = 1e-6  # of the objective of zero weights


@dataclass
class Problem:
    """One learning problem, or several of them side by side.

    Parameters
    ----------
    design : :class:`mercer.spaces.Design`, the rows seen through their inner product
    loss : :class:`mercer.learners.solvers.losses.Loss`
    targets : what the loss compares scores with: int8 (n, P) of -1, 0, +1 for margin losses (0: the row is not part of
        the problem), float64 (n, P) for regression, int64 (n,) class numbers for joint losses
    weights : float64 (n,), how much each row counts
    n_columns : P
    C : weight of the losses against the regularizer
    intercept : ``"scaled"``, ``"free"`` or ``"none"``
    intercept_scaling : s of a scaled intercept
    """

    design: Any
    loss: Any
    targets: np.ndarray
    weights: np.ndarray
    n_columns: int
    C: float = 1.0
    intercept: str = "scaled"
    intercept_scaling: float = 1.0

    @property
    def n_problems(self) -> int:
        """Q: the columns of a joint loss form one problem."""
        return 1 if self.loss.joint else self.n_columns

    def take(self, which):
        """The problem on some of its rows."""
        rows = {"targets": self.targets[which], "weights": self.weights[which]}
        return replace(self, design=self.design.take(which), **rows)

    def row_side(self):
        """The rows as the bundle solver sees them; a design whose rows are elsewhere has a way of its own."""
        return self.design.row_side(self) if hasattr(self.design, "row_side") else RowSide.of(self)

    def floors(self) -> np.ndarray:
        """(Q,), objectives below which a gap is not measured relative to them: a share of those of zero weights.

        Where the optimum is 0 (a constant target, a single class) no relative gap would ever be small.
        """
        total, k = np.zeros(self.n_problems), np.zeros(self.n_problems)
        for part in row_chunks(len(self.weights), 4 * self.n_columns):
            zeros = np.zeros((part.stop - part.start, self.n_columns), dtype=np.float32)
            total += self.loss.along(zeros, zeros, k, self.targets[part], self.weights[part], self.design.n_jobs)[0]
        return FLOOR * self.C * total


@dataclass
class Solution:
    """Weights and how good they are.

    Parameters
    ----------
    u : weights in factor space, float64 (r, P)
    intercept : what is added to the scores, float64 (P,)
    objectives, dual_objectives : primal and dual value of each problem, float64 (Q,)
    floors : ``Problem.floors()``
    n_iter : passes over the data (bundle) or sweeps (dual)
    converged : whether every relative gap is at most tol
    interrupted : whether Ctrl-C ended the work; the weights are the best so far
    solver : its name
    history : lists of equal length, one entry per iteration: "objective", "dual_objective", "gap", "seconds", "planes"
    state : what a later call can start from, or None
    """

    u: np.ndarray
    intercept: np.ndarray
    objectives: np.ndarray
    dual_objectives: np.ndarray
    floors: np.ndarray
    n_iter: int
    converged: bool
    interrupted: bool = False
    solver: str = ""
    history: dict[str, list] = field(default_factory=dict)
    state: Any = None

    @property
    def gaps(self) -> np.ndarray:
        """Relative duality gap of each problem, float64 (Q,)."""
        return relative_gaps(self.objectives, self.dual_objectives, self.floors)


def relative_gaps(objectives, dual_objectives, floors):
    """(primal - dual) / primal, or / floor where that is larger; 0 where both are 0: no loss is negative."""
    difference, size = np.maximum(objectives - dual_objectives, 0.0), np.maximum(objectives, floors)
    return np.divide(difference, size, out=np.zeros_like(difference), where=size > 0)
