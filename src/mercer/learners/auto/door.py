"""Between the estimators and the trials: what an automatic fit is given, and what it may not be asked."""

__all__ = ["Learned", "check_automatic", "check_scores", "learn_for", "refuse_groups", "rows_of_trials", "trials_ahead"]

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.utils import check_consistent_length, column_or_1d

from mercer._base.errors import InputError
from mercer._base.memory import available_memory
from mercer._base.parameters import named
from mercer.kernels import Kernel, get_kernel
from mercer.kernels.widths import closed
from mercer.learners.auto.machine import Machine, learn
from mercer.learners.auto.report import TrialPlan, describe
from mercer.learners.auto.sizes import landmark_counts
from mercer.learners.dask.tasks import client_of
from mercer.learners.fitting import encode

# parameters that have a meaning only for a kernel that is mapped and solved
OF_SOLVERS = ("loss", "multi_class", "expansion", "solver", "fit_intercept", "intercept_scaling", "storage")
MEMORY_SHARE = 0.25  # of the available memory that rows from disk may take
SCORE_SHARE, ARRAYS = 0.75, 8  # of it that targets and scores may take, and how many arrays of their size there are


@dataclass(frozen=True)
class Learned:
    """What an estimator keeps of an automatic fit."""

    machine: Machine
    kernel: Kernel
    plan: TrialPlan


def check_automatic(learner, table):
    """Refuse parameters that an automatic fit would ignore."""
    table, who = named(table), type(learner).__name__
    for name in OF_SOLVERS:
        if name in table and getattr(learner, name) not in (table[name].default, *_same(name)):
            raise InputError(
                f"{who}: `{name}` applies only to a named kernel or map with a given C. Name a kernel, for instance "
                f"kernel='rbf', or remove `{name}`."
            )


def _same(name):
    """Values that say what an automatic fit does anyway."""
    return {"loss": ("squared",), "multi_class": ("ovr",), "intercept_scaling": (None,)}.get(name, ())


def refuse_groups(groups, who):
    """Groups belong to trials, and a named kernel has none."""
    if groups is not None:
        raise InputError(f"{who}: `groups` applies only to trials, but a kernel or map is given. Use kernel=None.")


def rows_of_trials(learner, X, y, weights, groups):
    """(X, y, weights, groups) in memory, of weight > 0."""
    X = _in_memory(X, type(learner).__name__)
    if groups is not None:
        check_consistent_length(X, groups)
        groups = np.unique(column_or_1d(groups), return_inverse=True)[1]
        if groups.max() == 0:
            raise InputError(f"{type(learner).__name__}: `groups` must contain at least two groups; got one.")
    kept = np.flatnonzero(weights)
    if len(kept) < len(weights):
        X, y, weights = X[kept], y[kept], weights[kept]
        groups = None if groups is None else groups[kept]
    return X, y, weights, groups


def _in_memory(X, who):
    if not encode.is_on_disk(X):
        return X
    advice = "Name a kernel, for instance kernel='rbf', which can learn from these rows in place."
    if client_of(X) is not None:
        raise InputError(f"{who} can try kernels only on rows in the memory of one process. {advice}")
    if 8 * X.shape[0] * X.shape[1] > MEMORY_SHARE * available_memory():
        raise InputError(f"{who} can try kernels only on rows in memory, and these do not fit. {advice}")
    blocks = list(encode.raw_blocks(X))
    return sparse.csr_array(sparse.vstack(blocks)) if sparse.issparse(blocks[0]) else np.concatenate(blocks)


def check_scores(n_rows, n_columns, who):
    """Refuse columns of scores that would fill the memory, before any of it is taken."""
    needed = 8 * ARRAYS * n_rows * n_columns
    if needed > SCORE_SHARE * available_memory():
        raise InputError(
            f"{who} would need {needed / 2**30:.1f} GiB of memory for {n_columns:,} columns of scores of {n_rows:,} "
            "rows. Use fewer classes or fewer rows, or name a kernel, for instance kernel='chi2'. If y holds "
            "numbers, use KernelRegressor; ids are not classes."
        )


def learn_for(learner, seed, X, targets, codes, weights, groups):
    """The :class:`Learned` for an estimator, its rows and targets."""
    kernels, scalings = _fixed(learner)
    found = learn(
        X,
        targets,
        codes,
        weights,
        groups=groups,
        seed=0 if seed is None else seed,
        budget=learner.budget,
        kernels=kernels,
        scalings=scalings,
        C=None if isinstance(learner.C, str) else learner.C,
    )
    plan = describe(type(learner).__name__, X, found, codes, weights, groups is not None)
    return Learned(found, found.predictor.kernel, plan)


def _fixed(learner):
    """(kernels, scalings) that the caller has named, None for what is open."""
    scalings = None if learner.scaling is None else [learner.scaling]
    if learner.kernel is None:
        return None, scalings
    return [get_kernel(learner.kernel)], scalings or ["none"]


def trials_ahead(learner, X, n_columns):
    """The TrialPlan before any trial."""
    sizes = landmark_counts(X.shape[0], learner.budget)
    kernel = "chosen by trials" if learner.kernel is None else repr(closed(get_kernel(learner.kernel)))
    return TrialPlan(
        type(learner).__name__,
        int(X.shape[0]),
        int(X.shape[1]),
        n_columns,
        "scaled as chosen by trials",
        kernel,
        sizes[-1],
    )
