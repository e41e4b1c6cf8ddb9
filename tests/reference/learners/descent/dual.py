"""Dual coordinate descent, row by row from the formulas: every step is the best of a few candidates."""

import numpy as np

from tests.reference.counter import bits_of


def interval(target, cap, form):
    """(lower, upper, B) of a row."""
    if cap == 0:
        return 0.0, 0.0, 0.0
    reach = form.reach * cap
    lower, upper = -reach, reach
    if not form.two_sided:
        lower, upper = min(0.0, target * reach if target else 0.0), max(0.0, target * reach if target else 0.0)
    return lower, upper, form.bend / cap


def best_of_parabola(slope, curvature, epsilon, lower, upper):
    """The b in [lower, upper] with the smallest curvature b^2 / 2 + epsilon |b| - slope b, by trying the corners."""
    candidates = [b for b in (lower, 0.0, upper) if np.isfinite(b)]
    if curvature > 0:
        candidates += [np.clip((slope + sign * epsilon) / curvature, lower, upper) for sign in (-1, 1)]
    values = [0.5 * curvature * b * b + epsilon * abs(b) - slope * b for b in candidates]
    return candidates[int(np.argmin(values))]


def sweep(weights, scale, norms, targets, caps, form, order, n_active, b):
    k, fall = 0, 0.0
    while k < n_active:
        i = order[k]
        lower, upper, B = interval(targets[i], caps[i], form)
        curvature = norms[i] + scale**2 + B
        # the objective in b_i alone, others fixed: curvature b^2 / 2 + epsilon |b| - slope b
        slope = form.shift * targets[i] - (weights.score(i) - (norms[i] + scale**2) * b[i])
        best = best_of_parabola(slope, curvature, form.epsilon, lower, upper)
        if abs(best - b[i]) <= 1e-12 * abs(best):
            n_active -= 1
            order[k], order[n_active] = order[n_active], i
            continue
        before, after = (curvature * z**2 / 2 + form.epsilon * abs(z) - slope * z for z in (b[i], best))
        weights.add(i, best - b[i])
        b[i] = best
        fall += before - after
        k += 1
    return n_active, fall


def descend(weights, scale, norms, targets, caps, form, order, n_active, key, number, goal, b, best, values):
    most, tol, floor = goal
    visits, sweeps = 0, 0
    while n_active and (not visits or visits + n_active <= most):
        since, falls = [], []
        while n_active and (not visits + sum(since) or visits + sum(since) + n_active <= most):
            shuffle(order, n_active, bits_of(key, number + sweeps + len(since)))
            since.append(n_active)
            n_active, fall = sweep(weights, scale, norms, targets, caps, form, order, n_active, b)
            falls.append(fall)
            if falls[-1] / since[-1] < sum(falls) / (sum(since) + len(b) / 2):
                break
        visits, sweeps = visits + sum(since), sweeps + len(since)
        scores = np.array([weights.score(i) for i in range(len(b))])
        losses, gains = sum_objectives(scores, targets, caps, form, b)
        n_active = keep_movable(scores, targets, caps, form, b, order)
        values[1] = max(values[1], gains - b @ scores / 2)
        if losses + b @ scores / 2 < values[0]:
            values[0], best[:] = losses + b @ scores / 2, b
        if values[0] - values[1] <= tol * max(values[0], floor):
            break
    return visits, sweeps, n_active


def shuffle(order, count, stream):
    for k in range(count - 1, 0, -1):
        j = (bits_of(stream, k) >> 32) * (k + 1) >> 32
        order[k], order[j] = order[j], order[k]


class Weights:
    """w and the weight of the constant feature, changed in place."""

    def __init__(self, row_of, scale, state):
        self.row_of, self.scale, (self.w, self.sums) = row_of, scale, state

    def score(self, i):
        return self.w @ self.row_of(i) + self.scale * self.sums[0]

    def add(self, i, step):
        self.w += step * self.row_of(i)
        self.sums[0] += step * self.scale


def descend_csr(rows, scale, *arguments):
    indptr, indices, data = rows
    *rest, state = arguments

    def row_of(i):
        x = np.zeros(len(state[0]))
        x[indices[indptr[i] : indptr[i + 1]]] = data[indptr[i] : indptr[i + 1]]
        return x

    return descend(Weights(row_of, scale, state), scale, *rest)


def descend_dense(rows, scale, *arguments):
    *rest, state = arguments
    return descend(Weights(lambda i: rows[0][i].astype(float), scale, state), scale, *rest)


def sum_objectives(scores, targets, caps, form, b):
    losses, gains = 0.0, 0.0
    for i in range(len(scores)):
        lower, upper, B = interval(targets[i], caps[i], form)
        t = form.shift * targets[i]
        best = best_of_parabola(t - scores[i], B, form.epsilon, lower, upper)
        losses += best * (t - scores[i]) - form.epsilon * abs(best) - B * best**2 / 2
        gains += t * b[i] - form.epsilon * abs(b[i]) - B * b[i] ** 2 / 2
    return losses, gains


def keep_movable(scores, targets, caps, form, b, order):
    movable = []
    for i in range(len(scores)):
        lower, upper, B = interval(targets[i], caps[i], form)

        def objective(b_i, i=i, B=B):
            return (scores[i] - form.shift * targets[i]) * (b_i - b[i]) + B * b_i**2 / 2 + form.epsilon * abs(b_i)

        # the score moves with b_i too, but not to first order
        small = 1e-7
        steps = [b_i for b_i in (b[i] - small, b[i] + small) if lower <= b_i <= upper]
        if any(objective(b_i) < objective(b[i]) - 1e-12 for b_i in steps):
            movable.append(i)
    order[: len(movable)] = movable
    return len(movable)
