"""Spatial pyramids: which descriptors a cell holds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer import InputError
from mercer.vision.words.pyramid import Pyramid, check_weights

LEVELS = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=1, max_size=4)


@given(LEVELS, st.integers(1, 60), st.integers(1, 60), st.integers(0, 2**31))
def test_a_cell_holds_the_descriptors_whose_centres_lie_in_it(levels, height, width, seed):
    rng = np.random.default_rng(seed)
    frames = np.stack([rng.integers(0, width, 30), rng.integers(0, height, 30), np.ones(30)], axis=1)
    pyramid = Pyramid(levels)
    held = pyramid.cells[:, pyramid.atoms(frames, (height, width))]
    cell = 0
    for rows, columns in levels:
        # the pixel i covers i to i + 1 when the border is 0: its middle is (2 i + 1) / 2, here in whole numbers
        row = (2 * frames[:, 1] + 1) * rows // (2 * height)
        column = (2 * frames[:, 0] + 1) * columns // (2 * width)
        for r in range(rows):
            for c in range(columns):
                np.testing.assert_array_equal(held[cell], (row == r) & (column == c))
                cell += 1
    assert cell == len(pyramid.cells) == len(pyramid.level_of_cell)


@given(LEVELS)
def test_each_level_covers_the_image_once(levels):
    pyramid = Pyramid(levels)
    for level in range(len(levels)):
        np.testing.assert_array_equal(pyramid.cells[pyramid.level_of_cell == level].sum(axis=0), 1)


def test_grids_that_do_not_divide_each_other_share_few_atoms():
    assert Pyramid([(1, 1), (2, 2), (3, 1)]).n_atoms == 8  # lines at 1/3, 1/2, 2/3 down and 1/2 across


def test_a_centre_beyond_the_border_belongs_to_the_cell_at_the_border():
    pyramid = Pyramid([(2, 2)])
    frames = np.array([[-3.0, -3.0], [90.0, 90.0]])
    assert pyramid.atoms(frames, (10, 10)).tolist() == [0, 3]


@pytest.mark.parametrize(
    "levels", [(), 3, (1, 1), [(1,)], [(1, 0)], [(1.0, 2)], [(True, 1)], "1x1", None, [(2, 2, 2)], [(10**9, 1)]]
)
def test_levels_without_a_meaning_are_refused(levels):
    with pytest.raises(InputError, match=r"Bag needs pyramid to be a sequence of \(rows, columns\)"):
        Pyramid(levels, "Bag")


@pytest.mark.parametrize("levels", [[(200, 200)], [(r, r) for r in range(1, 40)]])
def test_more_cells_than_memory_are_refused(levels):
    with pytest.raises(InputError, match="Bag does not support this many cells"):
        Pyramid(levels, "Bag")


def test_weights_add_up_to_one():
    assert check_weights(None, 2, "Bag").tolist() == [0.5, 0.5]
    assert check_weights([1, 3], 2, "Bag").tolist() == [0.25, 0.75]
    for wrong in ([1], [1, -1], [0, 0], 3, ["a", 1], [np.nan, 1], [True, 1]):
        with pytest.raises(InputError, match="Bag needs level_weights to be 2 numbers"):
            check_weights(wrong, 2, "Bag")
