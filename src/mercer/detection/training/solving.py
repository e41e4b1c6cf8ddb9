"""The learning problem of one component with its placements fixed: a support vector machine with bounds.

    minimize  1/2 |u|^2 + C sum_i max(0, 1 - y_i f_i)       f = cells . filters - deformation . displacements + bias
    subject to  what squared displacements cost >= LEAST

Rows are placements, stacked as cells | displacements | 1; the inner product is block diagonal, with the words of the
codebook for each cell, so that codes are learned from as they are. [vedaldi12sparse] (11), (16)

Bounds are kept by an active set around the bundle solver: from a point that keeps all bounds, the way to the solution
without them is followed until the first bound is reached; the weights that reached theirs are held there, and the rest
is solved again. Every step lowers the objective or leaves it, so that a later solution is never worse than its start.
"""

__all__ = ["ComponentProblem", "weights_of"]

import numpy as np

from mercer.detection.model.components import LEAST, Component
from mercer.detection.training.designs import FullDesign, RowsAndExtras, WordDesign
from mercer.learners.solvers.bundle.solver import solve_bundle
from mercer.learners.solvers.losses import get_loss
from mercer.learners.solvers.problem import Problem

DEFORMATION_SCALE = 0.3  # of displacements: their weights then count as if they were 3 times as large
BIAS_SCALE = 10.0  # of the constant: the bias is hardly regularized


class ShiftedLoss:
    """A loss of scores to which fixed numbers are added.

    Parameters
    ----------
    loss : Loss
    shift : float32 (n, 1)
    """

    joint = False

    def __init__(self, loss, shift):
        self.loss, self.shift = loss, shift
        self.task, self.name, self.is_smooth = loss.task, loss.name, loss.is_smooth

    def evaluate(self, scores, targets, weights, n_jobs=None):
        """As :meth:`Loss.evaluate`; the line that touches it is one of the scores without the shift."""
        values, offsets, slopes = self.loss.evaluate(scores + self.shift, targets, weights, n_jobs)
        return values, offsets + (slopes.astype(np.float64) * self.shift).sum(axis=0), slopes

    def along(self, start, step, k, targets, weights, n_jobs=None):
        """As :meth:`Loss.along`."""
        return self.loss.along(start + self.shift, step, k, targets, weights, n_jobs)


class ComponentProblem:
    """Rows of one component, ready to be solved from any weights.

    Parameters
    ----------
    cells : codes (n, M), or features (n, M, 32)
    displacements : float32 (n, 4 P), minus (dx^2, dx, dy^2, dy) of each part
    targets : int8 (n,) of -1 and +1
    storage : how cells are kept
    C : weight of the losses
    n_jobs : threads
    """

    def __init__(self, cells, displacements, targets, storage, C, n_jobs=None):
        n, M = cells.shape[:2]
        if storage.name == "codes":
            self._cells = WordDesign(cells, storage.codebook.features, n_jobs)
        else:
            self._cells = FullDesign(
                np.ascontiguousarray(storage.decode(cells).reshape(n, M * storage.channels)), n_jobs
            )
        extra = np.empty((n, displacements.shape[1] + 1), dtype=np.float32)
        extra[:, :-1], extra[:, -1] = displacements * np.float32(DEFORMATION_SCALE), BIAS_SCALE
        self.extra, self.n_cells = extra, M * storage.channels
        self.targets, self.C, self.n_jobs = np.ascontiguousarray(targets.reshape(-1, 1), dtype=np.int8), C, n_jobs
        self.loss = get_loss("hinge")
        squares = np.arange(0, displacements.shape[1], 2)  # dx^2 and dy^2 of each part
        self.bounded = self.n_cells + squares
        self.bound = LEAST / DEFORMATION_SCALE

    def solve(self, u, tol, max_iter):
        """Better weights than u, which keep the bounds: (weights (r,), the solver's passes)."""
        u = u.astype(np.float64)
        held = np.zeros(len(u), dtype=bool)
        passes = 0
        while True:
            found, count = self._solve_free(u, held, tol, max_iter)
            passes += count
            low = self.bounded[(found[self.bounded] < self.bound) & ~held[self.bounded]]
            if not len(low):
                return found, passes
            # as far as the first bound
            shares = (u[low] - self.bound) / (u[low] - found[low])
            u = u + max(0.0, float(shares.min())) * (found - u)
            held[low[shares <= shares.min()]] = True
            u[held] = self.bound

    def _solve_free(self, u, held, tol, max_iter):
        """The solution with some weights held where they are."""
        extra, shift = self.extra, np.zeros((len(self.extra), 1), dtype=np.float32)
        columns = np.flatnonzero(held[self.n_cells :])
        if len(columns):
            shift[:, 0] = extra[:, columns] @ u[self.n_cells + columns].astype(np.float32)
            extra = extra.copy()
            extra[:, columns] = 0.0
        design = RowsAndExtras(self._cells, extra, self.n_jobs)
        loss = ShiftedLoss(self.loss, shift)
        problem = Problem(design, loss, self.targets, np.ones(len(extra)), 1, self.C, intercept="none")
        start = {"u": np.where(held, 0.0, u)[:, None], "intercept": np.zeros(1)}
        found = solve_bundle(problem, tol, max_iter, start=start)
        if found.interrupted:  # half a solution would be kept by the next checkpoint
            raise KeyboardInterrupt
        return np.where(held, u, found.u[:, 0]), found.n_iter

    def scores(self, u):
        """Scores of all rows, float64 (n,)."""
        main = self._cells.scores(u[: self.n_cells].astype(np.float32)).astype(np.float64)
        return main + self.extra @ u[self.n_cells :]

    def objective(self, u):
        """What is minimized, at weights u."""
        margins = self.targets[:, 0] * self.scores(u)
        return 0.5 * float(u @ u) + self.C * float(np.maximum(0.0, 1.0 - margins).sum())


def weights_of(component):
    """A component as weights: filters of root and parts, deformations and bias in their scaled units."""
    return np.concatenate(
        [
            component.root.reshape(-1),
            component.parts.reshape(-1),
            component.deformations.reshape(-1) / DEFORMATION_SCALE,
            [component.bias / BIAS_SCALE],
        ]
    ).astype(np.float64)


def component_of(u, like):
    """The component of weights, with the shapes and anchors of another one."""
    n_root, n_parts = like.root.size, like.parts.size
    deformations = u[n_root + n_parts : -1].reshape(like.deformations.shape) * DEFORMATION_SCALE
    return Component(
        root=u[:n_root].reshape(like.root.shape).astype(np.float32),
        parts=u[n_root : n_root + n_parts].reshape(like.parts.shape).astype(np.float32),
        anchors=like.anchors,
        deformations=deformations,
        bias=float(u[-1] * BIAS_SCALE),
    )
