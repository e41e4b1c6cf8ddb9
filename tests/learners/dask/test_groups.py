"""Groups of rows on workers: how they are spread, and sums that do not depend on it."""

import numpy as np
import pytest

from mercer.learners.dask.groups import bundles_of, groups_of, merged


@pytest.mark.parametrize("n_groups", [1, 2, 7, 16, 21])
def test_sums_do_not_depend_on_who_has_which_group(rng, n_groups):
    numbers = rng.standard_normal(n_groups).astype(np.float32)  # float32: another order would be another sum

    def total(owners):
        parts = [{(0, i): numbers[i] for i in np.flatnonzero(owners == worker)} for worker in np.unique(owners)]
        nodes = {}
        for part in parts:
            nodes |= merged(part, n_groups, lambda one, other: one + other)
        (found,) = merged(nodes, n_groups, lambda one, other: one + other).values()
        return found

    one = total(np.zeros(n_groups, dtype=int))
    assert one == pytest.approx(numbers.sum(dtype=np.float64), rel=1e-4, abs=1e-5)
    for n_workers in (2, 3, 8):
        assert total(rng.integers(n_workers, size=n_groups)) == one


def test_neighbours_of_one_bundle_come_back_as_one_sum():
    assert merged({(0, i): 1 for i in range(4)}, 9, int.__add__) == {(2, 0): 4}
    assert merged({(0, 8): 1}, 9, int.__add__) == {(3, 1): 1}  # the last of an odd number goes up alone


def test_threads_get_equally_many_rows_and_few_groups_move():
    bundles = bundles_of([100] * 10, ["a"] * 7 + ["b"] * 3, {"a": 1, "b": 1})
    assert {worker: len(groups) for worker, groups in bundles} == {"a": 5, "b": 5}
    assert set(bundles[1][1]) >= {7, 8, 9}  # what b had stays there
    two = bundles_of([10] * 6, ["a"] * 6, {"a": 2, "b": 1})
    assert sorted(len(groups) for _, groups in two) == [2, 2, 2]
    assert bundles_of([5], ["b"], {"a": 4, "b": 4}) == [("b", [0])]


def test_only_small_chunks_are_joined():
    sizes = [40_000, 20_000, 30_000, 90_000, 10]
    ends = np.cumsum(sizes)
    parts = [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]
    assert groups_of(parts, row_bytes=8) == [[0, 1], [2], [3], [4]]
    assert groups_of(parts, row_bytes=2**20) == [[0], [1], [2], [3], [4]]
