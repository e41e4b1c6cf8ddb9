"""Rounded losses from their definition: the best share by trying the ends, the corner and the two vertices."""

import numpy as np


def share_candidates(r, target, form, centre, delta):
    lower = -1.0 if form.two_sided else min(0.0, np.sign(target))
    upper = 1.0 if form.two_sided else max(0.0, np.sign(target))
    candidates = {lower, upper, 0.0}
    if form.bend + delta > 0:
        vertices = [(r + delta * centre + sign * form.epsilon) / (form.bend + delta) for sign in (-1, 1)]
        candidates |= {v for v in vertices if lower <= v <= upper and v * (r + delta * centre) >= 0}
    return sorted(candidates)


def gain(a, r, form, centre=0.0, delta=0.0):
    return a * r - form.epsilon * abs(a) - form.bend / 2 * a**2 - delta / 2 * (a - centre) ** 2


def best_share(r, target, form, centre, delta):
    return max(share_candidates(r, target, form, centre, delta), key=lambda a: gain(a, r, form, centre, delta))


def evaluate_proximal(scores, targets, caps, form, deltas, centres, first, last, shares, bends, sums):
    P = len(deltas)
    for i in range(first, last):
        for p in range(P):
            k = i * P + p
            target, centre = float(targets[k]), float(centres[k])
            r = form.shift * target - float(scores[k])
            a = best_share(r, target, form, centre, deltas[p])
            shares[k] = a
            # the slope of l_delta is -cap * a: its own slope, by a difference
            h = 1e-6
            around = [best_share(r + sign * h, target, form, centre, deltas[p]) for sign in (-1, 1)]
            bends[k] = caps[i] * (around[1] - around[0]) / (2 * h)
            value = gain(best_share(r, target, form, 0.0, 0.0), r, form)
            sums[0, p] += caps[i] * value
            sums[1, p] += caps[i] * (value - gain(a, r, form))


def along_proximal(start, step, ks, targets, caps, form, deltas, centres, first, last, sums):
    P = len(deltas)
    for i in range(first, last):
        for p in range(P):
            k = i * P + p
            target, centre = float(targets[k]), float(centres[k])
            r = form.shift * target - float(start[k]) - ks[p] * float(step[k])
            a = best_share(r, target, form, centre, deltas[p])
            sums[0, p] += caps[i] * gain(a, r, form, centre, deltas[p])
            sums[1, p] -= caps[i] * a * float(step[k])
