"""Coordinate descent on levels, from the formulas of [wu10fast]: tables in full, and Algorithm 2 as it is written."""

from itertools import pairwise

import numpy as np

from tests.reference.learners.descent.dual import descend


class Tables:
    """T_j(z) = sum_i b_i k(x_ij, z) for the words z of every column, read from and written to a state."""

    def __init__(self, words_of, H, scale, state, read, write):
        self.words_of, self.H, self.scale, self.state, self.write = words_of, H, scale, state, write
        self.T = read(state)

    def score(self, i):
        words, weights = self.words_of(i)
        return weights @ self.T[words] + self.scale * self.state[1][0]

    def add(self, i, step):
        words, weights = self.words_of(i)
        self.T += step * weights @ self.H[words]
        self.state[1][0] += step * self.scale
        self.write(self.state, self.T)


def _entries(indptr, indices, data):
    return lambda i: (indices[indptr[i] : indptr[i + 1]], data[indptr[i] : indptr[i + 1]].astype(float))


def _intersection(points, owners):
    return np.minimum.outer(points, points) * (owners[:, None] == owners)


def descend_intersection_dense(rows, scale, *arguments):
    codes, starts = rows
    *rest, state = arguments
    n_words = np.diff(np.append(starts, len(state[0])))
    owners = np.repeat(np.arange(len(starts)), n_words)
    points = np.arange(len(state[0])) - starts[owners]
    highest = starts + codes.max(axis=0)  # no row has more, so the table is level from here on

    def read(state):  # what each column comes to at its end is not kept apart: only differences and the sum are
        T = state[0].astype(float)
        T[owners == 0] += state[1][1]
        return T

    def write(state, T):
        ends = T[highest]
        state[1][1] = ends.sum()
        state[0][:] = T - ends[owners]

    H = _intersection(points.astype(float), owners)
    return descend(
        Tables(lambda i: (starts + codes[i], np.ones(len(starts))), H, scale, state, read, write), scale, *rest
    )


def descend_intersection_tall(rows, scale, *arguments):
    """The offsets and slopes of blocks are left at zero: everything is in the table."""
    *rest, (table, sums, _, _) = arguments
    return descend_intersection_dense(rows, scale, *rest, (table, sums))


def descend_intersection_csr(rows, scale, *arguments):
    indptr, indices, data, points, owners, starts = rows
    *rest, state = arguments

    def write(state, T):
        ends = np.array([T[end - 1] if end > start else 0.0 for start, end in pairwise(starts)])
        state[1][1:] = ends
        state[0][:] = T - ends[owners]

    H = _intersection(points.astype(float), owners)
    tables = Tables(
        _entries(indptr, indices, data), H, scale, state,
        lambda state: state[0] + state[1][1:][owners], write,
    )  # fmt: skip
    return descend(tables, scale, *rest)


def block_diagonal(starts, grams, gram_starts):
    H = np.zeros((starts[-1], starts[-1]))
    for j, first in enumerate(gram_starts):
        size = starts[j + 1] - starts[j]
        H[starts[j] : starts[j + 1], starts[j] : starts[j + 1]] = grams[first : first + size**2].reshape(size, size)
    return H


def _keep(state, T):
    state[0][:] = T


def descend_gram_dense(rows, scale, *arguments):
    codes, starts, grams, gram_starts = rows
    *rest, state = arguments
    H = block_diagonal(starts, grams, gram_starts)
    words_of = lambda i: (starts[:-1] + codes[i], np.ones(codes.shape[1]))  # noqa: E731
    tables = Tables(words_of, H, scale, state, lambda state: state[0].astype(float), _keep)
    return descend(tables, scale, *rest)


def descend_gram_csr(rows, scale, *arguments):
    indptr, indices, data, _, starts, grams, gram_starts = rows
    *rest, state = arguments
    H = block_diagonal(starts, grams, gram_starts)
    return descend(
        Tables(_entries(indptr, indices, data), H, scale, state, lambda state: state[0].astype(float), _keep),
        scale,
        *rest,
    )


def algorithm_2(X, y, C, loss="squared_hinge", max_sweeps=1000, tol=1e-10):
    """[wu10fast] Algorithm 2 as written: T_{j,k} (d, v + 1), rows in their order, until no |PG| exceeds tol.

    X  (n, d)  whole numbers >= 0
    y  (n,)    -1 and +1
    """
    n, d = X.shape
    v = int(X.max())
    T, alpha = np.zeros((d, v + 1)), np.zeros(n)
    D, U = (1 / (2 * C), np.inf) if loss == "squared_hinge" else (0.0, C)
    Q = X.sum(axis=1) + D
    k, j = np.arange(v + 1), np.arange(d)
    for _ in range(max_sweeps):
        largest = 0.0
        for i in range(n):
            G = y[i] * T[j, X[i]].sum() - 1 + D * alpha[i]
            PG = min(G, 0.0) if alpha[i] == 0 else max(G, 0.0) if alpha[i] == U else G
            if PG != 0:
                old = alpha[i]
                # an empty row has Q = 0 with the L1 loss, which the paper passes over: only the bound stops it
                alpha[i] = min(max(old - G / Q[i], 0.0), U) if Q[i] > 0 else U
                T += (alpha[i] - old) * y[i] * np.minimum(X[i][:, None], k)
                largest = max(largest, abs(PG))
        if largest <= tol:
            break
    return T, alpha
