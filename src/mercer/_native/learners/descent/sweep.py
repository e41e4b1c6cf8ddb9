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

What stands for w is up to the kind of rows (`build_descent`): a ``state`` (array, sums), where sums[0] is the weight
of the constant feature.

Deviation from the paper: a row is set aside as soon as it cannot move, until all rows are scored again
(:func:`keep_movable`), where the paper keeps it for as long as its gradient is below the largest of the last sweep.
"""

__all__ = [
    "FOUR",
    "ONE",
    "THREE",
    "TWO",
    "Form",
    "bend_of",
    "best_of",
    "build_descent",
    "can_move",
    "can_row_move",
    "interval_of",
    "shuffle",
    "values_of",
]

from typing import NamedTuple

import numpy as np

from mercer._native.counter import bits_of
from mercer._native.jit import inline, jit
from mercer._native.lanes import fetch

# Positions are unsigned: numba would otherwise look at each one for a negative index (measured: half the speed).
ONE, TWO, THREE, FOUR = (np.uint64(k) for k in range(1, 5))
AHEAD = 6  # visits before a row is needed, at which it is fetched
ROUNDING = 1e-12  # steps that are smaller, relative to where they lead, are none


class Form(NamedTuple):
    """What sets one loss apart from another; the symbols are those of this file."""

    shift: float
    bend: float
    reach: float
    epsilon: float
    two_sided: bool


@inline
def interval_of(target, cap, form):
    """(lower, upper) of b."""
    if cap <= 0.0:  # reach may be infinite
        return 0.0, 0.0
    upper = form.reach * cap
    if form.two_sided:
        return -upper, upper
    return -upper if target < 0 else 0.0, upper if target > 0 else 0.0


@inline
def bend_of(cap, form):
    return form.bend / cap if cap > 0.0 else 0.0


@inline
def can_move(gradient, b, lower, upper, epsilon):
    """Whether the objective descends to one side of b, where its smooth part has this gradient."""
    right = gradient + epsilon if b >= 0.0 else gradient - epsilon
    left = gradient - epsilon if b <= 0.0 else gradient + epsilon
    return (right < 0.0 and b < upper) or (left > 0.0 and b > lower)


@inline
def best_of(slope, curvature, lower, upper, epsilon):
    """The b in [lower, upper], which holds 0, that minimises curvature b^2 / 2 + epsilon |b| - slope b."""
    excess = max(abs(slope) - epsilon, 0.0)
    if excess == 0.0:
        return 0.0
    if curvature > 0.0:
        excess /= curvature
    else:  # an empty row: only the bounds stop it
        excess = np.inf
    return min(excess, upper) if slope > 0.0 else max(-excess, lower)


@inline
def values_of(score, target, cap, form, b):
    """(l(score), t b - epsilon |b| - B b^2 / 2): what a row adds to the primal and to the dual value"""
    t, bend = form.shift * target, bend_of(cap, form)
    lower, upper = interval_of(target, cap, form)
    r = t - score
    best = best_of(r, bend, lower, upper, form.epsilon)
    loss = best * r - form.epsilon * abs(best) - 0.5 * bend * best * best
    return loss, t * b - form.epsilon * abs(b) - 0.5 * bend * b * b


@inline
def can_row_move(score, target, cap, form, b):
    """Whether the objective descends to one side of b."""
    lower, upper = interval_of(target, cap, form)
    gradient = score - form.shift * target + bend_of(cap, form) * b
    return can_move(gradient, b, lower, upper, form.epsilon)


@inline
def shuffle(order, count, stream):
    """order[:count] in random order, the one of a stream of `counter`"""
    for k in range(count - 1, 0, -1):
        # 32 random bits times k + 1, without the lower half: a whole number from 0 to k
        j = np.int64(((bits_of(stream, k) >> np.uint64(32)) * np.uint64(k + 1)) >> np.uint64(32))
        order[k], order[j] = order[j], order[k]


@inline
def no_hint(rows, i):
    pass


def build_descent(dot, add, hint=no_hint):
    """A loop over rows of one kind.

    dot(rows, i, state)        the score of row i, without the constant feature
    add(rows, i, step, state)  adds step times row i to the state
    hint(rows, i)              brings row i into the cache: in random order no processor foresees it
    """

    @inline
    def sweep(rows, scale, norms, targets, caps, form, order, n_active, b, state):
        """(how many of the rows order[:n_active] stay active after one visit of each, what the objective fell by)"""
        sums = state[1]
        k, fall = 0, 0.0
        while k < n_active:
            i, ahead = order[k], order[min(k + AHEAD, n_active - 1)]
            hint(rows, ahead)
            fetch(b, ahead)
            fetch(norms, ahead)
            lower, upper = interval_of(targets[i], caps[i], form)
            bend = bend_of(caps[i], form)
            score = dot(rows, i, state) + scale * sums[0]
            old = b[i]
            gradient = score - form.shift * targets[i] + bend * old
            curvature = norms[i] + scale * scale + bend
            new = best_of(curvature * old - gradient, curvature, lower, upper, form.epsilon)
            step = new - old
            if abs(step) <= ROUNDING * abs(new):
                n_active -= 1
                order[k], order[n_active] = order[n_active], i
                continue
            add(rows, i, step, state)
            sums[0] += scale * step
            b[i] = new
            fall -= (gradient + 0.5 * curvature * step) * step + form.epsilon * (abs(new) - abs(old))
            k += 1
        return n_active, fall

    @inline
    def look(rows, scale, targets, caps, form, b, state, order):
        """(primal, dual, m): both values, where |w|^2 = sum_i b_i f_i, and order[:m] = rows that can move, ascending"""
        constant = scale * state[1][0]
        losses, gains, sq_norm, m = 0.0, 0.0, 0.0, 0
        for i in range(b.shape[0]):
            score = dot(rows, i, state) + constant
            loss, gain = values_of(score, targets[i], caps[i], form, b[i])
            losses += loss
            gains += gain
            sq_norm += b[i] * score
            if can_row_move(score, targets[i], caps[i], form, b[i]):
                order[m] = i
                m += 1
        return losses + 0.5 * sq_norm, gains - 0.5 * sq_norm, m

    @jit
    def descend(rows, scale, norms, targets, caps, form, order, n_active, key, number, goal, b, best, values, state):
        """b, best, state, order, values = those after sweeps over rows order[:n_active] in random orders

        Returns (visits, sweeps, how many rows order[:m] can move at the end).

        rows     arrays, n rows: (indptr, indices, data) or (X,) of the usual inner product
        scale    value of a further, constant feature
        norms    (n,)      float64   x_i' x_i
        targets  (n,)      int8 or float64
        caps     (n,)      float64   C times the weight of a row
        order    (n,)      int32     row numbers, written in place: rows that cannot move go behind the active ones
        key      uint64; with the number of the sweep it names a stream of `counter`
        goal     (visits at most, but for the first sweep, relative gap that is enough, floor of its divisor)
        b, best  (n,)      float64   written in place; best is the b of the smallest primal value
        values   (2,)      float64   the smallest primal and the largest dual value so far, written in place
        state    (w, sums) of the usual inner product, w (D,) of the type of dense rows, else float64, and sums (1,)
                 float64: written in place

        Sweeps go on until a visit brings less than the average of all visits since all rows were scored, where scoring
        them again is counted as half a visit to each: then that is the better use of time. It gives both values, and
        the rows that are worth a visit.
        """
        most, tol, floor = goal
        n = b.shape[0]
        visits, sweeps = 0, 0
        while n_active > 0 and (visits == 0 or visits + n_active <= most):
            since, total = 0, 0.0
            while n_active > 0 and (visits + since == 0 or visits + since + n_active <= most):
                shuffle(order, n_active, bits_of(key, number + sweeps))
                count = n_active
                n_active, fall = sweep(rows, scale, norms, targets, caps, form, order, n_active, b, state)
                since += count
                sweeps += 1
                total += fall
                if fall * (since + 0.5 * n) < total * count:
                    break
            visits += since
            primal, dual, n_active = look(rows, scale, targets, caps, form, b, state, order)
            values[1] = max(values[1], dual)
            if primal < values[0]:
                values[0] = primal
                best[:] = b
            if values[0] - values[1] <= tol * max(values[0], floor):
                break
        return visits, sweeps, n_active

    return descend
