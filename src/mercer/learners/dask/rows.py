"""Learning on rows that lie on the workers of a Dask cluster.

Every chunk of the collection is read and encoded once; the encoded rows stay where they are, as do the scores of the
rows. A pass of the bundle solver sends weights, a task for each thread of the cluster does for its groups what
:class:`RowSide` does in one process, and sums come back: losses, planes, counts. They are added group by group in a
fixed order, so that they do not depend on how many workers there are. Tasks depend on one another through Dask alone:
what a lost worker had is computed again from the chunks, and nothing is different afterward.
"""

__all__ = ["DaskDesign", "client_of", "encoded_design", "score_chunks", "solve_columns"]

import itertools
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar
from uuid import uuid4

import numpy as np

from mercer._base.alignment import settled
from mercer._base.progress import track
from mercer._base.tables.sources.dask import DaskSource, current_client
from mercer.learners.dask.groups import bundles_of, merged, row_groups
from mercer.learners.fitting.encode import encoded, stacked
from mercer.learners.solvers.bundle.row_side import Plane, RowSide
from mercer.learners.solvers.problem import Solution
from mercer.spaces import Design

FAN_IN = 8  # bundles whose sums are added by one task
REFRESH = 25  # steps after which scores are computed from the weights again: what a lost worker has to repeat
LARGE_GRAPH = "1GiB"  # weights and targets go with the tasks, so that a lost worker takes nothing with it
SENT_BYTES = 2**20  # that go with the tasks of a pass; what is larger is a task of its own, which workers hand on


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

    def each(self, title, function, calls, worker=None):
        """A task for each tuple of arguments, sent in one message; on that worker, while it is there."""
        keys = [f"mercer-{title}-{self._name}-{next(self._numbers)}" for _ in calls]
        place = {} if worker is None else {"workers": [worker], "allow_other_workers": True}
        with self._config.set({"distributed.admin.large-graph-warning-threshold": LARGE_GRAPH}):
            call = partial(_on_settled, function)
            return self._client.map(call, *zip(*calls, strict=True), key=keys, pure=False, **place)

    def gather(self, futures):
        """Their results."""
        return settled(self._client.gather(futures))

    def placed(self, futures, title):
        """Wait for tasks, and say which worker has each; an error of a task is raised."""
        from distributed import as_completed

        for done in track(as_completed(futures), title, total=len(futures)):
            if done.status == "error":
                done.result()
        where, threads = self._client.who_has(futures), self._client.nthreads()
        known = [next((worker for worker in where[future.key] if worker in threads), None) for future in futures]
        return [worker or min(threads) for worker in known], threads  # what is lost by now is made again anywhere

    def total(self, futures, n_groups):
        """The sum of planes, {node: plane} of each future, added along the tree of groups."""
        while len(futures) > FAN_IN:
            parts = [futures[at : at + FAN_IN] for at in range(0, len(futures), FAN_IN)]
            futures = self.each("sum", _merged_planes, [(part, n_groups) for part in parts])
        (found,) = _merged_planes(self.gather(futures), n_groups).values()
        return found


# ------------------------------------------------------------------------------------------------------------ the rows


@dataclass
class DaskDesign:
    """Encoded rows on workers, as :class:`mercer.spaces.Design` is in one process.

    Parameters
    ----------
    tasks : Tasks
    blocks : futures of bundles, which are lists of designs, one for each group
    bundles : numbers of the groups in each bundle
    parts : slices of the rows, one for each group
    inner : inner product
    dtype : type in which scores are computed
    rows : a few encoded rows, which say what kind they are
    """

    tasks: Tasks
    blocks: list
    bundles: list[list[int]]
    parts: list[slice]
    inner: Any
    dtype: np.dtype
    rows: Any
    n_jobs: int | None = None
    _weights: Any = None

    is_spread: ClassVar[bool] = True

    def __len__(self):
        return self.parts[-1].stop

    @property
    def shape(self):
        """(rows, factors)"""
        return len(self), self.inner.n_factors

    def row_side(self, problem):
        """The rows as the bundle solver sees them."""
        return DaskSide(problem)

    def scores(self, u):
        """As of rows in one process."""
        v = self._sent(self.inner.lift(np.ascontiguousarray(u, dtype=self.dtype)))
        return self._by_row(self.tasks.gather(self._each("scores", _scores, [(v,)] * len(self.blocks))))

    def accumulate(self, slopes):
        """As of rows in one process."""
        slopes = np.ascontiguousarray(slopes, dtype=self.dtype)
        found = self.tasks.gather(self._each("sums", _sums, [(own,) for own in self._cut(slopes)]))
        return self.inner.project(self._in_order(found).astype(self.dtype))

    def through(self, u, constants, weights):
        """As of rows in one process; weights that are the same array as before are on the workers already."""
        if self._weights is None or self._weights[0] is not weights:
            self._weights = weights, self.tasks.each("weights", _itself, [(own,) for own in self._cut(weights)])
        point = self._sent((self.inner.lift(u), constants))
        calls = [(point, own) for own in self._weights[1]]
        found = self.tasks.gather(self._each("through", _through, calls))
        sums = self._in_order([[one for _, one in pairs] for pairs in found])
        return self._by_row([[one for one, _ in pairs] for pairs in found]), self.inner.project(sums)

    def _each(self, title, function, arguments):
        calls = zip(self.blocks, arguments, strict=True)
        return self.tasks.each(title, function, [(designs, *rest) for designs, rest in calls])

    def _sent(self, value):
        """As a task of its own, which workers hand on to each other."""
        return self.tasks.submit("weights", _itself, value)

    def _cut(self, numbers):
        """What belongs to the groups of each bundle."""
        return [[numbers[self.parts[i]] for i in own] for own in self.bundles]

    def _by_row(self, found):
        """Scores of all rows, from those of the groups of each bundle."""
        first = found[0][0]
        out = np.empty((len(self), *first.shape[1:]), dtype=first.dtype)
        for own, groups in zip(self.bundles, found, strict=True):
            for i, scores in zip(own, groups, strict=True):
                out[self.parts[i]] = scores
        return out

    def _in_order(self, found):
        """The sum over all groups, in their order."""
        by_group = dict(zip(itertools.chain(*self.bundles), itertools.chain(*found), strict=True))
        total = np.zeros_like(by_group[0])
        for i in range(len(by_group)):
            total += by_group[i]
        return total


def encoded_design(map, X, expansion, trial, n_jobs=None):
    """The design of the chunks of X, encoded on the workers as they are read.

    Parameters
    ----------
    map : fitted map or quantizer
    X : DaskSource
    expansion : of a quantizer
    trial : a few raw rows
    n_jobs : threads of this process
    """
    client = client_of(X)
    tasks = Tasks(client)
    few = Design(*encoded(map, trial, expansion), 1)
    sent, inner = tasks.submit("map", _itself, map), tasks.submit("inner", _itself, few.inner)
    blocks, parts = zip(*X.delayed_blocks(), strict=True)
    rows = tasks.each("encode", _encoded, [(sent, block, expansion) for block in client.compute(list(blocks))])
    groups, parts = row_groups(parts, few.rows.nbytes / len(few.rows))
    designs = tasks.each("join", _joined, [([rows[i] for i in group], inner) for group in groups])
    del rows
    owners, threads = tasks.placed(designs, "Encoding chunks")
    bundles = bundles_of([part.stop - part.start for part in parts], owners, threads)
    held = [tasks.each("hold", _itself, [([designs[i] for i in own],)], worker)[0] for worker, own in bundles]
    return DaskDesign(tasks, held, [own for _, own in bundles], parts, few.inner, few.dtype, few.rows, n_jobs)


def score_chunks(predictor, X):
    """Scores of all rows, (n, P): each chunk is scored where it is."""
    client = client_of(X)
    tasks = Tasks(client)
    sent = tasks.submit("model", _itself, predictor)
    raw = client.compute([block for block, _ in X.delayed_blocks()])
    return np.concatenate(tasks.gather(tasks.each("predict", _called, [(sent, block) for block in raw])))


# --------------------------------------------------------------------------------------------------------- the problem


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
        return self._tasks.total(planes, self._n_groups)

    def _way(self, *rest):
        """For each bundle, from where to where, and what else is given."""
        return [(best, step, self._which, *rest) for best, step in zip(self._best, self._step, strict=True)]

    def _sent(self, u, constants):
        point = np.ascontiguousarray(u), constants
        if point[0].nbytes * len(self._designs) <= SENT_BYTES:
            return point
        return self._tasks.submit("weights", _itself, point)

    def _each(self, title, function, arguments):
        calls = zip(self._designs, self._facts, arguments, strict=True)
        return self._tasks.each(title, function, [(designs, facts, *rest) for designs, facts, rest in calls])


def solve_columns(problem, solve):
    """The solution of a problem whose columns are problems of their own, each by a task of its own on all rows.

    Parameters
    ----------
    problem : Problem whose design is a DaskDesign
    solve : function of a Problem in one process that returns its solution
    """
    tasks, design = problem.design.tasks, problem.design
    whole = tasks.submit("rows", _together, design.blocks, design.bundles)
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


def _on_settled(function, *arguments):
    """The function of arguments that may come from another process."""
    return function(*settled(arguments))


def _itself(value):
    return value


def _called(function, rows):
    return function(rows)


def _encoded(map, rows, expansion):
    return encoded(map, rows, expansion)[0]


def _joined(parts, inner):
    rows = stacked(parts)
    if rows.kind == "landmarks":
        rows = rows.with_parts([slice(0, len(rows))])  # a group is added up from its first row to its last
    return Design(rows, inner, 1)


def _scores(designs, v):
    return [design.rows.scores(v, 1) for design in designs]


def _sums(designs, slopes):
    return [design.rows.add_up(own, 1) for design, own in zip(designs, slopes, strict=True)]


def _through(designs, point, weights):
    return [design.rows.through(*point, own, 1) for design, own in zip(designs, weights, strict=True)]


def _together(bundles, numbers):
    """The design of all rows, in their order."""
    designs = dict(zip(itertools.chain(*numbers), itertools.chain(*bundles), strict=True))
    return _joined([designs[i].rows for i in range(len(designs))], designs[0].inner)


def _solved(design, facts, targets, solve):
    found = solve(replace(facts, design=design, targets=targets))
    return replace(found, state=None, history={})


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
