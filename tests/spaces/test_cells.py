"""Cells: where a row lies, what its machine says, and files that lie about them."""

import numpy as np
import pytest
from scipy import sparse

import mercer
from mercer import RBF, CellPredictor, CellTree, InputError, thread_limit


def parts(rng, n=60, d=3):
    """A tree of three cells, and what a predictor of two columns needs."""
    tree = {
        "directions": rng.normal(size=(2, d)),
        "thresholds": np.array([0.1, -0.2]),
        "children": np.array([[-1, 1], [-2, -3]], dtype=np.int32),
    }
    starts = np.array([0, 10, 35, 50])
    machine = {
        "rows": rng.normal(size=(n, d)),
        "members": rng.integers(0, n, 50).astype(np.int32),
        "starts": starts,
        "coefficients": rng.normal(size=(50, 2)),
        "offsets": rng.normal(size=(3, 2)),
    }
    return tree, machine


def naive_scores(tree, machine, kernel, X):
    """Row by row: down the tree, then the sum of the cell."""
    out = []
    for x in X:
        at = 0
        while at >= 0:
            at = tree["children"][at][int(tree["directions"][at] @ x > tree["thresholds"][at])]
        own = slice(machine["starts"][-1 - at], machine["starts"][-at])
        values = kernel(x[None], machine["rows"][machine["members"][own]])[0]
        out.append(values @ machine["coefficients"][own] + machine["offsets"][-1 - at])
    return np.array(out)


def test_a_row_is_scored_by_the_machine_of_its_cell(rng, tmp_path):
    tree, machine = parts(rng)
    predictor = CellPredictor(RBF(0.3), CellTree(**tree), **machine)
    X = rng.normal(size=(200, 3))
    assert set(predictor.tree.cells_of(X)) == {0, 1, 2}
    expected = naive_scores(tree, machine, RBF(0.3), X)
    np.testing.assert_allclose(predictor(X), expected, rtol=1e-12)
    np.testing.assert_allclose(predictor(sparse.csr_array(X)), expected, rtol=1e-12)
    with thread_limit(1):
        one = predictor(X)
    with thread_limit(4):
        np.testing.assert_array_equal(predictor(X), one)
    mercer.save(predictor, tmp_path / "p.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "p.mercer")(X), predictor(X))


def test_without_a_node_there_is_one_cell():
    tree = CellTree(np.zeros((0, 2)), np.zeros(0), np.zeros((0, 2), dtype=np.int32))
    assert tree.n_cells == 1
    assert tree.cells_of(np.ones((3, 2))).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "children",
    [
        [[-1, 0], [-2, -3]],  # a cycle at the root
        [[1, -1], [1, -2]],  # a node inside itself
        [[-1, 1], [-2, -2]],  # a cell twice
        [[-1, 1], [-2, -9]],  # a cell that is not there
        [[-1, 5], [-2, -3]],  # a node that is not there
        [[-1, -2], [-3, -4]],  # a node that nothing leads to
    ],
)
def test_a_tree_that_is_none_is_refused(rng, children):
    tree, _ = parts(rng)
    with pytest.raises(InputError, match="each cell, and each node except the first, exactly once"):
        CellTree(**tree | {"children": np.array(children, dtype=np.int32)})


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("directions", lambda a: a[:, :2]),
        ("directions", lambda a: a * np.inf),
        ("thresholds", lambda a: a[:1]),
        ("thresholds", lambda a: a * np.nan),
        ("children", lambda a: a.astype(float)),
        ("rows", lambda a: a[:, :2]),
        ("members", lambda a: a - 60),
        ("members", lambda a: a + 60),
        ("members", lambda a: a[:-1]),
        ("members", lambda a: a.astype(np.float32)),
        ("starts", lambda a: a + 1),
        ("starts", lambda a: np.array([0, 35, 10, 50])),
        ("starts", lambda a: np.array([0, 10, 10, 50])),
        ("starts", lambda a: a[:-1]),
        ("coefficients", lambda a: a[:-1]),
        ("coefficients", lambda a: a[:, 0]),
        ("offsets", lambda a: a[:2]),
        ("offsets", lambda a: a[:, :1]),
    ],
)
def test_parts_that_do_not_fit_are_refused(rng, name, change):
    tree, machine = parts(rng)
    for each in (tree, machine):
        if name in each:
            each[name] = change(each[name])
    with pytest.raises(InputError, match=r"CellTree|CellPredictor"):
        CellPredictor(RBF(0.3), CellTree(**tree), **machine)
