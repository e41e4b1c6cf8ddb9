"""IntersectionSVC and IntersectionSVR: non-linear accuracy at about linear cost, nothing to tune. [wu10fast]

raw rows --LevelQuantizer--> levels x intersection kernel --coordinate descent--> tables T_j --> sum_j T_j(x_j)
"""

__all__ = ["IntersectionSVC", "IntersectionSVR"]

from dataclasses import replace
from functools import partial

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier

from mercer._base.errors import InputError
from mercer._base.files.loaded import check_kind
from mercer.codes import LevelQuantizer
from mercer.codes.levels.binning import are_on_one_scale
from mercer.codes.levels.quantizer import NUMBERS
from mercer.kernels import Linear, get_kernel
from mercer.learners.base import CHECKS, KernelLearner
from mercer.learners.classifier import KernelClassifier
from mercer.learners.dask.rows import client_of, solve_columns
from mercer.learners.fitting import encode
from mercer.learners.fitting.targets import choose_columns
from mercer.learners.regressor import KernelRegressor
from mercer.learners.solvers.losses import get_loss
from mercer.learners.solvers.registry import named
from mercer.learners.solvers.run import solve
from mercer.maps import HomogeneousMap
from mercer.spaces import Design, Identity, as_rows

SOLVERS = ("auto", "icd", "primal")
MULTI_CLASS = ("auto", "ovr", "ovo", "crammer_singer")
LOSSES = ("squared_hinge", "hinge")
LINEAR_UNIT = 1e3  # C = 1e-3 on levels and C = 1 on values from -1 to 1 are the defaults of [wu10fast]
MOST_TABLES = 2**31  # bytes of the tables of all columns
TRIAL_ROWS, LEAST_TRIAL = 6000, 30  # rows on which kernel="auto" compares, and below which it does not


class LevelLearner(KernelLearner):
    """What both estimators share: levels, the choice of the kernel, names of solvers."""

    map, expansion, storage = None, "delayed", "memory"  # nothing to choose here
    _checks = CHECKS | {"dtype": NUMBERS}

    def _check_parameters(self):
        super()._check_parameters()
        who = type(self).__name__
        if self.solver not in SOLVERS:
            raise InputError(f"{who} needs solver to be one of {', '.join(SOLVERS)}; got {self.solver!r}.")
        is_levels = self.kernel == "auto" or not isinstance(get_kernel(self.kernel), Linear)
        self._quantizer(self.kernel if is_levels and self.kernel != "auto" else "intersection").check_parameters()

    def _quantizer(self, kernel):
        return LevelQuantizer(self.bins, self.binning, kernel, n_jobs=self.n_jobs)

    # --------------------------------------------------------------------------------------------------- which kernel

    def _choose(self, X, y):
        """Set ``kernel_``, and ``trial_scores_`` if it is chosen here."""
        self.trial_scores_ = None
        if self.kernel != "auto":
            self.kernel_ = get_kernel(self.kernel)
        if client_of(X) is not None and (self.kernel == "auto" or self._is_linear):
            raise InputError(
                f"{type(self).__name__} looks at all rows at once for kernel={self.kernel!r}, and these are on the "
                "workers of a cluster. Use kernel='intersection', or KernelClassifier('linear')."
            )
        if self.kernel != "auto":
            return
        self.trial_scores_ = self._trial(X, y)
        best = "intersection"
        if self.trial_scores_ and self.trial_scores_["linear"] >= self.trial_scores_["intersection"]:
            best = "linear"  # as good with fewer numbers
        self.kernel_ = get_kernel(best)

    def _trial(self, X, y):
        """Scores of both kernels on a third of some rows, learnt on the others."""
        if encode.is_on_disk(X):
            X = next(encode.raw_blocks(X))
            y = y[: X.shape[0]]
        n = X.shape[0]
        if n < LEAST_TRIAL:
            return None
        which = np.random.default_rng(0 if self._seed is None else self._seed).permutation(n)[:TRIAL_ROWS]
        test, train = np.split(which, [len(which) // 3])
        if is_classifier(self) and not np.isin(y[test], y[train]).all():
            known = np.isin(y[test], y[train])
            test = test[known]
        if is_classifier(self) and (len(np.unique(y[train], axis=0)) < 2 or not len(test)):
            return None
        scores = {}
        for name in ("linear", "intersection"):
            learner = clone(self).set_params(kernel=name, verbose=0)
            if is_classifier(self):
                learner.set_params(probability=False)
            scores[name] = float(learner.fit(X[train], y[train]).score(X[test], y[test]))
        return scores

    @property
    def _is_linear(self):
        return isinstance(self.kernel_, Linear)

    # ----------------------------------------------------------------------------------------------------- the problem

    def _new_map(self, X):
        return HomogeneousMap(self.kernel_, n_jobs=self.n_jobs) if self._is_linear else self._quantizer(self.kernel_)

    def _planned(self, X):
        plan, choice = super()._planned(X)
        text = "values scaled for the linear kernel" if self._is_linear else self.map_.describe()
        if plan.tables_bytes > MOST_TABLES:
            raise InputError(
                f"{type(self).__name__} would need tables of {plan.tables_bytes / 2**30:.1f} GiB: {plan.n_features:,} "
                f"levels in {plan.n_inputs:,} columns, for {plan.n_columns} columns of scores. Use fewer bins, or give "
                "sparse rows, whose tables hold the levels that occur."
            )
        return replace(plan, levels=text, solver=_public_name(plan.solver)), choice

    def _design(self, X):
        if not self._is_linear:
            return super()._design(X)
        X = np.concatenate(list(encode.raw_blocks(X))) if encode.is_on_disk(X) else X
        self._centre, self._half = _to_unit(X)
        scaled = X @ sparse.diags_array(1 / self._half) if sparse.issparse(X) else (X - self._centre) / self._half
        return Design(as_rows(scaled), Identity(X.shape[1]), self.n_jobs)

    def _penalty(self):
        is_linear = hasattr(self, "kernel_") and self._is_linear
        return super()._penalty() * (LINEAR_UNIT if is_linear else 1.0)

    def _solver_name(self):
        if self.solver == "primal":
            return "newton" if named("newton").takes_over(self.map_.inner_, self._loss()) else "bundle"
        if named("dual").solves(self._loss(), self._intercept):
            # "auto" knows coordinates of dense levels, and what comes after them
            return "auto" if self._is_linear or (self.solver == "auto" and not self.map_.is_sparse_) else "dual"
        if self.solver == "icd":
            raise InputError(
                f"{type(self).__name__}: solver='icd' moves one row at a time, which an unregularised intercept does "
                "not allow. Use intercept_scaling=1 or solver='primal'."
            )
        return "bundle"

    def _solver_on_dask(self):
        is_single = self._loss().joint or self._chosen_columns().n_columns == 1
        return "bundle" if self.solver == "primal" or (is_single and self.solver == "auto") else "dual"

    def _solve(self, problem, choice, start=None):
        """On a cluster, classes or pairs side by side, each by coordinate descent on all rows; one alone in parts."""
        if problem.design.is_spread and self._solver_on_dask() == "dual":
            seed = 0 if self._seed is None else self._seed
            options = {"tol": self.tol, "max_iter": self.max_iter, "random_state": seed}
            return solve_columns(problem, partial(solve, solver=self._solver_name(), **options))
        return super()._solve(problem, choice, start)

    def _keep(self, solution):
        if self._is_linear:
            u = solution.u / self._half[:, None]
            solution = replace(solution, u=u, intercept=solution.intercept - self._centre @ u)
        super()._keep(replace(solution, solver=_public_name(solution.solver)))

    def _check_loaded(self):
        super()._check_loaded()
        check_kind(self, "map_", HomogeneousMap if self._is_linear else LevelQuantizer)

    def _input_kinds(self):
        return True, False


def _to_unit(X):
    """(centres, half-widths) that scale values to [-1, 1], or columns if they are not on one scale.

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


class IntersectionSVC(LevelLearner, KernelClassifier):
    """Support vector classification with the histogram intersection kernel, by coordinate descent on tables. [wu10fast]

    For histograms of whole numbers, and for any other data after binning, which it does by itself. Training costs
    about what it costs a linear SVM, prediction one look-up per column and class, and the default parameters serve.

    Parameters
    ----------
    C : float
        Weight of the losses against |w|^2 / 2. The default is that of the paper, for levels up to 100 or so, around
        which accuracy depends little on it; counts below 20 may gain from ten times as much. With ``kernel="linear"``
        it stands for a thousand times as much, as in the paper too.
    loss : {"squared_hinge", "hinge"}
        L2 or L1 loss.
    bins : "auto", int or None
        Number of bins, see :class:`LevelQuantizer`. "auto" takes histograms of whole numbers as they are.
    binning : {"auto", "global", "column", "adaptive"}
        Where bins begin and end, see :class:`LevelQuantizer`.
    kernel : str or Kernel
        The intersection, or another additive kernel of levels: "chi2", "hellinger", "js", ``PowerMean(p)``; "linear";
        or "auto", which compares intersection and linear on some of the training rows and takes the better.
    multi_class : {"auto", "ovr", "ovo", "crammer_singer"}
        One class against the others, as the paper has it; one against one; or all at once, with the L1 loss of its own.
        "auto" takes pairs up to 20 classes and 2**21 weights in all, as :class:`KernelClassifier` does and for the same
        reason, else one-vs-rest. Classes or pairs run side by side.
    solver : {"auto", "icd", "primal"}
        Coordinate descent in the dual, or Newton's method or cutting planes in the primal, for far more columns than
        rows.
    tol : float
        Relative duality gap at which to stop.
    max_iter : int
        Passes over the data at most.
    fit_intercept : bool
        The paper has no intercept.
    intercept_scaling, class_weight, probability, random_state, n_jobs, verbose
        As in :class:`KernelClassifier`.

    Attributes
    ----------
    classes_ : ndarray
    kernel_ : Kernel
        The one that was used.
    trial_scores_ : None or dict
        With ``kernel="auto"``, the accuracy of both kernels on rows held out of the training rows.
    map_ : LevelQuantizer, or HomogeneousMap of the linear kernel
    coef_, intercept_, predictor_, plan_, multi_class_, objective_, dual_objective_, gap_, n_iter_, interrupted_
        As in :class:`KernelClassifier`.

    Notes
    -----
    Values beyond those of training are clipped to the levels that there are, which the intersection does not notice for
    large values: min(x, z) is the same for every x >= z.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> classifier = IntersectionSVC().fit(X[:1000], y[:1000])
    >>> bool(classifier.score(X[1000:], y[1000:]) > 0.93)
    True
    >>> classifier.plan_.levels
    'whole numbers as they are, up to 16'
    """

    def __init__(
        self,
        C=1e-3,
        *,
        loss="squared_hinge",
        bins="auto",
        binning="auto",
        kernel="intersection",
        multi_class="auto",
        solver="auto",
        tol=1e-3,
        max_iter=1000,
        fit_intercept=False,
        intercept_scaling=1.0,
        class_weight=None,
        probability=False,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.C = C
        self.loss = loss
        self.bins = bins
        self.binning = binning
        self.kernel = kernel
        self.multi_class = multi_class
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.class_weight = class_weight
        self.probability = probability
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self):
        super()._check_parameters()
        who = type(self).__name__
        if self.multi_class not in MULTI_CLASS:
            raise InputError(
                f"{who} needs multi_class to be one of {', '.join(MULTI_CLASS)}; got {self.multi_class!r}."
            )
        if self.loss not in LOSSES:
            raise InputError(f"{who} needs loss to be one of {', '.join(LOSSES)}; got {self.loss!r}.")

    def _chosen_columns(self):
        if self._are_labels and self.multi_class == "crammer_singer":
            raise InputError(
                f"{type(self).__name__}: multi_class='crammer_singer' is for classes; y has labels, which are learnt "
                "one by one. Use multi_class='ovr'."
            )
        loss, n_factors = self._loss(), self.map_.inner_.n_factors
        multi_class = self.multi_class if self.multi_class in ("ovr", "ovo") else "auto"
        return choose_columns(multi_class, loss, len(self.classes_), n_factors, self._are_labels, type(self).__name__)

    def _loss(self):
        joint = self.multi_class == "crammer_singer" and len(self.classes_) > 2  # for two classes it is the hinge
        return get_loss("crammer_singer" if joint else self.loss, task=self._task)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self.multi_class in ("auto", "ovr")
        return tags


class IntersectionSVR(LevelLearner, KernelRegressor):
    """Support vector regression with the histogram intersection kernel, by coordinate descent on tables. [wu10fast]

    Parameters
    ----------
    C : float
        Weight of the losses against |w|^2 / 2. As in SVR it has the unit of y; the default suits targets whose spread
        is about 1.
    loss : {"epsilon_insensitive", "absolute", "squared"}
        Support vector, median or ridge regression.
    epsilon : float
        Error that costs nothing, in the unit of y.
    fit_intercept : bool
        Centres the targets and adds a constant feature.
    bins, binning, kernel, solver, tol, max_iter, intercept_scaling, random_state, n_jobs, verbose
        As in :class:`IntersectionSVC`; ``kernel="auto"`` compares by R^2.

    Attributes
    ----------
    kernel_, trial_scores_, map_, coef_, intercept_, predictor_, plan_, objective_, dual_objective_, gap_, n_iter_
        As in :class:`IntersectionSVC`, a column per target.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).random((300, 4))
    >>> y = np.sqrt(X[:, 0]) + 10
    >>> model = IntersectionSVR(C=0.01, epsilon=0.01).fit(X[:200], y[:200])
    >>> bool(model.score(X[200:], y[200:]) > 0.95)
    True
    """

    def __init__(
        self,
        C=1e-3,
        *,
        loss="epsilon_insensitive",
        epsilon=0.1,
        bins="auto",
        binning="auto",
        kernel="intersection",
        solver="auto",
        tol=1e-3,
        max_iter=1000,
        fit_intercept=True,
        intercept_scaling=1.0,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.C = C
        self.loss = loss
        self.epsilon = epsilon
        self.bins = bins
        self.binning = binning
        self.kernel = kernel
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
