"""Learning on rows that lie on the workers of a Dask cluster.

Every chunk of the collection is read and encoded once; the encoded rows stay where they are, as do the scores of the
rows. A pass of the bundle solver sends weights, a task for each thread of the cluster does for its groups what
:class:`RowSide` does in one process, and sums come back: losses, planes, counts. They are added group by group in a
fixed order, so that they do not depend on how many workers there are. Tasks depend on one another through Dask alone:
what a lost worker had is computed again from the chunks, and nothing is different afterward.
"""

__all__ = ["DaskDesign", "encoded_design", "joined", "score_chunks"]

import itertools
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.learners.dask.groups import bundles_of, row_groups
from mercer.learners.dask.side import DaskSide
from mercer.learners.dask.tasks import Tasks, client_of, itself
from mercer.learners.fitting.encode import encoded, stacked
from mercer.spaces import Design


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
            self._weights = weights, self.tasks.each("weights", itself, [(own,) for own in self._cut(weights)])
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
        return self.tasks.submit("weights", itself, value)

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
    sent, inner = tasks.submit("map", itself, map), tasks.submit("inner", itself, few.inner)
    blocks, parts = zip(*X.delayed_blocks(), strict=True)
    rows = tasks.each("encode", _encoded, [(sent, block, expansion) for block in client.compute(list(blocks))])
    groups, parts = row_groups(parts, few.rows.nbytes / len(few.rows))
    designs = tasks.each("join", joined, [([rows[i] for i in group], inner) for group in groups])
    del rows
    owners, threads = tasks.placed(designs, "Encoding chunks")
    bundles = bundles_of([part.stop - part.start for part in parts], owners, threads)
    held = [tasks.each("hold", itself, [([designs[i] for i in own],)], worker)[0] for worker, own in bundles]
    return DaskDesign(tasks, held, [own for _, own in bundles], parts, few.inner, few.dtype, few.rows, n_jobs)


def score_chunks(predictor, X):
    """Scores of all rows, (n, P): each chunk is scored where it is."""
    client = client_of(X)
    tasks = Tasks(client)
    sent = tasks.submit("model", itself, predictor)
    raw = client.compute([block for block, _ in X.delayed_blocks()])
    return np.concatenate(tasks.gather(tasks.each("predict", _called, [(sent, block) for block in raw])))


# ------------------------------------------------------------------------------------- what a task does with its chunk


def _called(function, rows):
    return function(rows)


def _encoded(map, rows, expansion):
    return encoded(map, rows, expansion)[0]


def joined(parts, inner):
    """The Design of encoded parts."""
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
