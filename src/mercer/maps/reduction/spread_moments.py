"""Moments of pairs of rows of a Dask collection: of all rows, not of a sample.

All pairs of a kernel k(x, y) = f(x) f(y) are sums over rows (`_pair_moments`): a task for each chunk gives F'F, F^2'F^2
and the sums of F, which tasks add up. Pairs of other kernels are drawn among all rows, as in one process, and cut into
batches; a task has the rows of a batch, from whichever chunks they come, and gives their G and q. Chunks are read once.
What is added to what follows from sizes alone.
"""

__all__ = ["spread_design_moments", "spread_kernel_moments"]

import numpy as np
from scipy import sparse

from mercer._base.alignment import settled
from mercer.maps.reduction.pair_moments import (
    Moments,
    candidates,
    design_moments,
    draws_all,
    factor_products,
    moments_of_products,
    pair_values,
    spread_among,
)
from mercer.maps.reduction.pair_moments import draw_pairs as draw
from mercer.maps.reduction.reduced_columns import reduce_columns

FAN_IN = 8  # sums added by one task


def spread_kernel_moments(kernel, source, which, n_pairs, random_state):
    """As ``kernel_moments``, of all rows of a DaskSource."""
    if draws_all(kernel, len(source), which, n_pairs):
        return _all_pairs(kernel, source)
    if which == "informative":
        pairs = draw(len(source), candidates(n_pairs), random_state)
        values = np.concatenate(_computed(_batches(_values, source, pairs, kernel)))
        pairs = pairs[:, spread_among(values, n_pairs)]
    else:
        pairs = draw(len(source), n_pairs, random_state)
    return spread_design_moments(kernel, source, pairs)


def spread_design_moments(kernel, source, pairs, groups=None):
    """As ``design_moments`` of the columns, or of groups of columns, for the kernel values of all columns."""
    (found,) = _computed([_total(_batches(_sums, source, pairs, kernel, groups))])
    G, q, square, total = (each / pairs.shape[1] for each in found)
    return Moments(G, q, float(square), float(total))


def _all_pairs(kernel, source):
    from dask import delayed

    products = delayed(_products)
    (found,) = _computed([_total([products(kernel, block) for block, _ in source.delayed_blocks()])])
    return moments_of_products(*found, len(source))


def _batches(function, source, pairs, *facts):
    """A delayed call for every batch of pairs, of a kernel, parts of its rows, the pairs among them, and what else."""
    from dask import delayed

    blocks, call, take = source.delayed_blocks(), delayed(function), delayed(_take)
    ends = np.array([part.stop for _, part in blocks])
    size, found = max(1, source.fitting_size() // 2), []
    for start in range(0, pairs.shape[1], size):
        batch = pairs[:, start : start + size]
        numbers, own = np.unique(batch, return_inverse=True)
        cuts = np.searchsorted(numbers, ends)
        parts, first = [], 0
        for (block, part), last in zip(blocks, cuts, strict=True):
            if last > first:
                parts.append(take(block, numbers[first:last] - part.start))
            first = last
        found.append(call(facts[0], parts, own.reshape(batch.shape), *facts[1:]))
    return found


def _total(parts):
    """The delayed sum of tuples of arrays, a few at a time, in their order."""
    from dask import delayed

    add = delayed(_added)
    while len(parts) > 1:
        parts = [add(parts[at : at + FAN_IN]) for at in range(0, len(parts), FAN_IN)]
    return parts[0]


def _computed(values):
    from dask import compute

    return compute(*values)


# ----------------------------------------------------------------------------------------------------- what a task does


def _take(rows, numbers):
    return rows[numbers]


def _together(kernel, parts):
    X = sparse.csr_array(sparse.vstack(parts)) if sparse.issparse(parts[0]) else np.concatenate(parts)
    kernel.check_values(X, "X")
    return X


def _values(kernel, parts, pairs):
    return pair_values(kernel, _together(kernel, parts), pairs, 1)


def _sums(kernel, parts, pairs, groups):
    """Sums over pairs: (G, q, squares of the values, values)."""
    X = _together(kernel, parts)
    values = pair_values(kernel, X, pairs, 1)
    if groups is not None:
        X = reduce_columns(X, groups, np.ones(groups.max() + 1), 1)
    found, n = design_moments(kernel, X, pairs, values, 1), pairs.shape[1]
    return n * found.G, n * found.q, np.float64(n * found.square), np.float64(n * found.mean)


def _products(kernel, rows):
    rows = settled(rows)
    kernel.check_values(rows, "X")
    return factor_products(kernel, rows, 1)


def _added(parts):
    return tuple(sum(each[1:], start=each[0]) for each in zip(*parts, strict=True))
