"""Least squares with few, non-negative coefficients, from sums of products alone.

    minimize over c >= 0    c'Gc - 2 q'c + penalty sum(c)                                            (P)

is the non-negative LASSO of a design Q and a target t, with G = Q'Q and q = Q't. At the optimum, with the multipliers
y = Gc - q + penalty / 2,

    c_i > 0 and y_i = 0,    or    c_i = 0 and y_i >= 0.

Block principal pivoting [kim11fast] guesses the support {i: c_i > 0}, solves y = 0 on it, and exchanges every i that
has the wrong sign. From the support at a slightly larger penalty a few exchanges are enough.

Why not scikit-learn: its coordinate descent wants the design itself beside G, which for many pairs of rows does not fit
in memory, and ``lars_path_gram`` goes through every change of the support one by one, where this one skips from penalty
to penalty and reaches the same optimum (`tests/maps/reduction/test_nonnegative.py` compares the two).
"""

__all__ = ["largest_penalty", "solve_nonnegative"]

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lstsq

from mercer._base.threads import single_threaded

RIDGE = 1e-11  # share of the largest diagonal entry that is added to all of them: equal columns then share their weight
SLACK = 1e-10  # of the largest |q|: multipliers above minus this count as non-negative
FULL_EXCHANGES = 3  # exchanges of all offenders in a row that may fail to make them fewer [kim11fast]


def largest_penalty(q):
    """The smallest penalty for which c = 0 is optimal: 2 max(q)."""
    return 2.0 * float(np.max(q, initial=0.0))


def solve_nonnegative(G, q, penalty=0.0, start=None):
    """The optimum c of (P), float64, the same bits on any number of threads.

    Parameters
    ----------
    G : array of shape (D, D), symmetric and positive semidefinite
    q : array of shape (D,)
    penalty : float >= 0
    start : c at another penalty, with whose support the search begins; None for an empty one
    """
    target = q - penalty / 2
    slack = SLACK * float(np.abs(q).max(initial=0.0))
    ridge = RIDGE * float(G.diagonal().max(initial=0.0))
    support = np.zeros(len(q), dtype=bool) if start is None else start > 0
    fewest, tries = len(q) + 1, FULL_EXCHANGES
    with single_threaded():
        while True:
            c, multipliers = _stationary(G, target, support, ridge)
            offenders = np.flatnonzero(np.where(support, c < 0, multipliers < -slack))
            if not len(offenders):
                return c
            if len(offenders) < fewest:
                fewest, tries = len(offenders), FULL_EXCHANGES
            elif tries > 0:
                tries -= 1
            else:
                offenders = offenders[-1:]  # the last one alone: this cannot go round in circles
            support[offenders] ^= True


def _stationary(G, target, support, ridge):
    """(c, y): the solution of y = Gc - target = 0 on the support, with c = 0 elsewhere."""
    c = np.zeros(len(target))
    at = np.flatnonzero(support)
    if not len(at):
        return c, -target
    rows = G[at]
    block = rows[:, at]
    block[np.diag_indices(len(at))] += ridge
    try:
        c[at] = cho_solve(cho_factor(block, lower=True, check_finite=False), target[at])
    except LinAlgError:  # rounding has outweighed the ridge: the solution of least norm
        c[at] = lstsq(block, target[at], check_finite=False)[0]
    return c, c[at] @ rows - target
