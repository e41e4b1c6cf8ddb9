"""The route of IntersectionSVC and IntersectionSVR. [wu10fast]

raw rows --LevelQuantizer--> levels x intersection kernel --coordinate descent--> tables T_j --> sum_j T_j(x_j)
"""

__all__ = ["LevelRoute"]

from dataclasses import replace

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier

from mercer._base.errors import InputError
from mercer.codes import LevelQuantizer
from mercer.codes.levels.binning import are_on_one_scale
from mercer.codes.levels.quantizer import NUMBERS
from mercer.kernels import Linear, get_kernel
from mercer.learners.dask.tasks import client_of
from mercer.learners.fitting import encode
from mercer.learners.fitting.route import CHECKS, KernelRoute
from mercer.learners.solvers.registry import named
from mercer.maps import HomogeneousMap
from mercer.spaces import Design, Identity, as_rows

RELATIVE_C = 3.0  # over the mean of K(x, x): the C of levels by default, by cross-validation on eleven data sets
ENERGY_ROWS = 2048  # from which that mean is taken where rows are on the workers of a cluster
DEFAULT_C, LINEAR_UNIT = 1e-3, 1e3  # C = 1e-3 on levels and C = 1 on values from -1 to 1 are the defaults of [wu10fast]
MOST_TABLES = 2**31  # bytes of the tables of all columns
TRIAL_ROWS, LEAST_TRIAL = 6000, 30  # rows on which kernel="auto" compares, and below which it does not


class LevelRoute(KernelRoute):
    """Values become levels, or for the linear kernel numbers from -1 to 1; coordinate descent is called icd."""

    checks = CHECKS | {"dtype": NUMBERS}

    def check_parameters(self):
        kernel = self.learner.kernel
        has_levels = kernel != "auto" and not isinstance(get_kernel(kernel), Linear)
        self._quantizer(kernel if has_levels else "intersection").check_parameters()

    def _quantizer(self, kernel):
        return LevelQuantizer(self.learner.bins, self.learner.binning, kernel, n_jobs=self.learner.n_jobs)

    # --------------------------------------------------------------------------------------------------- which kernel

    def choices(self, X, y, seed):
        kernel = self.learner.kernel
        is_tried = isinstance(kernel, str) and kernel == "auto"
        found = None if is_tried else get_kernel(kernel)
        if client_of(X) is not None and (is_tried or isinstance(found, Linear)):
            raise InputError(
                f"{self.who} needs all rows in one process for kernel={kernel!r}, but these are on the workers of a "
                "cluster. Use kernel='intersection', or KernelClassifier('linear')."
            )
        scores = self._trial(X, y, seed) if is_tried else None
        if is_tried:  # linear if that is as good with fewer numbers
            found = get_kernel("linear" if scores and scores["linear"] >= scores["intersection"] else "intersection")
        return {"trial_scores_": scores, "kernel_": found}

    def _trial(self, X, y, seed):
        """Scores of both kernels on a third of some rows, learned on the others."""
        if encode.is_on_disk(X):
            X = next(encode.raw_blocks(X))
            y = y[: X.shape[0]]
        n = X.shape[0]
        if n < LEAST_TRIAL:
            return None
        which = np.random.default_rng(0 if seed is None else seed).permutation(n)[:TRIAL_ROWS]
        test, train = np.split(which, [len(which) // 3])
        if is_classifier(self.learner) and not np.isin(y[test], y[train]).all():
            known = np.isin(y[test], y[train])
            test = test[known]
        if is_classifier(self.learner) and ((y[train] == y[train[0]]).all() or not len(test)):
            return None
        scores = {}
        for name in ("linear", "intersection"):
            learner = clone(self.learner).set_params(kernel=name, verbose=0)
            if is_classifier(self.learner):
                learner.set_params(probability=False)
            scores[name] = float(learner.fit(X[train], y[train]).score(X[test], y[test]))
        return scores

    @property
    def _is_linear(self):
        return isinstance(self.learner.kernel_, Linear)

    def penalty(self, X, design, weights):
        """More on numbers from -1 to 1 than on levels; on levels, by default, a number over the mean of K(x, x)."""
        C = self.learner.C
        if self._is_linear:
            return LINEAR_UNIT * (DEFAULT_C if C is None else float(C))
        if C is not None:
            return float(C)
        if design.is_spread:  # their first rows stand for all
            rows, inner = encode.encoded(self.learner.map_, encode.few_rows(X, ENERGY_ROWS), "delayed")
            norms, weights = inner.row_norms(rows, self.learner.n_jobs), None
        else:
            norms = design.inner.row_norms(design.rows, self.learner.n_jobs)
        return RELATIVE_C / (float(np.average(norms, weights=weights)) or 1.0)

    # ------------------------------------------------------------------------------------------------------- the rows

    def is_exact(self, X, intercept):
        return False

    def new_map(self, X, seed):
        kernel = self.learner.kernel_
        return HomogeneousMap(kernel, n_jobs=self.learner.n_jobs) if self._is_linear else self._quantizer(kernel)

    @property
    def map_kind(self):
        """Of the kernel that was used."""
        return HomogeneousMap if self._is_linear else LevelQuantizer

    def design(self, X):
        if not self._is_linear:
            return super().design(X)
        X = np.concatenate(list(encode.raw_blocks(X))) if encode.is_on_disk(X) else X
        return ScaledDesign(X, *_to_unit(X), self.learner.n_jobs)

    def described(self, plan):
        text = "values scaled for the linear kernel" if self._is_linear else self.learner.map_.describe()
        if plan.tables_bytes > MOST_TABLES:
            raise InputError(
                f"{self.who} would need tables of {plan.tables_bytes / 2**30:.1f} GiB: {plan.n_features:,} levels in "
                f"{plan.n_inputs:,} columns, for {plan.n_columns} columns of scores. Use fewer bins, or sparse rows, "
                "whose tables hold only the levels that occur."
            )
        return replace(plan, levels=text, solver=_public_name(plan.solver))

    def input_kinds(self):
        return True, False

    # ----------------------------------------------------------------------------------------------------- the solver

    def solver_name(self, loss, intercept):
        solver, fitted = self.learner.solver, self.learner.map_
        if solver == "primal":
            return "newton" if named("newton").takes_over(fitted.inner_, loss) else "bundle"
        if named("dual").solves(loss, intercept):
            # "auto" knows coordinates of dense levels, and what comes after them
            return "auto" if self._is_linear or (solver == "auto" and not fitted.is_sparse_) else "dual"
        if solver == "icd":
            raise InputError(
                f"{self.who}: solver='icd' does not support an unregularized intercept. Use intercept_scaling=1 or "
                "solver='primal'."
            )
        return "bundle"

    def solver_on_dask(self, loss, n_columns):
        """Classes or pairs side by side, each by coordinate descent on all rows; one alone in parts."""
        is_single, solver = loss.joint or n_columns == 1, self.learner.solver
        return "bundle" if solver == "primal" or (is_single and solver == "auto") else "dual"

    def finished(self, solution, design):
        if self._is_linear:
            solution = design.on_values(solution)
        return replace(solution, solver=_public_name(solution.solver))


class ScaledDesign(Design):
    """Rows of values scaled to (x - center) / half, with the usual inner product."""

    def __init__(self, X, centre, half, n_jobs=None):
        scaled = X @ sparse.diags_array(1 / half) if sparse.issparse(X) else (X - centre) / half
        super().__init__(as_rows(scaled), Identity(X.shape[1]), n_jobs)
        self.centre, self.half = centre, half

    def on_values(self, solution):
        """A solution as one for values as they were."""
        u = solution.u / self.half[:, None]
        return replace(solution, u=u, intercept=solution.intercept - self.centre @ u)


def _to_unit(X):
    """(centers, half-widths) that scale values to [-1, 1], or columns if they are not on one scale.

    Zeros of sparse rows stay zeros. Where their columns are on one scale, as those of texts, the rows are scaled to
    length 1 on the average: their largest value may be far from all others.
    """
    low, high = encode.column_range(X)
    is_sparse, one_scale = sparse.issparse(X), are_on_one_scale(X)
    if is_sparse and one_scale:
        length = np.sqrt(np.square(X.data, dtype=np.float64).sum() / X.shape[0])
        return np.zeros_like(low), np.full_like(low, length or 1.0)
    if one_scale:
        low, high = np.full_like(low, low.min()), np.full_like(high, high.max())
    centre, half = (low + high) / 2, (high - low) / 2
    if is_sparse:
        centre, half = np.zeros_like(low), np.maximum(np.abs(low), np.abs(high))
    return centre, np.where(half > 0, half, 1.0)


def _public_name(solver):
    return "icd" if solver == "dual" else solver
