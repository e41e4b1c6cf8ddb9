"""Sparse coding with explicit projections: every step solves its least squares problem anew."""

import numpy as np


def projection(cross, gram, atoms):
    """Coefficients of the projection of a row on atoms."""
    return np.linalg.pinv(gram[np.ix_(atoms, atoms)], rcond=1e-10, hermitian=True) @ cross[atoms]


def distance_from_span(gram, atoms, z):
    """Squared distance of atom z from the span of others."""
    return gram[z, z] - gram[z, atoms] @ np.linalg.pinv(gram[np.ix_(atoms, atoms)], hermitian=True) @ gram[atoms, z]


def orthogonal_pursuit(cross, gram, tolerance, selected):
    selected[:] = -1
    for row, chosen in zip(cross, selected, strict=True):
        atoms, passed_over = [], []
        while len(atoms) < len(chosen):
            left = np.abs(row - gram[:, atoms] @ projection(row, gram, atoms))
            left[atoms + passed_over] = 0
            z = int(np.argmax(left))
            if left[z] <= tolerance * np.abs(row).max():
                break
            (atoms if distance_from_span(gram, atoms, z) > tolerance else passed_over).append(z)
        chosen[: len(atoms)] = atoms


def matching_pursuit(cross, gram, tolerance, n_steps, selected):
    selected[:] = -1
    for row, chosen in zip(cross, selected, strict=True):
        left, atoms = row.copy(), []
        for _ in range(n_steps):
            z = int(np.argmax(np.abs(left)))
            if abs(left[z]) <= tolerance * np.abs(row).max() or (z not in atoms and len(atoms) == len(chosen)):
                break
            if z not in atoms:
                atoms.append(z)
            left = left - left[z] * gram[z]
            left[z] = 0
        chosen[: len(atoms)] = atoms


def lasso_pursuit(cross, gram, tolerance, alpha, ratio, n_sweeps, selected):
    for row, chosen in zip(cross, selected, strict=True):
        c, largest, penalty = np.zeros(len(row)), np.abs(row).max(), 1.0
        while largest > 0 and np.count_nonzero(c) < len(chosen) and penalty > alpha:
            penalty = max(penalty * ratio, alpha)
            for _ in range(n_sweeps):
                before = c.copy()
                for z in np.flatnonzero(gram.diagonal()):
                    target = row[z] - gram[z] @ c + c[z]
                    c[z] = np.sign(target) * max(abs(target) - penalty * largest, 0)
                if np.abs(c - before).max() <= tolerance * largest:
                    break
        order = np.argsort(-np.abs(c), kind="stable")[: len(chosen)]
        chosen[:] = np.where(c[order] != 0, order, -1)


def solve_selected(cross, gram, tolerance, selected, coefficients, energies):
    coefficients[:] = 0
    for i, (row, chosen) in enumerate(zip(cross, selected, strict=True)):
        atoms = []
        for p, z in enumerate(chosen):
            if z >= 0 and distance_from_span(gram, atoms, z) > tolerance:
                atoms.append(int(z))
            else:
                chosen[p] = -1
        solution = projection(row, gram, atoms)
        coefficients[i, chosen >= 0] = solution
        energies[i] = row[atoms] @ solution
