"""Pursuits against versions that solve every least squares problem anew."""

import numpy as np
import pytest

from mercer._native.maps import pursuit as loops
from tests.reference.maps import pursuit as twins

M, P = 20, 5


@pytest.fixture
def atoms(rng):
    """20 unit vectors of a 12-dimensional space, one of them twice and one without norm, and 30 vectors to code."""
    Z, X = rng.standard_normal((M, 12)), rng.standard_normal((30, 12))
    Z[7] = Z[3]
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    Z[11] = 0
    X[4] = 0
    X[5] = 3 * Z[2]  # one atom is enough
    return X @ Z.T, Z @ Z.T, np.einsum("ij,ij->i", X, X)


PURSUITS = {
    "orthogonal_pursuit": (1e-10,),
    "matching_pursuit": (1e-10, 4 * P),
    "lasso_pursuit": (1e-9, 1e-3, 0.7, 1000),
}


@pytest.mark.parametrize("name", PURSUITS)
def test_pursuits_pick_the_atoms_of_the_plain_version(name, atoms):
    cross, gram, _ = atoms
    picked = [np.full((30, P), 99) for _ in range(2)]
    for module, selected in zip((loops, twins), picked, strict=True):
        getattr(module, name)(cross, gram, *PURSUITS[name], selected)
    # equal atoms may stand for each other: which one comes first is decided by rounding
    got, want = (np.where(selected == 7, 3, selected) for selected in picked)
    np.testing.assert_array_equal(got, want)
    assert (picked[0][4] == -1).all()
    assert not (picked[0] == 11).any()
    assert picked[0][5, 0] == 2
    assert all(len(set(row[row >= 0])) == (row >= 0).sum() for row in picked[0])


@pytest.mark.parametrize("name", ["orthogonal_pursuit", "matching_pursuit"])
def test_a_row_that_is_an_atom_needs_no_other(name, atoms):
    cross, gram, _ = atoms
    selected = np.empty((30, P), dtype=np.int64)
    getattr(loops, name)(cross, gram, *PURSUITS[name], selected)
    assert selected[5].tolist() == [2, -1, -1, -1, -1]


def test_coefficients_are_those_of_the_projection(rng, atoms):
    cross, gram, sq_norms = atoms
    chosen = np.array([rng.permutation(M)[:8] for _ in range(30)])
    chosen[0] = [3, 0, 7, 1, 11, 5, 6, 8]  # a repeated atom and one without norm
    chosen[1, 2:] = -1
    results = []
    for module in (loops, twins):
        selected, coefficients, energies = chosen.copy(), np.full((30, 8), np.nan), np.empty(30)
        module.solve_selected(cross, gram, 1e-10, selected, coefficients, energies)
        results.append((selected, coefficients, energies))
    for got, want in zip(*results, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)
    selected, coefficients, energies = results[0]
    assert selected[0].tolist() == [3, 0, -1, 1, -1, 5, 6, 8]
    # |projection|^2 is both c' gram c and the energy, and never more than the vector has
    full = np.zeros((30, M))
    for i, (places, values) in enumerate(zip(selected, coefficients, strict=True)):
        full[i, places[places >= 0]] = values[places >= 0]
    np.testing.assert_allclose(np.einsum("ij,jk,ik->i", full, gram, full), energies, atol=1e-9)
    assert (energies <= sq_norms + 1e-9).all()
