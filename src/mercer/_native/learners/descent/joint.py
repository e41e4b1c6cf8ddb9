"""Dual coordinate descent for the Crammer-Singer loss: all classes of a row at once. [keerthi08sequential]

    minimise over a   1/2 sum_c |w_c|^2 + sum_i sum_c e_ic a_ic      with  sum_c a_ic = 0,  a_ic <= cap_i [c = y_i]
    where             w_c = sum_i a_ic (x_i, scale),   e_ic = [c != y_i],   f_ic = w_c'(x_i, scale)

is the dual of 1/2 sum_c |w_c|^2 + sum_i cap_i max_c (e_ic + f_ic - f_i,y_i). With the other rows fixed, row i solves

    a_c = min(cap_i [c = y_i], (beta - B_c) / A),    A = |(x_i, scale)|^2,    B_c = f_ic + e_ic - A a_ic (old)

where beta makes the sum zero; it is found by sorting. Rows and states are those of `_descent` and `level_descent`, the
states of the classes one below the other.
"""

__all__ = [
    "descend_joint_csr",
    "descend_joint_dense",
    "descend_joint_gram_csr",
    "descend_joint_gram_dense",
    "descend_joint_intersection_csr",
    "descend_joint_intersection_dense",
    "keep_movable_joint",
    "sum_objectives_joint",
]

import numpy as np

from mercer._native.counter import bits_of
from mercer._native.jit import inline, jit
from mercer._native.learners.descent import dual as plain
from mercer._native.learners.descent import level
from mercer._native.learners.descent.sweep import ROUNDING, shuffle


@inline
def _solve_row(B, A, label, cap, work, new):
    """new = the best variables of one row"""
    K = B.shape[0]
    for c in range(K):
        work[c] = -(B[c] + (A * cap if c == label else 0.0))  # sorted descending, by their negatives
    work.sort()
    beta = -work[0] - A * cap
    count = 1
    while count < K and beta < -work[count] * count:
        beta -= work[count]
        count += 1
    beta /= count
    for c in range(K):
        new[c] = min((beta - B[c]) / A, cap if c == label else 0.0)


@inline
def _fill_empty_row(label, cap, new):
    """A row without entries changes no score; it gains most where one wrong class takes all."""
    new[:] = 0.0
    new[label] = cap
    new[1 if label == 0 else 0] = -cap


def _build_joint(dot, add):
    @inline
    def visit(rows, i, scale, norm, label, cap, a, state, B, work, new):
        """Make row i optimal; returns (the largest step, what the objective fell by)"""
        tables, sums = state
        K, A = a.shape[1], norm + scale * scale
        for c in range(K):
            score = dot(rows, i, (tables[c], sums[c])) + scale * sums[c, 0]
            B[c] = score + (0.0 if c == label else 1.0) - A * a[i, c]
        if A > 0.0:
            _solve_row(B, A, label, cap, work, new)
        else:
            _fill_empty_row(label, cap, new)
        largest, fall = 0.0, 0.0
        for c in range(K):
            step = new[c] - a[i, c]
            if abs(step) > ROUNDING * cap:
                fall -= (B[c] + 0.5 * A * (new[c] + a[i, c])) * step
                add(rows, i, step, (tables[c], sums[c]))
                sums[c, 0] += scale * step
                a[i, c] = new[c]
                largest = max(largest, abs(step))
        return largest, fall

    @jit
    def descend(rows, scale, norms, labels, caps, order, n_active, key, number, most, a, state):
        """a, state, order = those after sweeps over rows order[:n_active] in random orders; returns (visits, sweeps)

        labels  (n,)    int64     class of each row
        a       (n, K)  float64   written in place
        state   tables (K, D) float and sums (K, S) float64, a line per class: written in place
        The others, and when sweeps end, as in `_descent`.
        """
        n, K = a.shape
        B, work, new = np.empty(K), np.empty(K), np.empty(K)
        visits, sweeps, total = 0, 0, 0.0
        while n_active > 0 and visits < most:
            shuffle(order, n_active, bits_of(key, number + sweeps))
            count, k, gained = n_active, 0, 0.0
            while k < n_active:
                i = order[k]
                largest, fall = visit(rows, i, scale, norms[i], labels[i], caps[i], a, state, B, work, new)
                gained += fall
                if largest > 0.0:
                    k += 1
                else:
                    n_active -= 1
                    order[k], order[n_active] = order[n_active], i
            visits += count
            sweeps += 1
            total += gained
            if gained * (visits + 0.5 * n) < total * count:
                break
        return visits, sweeps

    return descend


descend_joint_dense = _build_joint(*plain.DENSE)
descend_joint_csr = _build_joint(*plain.CSR)
descend_joint_intersection_dense = _build_joint(*level.INTERSECTION_DENSE)
descend_joint_intersection_csr = _build_joint(*level.INTERSECTION_CSR)
descend_joint_gram_dense = _build_joint(*level.GRAM_DENSE)
descend_joint_gram_csr = _build_joint(*level.GRAM_CSR)


@jit
def sum_objectives_joint(scores, labels, caps, a):
    """(sum_i cap_i max_c (e_ic + f_ic - f_i,y_i), -sum_i sum_c e_ic a_ic)

    With 1/2 sum_c |w_c|^2 added to the first and taken from the second, these are the primal and the dual value.
    """
    losses, gains = 0.0, 0.0
    for i in range(scores.shape[0]):
        largest = scores[i, labels[i]]
        for c in range(scores.shape[1]):
            if c != labels[i]:
                largest = max(largest, 1.0 + scores[i, c])
                gains -= a[i, c]
        losses += caps[i] * (largest - scores[i, labels[i]])
    return losses, gains


@jit
def keep_movable_joint(scores, labels, caps, a, order):
    """order[:m] = rows that can move at these scores, ascending; returns m

    A row can move if a class with room has a smaller gradient f + e than another.
    """
    m = 0
    for i in range(scores.shape[0]):
        largest, smallest = -np.inf, np.inf
        for c in range(scores.shape[1]):
            is_label = c == labels[i]
            gradient = scores[i, c] + (0.0 if is_label else 1.0)
            largest = max(largest, gradient)
            if a[i, c] < (caps[i] if is_label else 0.0):
                smallest = min(smallest, gradient)
        # a class at its bound may still give way: its gradient counts among the largest
        if caps[i] > 0.0 and largest > smallest:
            order[m] = i
            m += 1
    return m
