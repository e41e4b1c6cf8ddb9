"""Columns of dense rows left out or added up, for the rows `first` to `last`."""

__all__ = ["write_column_sums"]

import numpy as np

from mercer._native.jit import jit


@jit
def write_column_sums(X, chosen, targets, factors, first, last, out):
    """out[i, t] = sum of X[i, chosen[q]] * factors[q] over the q with targets[q] = t

    X        (n, d)  float
    chosen   (k,)  unsigned   columns of X
    targets  (k,)  unsigned   the column of the result that each is added to
    factors  (k,)  float
    out      (n, D)  float    written in place
    """
    n_chosen = np.uintp(len(chosen))
    for i in range(np.uintp(first), np.uintp(last)):
        out[i] = 0
        for q in range(n_chosen):
            out[i, targets[q]] += X[i, chosen[q]] * factors[q]
