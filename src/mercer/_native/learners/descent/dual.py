"""Dual coordinate descent on rows with the usual inner product, and what is known of a problem from its scores.

The loop, the losses and the notation are in `_descent`. [hsieh08dual] Alg. 3
"""

__all__ = ["descend_csr", "descend_dense", "keep_movable", "sum_objectives"]

import numpy as np

from mercer._native.jit import inline, jit
from mercer._native.lanes import STRIDE, inner_stride
from mercer._native.learners.descent.sweep import FOUR, ONE, THREE, TWO, build_descent, can_row_move, values_of

STEP = np.uint64(STRIDE)


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
    """The sums of 32 products run in the type of rows and weights, those of the sums in float64."""
    X, w = rows[0], state[0]
    flat, end = X.reshape(-1), np.uint64(X.shape[1])
    first = np.uint64(i) * end
    total, k = 0.0, np.uint64(0)
    while k + STEP <= end:
        total += np.float64(inner_stride(flat, first + k, w, k))
        k += STEP
    while k < end:
        total += np.float64(flat[first + k]) * np.float64(w[k])
        k += ONE
    return total


@inline
def _add_dense(rows, i, step, state):
    x, w = rows[0][i], state[0]
    small = w.dtype.type(step)
    for k in range(x.shape[0]):
        w[k] += small * x[k]


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
        loss, gain = values_of(scores[i], targets[i], caps[i], form, b[i])
        losses += loss
        gains += gain
    return losses, gains


@jit
def keep_movable(scores, targets, caps, form, b, order):
    """order[:m] = rows that can move at these scores, ascending; returns m"""
    m = 0
    for i in range(scores.shape[0]):
        if can_row_move(scores[i], targets[i], caps[i], form, b[i]):
            order[m] = i
            m += 1
    return m
