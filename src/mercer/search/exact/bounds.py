"""Exact search with bounds. [bourrier15explicit] App. A, level by level as in [ramani25panorama]

Notation
    paper        code          meaning                                                              shape
    phi(x)       features      projection on the first E principal directions, float64              (n, E)
    R(x)         tails         sqrt(K(x, x) - |phi(x)|^2) with the components up to a level          (levels, n)
    K~           scores        partial inner products
    (25)                       K(q, x) <= K~(q, x) + R(q) R(x), at each level

Distances rank by 2 K(q, x) - K(x, x): half of it is the bound above plus the offset -K(x, x) / 2 of the row.

Rounding. Coordinates are computed in float64 and rounded to float32; scores are sums in float32. All of this moves a
score by less than (E + 16) 2^-23 sqrt(K(q, q) K(x, x)); how far the computed directions are from orthonormal is
measured after the fit. Thresholds are lowered by both, tails are rounded upwards.
"""

__all__ = ["CHUNK_ROWS", "FIRST_LEVEL", "Bounds", "level_ends"]

from itertools import pairwise

import numpy as np

from mercer._base.errors import InputError
from mercer._base.threads import run_blocks, single_threaded
from mercer._base.validation import canonical
from mercer._native.search.bounded import LINE, ROWS, STRIDE, TOGETHER, keep_candidates
from mercer.maps import KernelPCA
from mercer.maps.landmarks.kpca import refuse_negative_energy
from mercer.search.exact.best import joined
from mercer.search.model.measure import as_double

FIRST_LEVEL = 32  # components of the first level, a product of matrices; those after it are for the rows that are left
CHUNK_ROWS = 16384  # rows that a task looks at, a multiple of 32
SLACK = 1e-11  # of K(x, x): rounding of R(x)^2 in float64
LARGEST_ENERGY = 1e37  # of K(x, x): scores and their bounds are float32


def level_ends(n_components):
    """Components used up to each level: the first ones, then about twice as many, in whole strides after the first.

    >>> level_ends(128), level_ends(100), level_ends(20)
    ([32, 64, 128], [32, 64, 100], [20])
    """
    first = min(FIRST_LEVEL, n_components)
    ends = [first]
    while ends[-1] < n_components:
        ends.append(min(first + _whole_strides(2 * ends[-1] - first), n_components))
    return ends


class Chunk:
    """Up to CHUNK_ROWS rows: components as the loop reads them, tails, offsets.

    Attributes
    ----------
    first, n_rows : number of the first row, and of rows; places beyond them are padding, which is never looked for
    strips : (strips of 32 rows, components of the first level, 32)
    rest : the components after it, level after level and in each row after row: few rows need the later ones
    tails : (levels, rows)
    offsets : (rows,)
    """

    def __init__(self, first, features, tails, offsets, ends):
        self.first, self.n_rows = first, len(features)
        size = _whole_strides(self.n_rows)
        padded = np.zeros((size, ends[0] + _whole_strides(ends[-1] - ends[0])), dtype=np.float32)
        padded[: self.n_rows, : features.shape[1]] = features
        strips = padded[:, : ends[0]].reshape(-1, STRIDE, ends[0])
        self.strips = np.ascontiguousarray(strips.transpose(0, 2, 1))
        self.rest = _aligned(np.concatenate([padded[:, level].ravel() for level in _levels(ends)] or [padded[:0, 0]]))
        self.tails = np.zeros((len(tails), size), dtype=np.float32)
        self.tails[:, : self.n_rows] = tails
        self.offsets = np.full(size, -np.inf, dtype=np.float32)
        self.offsets[: self.n_rows] = offsets

    @property
    def nbytes(self):
        return self.strips.nbytes + self.rest.nbytes + self.tails.nbytes + self.offsets.nbytes

    def allowed_offsets(self, allowed):
        """The offsets, -inf for rows that are not looked for."""
        if allowed is None:
            return self.offsets
        offsets = self.offsets.copy()
        offsets[: self.n_rows][~allowed[self.first : self.first + self.n_rows]] = -np.inf
        return offsets

    def scores(self, queries, rest, ends, n_rows):
        """K~ of all components, for all queries and the first rows."""
        size = len(self.offsets)
        n_rows = min(n_rows, size)
        scores = queries @ self.strips[: n_rows // STRIDE].transpose(0, 2, 1).reshape(n_rows, -1).T
        for level in _levels(ends):
            start, width = (level.start - ends[0]) * size, level.stop - level.start
            segment = self.rest[start : start + n_rows * width].reshape(n_rows, width)
            scores += rest[:, level.start - ends[0] : level.stop - ends[0]] @ segment.T
        return scores


class Bounds:
    """Components and tails of rows, and the search through them.

    Parameters
    ----------
    measure : Measure
    n_components, n_landmarks : of the projection
    random_state : int, RandomState or None
    n_jobs : int or None
    """

    def __init__(self, measure, n_components=128, n_landmarks=1024, random_state=None, n_jobs=None):
        self._measure = measure
        self._n_components, self._n_landmarks = n_components, n_landmarks
        self._random_state, self._n_jobs = random_state, n_jobs
        self._pca = None
        self._chunks = []
        self.highest_energy = 0.0  # of the rows

    @property
    def n_rows(self):
        return self._chunks[-1].first + self._chunks[-1].n_rows if self._chunks else 0

    @property
    def nbytes(self):
        return sum(chunk.nbytes for chunk in self._chunks)

    def fit(self, X):
        """Find the directions, from a sample of the rows."""
        self._pca = KernelPCA(
            self._measure.kernel,
            n_components=self._n_components,
            n_landmarks=self._n_landmarks,
            random_state=self._random_state,
            n_jobs=self._n_jobs,
        ).fit(as_double(X))
        self._ends = level_ends(self._pca.normalization_.shape[1])
        self._skew = _distance_from_orthonormal(self._pca)
        return self

    def add(self, X):
        """Append rows, which are numbered on. The last chunk, if it is not full, must be added again with them."""
        for start in range(0, X.shape[0], CHUNK_ROWS):
            rows = X[start : start + CHUNK_ROWS]
            features, energy, tails = self._projected(rows)
            self.highest_energy = max(self.highest_energy, float(energy.max(initial=0.0)))
            offsets = -energy / 2 if self._measure.is_distance else np.zeros(len(energy))
            self._chunks.append(Chunk(self.n_rows, features, tails, _rounded_up(offsets), self._ends))

    def drop_last_partial(self):
        """Forget the last chunk if it is not full, so that rows can be appended; returns the number of rows left."""
        if self._chunks and self._chunks[-1].n_rows < CHUNK_ROWS:
            self._chunks.pop()
        return self.n_rows

    def _projected(self, X):
        """(float32 components, energies, float32 tails of each level)."""
        rows = canonical(as_double(X))
        features = self._pca.encode_rows(rows)
        energy = self._measure.energy(rows)
        _refuse_large(energy)
        left = energy - np.cumsum(features * features, axis=1)[:, [end - 1 for end in self._ends]].T
        instead = "Use exact_knn, or a positive definite kernel"
        refuse_negative_energy(left[-1], energy, "An exact search", instead)
        tails = np.sqrt(np.maximum(left, 0.0) + SLACK * energy)
        return features.astype(np.float32), energy, _rounded_up(tails)

    # ---------------------------------------------------------------------------------------------------- searching

    def project_queries(self, Q):
        """What `candidates` needs of the queries."""
        features, energy, tails = self._projected(Q)
        split = self._ends[0]
        return features[:, :split].copy(), _in_strides(features[:, split:]), tails, energy

    def margins(self, energy, highest):
        """How far rounding may lower a bound, per query, for rows of energy up to ``highest``."""
        E = self._ends[-1]
        return ((E + 16) * np.finfo(np.float32).eps + 2 * self._skew) * np.sqrt(energy * highest)

    def candidates(self, queries, thresholds, rows, allowed=None, share=1.0):
        """(queries, rows, bounds) of the pairs whose bounds reach the thresholds.

        Parameters
        ----------
        queries : from `project_queries`
        thresholds : float64 (Q,), lower bounds of the objective; halves of it for distances
        rows : slice, those of every chunk that are looked at, whole strips
        allowed : bool (n_rows,) or None
        share : of the product of tails that bounds are made of; below 1 they hold with some probability only, (28)
        """
        first, rest, tails, _ = queries
        n = len(first)
        limits = np.full(-(-n // ROWS) * ROWS, np.inf, dtype=np.float32)  # queries beyond the last reach nothing
        limits[:n] = np.nextafter(thresholds.astype(np.float32), np.float32(-np.inf))
        limits = np.maximum(limits, np.finfo(np.float32).min)  # above -inf, the offset of rows not looked for
        first, rest = (np.pad(part, ((0, len(limits) - n), (0, 0))) for part in (first, rest))
        query_tails = np.pad(tails * np.float32(share), ((0, 0), (0, len(limits) - n)))
        ends = np.array([_whole_strides(end - self._ends[0]) for end in self._ends], dtype=np.int64)
        free = []  # room to work in, one per thread: fresh memory for each task would cost a tenth of the time

        def scan(chunk):
            start, stop, _ = rows.indices(len(chunk.offsets))
            room = free.pop() if free else _room(len(limits), rows)
            count = keep_candidates(
                first, chunk.strips, start // STRIDE, stop // STRIDE, rest, chunk.rest, ends, chunk.tails, query_tails,
                chunk.allowed_offsets(allowed), limits, *room,
            )  # fmt: skip
            *_, found, reached = room
            result = found[:count, 0].astype(np.int64), found[:count, 1] + chunk.first, reached[:count].copy()
            free.append(room)
            return result

        with single_threaded():
            return joined(run_blocks(scan, self._chunks, self._n_jobs))

    def best_approximate(self, queries, n_chunks, n_rows, k, allowed=None):
        """For each query the k rows with the largest K~ among the first of some chunks: where to look first."""
        first, rest, _, _ = queries

        def best(chunk):
            scores = chunk.scores(first, rest, self._ends, n_rows) + chunk.allowed_offsets(allowed)[:n_rows]
            chosen = _largest(scores, k)
            return np.take_along_axis(scores, chosen, axis=1), chosen + chunk.first

        chosen = self._chunks[:: max(1, len(self._chunks) // n_chunks)][:n_chunks]
        with single_threaded():
            found = run_blocks(best, chosen, self._n_jobs)
        scores, rows = (np.concatenate(part, axis=1) for part in zip(*found, strict=True))
        chosen = _largest(scores, k)
        kept = np.isfinite(np.take_along_axis(scores, chosen, axis=1))
        return np.nonzero(kept)[0], np.take_along_axis(rows, chosen, axis=1)[kept]

    def shares_of_tails(self, measure, left_rows, right_rows, left, right):
        """For pairs of rows and each level, (K - K~) / (R R): the smallest share of the bound that would hold."""
        (x, _, x_tails), (y, _, y_tails) = self._projected(left_rows), self._projected(right_rows)
        kernel = measure.kernel.pair_values(as_double(left_rows[left]), as_double(right_rows[right]))
        products = np.cumsum(x[left].astype(np.float64) * y[right], axis=1)[:, [end - 1 for end in self._ends]].T
        bounds = x_tails[:, left].astype(np.float64) * y_tails[:, right]
        return np.divide(kernel - products, bounds, out=np.zeros_like(bounds), where=bounds > 0)

    @property
    def n_components(self):
        return self._ends[-1]


def _largest(scores, k):
    """Columns of the k largest entries of each row, in no order."""
    k = min(k, scores.shape[1])
    return np.argpartition(-scores, k - 1, axis=1)[:, :k]


def _room(n_queries, rows):
    """What `keep_candidates` writes to."""
    start, stop, _ = rows.indices(CHUNK_ROWS)
    marked, most = TOGETHER * STRIDE * n_queries, max(stop - start, 0) * n_queries
    return (
        np.empty(ROWS * STRIDE, np.float32),
        np.empty((marked, 2), np.int32),
        np.empty(marked, np.float32),
        np.empty((most, 2), np.int32),
        np.empty(most, np.float32),
    )


def _levels(ends):
    """Slices of the components of each level after the first, which begin and end at whole strides after it."""
    marks = [ends[0] + _whole_strides(end - ends[0]) for end in ends]
    return [slice(start, stop) for start, stop in pairwise(marks)]


def _aligned(values):
    """A copy that starts at a line of the cache, so that a stride takes two of them and not three."""
    room = np.empty(len(values) + LINE, dtype=np.float32)
    start = (-room.ctypes.data // room.itemsize) % LINE
    room[start : start + len(values)] = values
    return room[start : start + len(values)]


def _in_strides(features):
    """Components in as many columns as the loop takes at a time, zeros behind them."""
    out = np.zeros((features.shape[0], _whole_strides(features.shape[1])), dtype=np.float32)
    out[:, : features.shape[1]] = features
    return out


def _whole_strides(n):
    return -(-n // STRIDE) * STRIDE


def _rounded_up(values):
    """float32, never below."""
    return np.nextafter(values.astype(np.float32), np.float32(np.inf))


def _distance_from_orthonormal(pca):
    """Spectral norm of W' K_ZZ W - I, which is zero without rounding."""
    landmarks = as_double(pca.landmarks_)
    with single_threaded():
        gram = pca.kernel_.gram_block(landmarks, landmarks, None)
        product = pca.normalization_.T @ gram @ pca.normalization_
        live = np.diag(product) > 0.5  # a projection of nothing but empty rows has a column of zeros
        return float(np.linalg.norm(product[np.ix_(live, live)] - np.eye(live.sum()), 2)) if live.any() else 0.0


def _refuse_large(energy):
    if energy.max(initial=0.0) > LARGEST_ENERGY:
        raise InputError(
            f"Exact search bounds kernel values in single precision, up to {LARGEST_ENERGY:.0e}, and found "
            f"K(x, x) = {energy.max():.3g}. Scale the rows, or use normalize=True."
        )
