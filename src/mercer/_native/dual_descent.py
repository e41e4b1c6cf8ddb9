"""Dual coordinate descent: the rows of one linear problem, visited one at a time. [hsieh08dual] Alg. 3

    minimise over b    1/2 |w|^2 + sum_i B_i b_i^2 / 2 + epsilon |b_i| - t_i b_i       with lower_i <= b_i <= upper_i
    where              w = sum_i b_i (x_i, scale),    f_i = w'(x_i, scale)

This is the dual of 1/2 |w|^2 + sum_i l_i(f_i) for every loss that is the largest of such parabolas:

    l_i(f) = max over b in [lower_i, upper_i] of  b (t_i - f) - epsilon |b| - B_i b^2 / 2

which hinge, squared hinge, Huber hinge, squared, absolute and epsilon-insensitive losses are ([ho12large] for the
last). A row has a target and a cap (C times its weight), and the loss a :class:`Form`:

    t_i = shift * target_i,   B_i = bend / cap_i,   upper_i = reach * cap_i,   lower_i = -upper_i

One-sided forms (classification) cut the interval at 0 on the side away from the target. A row with cap 0, or with
target 0 in a one-sided form, has the interval [0, 0] and takes no part.

Deviation from the paper: a row is set aside as soon as it cannot move, until all rows are scored again
(:func:`keep_movable`), where the paper keeps it for as long as its gradient is below the largest of the last sweep.
"""

__all__ = ["descend_csr", "descend_dense", "keep_movable", "sum_objectives"]

from typing import NamedTuple

import numpy as np

from mercer._native._jit import inline, jit
from mercer._native.counter import bits_of

# Positions are unsigned: numba would otherwise look at each one for a negative index (measured: half the speed).
ONE, TWO, THREE, FOUR = (np.uint64(k) for k in range(1, 5))
ROUNDING = 1e-12  # steps that are smaller, relative to where they lead, are none


class Form(NamedTuple):
    """What sets one loss apart from another; the symbols are those of this file."""

    shift: float
    bend: float
    reach: float
    epsilon: float
    two_sided: bool


@inline
def _interval(target, cap, form):
    """(lower, upper) of b."""
    if cap <= 0.0:  # reach may be infinite
        return 0.0, 0.0
    upper = form.reach * cap
    if form.two_sided:
        return -upper, upper
    return -upper if target < 0 else 0.0, upper if target > 0 else 0.0


@inline
def _bend(cap, form):
    return form.bend / cap if cap > 0.0 else 0.0


@inline
def _can_move(gradient, b, lower, upper, epsilon):
    """Whether the objective descends to one side of b, where its smooth part has this gradient."""
    right = gradient + epsilon if b >= 0.0 else gradient - epsilon
    left = gradient - epsilon if b <= 0.0 else gradient + epsilon
    return (right < 0.0 and b < upper) or (left > 0.0 and b > lower)


@inline
def _best(slope, curvature, lower, upper, epsilon):
    """The b in [lower, upper], which holds 0, that minimises curvature b^2 / 2 + epsilon |b| - slope b."""
    excess = max(abs(slope) - epsilon, 0.0)
    if excess == 0.0:
        return 0.0
    if curvature > 0.0:
        excess /= curvature
    else:  # an empty row: only the bounds stop it
        excess = np.inf
    return min(excess, upper) if slope > 0.0 else max(-excess, lower)


# ------------------------------------------------------------------------------------------------------ rows by kind


@inline
def _dot_csr(rows, i, w):
    indptr, indices, data = rows
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
def _add_csr(rows, i, step, w):
    indptr, indices, data = rows
    for q in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
        w[np.uint64(indices[q])] += step * np.float64(data[q])


@inline
def _dot_dense(rows, i, w):
    x = rows[0][i]
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
def _add_dense(rows, i, step, w):
    x = rows[0][i]
    for k in range(x.shape[0]):
        w[k] += step * np.float64(x[k])


# ------------------------------------------------------------------------------------------------------------- loops


@inline
def _shuffle(order, count, stream):
    """order[:count] in random order, the one of a stream of `counter`"""
    for k in range(count - 1, 0, -1):
        # 32 random bits times k + 1, without the lower half: a whole number from 0 to k
        j = np.int64(((bits_of(stream, k) >> np.uint64(32)) * np.uint64(k + 1)) >> np.uint64(32))
        order[k], order[j] = order[j], order[k]


def _build_descent(dot, add):
    @inline
    def sweep(rows, scale, norms, targets, caps, form, order, n_active, b, w):
        """(how many of the rows order[:n_active] stay active after one visit of each, what the objective fell by)"""
        last = w.shape[0] - 1
        k, fall = 0, 0.0
        while k < n_active:
            i = order[k]
            lower, upper = _interval(targets[i], caps[i], form)
            bend = _bend(caps[i], form)
            score = dot(rows, i, w) + scale * w[last]
            old = b[i]
            gradient = score - form.shift * targets[i] + bend * old
            curvature = norms[i] + scale * scale + bend
            new = _best(curvature * old - gradient, curvature, lower, upper, form.epsilon)
            step = new - old
            if abs(step) <= ROUNDING * abs(new):
                n_active -= 1
                order[k], order[n_active] = order[n_active], i
                continue
            add(rows, i, step, w)
            w[last] += scale * step
            b[i] = new
            fall -= (gradient + 0.5 * curvature * step) * step + form.epsilon * (abs(new) - abs(old))
            k += 1
        return n_active, fall

    @jit
    def descend(rows, scale, norms, targets, caps, form, order, n_active, key, number, most, b, w):
        """b, w, order = those after sweeps over the rows order[:n_active] in random orders; returns (visits, sweeps)

        rows     (indptr, indices, data) or (X,), shape (n, D)
        scale    value of a further, constant feature
        norms    (n,)      float64   x_i' x_i
        targets  (n,)      int8 or float64
        caps     (n,)      float64   C times the weight of a row
        order    (n,)      int32     row numbers, written in place: rows that cannot move go behind the active ones
        key      uint64; with the number of the sweep it names a stream of `counter`
        most     visits after which no further sweep is begun
        b        (n,)      float64   written in place
        w        (D + 1,)  float64   written in place, the constant feature last

        Sweeps end when a visit brings less than the average of all visits, where scoring all rows again is counted as
        half a visit to each of them: then that is the better use of time.
        """
        n = b.shape[0]
        visits, sweeps, total = 0, 0, 0.0
        while n_active > 0 and visits < most:
            _shuffle(order, n_active, bits_of(key, number + sweeps))
            count = n_active
            n_active, fall = sweep(rows, scale, norms, targets, caps, form, order, n_active, b, w)
            visits += count
            sweeps += 1
            total += fall
            if fall * (visits + 0.5 * n) < total * count:
                break
        return visits, sweeps

    return descend


descend_csr = _build_descent(_dot_csr, _add_csr)
descend_dense = _build_descent(_dot_dense, _add_dense)


@jit
def sum_objectives(scores, targets, caps, form, b):
    """(sum_i l_i(scores_i), sum_i t_i b_i - epsilon |b_i| - B_i b_i^2 / 2)

    With 1/2 |w|^2 added to the first and taken from the second, these are the primal and the dual value.
    """
    losses, gains = 0.0, 0.0
    for i in range(scores.shape[0]):
        t, bend = form.shift * targets[i], _bend(caps[i], form)
        lower, upper = _interval(targets[i], caps[i], form)
        r = t - scores[i]
        best = _best(r, bend, lower, upper, form.epsilon)
        losses += best * r - form.epsilon * abs(best) - 0.5 * bend * best * best
        gains += t * b[i] - form.epsilon * abs(b[i]) - 0.5 * bend * b[i] * b[i]
    return losses, gains


@jit
def keep_movable(scores, targets, caps, form, b, order):
    """order[:m] = rows that can move at these scores, ascending; returns m"""
    m = 0
    for i in range(scores.shape[0]):
        lower, upper = _interval(targets[i], caps[i], form)
        gradient = scores[i] - form.shift * targets[i] + _bend(caps[i], form) * b[i]
        if _can_move(gradient, b[i], lower, upper, form.epsilon):
            order[m] = i
            m += 1
    return m
