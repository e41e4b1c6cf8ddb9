"""Losses with corners or flat ends, made smooth around the shares that rows had before, for Newton's method.

Hinge, Huber hinge, absolute and epsilon-insensitive losses of a row with weight cap are, in the score f,

    l(f) = cap * max over a in A of  a (t - f) - epsilon |a| - bend / 2 a^2,        t = shift * target

where the share a lies in A = [-1, 1] (two-sided), or between 0 and the target -1 or +1. With a further term

    l_delta(f) = cap * max over a in A of  a (t - f) - epsilon |a| - bend / 2 a^2 - delta / 2 (a - centre)^2

the best share moves from one end of A to the other while the score moves by bend + delta, and l_delta has the
derivative -cap * a. (This is the proximal point method on the dual problem, [rockafellar76monotone]: with the
shares found as the next centres, the minimisers approach those of l itself, for any delta.) A target of 0 in a
one-sided loss takes the row out.

Arrays of (n, P) numbers come flat, columns last; sums are over the rows `first` to `last`. The form of a loss is that
of `dual_descent`, with reach 1.
"""

__all__ = ["along_proximal", "evaluate_proximal"]

from mercer._native.jit import inline, jit


@inline
def _share(r, target, form, centre, delta):
    """(best a for the residual r = t - f, whether it moves with r)"""
    lower = -1.0 if form.two_sided or target < 0 else 0.0
    upper = 1.0 if form.two_sided or target > 0 else 0.0
    z = r + delta * centre
    z = z - form.epsilon if z > form.epsilon else z + form.epsilon if z < -form.epsilon else 0.0
    width = form.bend + delta
    if z <= width * lower:
        return lower if z < 0.0 else 0.0, False
    if z >= width * upper:
        return upper if z > 0.0 else 0.0, False
    return z / width, z != 0.0


@inline
def _line(a, r, form):
    """What a share gains at the residual r."""
    return a * r - form.epsilon * abs(a) - 0.5 * form.bend * a * a


@jit
def evaluate_proximal(scores, targets, caps, form, deltas, centres, first, last, shares, bends, sums):
    """shares, bends, sums = best a, second derivative of l_delta by f, and (sum of l, sum of l minus the line of a)

    scores, targets, centres  (n * P,)
    caps            (n,)      float64
    form            :class:`dual_descent.Form`
    deltas          (P,)      float64
    shares, bends   (n * P,)  written in place
    sums            (2, P)    float64, added to
    """
    P = deltas.shape[0]
    for i in range(first, last):
        for p in range(P):
            k = i * P + p
            target = float(targets[k])
            r = form.shift * target - float(scores[k])
            a, moves = _share(r, target, form, float(centres[k]), deltas[p])
            shares[k] = a
            bends[k] = caps[i] / (form.bend + deltas[p]) if moves else 0.0
            best, _ = _share(r, target, form, 0.0, 0.0)
            value = _line(best, r, form)
            sums[0, p] += caps[i] * value
            sums[1, p] += caps[i] * (value - _line(a, r, form))


@jit
def along_proximal(start, step, ks, targets, caps, form, deltas, centres, first, last, sums):
    """sums += (sum of l_delta, its derivative by k) at the scores start + k step, one k per column

    start, step  (n * P,);  ks, deltas  (P,);  sums  (2, P) float64;  the others as for `evaluate_proximal`
    """
    P = deltas.shape[0]
    for i in range(first, last):
        for p in range(P):
            k = i * P + p
            target, move, centre = float(targets[k]), float(step[k]), float(centres[k])
            r = form.shift * target - (float(start[k]) + ks[p] * move)
            a, _ = _share(r, target, form, centre, deltas[p])
            sums[0, p] += caps[i] * (_line(a, r, form) - 0.5 * deltas[p] * (a - centre) * (a - centre))
            sums[1, p] -= caps[i] * a * move
