"""How many candidates a search looks at so that it finds as large a share of the true neighbors as its caller wants.

Some of the rows are held out and asked for among the others: they count neither as neighbors nor as found, and in a
graph no link leads to them. Brute force tells their k nearest, and a `Curve` the share that is found, the recall, as
candidates grow. It is measured for 10 and for 100 neighbors; fewer are asked for as 10 are, more in proportion to
100. A curve is measured again when the index has twice or half the rows of then, or when the share of its rows that
are unlike those of the fit has moved by a twentieth.
"""

__all__ = ["DEFAULT_SIZE", "Curve", "Effort", "curves_of", "measured_curve", "planned"]

from dataclasses import asdict, dataclass
from numbers import Real
from typing import NamedTuple

import numpy as np

from mercer._base.errors import InputError
from mercer._base.parameters.search import RECALL
from mercer.search.by_codes import final_scores
from mercer.search.exact.oracle import nearest_rows
from mercer.search.model.measure import Measure

DEFAULT_RECALL = 0.99  # of a graph
SIZES = (10, 100)  # neighbors that curves are measured for
DEFAULT_SIZE = SIZES[0]
FACTORS = (1.0, 1.5, 2.5, 4.0, 6.0, 8.0, 10.0, 12.5, 16.0, 20.0, 25.0, 32.0, 50.0, 100.0, 200.0)  # candidates over k
QUERIES, LEAST_QUERIES = 400, 25
ENOUGH = 0.9995  # nobody asks for more, and less than all
BLOCK_ROWS = 2**16  # of brute force
GROWN, DRIFTED = 2.0, 0.05
UNMEASURED = 20.0  # candidates over k among so few rows that nothing can be measured


class Effort(NamedTuple):
    """What a search that does not look at all rows spends."""

    oversample: float | None  # candidates over k; None: no exact values
    n_probe: int | None = None  # lists of codes that are looked at; None: as many as the store has chosen


@dataclass(frozen=True)
class Curve:
    """Recall by effort.

    Attributes
    ----------
    k : int, neighbors of each query
    n_rows : int, of the index when it was measured
    drifted : float, share of them that was unlike those of the fit
    n_queries : int
    steps : list of (candidates over k, lists looked at or None, recall), in ascending order of effort
    """

    k: int
    n_rows: int
    drifted: float
    n_queries: int
    steps: list

    def suits(self, rows):
        """Whether it still holds."""
        grown = max(len(rows), 1) / self.n_rows
        return 1 / GROWN < grown < GROWN and abs(rows.derived.drift - self.drifted) < DRIFTED

    def least(self, recall):
        """The least `Effort` that reaches a recall, None if none does."""
        return next((Effort(factor, n_probe) for factor, n_probe, found in self.steps if found >= recall), None)

    @property
    def document(self):
        """As JSON has it."""
        return asdict(self)


def curves_of(documents):
    """Curves that a file holds, as far as they can be ones."""
    found = []
    for each in documents if isinstance(documents, list) else ():
        if isinstance(each, dict) and set(each) == set(Curve.__dataclass_fields__):
            curve = Curve(**each)
            numbers = [curve.k, curve.n_rows, curve.drifted, curve.n_queries]
            if all(map(_is_number, numbers)) and curve.k in SIZES and curve.n_rows > 0 and _are_steps(curve.steps):
                found.append(curve)
    return found


def _is_number(value):
    return isinstance(value, Real) and not isinstance(value, bool) and np.isfinite(value)


def _are_steps(steps):
    return isinstance(steps, list) and bool(steps) and all(
        isinstance(step, list) and len(step) == 3 and _is_number(step[0]) and step[0] in FACTORS and step[1] is None
        and _is_number(step[2])
        for step in steps
    )  # fmt: skip


def planned(rows, k, exact, rerank, recall, oversample):
    """(exact, `Effort`) of a search for k rows: what its caller wants, in numbers.

    Parameters
    ----------
    rows : Collection
    exact, rerank, recall : as they were given to `KernelIndex.search`
    oversample : of the index, for codes
    """
    if recall is not None:
        RECALL.check(recall, "KernelIndex.search")
        if exact is not False or not rerank:
            raise InputError("KernelIndex.search cannot combine recall= with exact= or rerank=.")
        rows.check_kept("KernelIndex.search(recall=)")
        if rows.by_lists:  # always exact
            return False, Effort(None)
        if recall == 1:
            return True, Effort(None)
    if exact is not False or rows.by_lists:
        return exact, Effort(None)
    if rerank and rows.derived.few is not None:  # all of them are compared
        return False, Effort(oversample)
    if recall is None and not rows.by_graph:
        return False, Effort(oversample if rerank else None)
    size = next((size for size in SIZES if k <= size), SIZES[-1])
    curve = measured_curve(rows, size)
    if curve is None:
        effort = Effort(UNMEASURED)
    else:
        effort = curve.least(recall or DEFAULT_RECALL)
        if effort is None and recall is not None:
            return "stored" if rows.rounded else True, Effort(None)
        effort = effort or Effort(*curve.steps[-1][:2])
    if not rerank:
        return False, Effort(None)
    return False, effort._replace(oversample=effort.oversample * max(size / k, 1.0))


def measured_curve(rows, size):
    """The curve for ``size`` neighbors, measured if there is none that suits; None of an index with few rows."""
    curve = next((curve for curve in rows.derived.curves if curve.k == size), None)
    if curve is not None and curve.suits(rows):
        return curve
    made = _measure(rows, size)
    if made is not None:
        rows.derived.known.curves = [*(curve for curve in rows.derived.curves if curve.k != size), made]
    return made


def _measure(rows, k):
    eligible = rows.alive
    if rows.by_graph:
        graph = rows.derived.graph.graph
        inside = eligible[eligible < graph.n_rows]  # in proportion; only of the lowest layer can links be cut
        eligible = np.concatenate([inside[graph.is_lowest(inside)], eligible[len(inside) :]])
    if len(eligible) <= 2 * k or len(eligible) < 2 * LEAST_QUERIES:
        return None
    rng = np.random.default_rng(0)
    asked = np.sort(rng.choice(eligible, min(QUERIES, len(eligible) // 2), replace=False))
    others = ~rows.snapshot.removed
    others[asked] = False
    Q, n_others = rows.take(asked), int(np.count_nonzero(others))
    limits = _kth_best(rows, np.flatnonzero(others), Q, k)
    store = rows.derived.store.without(asked) if rows.by_graph else rows.derived.store
    Z = rows.model.embed_queries(Q)
    steps = []
    for factor, how in _ladder(rows, store):
        wanted = min(int(np.ceil(factor * k)), n_others)
        queries, places = np.nonzero((positions := store.search(Z, wanted, others, **how)[0]) >= 0)
        scores = final_scores(rows, Q, queries, positions[queries, places])
        hits = np.bincount(queries[scores >= limits[queries]], minlength=len(asked))
        steps.append([factor, how.get("n_probe"), round(float(np.minimum(hits, k).mean() / k), 5)])
        if steps[-1][2] >= ENOUGH or wanted == n_others:
            break
    return Curve(k, len(rows), round(rows.derived.drift, 6), len(asked), steps)


def _ladder(rows, store):
    """Efforts in ascending order: with lists of codes, more of them are looked at as candidates grow."""
    probes = getattr(store, "probes", None)
    for place, factor in enumerate(FACTORS):
        yield factor, {} if probes is None else {"n_probe": min(probes * 2 ** (place // 3), store.n_lists)}


def _kth_best(rows, others, Q, k):
    """The objective of the k-th nearest of other rows for each query, by brute force."""
    best, measure = np.full((Q.shape[0], k), -np.inf), Measure.of(rows.model)
    for start in range(0, len(others), BLOCK_ROWS):
        part = others[start : start + BLOCK_ROWS]
        found = nearest_rows(measure, rows.take(part), Q, min(k, len(part)))
        best = -np.sort(-np.concatenate([best, found.scores], axis=1), axis=1)[:, :k]
    return best[:, -1]
