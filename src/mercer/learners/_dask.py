"""Learning on rows that lie on the workers of a Dask cluster.

Every chunk of the collection is read and encoded once; the encoded rows stay where they are, as do the scores of the
rows. A pass of the bundle solver sends weights, a task per chunk does what :class:`RowSide` does in one process, and
sums come back: losses, planes, counts. They are added in the order of the chunks, a few at a time, so that they do not
depend on how many workers there are. Tasks depend on one another through Dask alone: what a lost worker had is computed
again from the chunks, and nothing is different afterwards.
"""

__all__ = ["DaskDesign", "client_of", "encoded_design", "score_chunks", "solve_columns"]

import itertools
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

import numpy as np

from mercer._base.tables.dask_source import DaskSource, current_client
from mercer.learners._encode import encoded, stacked
from mercer.learners._problem import Solution
from mercer.learners._row_side import Plane, RowSide
from mercer.spaces import Design

FAN_IN = 8  # sums added by one task
GROUP_ROWS, GROUP_BYTES = 2**19, 2**27  # that a task works on at most, if chunks are smaller
REFRESH = 25  # steps after which scores are computed from the weights again: what a lost worker has to repeat
LARGE_GRAPH = "1GiB"  # weights and targets go with the tasks, so that a lost worker takes nothing with it


def client_of(X):
    """The client whose workers hold the rows X, or None."""
    return current_client() if isinstance(X, DaskSource) else None


class Tasks:
    """Tasks of one fit, with names that the dashboard shows."""

    def __init__(self, client):
        import dask

        self._client, self._config, self._name = client, dask.config, uuid4().hex[:8]
        self._numbers = itertools.count()

    def submit(self, title, function, *arguments):
        """A task that is kept until nobody refers to it."""
        return self.each(title, function, [arguments])[0]

    def each(self, title, function, calls):
        """A task for each tuple of arguments, sent in one message."""
        keys = [f"mercer-{title}-{self._name}-{next(self._numbers)}" for _ in calls]
        with self._config.set({"distributed.admin.large-graph-warning-threshold": LARGE_GRAPH}):
            return self._client.map(function, *zip(*calls, strict=True), key=keys, pure=False)

    def gather(self, futures):
        """Their results."""
        return self._client.gather(futures)

    def total(self, futures):
        """The sum of planes, added in a fixed order by the workers."""
        while len(futures) > 1:
            futures = self.each("sum", _added, [(futures[at : at + FAN_IN],) for at in range(0, len(futures), FAN_IN)])
        return self.gather(futures)[0]


# ------------------------------------------------------------------------------------------------------------ the rows


@dataclass
class DaskDesign:
    """Encoded rows on workers, as :class:`mercer.spaces.Design` is in one process.

    Parameters
    ----------
    tasks : Tasks
    blocks : futures of designs
    parts : slices of the rows, one for each block
    inner : inner product
    dtype : type in which scores are computed
    rows : a few encoded rows, which say what kind they are
    """

    tasks: Tasks
    blocks: list
    parts: list[slice]
    inner: Any
    dtype: np.dtype
    rows: Any
    n_jobs: int | None = None

    def __len__(self):
        return self.parts[-1].stop

    @property
    def shape(self):
        """(rows, factors)"""
        return len(self), self.inner.n_factors

    def row_side(self, problem):
        """The rows as the bundle solver sees them."""
        return DaskSide(problem)


def encoded_design(map, X, expansion, trial, n_jobs=None):
    """The design of the chunks of X, encoded on the workers as they are read.

    Parameters
    ----------
    map : fitted map or quantiser
    X : DaskSource
    expansion : of a quantiser
    trial : a few raw rows
    n_jobs : threads of this process
    """
    client = client_of(X)
    tasks = Tasks(client)
    few = Design(*encoded(map, trial, expansion), 1)
    sent, inner = tasks.submit("map", _itself, map), tasks.submit("inner", _itself, few.inner)
    blocks, parts = zip(*X.delayed_blocks(), strict=True)
    rows = tasks.each("encode", _encoded, [(sent, block, expansion) for block in client.compute(list(blocks))])
    groups = _groups(parts, few.rows.nbytes / len(few.rows))
    designs = tasks.each("join", _joined, [([rows[i] for i in group], inner) for group in groups])
    parts = [slice(parts[group[0]].start, parts[group[-1]].stop) for group in groups]
    return DaskDesign(tasks, designs, parts, few.inner, few.dtype, few.rows, n_jobs)


def _groups(parts, row_bytes):
    """Numbers of consecutive chunks that a task takes together: handing over a small one costs more than its work."""
    most = max(1, min(GROUP_ROWS, int(GROUP_BYTES / row_bytes)))
    groups, size = [[]], 0
    for i, part in enumerate(parts):
        n = part.stop - part.start
        if groups[-1] and size + n > most:
            groups.append([])
            size = 0
        groups[-1].append(i)
        size += n
    return groups


def score_chunks(predictor, X):
    """Scores of all rows, (n, P): each chunk is scored where it is."""
    client = client_of(X)
    tasks = Tasks(client)
    sent = tasks.submit("model", _itself, predictor)
    raw = client.compute([block for block, _ in X.delayed_blocks()])
    return np.concatenate(tasks.gather(tasks.each("predict", _called, [(sent, block) for block in raw])))


# --------------------------------------------------------------------------------------------------------- the problem


class DaskSide:
    """The calls of :class:`RowSide`, each a task for every chunk."""

    def __init__(self, problem):
        design = problem.design
        self._tasks, self._designs = design.tasks, design.blocks
        facts = [((problem.loss, problem.targets[part], _short(problem.weights[part])),) for part in design.parts]
        self._facts = self._tasks.each("targets", _itself, facts)
        self._which, self._n_steps = np.arange(problem.n_columns), 0
        self._u, self._constants = np.zeros((design.shape[1], problem.n_columns)), np.zeros(problem.n_columns)
        self._ahead, self._step = None, [None] * len(design.parts)  # the point ahead, and the way to it
        self._best = self._each("scores", _zeros, [(problem.n_columns,)] * len(design.parts))  # pairs: scores, plane
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
        sums = np.array(self._tasks.gather(self._each("line", _along, self._way(ks))))
        return [tuple(pair) for pair in sums.sum(axis=0)]

    def advance(self, k):
        """As of rows in one process."""
        self._k, which = k, self._which
        u, constants = self._ahead
        self._u[:, which] += k * (u - self._u[:, which])
        self._constants[which] += k * (constants - self._constants[which])

    def cut(self, share):
        """As of rows in one process, for the step that was taken last."""
        moved = self._each("step", _moved, self._way(self._k, share))
        planes = self._tasks.each("plane", _plane_of, [(pair,) for pair in moved])
        if self._k is not None:
            self._best, self._k, self._n_steps = moved, None, self._n_steps + 1
            if self._n_steps % REFRESH == 0:
                self.begin(self._u, self._constants)
        return self._tasks.total(planes)

    def _way(self, *rest):
        """For each chunk, from where to where, and what else is given."""
        return [(best, step, self._which, *rest) for best, step in zip(self._best, self._step, strict=True)]

    def _sent(self, u, constants):
        return self._tasks.submit("weights", _itself, (np.ascontiguousarray(u), constants))

    def _each(self, title, function, arguments):
        calls = zip(self._designs, self._facts, arguments, strict=True)
        return self._tasks.each(title, function, [(design, facts, *rest) for design, facts, rest in calls])


def solve_columns(problem, solve):
    """The solution of a problem whose columns are problems of their own, each by a task of its own on all rows.

    Parameters
    ----------
    problem : Problem whose design is a DaskDesign
    solve : function of a Problem in one process that returns its solution
    """
    tasks, design = problem.design.tasks, problem.design
    whole = tasks.submit("rows", _together, design.blocks)
    facts = tasks.submit("problem", _itself, replace(problem, design=None, targets=None, n_columns=1))
    columns = [np.ascontiguousarray(problem.targets[:, [c]]) for c in range(problem.n_columns)]
    found = tasks.gather(tasks.each("class", _solved, [(whole, facts, column, solve) for column in columns]))

    def joined(name, axis=0):
        return np.concatenate([getattr(one, name) for one in found], axis=axis)

    return Solution(
        u=joined("u", 1),
        intercept=joined("intercept"),
        objectives=joined("objectives"),
        dual_objectives=joined("dual_objectives"),
        floors=joined("floors"),
        n_iter=max(one.n_iter for one in found),
        converged=all(one.converged for one in found),
        solver=found[0].solver,
    )


# ------------------------------------------------------------------------------------- what a task does with its chunk


def _itself(value):
    return value


def _called(function, rows):
    return function(rows)


def _encoded(map, rows, expansion):
    return encoded(map, rows, expansion)[0]


def _joined(parts, inner):
    return Design(stacked(parts), inner, 1)


def _together(designs):
    return _joined([design.rows for design in designs], designs[0].inner)


def _solved(design, facts, targets, solve):
    found = solve(replace(facts, design=design, targets=targets))
    return replace(found, state=None, history={})


def _short(weights):
    """Weights, or a single number if all are equal: as many numbers as rows take long to send."""
    return float(weights[0]) if len(weights) and (weights == weights[0]).all() else weights


def _side(design, facts, pair=None, step=None, which=None):
    loss, targets, weights = facts
    weights = np.full(len(design), weights) if isinstance(weights, float) else weights
    side = RowSide(design, loss, targets, weights, None if pair is None else pair[0])
    if which is not None and not loss.joint and len(which) < targets.shape[1]:
        side.keep(which)
    if step is not None:
        side.resume(step)
    return side


def _zeros(design, facts, n_columns):
    return np.zeros((len(design), n_columns), dtype=design.dtype), None


def _begun(design, facts, point):
    side = _side(design, facts)
    side.begin(*point)
    return side.best, None


def _turned(design, facts, pair, point, which):
    side = _side(design, facts, pair, None, which)
    side.turn(*point)
    return side.step


def _along(design, facts, pair, step, which, ks):
    return _side(design, facts, pair, step, which).along(ks)


def _moved(design, facts, pair, step, which, k, share):
    """(scores at the best point after a step k, the plane near it)"""
    side = _side(design, facts, pair, step, which)
    if k is not None:
        if side.which is not None:
            side.best = side.best.copy()  # other tasks may still need what it was
        side.advance(k)
    found = side.cut(share)
    return side.best, replace(found, p=found.p.astype(np.float64))


def _plane_of(pair):
    return pair[1]


def _added(planes):
    names = ("values", "offsets", "p", "tilts")
    return Plane(*(sum((getattr(one, name) for one in planes[1:]), start=getattr(planes[0], name)) for name in names))
