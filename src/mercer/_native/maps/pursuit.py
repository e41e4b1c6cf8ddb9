"""Sparse coding in feature space: few landmarks per row, from kernel values alone. [vedaldi12sparse] (7)

Landmarks are *atoms* of norm 1: with r_z = sqrt(K(z, z)),

    cross  (n, M)  float64   <Psi(x), Psi(z)> / r_z
    gram   (M, M)  float64   <Psi(z), Psi(z')> / (r_z r_z'), symmetric; an atom without norm has zeros

A pursuit writes the atoms it picks for row i into ``selected[i]``, int64 of shape (n, P), in the order of picking, and
-1 where it picks fewer than P. Coefficients come from :func:`solve_selected`, the same for every pursuit.
"""

__all__ = ["lasso_pursuit", "matching_pursuit", "orthogonal_pursuit", "solve_selected"]

import math

import numpy as np

from mercer._native.jit import inline, jit


@inline
def _largest(correlations):
    """np.argmax(np.abs(correlations)), the first of equals"""
    best, where = -1.0, 0
    for z in range(correlations.shape[0]):
        size = abs(correlations[z])
        if size > best:
            best, where = size, z
    return where


@jit
def orthogonal_pursuit(cross, gram, tolerance, selected):
    """Atom by atom, the one with the largest inner product with the residual of the projection on those before.

    The residual is kept through orthonormal directions q_s: directions[s] = <q_s, Psi(z)> for all atoms z. An atom
    whose squared distance from the span of the others is at most ``tolerance`` is passed over, and inner products of at
    most ``tolerance`` times the largest one of the row are left alone: both are rounding.
    """
    n, M = cross.shape
    P = selected.shape[1]
    correlations = np.empty(M)
    directions = np.empty((P, M))
    for i in range(n):
        correlations[:] = cross[i]
        selected[i, :] = -1
        small = tolerance * abs(correlations[_largest(correlations)])
        count = 0
        for _ in range((P + 1) * (M + 1)):  # between two atoms that are picked, each is passed over once at most
            z = _largest(correlations)
            if count == P or not abs(correlations[z]) > small:
                break
            new = directions[count]
            new[:] = gram[z]
            for s in range(count):
                share = directions[s, z]
                for k in range(M):
                    new[k] -= share * directions[s, k]
            left = new[z]
            if not left > tolerance:
                correlations[z] = 0.0
                continue
            step = correlations[z] / left
            scale = 1.0 / math.sqrt(left)
            for k in range(M):
                correlations[k] -= step * new[k]
                new[k] *= scale
            for s in range(count):  # exactly zero, against rounding
                correlations[selected[i, s]] = 0.0
            correlations[z] = 0.0
            selected[i, count] = z
            count += 1


@jit
def matching_pursuit(cross, gram, tolerance, n_steps, selected):
    """Step by step, the atom with the largest inner product with the residual, whose part along it is then removed.

    Ends when one atom more than P would be needed, after ``n_steps`` steps, or when the inner products are at most
    ``tolerance`` times the largest one of the row.
    """
    n, M = cross.shape
    P = selected.shape[1]
    correlations = np.empty(M)
    for i in range(n):
        correlations[:] = cross[i]
        selected[i, :] = -1
        small = tolerance * abs(correlations[_largest(correlations)])
        count = 0
        for _ in range(n_steps):
            z = _largest(correlations)
            if abs(correlations[z]) <= small:
                break
            known = False
            for s in range(count):
                known = known or selected[i, s] == z
            if not known:
                if count == P:
                    break
                selected[i, count] = z
                count += 1
            step = correlations[z]
            for k in range(M):
                correlations[k] -= step * gram[z, k]
            correlations[z] = 0.0


@jit
def lasso_pursuit(cross, gram, tolerance, alpha, ratio, n_sweeps, selected):
    """The P largest coefficients of argmin_c  c' gram c / 2 - cross' c + penalty sum|c|

    The penalty falls from max|cross| by ``ratio`` at a time until P coefficients differ from zero, at most to ``alpha``
    max|cross|. Each minimum is found by coordinate descent from the one before: sweeps over all atoms, ``n_sweeps`` at
    most, until no coefficient moves by more than ``tolerance`` max|cross|.
    """
    n, M = cross.shape
    P = selected.shape[1]
    correlations, coefficients = np.empty(M), np.empty(M)
    for i in range(n):
        correlations[:] = cross[i]
        coefficients[:] = 0.0
        largest = abs(correlations[_largest(correlations)])
        penalty, count = 1.0, 0
        while largest > 0 and count < P and penalty > alpha:
            penalty = max(penalty * ratio, alpha)
            for _ in range(n_sweeps):
                moved = 0.0
                for z in range(M):
                    # gram[z, z] is 1: the minimum over one coefficient is a soft threshold
                    target = (correlations[z] + coefficients[z]) * gram[z, z]
                    shrunk = math.copysign(max(abs(target) - penalty * largest, 0.0), target)
                    change = shrunk - coefficients[z]
                    if change != 0:
                        coefficients[z] = shrunk
                        moved = max(moved, abs(change))
                        for k in range(M):
                            correlations[k] -= change * gram[z, k]
                if moved <= tolerance * largest:
                    break
            count = 0
            for z in range(M):
                count += 1 if coefficients[z] != 0 else 0
        for s in range(P):
            z = _largest(coefficients)
            selected[i, s] = z if coefficients[z] != 0 else -1
            coefficients[z] = 0.0


@jit
def solve_selected(cross, gram, tolerance, selected, coefficients, energies):
    """coefficients[i] = np.linalg.pinv(gram[S][:, S]) @ cross[i, S] for S = selected[i]

    coefficients  (n, P)  float64   written; 0 where nothing is selected
    energies      (n,)    float64   written: squared norm of the projection of Psi(x) on the selected atoms
    By a Cholesky factor that grows with each atom. An atom whose squared distance from the span of those before is at
    most ``tolerance`` adds nothing but rounding: its entry of ``selected`` becomes -1.
    """
    n, P = selected.shape
    cholesky = np.empty((P, P))
    coordinates = np.empty(P)
    places = np.empty(P, dtype=np.int64)
    for i in range(n):
        count = 0
        energies[i] = 0.0
        for p in range(P):
            coefficients[i, p] = 0.0
            z = selected[i, p]
            if z < 0:
                continue
            left, along = gram[z, z], cross[i, z]
            for s in range(count):
                share = gram[z, selected[i, places[s]]]
                for t in range(s):
                    share -= cholesky[count, t] * cholesky[s, t]
                share /= cholesky[s, s]
                cholesky[count, s] = share
                left -= share * share
                along -= share * coordinates[s]
            if left <= tolerance:
                selected[i, p] = -1
                continue
            cholesky[count, count] = math.sqrt(left)
            coordinates[count] = along / cholesky[count, count]
            energies[i] += coordinates[count] * coordinates[count]
            places[count] = p
            count += 1
        for s in range(count - 1, -1, -1):  # L' c = coordinates, from the last atom back
            total = coordinates[s]
            for t in range(s + 1, count):
                total -= cholesky[t, s] * coefficients[i, places[t]]
            coefficients[i, places[s]] = total / cholesky[s, s]
