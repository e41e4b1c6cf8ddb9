"""What the estimators share: from raw rows to a design, from a solution to predictions.

    raw rows --map_--> encoded rows, inner product = Design --solve--> u --lift, fold--> predictor on raw rows

The weights u in factor space are all that a model keeps beside its map; the predictor follows from them.
"""

__all__ = ["KernelLearner"]

import logging
import warnings
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from numbers import Integral

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from mercer._base.errors import InputError
from mercer._base.feature_names import settle_feature_names
from mercer._base.files.loaded import FLOATS, check_kind, checked_array
from mercer._base.html.notebook import ShowsPlan
from mercer._base.parameters import Table, check_parameters
from mercer._base.progress import told
from mercer._base.threads import thread_limit
from mercer._base.validation import canonical, require_range
from mercer.kernels import TakesKernel, get_kernel
from mercer.kernels.widths import resolve_kernel
from mercer.learners.auto.door import check_automatic, learn_for, trials_ahead
from mercer.learners.auto.predictor import PanelPredictor, ScaledPredictor
from mercer.learners.auto.report import TrialPlan
from mercer.learners.auto.trials_plot import draw_trials
from mercer.learners.dask.columns import solve_columns
from mercer.learners.dask.rows import score_chunks
from mercer.learners.dask.tasks import client_of
from mercer.learners.exact.machine import fit_exact, plan_exact
from mercer.learners.fitting import encode
from mercer.learners.fitting.plan import Plan, choose_storage
from mercer.learners.fitting.route import KernelRoute
from mercer.learners.solvers.columns import WHOLE
from mercer.learners.solvers.problem import Problem
from mercer.learners.solvers.registry import choose
from mercer.learners.solvers.run import run, solve
from mercer.spaces import LandmarkPredictor

PLAN_ROWS = 2048  # rows from which a plan is made before fitting
logger = logging.getLogger("mercer")


class KernelLearner(TakesKernel, ShowsPlan):
    """Base class: parameters, the map, the plan, the solver, prediction. Subclasses know targets."""

    _task: str
    _default_loss: str  # of a named kernel
    _smooth_loss: str  # one that the estimator takes
    _table: Table
    _route_kind = KernelRoute
    machine_ = None  # what an automatic fit, or one on exact kernel values, has learned, instead of map_ and coef_
    C: float | str | None = None
    scaling: str | None = None
    budget: float | None = None

    @property
    def _is_automatic(self):
        """Whether trials choose what is not given."""
        return self.map is None and (self.kernel is None or self.C == "auto")

    @property
    def _route(self):
        """How raw rows get to a solver and back."""
        return self._route_kind(self)

    # -------------------------------------------------------------------------------------------------- the public door

    def plan(self, X, y=None):
        """What ``fit(X, y)`` would do and take, from a few rows, without encoding or learning.

        Parameters
        ----------
        X, y : as in ``fit``

        Returns
        -------
        Plan
            ``str(plan)`` is a small table.
        """
        return KernelLearner._plan_alone(clone(self), X, y)

    def plot_functions(self, features=None, path=None):
        """Draw how single columns of X enter the scores, for additive kernels: the f_j of f(x) = sum_j f_j(x_j) + b.

        Parameters
        ----------
        features : None, or column numbers or names
            None takes the (at most 12) columns whose functions vary most.
        path : None, or the file to write, whose suffix selects the format

        Returns
        -------
        matplotlib.figure.Figure
        """
        check_is_fitted(self)
        from mercer.learners.functions_plot import draw_functions

        return draw_functions(self, features, path)

    def plot_trials(self, path=None):
        """Draw what each trial of an automatic fit reached, against the time that it took.

        Parameters
        ----------
        path : None, or the file to write, whose suffix selects the format

        Returns
        -------
        matplotlib.figure.Figure
        """
        check_is_fitted(self)
        return draw_trials(self.plan_, path)

    @property
    def predictor_(self):
        """The model as a function of raw rows, without the intercept: ``machine_``, or ``map_.fold`` of its weights."""
        check_is_fitted(self)
        return self._predictor

    def _plan_alone(self, X, y):
        """The plan of an estimator that is not fitted afterward."""
        self._check_parameters()
        with self._working(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a few rows may not cover the range of all
            X, y, weights = self._read(X, y, None)
            if self._is_automatic:
                self._set_targets(y, weights)
                return trials_ahead(self, X, self._columns_of_trials().n_columns)
            self._choose(X, y)
            if self._route.is_exact(X, self._intercept):
                self._set_targets(y, weights)
                return self._exact_plan(X, self._exact_columns(X))
            self._fit_map(encode.few_rows(X, PLAN_ROWS), is_validated=not encode.is_on_disk(X), is_rough=True)
            self._set_targets(y, weights)
            return self._planned(X)[0]

    # --------------------------------------------------------------------------------------------- reading and encoding

    def _read(self, X, y, sample_weight, **y_checks):
        """Validated (X, y, weights); what lies on disk, or with the workers of a cluster, stays there."""
        X, y, sample_weight = encode.opened(X), encode.fetched(y), encode.fetched(sample_weight)
        if encode.is_on_disk(X):
            y = getattr(X, "y", None) if y is None else y
            validate_data(self, X, y, skip_check_array=True)
            settle_feature_names(self, getattr(X, "feature_names", None), reset=True)
            y = check_array(y, ensure_2d=False, dtype=None, input_name="y", estimator=self)
            check_consistent_length(X, y)
            return X, y, _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        X, y = validate_data(self, X, y, **self._route.checks, **y_checks)
        require_range(X, type(self).__name__, fitting=True)
        return X, y, _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)

    def _choose(self, X, y):
        """Set what depends on the targets too, before anything is encoded."""
        for name, value in self._route.choices(X, y, self._seed).items():
            setattr(self, name, value)

    def _fit_map(self, X, is_validated, is_rough=False):
        """Set ``map_``, fitted to X or, of what lies on disk, to a sample."""
        is_quantizer = encode.is_quantizer(self.map)
        if self.expansion != "delayed" and not is_quantizer:
            raise InputError(
                f"{type(self).__name__} has expansion={self.expansion!r}, which applies only to quantizers such as "
                "map=ProductQuantizer(). Remove it."
            )
        if encode.is_on_disk(X) and not (is_quantizer and isinstance(X, np.memmap)):  # which reads by itself
            X = encode.sample_rows(X, self._seed)
        self.map_ = self._route.new_map(X, self._seed)
        if is_rough and "n_iter" in self.map_.get_params():
            self.map_.set_params(n_iter=1)
        self.map_.fit_validated(X) if is_validated else self.map_.fit(X)
        self.feature_range_ = None if is_quantizer else encode.column_range(X)

    def _planned(self, X):
        """(plan, choice of solvers) for rows X, once ``map_`` and the targets are set."""
        loss, columns = self._loss(), self._chosen_columns()
        shape, few = encode.expected(self.map_, X, self.expansion, self._route.is_single(X))
        is_spread = client_of(X) is not None
        share = 1.0 if shape.kind == WHOLE else columns.row_share
        own = few.rows.shape_of(round(X.shape[0] * share))  # of the rows of a column
        choice = self._choice(own, few.inner, is_spread)
        who, memory = type(self).__name__, encode.memory(shape, few, columns.n_columns, choice.name)
        plan = Plan(
            estimator=who,
            kernel=repr(self.map_.kernel_),
            map=type(self.map_).__name__,
            rows=f"{shape.title} of {shape.dtype}",
            inner=type(few.inner).__name__,
            n_rows=X.shape[0],
            n_inputs=self.map_.n_features_in_,
            n_features=few.inner.n_features,
            n_factors=few.inner.n_factors,
            n_columns=columns.n_columns,
            problems=columns.title,
            loss=loss.name,
            solver=choice.name,
            storage="workers" if is_spread else choose_storage(self.storage, memory["rows_bytes"]),
            **memory,
        )
        return self._route.described(plan), choice

    # -------------------------------------------------------------------------------------------------------- automatic

    def _learn(self, X, targets, codes, weights, groups):
        """Set what trials have chosen and learned; the Machine. ``codes`` are those of classes, else None."""
        found = learn_for(self, self._seed, X, targets, codes, weights, groups)
        self._forget()
        self.machine_, self.intercept_ = found.machine.predictor, found.machine.intercept
        self.kernel_, self.plan_ = found.kernel, found.plan
        self.C_, self.interrupted_ = float(found.machine.C), False
        self._fold()
        return found.machine

    # ------------------------------------------------------------------------------------------- on exact kernel values

    def _exact_plan(self, X, columns):
        """Set ``kernel_``, the kernel with a width; the Plan of a machine on its values."""
        kernel = get_kernel(self.kernel)
        kernel.check_values(X, "X")
        self.kernel_ = resolve_kernel(kernel, X, self.n_jobs)
        return plan_exact(type(self).__name__, self.kernel_, X.shape, columns, self._exact_loss())

    def _exact_solution(self, X, targets, weights):
        """The Solution for some of the rows, whose ``u`` are coefficients of these rows."""
        scaling = {"none": 0.0, "scaled": self.intercept_scaling}[self._intercept]
        options = {"intercept": scaling, "tol": self.tol, "max_iter": self.max_iter, "n_jobs": self.n_jobs}
        return fit_exact(self.kernel_, X, self._exact_loss(), targets, weights, self.C_, **options)

    def _keep_exact(self, X, solution):
        """Set what a solution on exact kernel values says: a machine of the rows that have a coefficient."""
        support = np.flatnonzero(solution.u.any(axis=1))
        support = support if len(support) else np.arange(1)  # a machine has one row at least
        self._forget()
        self.machine_ = LandmarkPredictor(self.kernel_, X[support], solution.u[support])
        self._note(solution)

    def _forget(self):
        """Take away what an earlier fit, with a map, has left."""
        for name in ("map_", "coef_", "feature_range_", "gap_"):
            self.__dict__.pop(name, None)

    # ---------------------------------------------------------------------------------------------------------- solving

    def _choice(self, rows, inner, is_spread):
        """The solvers for rows, or for a RowShape."""
        loss, route = self._loss(), self._route
        if is_spread:
            name = route.solver_on_dask(loss, self._chosen_columns().n_columns)
        else:
            name = route.solver_name(loss, self._intercept)
        return choose(rows, inner, loss, self._intercept, name)

    def _problem(self, X, targets, weights, n_columns, C=None):
        """What a solver is given: encoded rows and, unless C is said, the penalty of the parameters, kept in ``C_``."""
        design = self._route.design(X)
        if C is None:
            C = self.C_ = self._route.penalty(X, design, weights)
        return Problem(
            design=design,
            loss=self._loss(),
            targets=targets,
            weights=weights,
            n_columns=n_columns,
            C=C,
            intercept=self._intercept,
            intercept_scaling=1.0 if self.intercept_scaling is None else float(self.intercept_scaling),
        )

    def _solve(self, problem, choice, start=None):
        seed = 0 if self._seed is None else self._seed  # a convex problem: the order does not matter
        options = {"tol": self.tol, "max_iter": self.max_iter, "random_state": seed}
        if problem.design.is_spread and choice.name == "dual":  # which needs all rows of a column in one place
            name = self._route.solver_name(problem.loss, problem.intercept)
            return solve_columns(problem, partial(solve, solver=name, **options))
        return run(problem, choice, start=start, **options)

    def _solve_fold(self, problem, start=None):
        """The solution for some of the rows; Ctrl-C ends the work, because there is no model yet that could be kept."""
        design = problem.design
        found = self._solve(problem, self._choice(design.rows, design.inner, is_spread=False), start)
        if found.interrupted:
            raise KeyboardInterrupt
        return found

    def _keep(self, solution, design):
        """Set what a solution for a design says, and warn if it is not one."""
        solution = self._route.finished(solution, design)
        self.coef_ = solution.u
        self._note(solution)

    def _note(self, solution):
        self.intercept_ = solution.intercept
        self.objective_, self.dual_objective_ = solution.objectives, solution.dual_objectives
        self.gap_ = float(solution.gaps.max(initial=0.0))
        self.n_iter_, self.interrupted_ = int(solution.n_iter), bool(solution.interrupted)
        self.plan_ = replace(self.plan_, solver=solution.solver)
        self.history_ = {name: list(map(float, values)) for name, values in solution.history.items()}
        self._fold()
        self._warn_unless(solution.converged, solution.interrupted)

    def _warn_unless(self, converged, interrupted):
        who = type(self).__name__
        if interrupted:
            message = f"{who} was interrupted after {self.n_iter_} passes with relative gap {self.gap_:.1e}. The best "
            warnings.warn(message + "model so far is kept.", ConvergenceWarning, stacklevel=5)
        elif not converged:
            warnings.warn(
                f"{who} stopped after max_iter={self.max_iter} with relative gap {self.gap_:.1e} > tol={self.tol:.0e}. "
                f"Raise max_iter or tol, lower C, or use a smooth loss such as {self._smooth_loss!r}.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _fold(self):
        if self.machine_ is not None:
            self._predictor = self.machine_
            return
        is_quantizer = encode.is_quantizer(self.map_)
        folded = self.map_.fold_factors(self.coef_) if is_quantizer else self.map_.fold_kept(self.coef_)
        self._predictor = folded.named(type(self).__name__)

    @property
    def _intercept(self):
        if not self.fit_intercept:
            return "none"
        return "free" if self.intercept_scaling is None else "scaled"

    # ------------------------------------------------------------------------------------------------------- prediction

    def _scores(self, X):
        """Scores of raw rows, shape (n, P)."""
        if not hasattr(self, "_predictor"):
            check_is_fitted(self)  # which takes longer than the look that makes it needless
        X = encode.opened(X)
        with thread_limit(self.n_jobs):
            if client_of(X) is not None:
                self._check_source(X)
                return score_chunks(self._predictor, X) + self.intercept_
            if encode.is_on_disk(X):
                self._check_source(X)
                return np.concatenate([self._predictor(block) + self.intercept_ for block in encode.raw_blocks(X)])
            X = validate_data(self, X, reset=False, **self._route.checks)
            require_range(X, type(self).__name__, fitting=False)
            return self._predictor.scores(canonical(X)) + self.intercept_

    def _check_source(self, X):
        """Rows that are not in memory must have the columns of the model."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X does not have valid feature names")  # which ours says
            validate_data(self, X, reset=False, skip_check_array=True)
        settle_feature_names(self, getattr(X, "feature_names", None), reset=False)

    # ---------------------------------------------------------------------------------------------------------- helpers

    def _check_parameters(self):
        check_parameters(self, self._table)
        if self._is_automatic:
            check_automatic(self, self._table)
        elif self.scaling not in (None, "none") or self.budget is not None:
            name = "budget" if self.budget is not None else "scaling"
            raise InputError(
                f"{type(self).__name__}: `{name}` applies only to an automatic fit, but a kernel or a map is given. "
                "Remove it, or use kernel=None or C='auto'."
            )
        self._route.check_parameters()

    @contextmanager
    def _working(self):
        """Threads, progress and a seed as the parameters say."""
        given = self.random_state
        is_seed = given is None or isinstance(given, Integral)
        self._seed = given if is_seed else int(check_random_state(given).randint(2**31 - 1))
        with thread_limit(self.n_jobs), told(self.verbose):
            yield

    def _check_loaded(self):
        if self.machine_ is not None:
            self._check_loaded_machine()
            return
        fitted = check_kind(self, "map_", self._route.map_kind)
        if fitted.n_features_in_ != self.n_features_in_:
            raise ValueError("map_ was fitted on rows of a different width.")
        u = checked_array(self, "coef_", "float64", shape=(fitted.inner_.n_factors, None))
        checked_array(self, "intercept_", "float64", shape=u.shape[1:])
        if self.feature_range_ is not None:
            checked_array(self, "feature_range_", FLOATS, shape=(2, self.n_features_in_))
        check_kind(self, "plan_", Plan)
        self._fold()

    def _check_loaded_machine(self):
        is_exact = isinstance(self.machine_, LandmarkPredictor)
        machine = check_kind(self, "machine_", (LandmarkPredictor, ScaledPredictor, PanelPredictor))
        if machine.n_features_in_ != self.n_features_in_:
            raise ValueError("machine_ was fitted on rows of a different width.")
        for part in [machine] if is_exact else [part.predictor for part in machine.parts]:
            coefficients = checked_array(part, "coefficients", FLOATS, ndim=2)
            checked_array(self, "intercept_", "float64", shape=coefficients.shape[1:])
        check_kind(self, "plan_", Plan if is_exact else TrialPlan)
        self._fold()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse, tags.input_tags.positive_only = self._route.input_kinds()
        return tags
