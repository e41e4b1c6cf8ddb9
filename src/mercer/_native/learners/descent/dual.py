"""Dual coordinate descent on rows with the usual inner product, and what is known of a problem from its scores.

The loop, the losses and the notation are in `_descent`. [hsieh08dual] Alg. 3
"""

__all__ = ["descend_csr", "descend_dense", "keep_movable", "sum_objectives"]

import numpy as np

from mercer._native.jit import inline, jit
from mercer._native.learners.descent.sweep import (
    FOUR,
    ONE,
    THREE,
    TWO,
    bend_of,
    best_of,
    build_descent,
    can_move,
    interval_of,
)


@inline
def _dot_csr(rows, i, state):
    indptr, indices, data = rows
    w = state[0]
    # four sums: one addition would wait for the one before it
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    q, end = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
    while q + FOUR <= end:
        q1, q2, q3 = q + ONE, q + TWO, q + THREE
        s0 += np.float64(data[q]) * w[np.uint64(indices[q])]
        s1 += np.float64(data[q1]) * w[np.uint64(indices[q1])]
        s2 += np.float64(data[q2]) * w[np.uint64(indices[q2])]
        s3 += np.float64(data[q3]) * w[np.uint64(indices[q3])]
        q += FOUR
    while q < end:
        s0 += np.float64(data[q]) * w[np.uint64(indices[q])]
        q += ONE
    return (s0 + s1) + (s2 + s3)


@inline
def _add_csr(rows, i, step, state):
    indptr, indices, data = rows
    w = state[0]
    for q in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
        w[np.uint64(indices[q])] += step * np.float64(data[q])


@inline
def _dot_dense(rows, i, state):
    x, w = rows[0][i], state[0]
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    k, end = np.uint64(0), np.uint64(x.shape[0])
    while k + FOUR <= end:
        s0 += np.float64(x[k]) * w[k]
        s1 += np.float64(x[k + ONE]) * w[k + ONE]
        s2 += np.float64(x[k + TWO]) * w[k + TWO]
        s3 += np.float64(x[k + THREE]) * w[k + THREE]
        k += FOUR
    while k < end:
        s0 += np.float64(x[k]) * w[k]
        k += ONE
    return (s0 + s1) + (s2 + s3)


@inline
def _add_dense(rows, i, step, state):
    x, w = rows[0][i], state[0]
    for k in range(x.shape[0]):
        w[k] += step * np.float64(x[k])


# how a row meets the weights, by kind of rows; `joint` makes its loops of these too
CSR = _dot_csr, _add_csr
DENSE = _dot_dense, _add_dense

descend_csr = build_descent(*CSR)
descend_dense = build_descent(*DENSE)


@jit
def sum_objectives(scores, targets, caps, form, b):
    """(sum_i l_i(scores_i), sum_i t_i b_i - epsilon |b_i| - B_i b_i^2 / 2)

    With 1/2 |w|^2 added to the first and taken from the second, these are the primal and the dual value.
    """
    losses, gains = 0.0, 0.0
    for i in range(scores.shape[0]):
        t, bend = form.shift * targets[i], bend_of(caps[i], form)
        lower, upper = interval_of(targets[i], caps[i], form)
        r = t - scores[i]
        best = best_of(r, bend, lower, upper, form.epsilon)
        losses += best * r - form.epsilon * abs(best) - 0.5 * bend * best * best
        gains += t * b[i] - form.epsilon * abs(b[i]) - 0.5 * bend * b[i] * b[i]
    return losses, gains


@jit
def keep_movable(scores, targets, caps, form, b, order):
    """order[:m] = rows that can move at these scores, ascending; returns m"""
    m = 0
    for i in range(scores.shape[0]):
        lower, upper = interval_of(targets[i], caps[i], form)
        gradient = scores[i] - form.shift * targets[i] + bend_of(caps[i], form) * b[i]
        if can_move(gradient, b[i], lower, upper, form.epsilon):
            order[m] = i
            m += 1
    return m
