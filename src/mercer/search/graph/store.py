"""The rows of one moment: those of the graph, those behind it, which are scanned, and those that were removed.

Everything is compared by embedded rows, whose squared distance d to an embedded query q gives the score that
`mercer.search.model.coders` has for embedded rows, <q, z> - |z|^2 / 2 = (|q|^2 - d) / 2.

A filter that keeps a share s of the rows makes a walk through the graph 1 / s times as long, for what is not allowed is
passed through and not kept. But fewer candidates do, sqrt(s) of them: where rows are thinner, errors of the embedding
confuse fewer of them. Few allowed rows are looked at one by one instead, and all rows are where that is cheaper
still, or where a walk came to an end with fewer rows than were wanted: the allowed ones are far from the query.
"""

__all__ = ["GraphStore"]

import numpy as np

LEAST_CANDIDATES = 64  # of a walk, however few rows are wanted
STEPS_PER_ROW, STEPS_PER_SCANNED = 1 / 24, 1 / 128  # of a walk, that take the time of one row picked out or scanned
PICKED_ROWS = 2**14  # looked at together
QUERIES_AT_ONCE = 1024
SINGLES = np.arange(2**16, dtype=np.uint16).view(np.float16).astype(np.float32)
ROUNDING = 2.0**-9  # of a score of vectors in float16 no longer than the unit, generously


class GraphStore:
    """Finds embedded rows by position; see `mercer.search.stores.protocol`.

    Parameters
    ----------
    graph : Graph
    tail : float32 (t, width), the rows behind those of the graph
    removed : bool per position
    unit : float, by which embedded rows are divided
    """

    def __init__(self, graph, tail, removed, unit):
        self._graph, self._tail, self._unit = graph, tail, unit
        self._removed = removed if removed.any() else None
        self._n = len(removed)  # a file may know more rows than this moment

    def count(self):
        """Rows that can be found."""
        return self._n if self._removed is None else int(np.count_nonzero(~self._removed))

    def without(self, positions):
        """The same, but no link leads to some rows, as if the graph had never had them."""
        inside = positions[positions < self._graph.n_rows]
        graph = self._graph.without(inside) if len(inside) else self._graph
        removed = np.zeros(self._n, dtype=bool) if self._removed is None else self._removed
        return GraphStore(graph, self._tail, removed, self._unit)

    def search(self, Z, k, allowed=None, least=None):
        """(positions, scores) of about the k nearest rows of embedded queries, nearest first.

        With a filter there may be fewer, but not fewer than ``least``, where so many are allowed.
        """
        may, least = self._may(allowed), k if least is None else least
        parts = [self._search(Z[i : i + QUERIES_AT_ONCE], k, may, least) for i in range(0, len(Z), QUERIES_AT_ONCE)]
        return parts[0] if len(parts) == 1 else tuple(np.concatenate(part) for part in zip(*parts, strict=True))

    def _search(self, Z, k, may, least):
        Z = np.ascontiguousarray(Z, dtype=np.float32) / np.float32(self._unit)
        found = [self._by_graph(Z, k, may, least)]
        if len(self._tail):
            found.append(self._behind(Z, k, may))
        positions, distances = found[0] if len(found) == 1 else _merged(*found, k)
        scores = self._scores(Z, distances)
        scores[positions < 0] = -np.inf
        return positions, scores

    def within(self, Z, reach, allowed=None):
        """(queries, positions, scores) of the rows whose score reaches a limit; rounding is on their side."""
        Z = np.ascontiguousarray(Z, dtype=np.float32) / np.float32(self._unit)
        may = self._may(allowed)
        bits = self._bits(may)
        radii = _sq_norms(Z) - 2 * (reach / self._unit**2 - ROUNDING)
        queries, positions, distances = [], [], []
        for i, radius in enumerate(radii.tolist()):
            found = [self._graph.within(Z[i : i + 1], radius, bits)] if self._graph.n_rows else []
            if len(self._tail):
                every, d = self._behind(Z[i : i + 1], len(self._tail), may)
                near = (every[0] >= 0) & (d[0] <= radius)
                found.append((every[0][near], d[0][near]))
            for places, d in found:
                queries.append(np.full(len(places), i))
                positions.append(places)
                distances.append(d)
        queries, positions = (np.concatenate([np.empty(0, np.int64), *part]) for part in (queries, positions))
        distances = np.concatenate([np.empty(0, np.float32), *distances])
        return queries, positions, self._scores(Z[queries], distances[:, None])[:, 0]

    def _scores(self, Z, distances):
        return (_sq_norms(Z)[:, None] - distances) * (self._unit**2 / 2)

    def _may(self, allowed):
        """Bool per position, None if all may be found."""
        if self._removed is None:
            return allowed
        return ~self._removed if allowed is None else allowed & ~self._removed

    def _bits(self, may):
        """The bits of the rows of the graph, None if all may be found."""
        mask = self._of_graph(may)
        return None if mask is None else np.packbits(mask, bitorder="little")

    def _of_graph(self, may):
        n = self._graph.n_rows
        if may is None and n <= self._n:
            return None
        mask = np.zeros(n, dtype=bool)
        known = min(n, self._n)
        mask[:known] = True if may is None else may[:known]
        return mask

    def _by_graph(self, Z, k, may, least):
        """(positions, squared distances) among the rows of the graph."""
        graph, n = self._graph, self._graph.n_rows
        mask = self._of_graph(may)
        count = n if mask is None else int(np.count_nonzero(mask))
        if not count:
            return _nothing(len(Z), k)
        wanted = max(least, int(np.ceil(k * np.sqrt(count / n))))
        candidates = int(np.ceil(max(wanted, LEAST_CANDIDATES * np.sqrt(count / n)) * n / count))
        if count * STEPS_PER_ROW <= candidates:
            return self._picked(Z, k, np.arange(n) if mask is None else np.flatnonzero(mask))
        bits = None if mask is None else np.packbits(mask, bitorder="little")
        if n * STEPS_PER_SCANNED <= candidates:
            return graph.scan(Z, k, bits)
        positions, distances = _widened(graph.search(Z, wanted, candidates, bits), k)
        short = np.flatnonzero(positions[:, wanted - 1] < 0) if wanted <= count else []
        if len(short):
            positions[short], distances[short] = graph.scan(Z[short], k, bits)
        return positions, distances

    def _picked(self, Z, k, rows):
        """The same among a few rows, all of which are looked at."""
        found = _nothing(len(Z), k)
        for start in range(0, len(rows), PICKED_ROWS):
            part = rows[start : start + PICKED_ROWS]
            nearest, distances = _nearest(Z, _singles(self._graph.vectors.take(part, axis=0)), k)
            found = _merged(found, (part[nearest], distances), k)
        return found

    def _behind(self, Z, k, may):
        """The same among the rows behind the graph."""
        rows = np.arange(self._graph.n_rows, self._n)
        if may is not None:
            rows = rows[may[rows]]
        if not len(rows):
            return _nothing(len(Z), k)
        tail = self._tail[: len(rows)] if may is None else self._tail[rows - self._graph.n_rows]
        nearest, distances = _nearest(Z, tail, k)
        return rows[nearest], distances


def _singles(halves):
    """float32 of float16, from a table of all of them: half the time of a cast."""
    return SINGLES.take(halves.view(np.uint16))


def _sq_norms(Z):
    return np.einsum("ij,ij->i", Z, Z)


def _nothing(n_queries, k):
    return np.full((n_queries, k), -1, dtype=np.int64), np.full((n_queries, k), np.inf, dtype=np.float32)


def _widened(found, k):
    """The same with places for k rows."""
    n_queries, n_found = found[0].shape
    return found if n_found == k else _merged(found, _nothing(n_queries, k - n_found), k)


def _nearest(Z, rows, k):
    """(places, squared distances) of the at most k nearest of rows, nearest first; equal ones in their order."""
    distances = (_sq_norms(rows) - 2 * (Z @ rows.T)) + _sq_norms(Z)[:, None]
    if k < len(rows):
        kept = np.sort(np.argpartition(distances, k - 1, axis=1)[:, :k], axis=1)
        distances = np.take_along_axis(distances, kept, axis=1)
    else:
        kept = np.broadcast_to(np.arange(len(rows)), distances.shape)
    order = np.argsort(distances, axis=1, kind="stable")
    return np.take_along_axis(kept, order, axis=1), np.take_along_axis(distances, order, axis=1)


def _merged(some, others, k):
    """The k nearest of two lots, which may have fewer."""
    positions, distances = (np.concatenate(pair, axis=1) for pair in zip(some, others, strict=True))
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(positions, order, axis=1), np.take_along_axis(distances, order, axis=1)
