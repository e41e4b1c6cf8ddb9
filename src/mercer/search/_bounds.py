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

__all__ = ["FIRST_LEVEL", "Bounds", "level_ends"]

import numpy as np

from mercer._base.errors import InputError
from mercer._base.threads import run_blocks, single_threaded
from mercer._native.bounded import keep_candidates
from mercer.maps import KernelPCA
from mercer.maps._kpca import refuse_negative_energy
from mercer.search._best import joined
from mercer.search._measure import as_double

FIRST_LEVEL = 64  # components of the first level, a product of matrices; those after it are for the rows that are left
BLOCKS_PER_TASK = 16
BLOCK_ROWS = 512  # rows whose scores, marks and components share the cache
SLACK = 1e-11  # of K(x, x): rounding of R(x)^2 in float64
LARGEST_ENERGY = 1e37  # of K(x, x): scores and their bounds are float32


def level_ends(n_components):
    """Components used up to each level: the first ones, then doubling.

    >>> level_ends(128), level_ends(20)
    ([64, 128], [20])
    """
    ends = [min(FIRST_LEVEL, n_components)]
    while ends[-1] < n_components:
        ends.append(min(2 * ends[-1], n_components))
    return ends


class Block:
    """Up to BLOCK_ROWS rows: components, tails, offsets, and the number of the first row."""

    def __init__(self, first, features, tails, offsets, split):
        n = len(features)
        self.first, self.n_rows = first, n
        size = -(-n // 8) * 8  # marks are looked at eight at a time; padding is never looked for
        self.tile = _padded(features[:, :split].T, size)
        self.rest = np.ascontiguousarray(features[:, split:])
        self.tails = _padded(tails, size)
        self.offsets = np.full(size, -np.inf, dtype=np.float32)
        self.offsets[:n] = offsets

    @property
    def nbytes(self):
        return self.tile.nbytes + self.rest.nbytes + self.tails.nbytes + self.offsets.nbytes


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
        self._blocks = []
        self.highest_energy = 0.0  # of the rows

    @property
    def n_rows(self):
        return self._blocks[-1].first + self._blocks[-1].n_rows if self._blocks else 0

    @property
    def nbytes(self):
        return sum(block.nbytes for block in self._blocks)

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
        """Append rows, which are numbered on. The last block, if it is not full, must be added again with them."""
        for start in range(0, X.shape[0], BLOCK_ROWS):
            rows = X[start : start + BLOCK_ROWS]
            features, energy, tails = self._projected(rows)
            self.highest_energy = max(self.highest_energy, float(energy.max(initial=0.0)))
            offsets = -energy / 2 if self._measure.is_distance else np.zeros(len(energy))
            self._blocks.append(Block(self.n_rows, features, tails, _rounded_up(offsets), self._ends[0]))

    def drop_last_partial(self):
        """Forget the last block if it is not full, so that rows can be appended; returns the number of rows left."""
        if self._blocks and self._blocks[-1].n_rows < BLOCK_ROWS:
            self._blocks.pop()
        return self.n_rows

    def _projected(self, X):
        """(float32 components, energies, float32 tails of each level)."""
        rows = as_double(X)
        features = self._pca.transform(rows)
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
        return features[:, :split].copy(), features[:, split:].copy(), tails, energy

    def margins(self, energy, highest):
        """How far rounding may lower a bound, per query, for rows of energy up to ``highest``."""
        E = self._ends[-1]
        return ((E + 16) * np.finfo(np.float32).eps + 2 * self._skew) * np.sqrt(energy * highest)

    def candidates(self, queries, thresholds, blocks, allowed=None, share=1.0):
        """(queries, rows, bounds) of the pairs in the blocks numbered ``blocks`` whose bounds reach the thresholds.

        Parameters
        ----------
        queries : from `project_queries`
        thresholds : float64 (Q,), lower bounds of the objective; halves of it for distances
        allowed : bool (n_rows,) or None
        share : of the product of tails that bounds are made of; below 1 they hold with some probability only, (28)
        """
        first, rest, tails, _ = queries
        ends = np.array([end - self._ends[0] for end in self._ends], dtype=np.int64)
        limits = np.nextafter(thresholds.astype(np.float32), np.float32(-np.inf))
        limits = np.maximum(limits, np.finfo(np.float32).min)  # above -inf, the offset of rows not looked for
        query_tails = np.ascontiguousarray(tails * np.float32(share))

        def scan(numbers):
            most = len(first) * BLOCK_ROWS
            scores, marks = np.empty(most, dtype=np.float32), np.empty(BLOCK_ROWS, dtype=np.uint8)
            found, reached = np.empty((most, 2), dtype=np.int32), np.empty(most, dtype=np.float32)
            parts = []
            for number in numbers:
                block = self._blocks[number]
                offsets = _masked(block, allowed)
                table = scores[: len(first) * len(offsets)].reshape(len(first), len(offsets))
                np.matmul(first, block.tile, out=table)
                n = keep_candidates(
                    table, rest, block.rest, ends, block.tails, query_tails, offsets, limits, marks[: len(offsets)],
                    found, reached,
                )  # fmt: skip
                parts.append((found[:n, 0].astype(np.int64), found[:n, 1] + np.int64(block.first), reached[:n].copy()))
            return joined(parts)

        tasks = [blocks[i : i + BLOCKS_PER_TASK] for i in range(0, len(blocks), BLOCKS_PER_TASK)]
        with single_threaded():
            return joined(run_blocks(scan, tasks, self._n_jobs))

    def best_approximate(self, queries, blocks, k, allowed=None):
        """For each query the k rows of some blocks with the largest K~: where to look first."""
        first, rest, _, _ = queries

        def best(number):
            block = self._blocks[number]
            offsets = _masked(block, allowed)[: block.n_rows]
            scores = first @ block.tile[:, : block.n_rows] + rest @ block.rest.T + offsets
            chosen = _largest(scores, k)
            return np.take_along_axis(scores, chosen, axis=1), chosen + block.first

        with single_threaded():
            found = run_blocks(best, blocks, self._n_jobs)
        scores, rows = (np.concatenate(part, axis=1) for part in zip(*found, strict=True))
        chosen = _largest(scores, k)
        kept = np.isfinite(np.take_along_axis(scores, chosen, axis=1))
        return np.nonzero(kept)[0], np.take_along_axis(rows, chosen, axis=1)[kept]

    def shares_of_tails(self, measure, left_rows, right_rows, left, right):
        """For pairs of rows and each level, (K - K~) / (R R): the smallest share of the bound that would hold."""
        (x, _, x_tails), (y, _, y_tails) = self._projected(left_rows), self._projected(right_rows)
        kernel = measure.kernel._pairs(as_double(left_rows[left]), as_double(right_rows[right]))
        products = np.cumsum(x[left].astype(np.float64) * y[right], axis=1)[:, [end - 1 for end in self._ends]].T
        bounds = x_tails[:, left].astype(np.float64) * y_tails[:, right]
        return np.divide(kernel - products, bounds, out=np.zeros_like(bounds), where=bounds > 0)

    @property
    def n_blocks(self):
        return len(self._blocks)

    @property
    def n_components(self):
        return self._ends[-1]


def _largest(scores, k):
    """Columns of the k largest entries of each row, in no order."""
    k = min(k, scores.shape[1])
    return np.argpartition(-scores, k - 1, axis=1)[:, :k]


def _masked(block, allowed):
    """The offsets of a block, -inf for rows that are not looked for."""
    if allowed is None:
        return block.offsets
    offsets = block.offsets.copy()
    offsets[: block.n_rows][~allowed[block.first : block.first + block.n_rows]] = -np.inf
    return offsets


def _padded(values, size):
    out = np.zeros((values.shape[0], size), dtype=np.float32)
    out[:, : values.shape[1]] = values
    return out


def _rounded_up(values):
    """float32, never below."""
    return np.nextafter(values.astype(np.float32), np.float32(np.inf))


def _distance_from_orthonormal(pca):
    """Spectral norm of W' K_ZZ W - I, which is zero without rounding."""
    landmarks = as_double(pca.landmarks_)
    with single_threaded():
        gram = pca.kernel_._gram(landmarks, landmarks, None)
        product = pca.normalization_.T @ gram @ pca.normalization_
        live = np.diag(product) > 0.5  # a projection of nothing but empty rows has a column of zeros
        return float(np.linalg.norm(product[np.ix_(live, live)] - np.eye(live.sum()), 2)) if live.any() else 0.0


def _refuse_large(energy):
    if energy.max(initial=0.0) > LARGEST_ENERGY:
        raise InputError(
            f"Exact search bounds kernel values in single precision, up to {LARGEST_ENERGY:.0e}, and found "
            f"K(x, x) = {energy.max():.3g}. Scale the rows, or use normalize=True."
        )
