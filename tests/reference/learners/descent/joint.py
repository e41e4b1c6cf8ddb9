"""Crammer-Singer coordinate descent, row by row: the multiplier of the sum is found by bisection instead of sorting."""

import numpy as np

from tests.reference.counter import bits_of
from tests.reference.learners.descent.dual import shuffle
from tests.reference.learners.descent.level import block_diagonal


def best_row(B, A, label, cap):
    """The a with sum 0 and a_c <= cap [c = label] that minimizes A |a|^2 / 2 + B'a."""
    bounds = np.where(np.arange(len(B)) == label, cap, 0.0)
    if A == 0:
        a = np.zeros(len(B))
        a[[label, 1 if label == 0 else 0]] = cap, -cap
        return a
    low, high = B.min() - A * cap * len(B) - 1, B.max() + A * cap + 1
    for _ in range(200):
        middle = (low + high) / 2
        if np.minimum(bounds, (middle - B) / A).sum() > 0:
            high = middle
        else:
            low = middle
    return np.minimum(bounds, (low - B) / A)


def _descend(phi, H, scale, norms, labels, caps, order, n_active, key, number, most, a, state):
    """phi (n, D) in full. Tables of levels are not kept here: the dual variables say all."""
    visits, falls = [], []
    K = a.shape[1]
    while n_active and sum(visits) < most:
        shuffle(order, n_active, bits_of(key, number + len(visits)))
        visits.append(n_active)
        k, fall = 0, 0.0
        while k < n_active:
            i = order[k]
            A = norms[i] + scale**2
            scores = phi[i] @ H @ phi.T @ a + scale**2 * a.sum(axis=0)
            B = scores + (np.arange(K) != labels[i]) - A * a[i]
            new = best_row(B, A, labels[i], caps[i])
            before, after = (A * z @ z / 2 + B @ z for z in (a[i], new))
            if np.abs(new - a[i]).max() <= 1e-11 * caps[i]:
                n_active -= 1
                order[k], order[n_active] = order[n_active], i
                continue
            a[i] = new
            fall += before - after
            k += 1
        falls.append(fall)
        if falls[-1] / visits[-1] < sum(falls) / (sum(visits) + len(a) / 2):
            break
    state[1][:, 0] = scale * a.sum(axis=0)
    return sum(visits), len(visits)


def descend_joint_dense(rows, *arguments):
    X = rows[0].astype(float)
    counts = _descend(X, np.eye(X.shape[1]), *arguments)
    *_, a, state = arguments
    state[0][:] = (X.T @ a).T
    return counts


def descend_joint_csr(rows, *arguments):
    indptr, indices, data = rows
    return descend_joint_dense((_filled(indptr, indices, data, arguments[-1][0].shape[1]),), *arguments)


def descend_joint_intersection_dense(rows, *arguments):
    codes, _ = rows
    unary = (codes[:, :, None] > np.arange(codes.max())).reshape(len(codes), -1).astype(float)
    return _descend(unary, np.eye(unary.shape[1]), *arguments)


def _filled(indptr, indices, data, D):
    phi = np.zeros((len(indptr) - 1, D))
    for i in range(len(phi)):
        phi[i, indices[indptr[i] : indptr[i + 1]]] = data[indptr[i] : indptr[i + 1]]
    return phi


def descend_joint_intersection_csr(rows, *arguments):
    indptr, indices, data, points, owners, _ = rows
    H = np.minimum.outer(points, points).astype(float) * (owners[:, None] == owners)
    return _descend(_filled(indptr, indices, data, len(points)), H, *arguments)


def descend_joint_gram_dense(rows, *arguments):
    codes, starts, grams, gram_starts = rows
    phi = np.zeros((len(codes), starts[-1]))
    for j in range(codes.shape[1]):
        phi[np.arange(len(codes)), starts[j] + codes[:, j]] = 1
    return _descend(phi, block_diagonal(starts, grams, gram_starts), *arguments)


def descend_joint_gram_csr(rows, *arguments):
    indptr, indices, data, _, starts, grams, gram_starts = rows
    return _descend(_filled(indptr, indices, data, starts[-1]), block_diagonal(starts, grams, gram_starts), *arguments)


def sum_objectives_joint(scores, labels, caps, a):
    wrong = np.arange(scores.shape[1]) != labels[:, None]
    own = scores[np.arange(len(labels)), labels]
    return caps @ ((scores + wrong).max(axis=1) - own), -(wrong * a).sum()


def keep_movable_joint(scores, labels, caps, a, order):
    """Whether moving a little from one class to another, inside the bounds, would lower the objective."""
    K, movable = scores.shape[1], []
    for i in range(len(scores)):
        gradient = scores[i] + (np.arange(K) != labels[i])
        bounds = np.where(np.arange(K) == labels[i], caps[i], 0.0)
        pairs = [(c, d) for c in range(K) for d in range(K) if c != d and a[i, c] < bounds[c]]
        if caps[i] > 0 and any(gradient[c] < gradient[d] for c, d in pairs):
            movable.append(i)
    order[: len(movable)] = movable
    return len(movable)
