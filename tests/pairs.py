"""Combinations of parameters in which every two values of different parameters meet at least once.

Faults come from one value, or from two that meet, far more often than from three. A product of four parameters has
hundreds of combinations; a few dozen hold all pairs.
"""

import itertools


def all_pairs(*parameters):
    """Few tuples, one value of each parameter, that hold every pair of values of two parameters.

    The first value of every parameter is met first; the order follows from the values alone.

    >>> all_pairs("ab", [1, 2], [True, False])
    [('a', 1, True), ('a', 2, False), ('b', 1, False), ('b', 2, True)]
    """
    sizes = [range(len(values)) for values in parameters]
    columns = list(itertools.combinations(range(len(sizes)), 2))
    missing = {(p, q, i, j) for p, q in columns for i in sizes[p] for j in sizes[q]}
    candidates, chosen = list(itertools.product(*sizes)), []

    def new(candidate):
        return {(p, q, candidate[p], candidate[q]) for p, q in columns} & missing

    while missing:
        best = max(candidates, key=lambda candidate: len(new(candidate)))  # the first of those with most
        missing -= new(best)
        chosen.append(best)
    return [tuple(values[i] for values, i in zip(parameters, numbers, strict=True)) for numbers in sorted(chosen)]
