"""Rows with fewer columns: some left out, some added up, each times a factor; and predictors on such rows."""

__all__ = ["ReducedPredictor", "check_groups", "reduce_columns"]

from typing import Any

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError
from mercer._base.threads import run_blocks
from mercer._base.validation import narrow
from mercer._native.maps.columns import write_column_sums
from mercer.spaces.predictors import Predictor, predictor_class

TASK_VALUES = 2**20  # values per task


def reduce_columns(X, groups, factors, n_jobs=None):
    """out[:, g] = factors[g] * sum of the columns i of X with groups[i] = g, in the type of X; CSR for CSR.

    Parameters
    ----------
    X : dense or CSR rows
    groups : (columns,) integers, -1 for columns that are left out
    factors : (number of groups,)
    """
    chosen = np.flatnonzero(groups >= 0)
    values = factors[groups[chosen]].astype(X.dtype)
    if sparse.issparse(X):
        pointers = np.concatenate([[0], np.cumsum(groups >= 0)])
        out = sparse.csr_array(X @ sparse.csr_array((values, groups[chosen], pointers), (len(groups), len(factors))))
        out.sort_indices()
        return narrow(out)
    # several times as fast as numpy's X[:, chosen] * factors
    out = np.empty((X.shape[0], len(factors)), dtype=X.dtype)
    step = max(1, TASK_VALUES // X.shape[1])
    sources, targets = chosen.astype(np.uintp), groups[chosen].astype(np.uintp)
    blocks = [(i, min(i + step, len(X))) for i in range(0, len(X), step)]
    run_blocks(lambda block: write_column_sums(X, sources, targets, values, *block, out), blocks, n_jobs)
    return out


@predictor_class
class ReducedPredictor(Predictor):
    """f(x) = g(z), z the row x with some columns left out or added up, each times a factor.

    Parameters
    ----------
    groups : array of shape (features,)
        The column of z that each column of x is added to, -1 for none.
    factors : array of shape (columns of z,)
    predictor : the predictor g

    Examples
    --------
    Columns 0 and 2 are added up and halved, column 1 is left out:

    >>> from mercer import LandmarkPredictor, Linear
    >>> inside = LandmarkPredictor(Linear(), [[1.0]], [1.0])
    >>> ReducedPredictor([0, -1, 0], [0.5], inside)([[1.0, 7.0, 3.0]]).tolist()
    [2.0]
    """

    groups: Any
    factors: Any
    predictor: Any

    def __post_init__(self):
        self.groups, self.factors = np.asarray(self.groups), np.asarray(self.factors)
        check_groups(self.groups, self.factors)
        if not isinstance(self.predictor, Predictor):
            raise InputError(f"ReducedPredictor needs a predictor of Mercer, got {self.predictor!r}.")
        if self.predictor.n_features_in_ != len(self.factors):
            raise InputError(
                f"ReducedPredictor has {len(self.factors)} columns, but its predictor needs "
                f"{self.predictor.n_features_in_}."
            )

    @property
    def n_features_in_(self):
        return len(self.groups)

    def scores(self, X):
        return self.predictor.scores(reduce_columns(X, self.groups, self.factors))


def check_groups(groups, factors):
    """Raise unless every group from 0 on has a column and a factor >= 0."""
    if not isinstance(groups, np.ndarray) or groups.dtype != np.int64 or groups.ndim != 1:
        raise InputError("groups must be a vector of int64.")
    if not isinstance(factors, np.ndarray) or factors.dtype != np.float64 or factors.ndim != 1:
        raise InputError("factors must be a vector of float64.")
    if not np.isfinite(factors).all() or factors.min(initial=0.0) < 0:
        raise InputError("factors must be finite and not negative.")
    found = np.unique(groups[groups != -1])
    if not len(factors) or not np.array_equal(found, np.arange(len(factors))):
        raise InputError(f"groups must be -1 or integers from 0 to {len(factors) - 1}, each at least once.")
