"""The rows of a Dask cluster as the bundle solver sees them: scores stay with the rows, and sums come back."""

__all__ = ["DaskSide"]

from dataclasses import replace

import numpy as np

from mercer.learners.dask.groups import merged
from mercer.learners.dask.tasks import itself
from mercer.learners.solvers.bundle.row_side import Plane, RowSide

FAN_IN = 8  # bundles whose sums are added by one task
REFRESH = 25  # steps after which scores are computed from the weights again: what a lost worker has to repeat
SENT_BYTES = 2**20  # that go with the tasks of a pass; what is larger is a task of its own, which workers hand on


class DaskSide:
    """The calls of :class:`RowSide`, each a task for every bundle."""

    def __init__(self, problem):
        design = problem.design
        self._tasks, self._designs, self._bundles = design.tasks, design.blocks, design.bundles
        self._n_groups = len(design.parts)
        self._facts = self._tasks.each("targets", _facts, [
            (problem.loss, [(problem.targets[design.parts[i]], _short(problem.weights[design.parts[i]])) for i in own],
             [design.parts[i].stop - design.parts[i].start for i in own])
            for own in design.bundles
        ])  # fmt: skip
        self._which, self._n_steps = np.arange(problem.n_columns), 0
        self._u, self._constants = np.zeros((design.shape[1], problem.n_columns)), np.zeros(problem.n_columns)
        self._ahead, self._step = None, [None] * len(design.blocks)  # the point ahead, and the way to it
        self._best = self._each("scores", _zeros, [(problem.n_columns,)] * len(design.blocks))  # pairs: scores, planes
        self._k = None  # the step that the next plane is taken after

    def begin(self, u, constants):
        """As of rows in one process."""
        self._u, self._constants = np.array(u), np.array(constants)
        self._best = self._each("scores", _begun, [(self._sent(u, constants),)] * len(self._designs))

    def keep(self, which):
        """As of rows in one process."""
        self._which = self._which[which]

    def turn(self, u, constants):
        """As of rows in one process."""
        self._ahead, sent = (u, constants), self._sent(u, constants)
        self._step = self._each("scores", _turned, [(best, sent, self._which) for best in self._best])

    def along(self, ks):
        """As of rows in one process."""
        found = self._tasks.gather(self._each("line", _along, self._way(ks)))
        by_group = np.empty((self._n_groups, *np.shape(found[0])[1:]))
        for own, sums in zip(self._bundles, found, strict=True):
            by_group[own] = sums
        return [tuple(pair) for pair in by_group.sum(axis=0)]

    def advance(self, k):
        """As of rows in one process."""
        self._k, which = k, self._which
        u, constants = self._ahead
        self._u[:, which] += k * (u - self._u[:, which])
        self._constants[which] += k * (constants - self._constants[which])

    def cut(self, share):
        """As of rows in one process, for the step that was taken last."""
        moved = self._each("step", _moved, self._way(self._k, share))
        places = zip(moved, self._bundles, strict=True)
        planes = self._tasks.each("plane", _planes_of, [(pair, own, self._n_groups) for pair, own in places])
        if self._k is not None:
            self._best, self._k, self._n_steps = moved, None, self._n_steps + 1
            if self._n_steps % REFRESH == 0:
                self.begin(self._u, self._constants)
        return self._total(planes)

    def _total(self, futures):
        """The sum of planes, {node: plane} of each future, added along the tree of groups."""
        while len(futures) > FAN_IN:
            parts = [futures[at : at + FAN_IN] for at in range(0, len(futures), FAN_IN)]
            futures = self._tasks.each("sum", _merged_planes, [(part, self._n_groups) for part in parts])
        (found,) = _merged_planes(self._tasks.gather(futures), self._n_groups).values()
        return found

    def _way(self, *rest):
        """For each bundle, from where to where, and what else is given."""
        return [(best, step, self._which, *rest) for best, step in zip(self._best, self._step, strict=True)]

    def _sent(self, u, constants):
        point = np.ascontiguousarray(u), constants
        if point[0].nbytes * len(self._designs) <= SENT_BYTES:
            return point
        return self._tasks.submit("weights", itself, point)

    def _each(self, title, function, arguments):
        calls = zip(self._designs, self._facts, arguments, strict=True)
        return self._tasks.each(title, function, [(designs, facts, *rest) for designs, facts, rest in calls])


# ----------------------------------------------------------------------------------- what a task does with its bundle


def _short(weights):
    """Weights, or a single number if all are equal: as many numbers as rows take long to send."""
    return float(weights[0]) if len(weights) and (weights == weights[0]).all() else weights


def _facts(loss, groups, sizes):
    """[(loss, targets, weights)] of the groups of a bundle."""
    return [
        (loss, targets, np.full(n, weights) if isinstance(weights, float) else weights)
        for (targets, weights), n in zip(groups, sizes, strict=True)
    ]


def _sides(designs, facts, best=None, steps=None, which=None):
    """The groups of a bundle as the solver sees them."""
    for i, (design, (loss, targets, weights)) in enumerate(zip(designs, facts, strict=True)):
        side = RowSide(design, loss, targets, weights, None if best is None else best[0][i])
        if which is not None and not loss.joint and len(which) < targets.shape[1]:
            side.keep(which)
        if steps is not None:
            side.resume(steps[i])
        yield side


def _zeros(designs, facts, n_columns):
    return [np.zeros((len(design), n_columns), dtype=design.dtype) for design in designs], None


def _begun(designs, facts, point):
    found = []
    for side in _sides(designs, facts):
        side.begin(*point)
        found.append(side.best)
    return found, None


def _turned(designs, facts, best, point, which):
    found = []
    for side in _sides(designs, facts, best, None, which):
        side.turn(*point)
        found.append(side.step)
    return found


def _along(designs, facts, best, steps, which, ks):
    return np.array([side.along(ks) for side in _sides(designs, facts, best, steps, which)])


def _moved(designs, facts, best, steps, which, k, share):
    """(scores at the best point after a step k, the planes near it), both by group"""
    scores, planes = [], []
    for side in _sides(designs, facts, best, steps, which):
        if k is not None:
            if side.which is not None:
                side.best = side.best.copy()  # other tasks may still need what it was
            side.advance(k)
        found = side.cut(share)
        scores.append(side.best)
        planes.append(replace(found, p=found.p.astype(np.float64)))
    return scores, planes


def _planes_of(pair, numbers, n_groups):
    """{node: plane}, as far as the groups of a bundle can be added."""
    nodes = {(0, number): plane for number, plane in zip(numbers, pair[1], strict=True)}
    return merged(nodes, n_groups, _added)


def _merged_planes(parts, n_groups):
    return merged({node: plane for part in parts for node, plane in part.items()}, n_groups, _added)


def _added(one, other):
    names = ("values", "offsets", "p", "tilts")
    return Plane(*(getattr(one, name) + getattr(other, name) for name in names))
