"""Newton directions: d with H d = -g, one H for each column of scores.

    H = diag(ridge) + Z' diag(c) Z,      Z = (Phi F', s)

where c >= 0 are second derivatives, s is the constant feature of the intercept, and ridge is 1, or 0 for an intercept
that is not regularized. With few factors H is written out. With more it acts through passes over the rows, in conjugate
gradients, which the Hessian of a sample of the rows preconditions where that is a small thing to factor.
"""

__all__ = ["hessians", "newton_directions"]

import numpy as np
from scipy.linalg import LinAlgError, cho_solve

from mercer._base.cholesky import stable_cholesky
from mercer._base.errors import InputError
from mercer._base.threads import run_blocks, single_threaded
from mercer.spaces.blocks import even_slices

FORMED_FACTORS = 256  # up to here H costs less than the conjugate gradient steps that it saves
MOST_FACTORS = 2048  # of a preconditioner
SAMPLE_PER_FACTOR = 4  # rows of its sample
MOST_BYTES = 2**28  # of all matrices of a kind together
BLOCK_ROWS = 2048
MOST_STRIPS = 16
SINGLE_PRECISION = 1e7  # trace of Z' diag(c) Z, above which float32 would blur the ridge
MOST_STEPS = 50  # conjugate gradient steps of one direction
FORCING = 0.1  # their residual, as a share of the gradient


def newton_directions(design, scale, ridge, bends, gradient):
    """(d, steps): directions (R, P), and how many passes over the rows they took.

    Parameters
    ----------
    design : :class:`mercer.spaces.Design` of shape (n, r)
    scale : s, the value of the intercept's feature
    ridge : (R,), with R = r, or r + 1 where there is an intercept
    bends : c, (n, P)
    gradient : g, (R, P)
    """
    n, r = design.shape
    if r <= FORMED_FACTORS:
        solve = _solver(hessians(design, scale, ridge, bends, 1.0), design.n_jobs)
        return -solve(gradient), 1
    solve = np.copy
    n_sample = SAMPLE_PER_FACTOR * r
    if r <= MOST_FACTORS and 8 * gradient.size * r <= MOST_BYTES and 2 * n_sample <= n:
        chosen = np.linspace(0, n - 1, n_sample).astype(np.int64)
        sampled = hessians(design.take(chosen), scale, ridge, np.ascontiguousarray(bends[chosen]), n / n_sample)
        solve = _solver(sampled, design.n_jobs)

    def apply(v):
        z = design.scores(v[:r])
        z += (scale * v[r:].sum(axis=0)).astype(z.dtype)
        z *= bends
        through = [design.accumulate(z), scale * z.sum(axis=0, dtype=np.float64, keepdims=True)]
        return ridge[:, None] * v + np.concatenate(through[: 1 + len(v) - r])

    return _conjugate_gradients(apply, solve, -gradient)


def hessians(design, scale, ridge, bends, factor):
    """diag(ridge) + factor * Z' diag(c) Z for each column, (P, R, R)."""
    n, r = design.shape
    R, P = len(ridge), bends.shape[1]
    dtype = _precision(design, bends, factor)
    n_strips = max(1, min(MOST_STRIPS, n // BLOCK_ROWS, MOST_BYTES // (8 * P * R * R)))

    def partial(strip):
        total = np.zeros((P, R, R))
        for start in range(strip.start, strip.stop, BLOCK_ROWS):
            part = slice(start, min(start + BLOCK_ROWS, strip.stop))
            Z = _factor_rows(design, part)
            for p in range(P):
                which = np.flatnonzero(bends[part, p])
                roots = np.sqrt(bends[part, p][which], dtype=dtype)[:, None]
                weighted = np.empty((len(which), R), dtype=dtype)
                np.multiply(Z[which], roots, out=weighted[:, :r])
                weighted[:, r:] = scale * roots
                total[p] += weighted.T @ weighted
        return total

    with single_threaded():
        parts = run_blocks(partial, even_slices(n, n_strips), design.n_jobs)
    H = factor * sum(parts[1:], start=parts[0])
    H[:, np.arange(R), np.arange(R)] += ridge
    return H


def _precision(design, bends, factor):
    """float32 where its rounding stays below the ridge, judged by the first rows."""
    first = _factor_rows(design, slice(0, min(len(design), BLOCK_ROWS)))
    sq_norm = float(np.square(first, dtype=np.float64).sum() / max(1, len(first)))
    trace = factor * sq_norm * float(bends.sum(axis=0, dtype=np.float64).max(initial=0.0))
    return design.dtype if trace <= SINGLE_PRECISION else np.dtype(np.float64)


def _factor_rows(design, part):
    """Rows of Phi F' as an array."""
    rows, inner = design.rows, design.inner
    if rows.kind == "dense" and inner.is_identity:
        return rows.X[part]
    return inner.project(rows.take(part).toarray().T.astype(design.dtype, copy=False)).T


def _solver(hessians, n_jobs):
    """The function g -> H^-1 g on columns."""
    with single_threaded():
        factored = run_blocks(_factor, hessians, n_jobs)

    def solve(g):
        with single_threaded():
            return np.stack([cho_solve(factors, column) for factors, column in zip(factored, g.T, strict=True)], axis=1)

    return solve


def _factor(H):
    """Cholesky factors of H, with as much more on its diagonal as it takes.

    Rounding takes a share of the trace from the smallest eigenvalue, so that H may have negative ones: by far the most
    with a large C on columns that are nearly dependent, in float32, and with an intercept without ridge on which no row
    has curvature. The direction that a larger diagonal gives still descends.
    """
    try:
        return stable_cholesky(H), True
    except LinAlgError as error:
        raise InputError("Newton's method overflowed. Scale the rows down, or lower C.") from error


def _conjugate_gradients(apply, solve, target):
    """(x, steps) with apply(x) near ``target`` in every column; ``solve`` is the preconditioner."""
    x, residual = np.zeros_like(target), target.copy()
    z = solve(residual)
    direction, product = z, (residual * z).sum(axis=0)
    enough = FORCING * np.linalg.norm(target, axis=0)
    steps = 0
    while steps < MOST_STEPS:
        steps += 1
        image = apply(direction)
        k = _ratio(product, (direction * image).sum(axis=0))
        k[np.linalg.norm(residual, axis=0) <= enough] = 0.0  # a solved column stays where it is
        x += k * direction
        residual -= k * image
        if (np.linalg.norm(residual, axis=0) <= enough).all():
            break
        z = solve(residual)
        product, before = (residual * z).sum(axis=0), product
        direction = z + _ratio(product, before) * direction
    return x, steps


def _ratio(a, b):
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)
