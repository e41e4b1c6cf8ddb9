"""The small dual of the bundle method, over the simplex of the planes.

    maximize over alpha    C offsets'alpha - C^2/2 alpha' G alpha      alpha >= 0, sum alpha = 1

Intercepts b that are not regularized have coefficients (tilts) that vanish at the optimum: tilts'alpha = 0, and b are
the multipliers of these equalities. As long as no alpha satisfies them, |b| is held below a bound, which costs
C bound |tilts'alpha| in the dual.
"""

__all__ = ["solve_simplex"]

import daqp
import numpy as np

EQUALITY = 5  # daqp's word for it
TOLERANCE = 1e-9  # of the equalities
BALANCED = 1e-8  # of the largest tilt: less is 0


def solve_simplex(gram, offsets, C, tilts=None, bound=None, start=None):
    """(alpha, value, b) for planes with this Gram matrix.

    Parameters
    ----------
    gram : (T, T)
    offsets : (T,)
    C : weight of the losses
    tilts : (T, m) coefficients of free intercepts, or None
    bound : of their absolute values, a number
    start : (T,) weights to start from, or None

    Returns
    -------
    alpha : (T,)
    value : lower bound of the optimum; -inf while an intercept is held by its bound
    b : (m,) intercepts
    """
    T = len(offsets)
    if tilts is None or not tilts.shape[1]:
        alpha, _ = _solve(C * gram, -offsets, np.ones((1, T)), np.ones(1), start)
        return alpha, _value(alpha, gram, offsets, C), np.zeros(0)
    m, size = tilts.shape[1], np.abs(tilts).max() or 1.0
    # variables alpha, z+, z- with tilts'alpha / size = z+ - z-
    A = np.zeros((T + 2 * m, T + 2 * m))
    A[:T, :T] = C * gram
    constraints = np.zeros((1 + m, T + 2 * m))
    constraints[0, :T] = 1.0
    constraints[1:] = np.hstack([tilts.T / size, -np.eye(m), np.eye(m)])
    if start is not None:
        excess = tilts.T @ start / size
        start = np.concatenate([start, np.maximum(excess, 0), np.maximum(-excess, 0)])
    cost = np.concatenate([-offsets, np.full(2 * m, bound * size)])
    solution, multipliers = _solve(A, cost, constraints, np.eye(1 + m)[0], start)
    alpha = solution[:T] / solution[:T].sum()
    is_balanced = (np.abs(tilts.T @ alpha) <= BALANCED * size).all()
    b = np.clip(-multipliers[1:] / size, -bound, bound)
    return alpha, _value(alpha, gram, offsets, C) if is_balanced else -np.inf, b


def _value(alpha, gram, offsets, C):
    return float(C * (offsets @ alpha) - 0.5 * C * C * (alpha @ gram @ alpha))


def _solve(A, cost, constraints, right, start):
    """min 1/2 x'A x + cost'x for 0 <= x with these equalities; (x, multipliers of the equalities)."""
    n = len(cost)
    # daqp's tolerances are absolute, and it adds a multiple of the identity to a singular matrix: with the first planes
    # longer than the last by orders of magnitude that would drown the last. So planes get norm 1, and x unit size.
    norms = np.sqrt(np.maximum(np.diag(A), 0.0))
    norms[norms == 0] = norms.max() or 1.0
    A, cost, constraints = A / np.outer(norms, norms), cost / norms, constraints / norms
    sizes = np.abs(constraints).max(axis=1)
    unit = right[0] / sizes[0]
    constraints, right, cost = constraints / sizes[:, None], right / (sizes * unit), cost / unit
    scale = max(np.abs(A).max(), np.abs(cost).max()) or 1.0
    upper, lower = np.concatenate([np.full(n, np.inf), right]), np.concatenate([np.zeros(n), right])
    sense = np.zeros(n + len(right), dtype=np.int32)
    sense[n:] = EQUALITY
    arguments = np.ascontiguousarray(A / scale), cost / scale, np.ascontiguousarray(constraints), upper, lower, sense
    x, _, flag, info = daqp.solve(
        *arguments, primal_tol=TOLERANCE, primal_start=None if start is None else start * norms / unit
    )
    if flag < 1 and start is not None:
        x, _, flag, info = daqp.solve(*arguments, primal_tol=TOLERANCE)
    x = np.maximum(x, 0.0) * unit / norms
    if not 0 < x.sum() < np.inf:  # it has given up: any point of the simplex is a valid bound, if not the best
        x = np.full(n, 1.0) if start is None else np.maximum(start, 0.0)
    if len(right) == 1:
        x /= x.sum()
    return x, np.asarray(info["lam"])[n:] * scale * unit / sizes
