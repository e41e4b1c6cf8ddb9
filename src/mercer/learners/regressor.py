"""KernelRegressor: real targets, one or several, by the same maps and solvers."""

__all__ = ["KernelRegressor"]

from dataclasses import replace

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mercer._base.files.loaded import check_whole
from mercer._base.parameters import Table, keep_arguments
from mercer._base.parameters.learners import REGRESSOR
from mercer.learners.auto.door import refuse_groups, rows_of_trials
from mercer.learners.base import KernelLearner
from mercer.learners.fitting import encode
from mercer.learners.fitting.plan import check_memory
from mercer.learners.fitting.repeats import merged_repeats, without_idle_rows
from mercer.learners.fitting.targets import Targets, center_and_spread
from mercer.learners.solvers.losses import get_loss


class KernelRegressor(RegressorMixin, KernelLearner):
    """A regressor based on a kernel, which trials choose or you name; several targets are trained together.

    Parameters
    ----------
    kernel, map, scaling, budget
        As in :class:`KernelClassifier`: without arguments, trials choose.
    loss : None or {"epsilon_insensitive", "absolute", "squared"}
        Support vector, median or ridge regression, for a named kernel or map. None uses epsilon_insensitive; an
        automatic fit is a ridge regression. On up to 20,000 rows, the first two use exact values of a kernel that is
        not additive.
    epsilon : float
        Largest error that ``"epsilon_insensitive"`` ignores, in standard deviations of y.
    C : None, float or "auto"
        Weight of the losses against |u|^2 / 2, as in SVR, for targets of standard deviation 1; a larger C fits the
        training rows more closely. None uses 1 for a named kernel or map, and otherwise lets trials choose; "auto" lets
        trials choose for a named kernel too.
    expansion, solver, tol, max_iter, storage, random_state, n_jobs, verbose
        As in :class:`KernelClassifier`.
    fit_intercept : bool
    intercept_scaling : float or None
        As in :class:`KernelClassifier`.

    Attributes
    ----------
    C_, kernel_, machine_, map_, coef_, intercept_, predictor_, plan_
        As in :class:`KernelClassifier`, with one column per target.
    objective_, dual_objective_, gap_, n_iter_, interrupted_, history_
        As in :class:`KernelClassifier`; objectives refer to the scaled targets.

    Notes
    -----
    Every target is centered on its weighted mean and divided by its weighted standard deviation s before learning
    (without ``fit_intercept``, by its root mean square, and not centered); weights and intercept are scaled back. So
    neither the unit of y nor its zero matters. To have the C and epsilon of SVR, in the unit of y, give C / s (with the
    squared loss, C itself) and epsilon / s.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).random((300, 4))
    >>> y = np.sqrt(X[:, 0]) + 10
    >>> model = KernelRegressor("intersection", C=10.0, epsilon=0.01).fit(X[:200], y[:200])
    >>> bool(model.score(X[200:], y[200:]) > 0.95)
    True
    """

    _task, _default_loss, _smooth_loss = "regression", "epsilon_insensitive", "squared"
    _table: Table = REGRESSOR

    def __init__(
        self,
        kernel=None,
        *,
        map=None,
        loss=None,
        epsilon=0.1,
        C=None,
        scaling=None,
        budget=None,
        expansion="delayed",
        solver="auto",
        tol=1e-3,
        max_iter=1000,
        fit_intercept=True,
        intercept_scaling=1.0,
        storage="auto",
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        keep_arguments(self, locals())

    def fit(self, X, y=None, sample_weight=None, groups=None):
        """Learn from rows X and their targets y.

        Parameters
        ----------
        X : array-like, sparse matrix, memory-mapped array, source of rows, Dask array or data frame, shape (n, d)
        y : numbers, shape (n,) or (n, targets)
        sample_weight : None, or the weight of each row
        groups : None, or for each row the group that it belongs to, shape (n,); as in :class:`KernelClassifier`
        """
        self._check_parameters()
        with self._working():
            X, y, weights = self._read(X, y, sample_weight)
            if self._is_automatic:
                X, y, weights, groups = rows_of_trials(self, X, y, weights, groups)
                targets, weights = self._set_targets(y, weights)
                self._learn(X, targets, None, weights, groups)
                return self
            refuse_groups(groups, type(self).__name__)
            X, y, weights = merged_repeats(*without_idle_rows(X, y, weights))
            self.machine_ = None
            self._choose(X, y)
            targets, _ = self._set_targets(y, weights)
            if self._route.is_exact(X, self._intercept):
                return self._fit_exactly(X, targets, weights)
            self._fit_map(X, is_validated=not encode.is_on_disk(X))
            self.plan_, choice = self._planned(X)
            check_memory(self.plan_)
            centre, spread = center_and_spread(targets, weights, self.fit_intercept)
            problem = self._problem(X, (targets - centre) / spread, weights, targets.shape[1])
            found = self._solve(problem, choice)
            found = replace(found, u=found.u * spread, intercept=found.intercept * spread + centre)
            self._keep(found, problem.design)
        return self

    def _fit_exactly(self, X, targets, weights):
        self.C_ = 1.0 if self.C is None else float(self.C)
        self.plan_ = self._exact_plan(X, self._exact_columns(X))
        check_memory(self.plan_)
        centre, spread = center_and_spread(targets, weights, self.fit_intercept)
        found = self._exact_solution(X, (targets - centre) / spread, weights)
        self._keep_exact(X, replace(found, u=found.u * spread, intercept=found.intercept * spread + centre))
        return self

    def _exact_columns(self, X):
        return self._chosen_columns()

    def _exact_loss(self):
        return self._loss()

    def predict(self, X):
        """Predict the targets of each row, shape (n,) or (n, targets)."""
        scores = self._scores(X)
        return scores if self.n_targets_ else scores[:, 0]

    @property
    def columns_(self):
        """How the targets became columns of scores: each is one."""
        check_is_fitted(self)
        return self._chosen_columns()

    def _read(self, X, y, sample_weight):
        return super()._read(X, y, sample_weight, multi_output=True, y_numeric=True)

    def _set_targets(self, y, weights):
        """(targets as float64 (n, P), weights). ``n_targets_`` is 0 for a vector."""
        y = np.asarray(y, dtype=np.float64)
        self.n_targets_ = 0 if y.ndim == 1 else y.shape[1]
        return y.reshape(len(y), max(1, self.n_targets_)), weights

    def _columns_of_trials(self):
        return self._chosen_columns()

    def _chosen_columns(self):
        return Targets(max(1, self.n_targets_))

    def _loss(self):
        loss = self.loss or self._default_loss
        parameters = {"epsilon": self.epsilon} if loss == "epsilon_insensitive" else {}
        return get_loss(loss, task=self._task, **parameters)

    def _check_loaded(self):
        super()._check_loaded()
        n_columns = len(self.intercept_)
        if max(1, check_whole(self, "n_targets_", 0, n_columns)) != n_columns:
            raise ValueError("n_targets_ and the weights are inconsistent.")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
