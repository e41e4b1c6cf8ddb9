"""KernelClassifierCV: the weight C of the losses by cross-validation, along a path that reuses its planes."""

__all__ = ["KernelClassifierCV"]

import warnings
from dataclasses import replace

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv
from sklearn.utils.metaestimators import available_if

from mercer._base.errors import InputError
from mercer._base.memory import available_memory
from mercer._base.parameters import integer, keep_arguments, named
from mercer._base.parameters.learners import CLASSIFIER, CLASSIFIER_CV
from mercer._base.progress import track
from mercer.learners.classifier import LINKS, KernelClassifier
from mercer.learners.dask.tasks import client_of
from mercer.learners.fitting.repeats import without_idle_rows

# With C in units of 1 / mean K(x, x): below, all rows are on the wrong side of the margin; above, few data sets change.
SMALLEST_C, LARGEST_C = 0.1, 1e3
LEAST_C = 5.0  # in these units, to which all values are tried: small ones may all give the most frequent class
PATIENCE = 2  # values in a row without a better score, after which larger ones are not tried
SLOW = 4.0  # times as many passes as the value before took: then one is enough
KEPT_SHARE = 0.25  # of the available memory that the rows of all folds may take
N_VALUES, VALUE = integer("Cs", 10, "Number of values.", least=1), named(CLASSIFIER)["C"].but(default=1.0, words=())


class KernelClassifierCV(KernelClassifier):
    """KernelClassifier with C chosen by cross-validation.

    The map, which does not use labels, is fitted once, and the rows are encoded once. In each fold, the values of C are
    tried in ascending order, and the cutting planes of one value are the start for the next, because they do not depend
    on C.

    Parameters
    ----------
    kernel, map
        As in :class:`KernelClassifier`.
    Cs : int or sequence of floats
        Values to try, in ascending order. A number stands for as many values between 0.1 and 1,000 over the mean of
        K(x, x), so that the scale of the kernel does not matter. In that case, larger values are skipped once two in a
        row did not raise the score, or one took more than four times as many passes as the previous value.
    cv : int, splitter or iterable of (train, test)
        Folds; a number stands for stratified folds.
    scoring : str, callable or None
        Score to maximize: a scorer of scikit-learn; None uses accuracy.
    loss, multi_class, expansion, solver, tol, max_iter, fit_intercept, intercept_scaling, class_weight, probability
        As in :class:`KernelClassifier`.
    storage, random_state, n_jobs, verbose
        As in :class:`KernelClassifier`.

    Attributes
    ----------
    C_ : float
        The chosen value: the smallest one with the best mean score.
    Cs_ : ndarray, the values that were tried
    scores_ : ndarray of shape (folds, values)
    best_index_ : int
    classes_, map_, coef_, intercept_, predictor_, plan_, multi_class_
        As in :class:`KernelClassifier`, for the fit to all rows with the chosen C.
    objective_, dual_objective_, gap_, n_iter_, interrupted_, history_
        The same.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = KernelClassifierCV("intersection", Cs=[0.001, 0.01], cv=2).fit(X[:500], y[:500])
    >>> model.scores_.shape
    (2, 2)
    """

    _table = CLASSIFIER_CV

    def __init__(
        self,
        kernel="chi2",
        *,
        map=None,
        Cs=10,
        cv=5,
        scoring=None,
        loss=None,
        multi_class="auto",
        expansion="delayed",
        solver="auto",
        tol=1e-3,
        max_iter=1000,
        fit_intercept=True,
        intercept_scaling=1.0,
        class_weight=None,
        probability=False,
        storage="auto",
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        keep_arguments(self, locals())

    def fit(self, X, y=None, sample_weight=None):
        """Choose C, and train on all rows with it.

        Parameters
        ----------
        X : array-like, sparse matrix, memory-mapped array or source of rows, shape (n, d)
        y : classes, shape (n,), or an indicator matrix of labels
        sample_weight : None, or the weight of each row, also in the scores of the folds
        """
        self._check_parameters()
        with self._working():
            X, y, weights = self._read(X, y, sample_weight)
            if client_of(X) is not None:
                raise InputError(
                    f"{type(self).__name__} uses cross-validation, which needs all rows in one process. Choose C on a "
                    "sample of the rows, and fit KernelClassifier to all rows."
                )
            folds = self._folds(y, weights)
            X, y, weights = without_idle_rows(X, y, weights)
            problem, codes, choice = self._prepare(X, y, weights, 1.0)
            self._try_values(problem, codes, folds, None if sample_weight is None else weights)
            self.best_index_ = int(self.scores_.mean(axis=0).argmax())
            self.C_ = float(self.Cs_[self.best_index_])
            problem = replace(problem, C=self.C_)
            self._keep(self._solve(problem, choice), problem.design)
            self._calibrate_on(problem, codes)
        return self

    def _check_parameters(self):
        super()._check_parameters()
        if not N_VALUES.accepts(self.Cs):
            are_values = np.ndim(self.Cs) == 1 and len(self.Cs) > 0 and all(map(VALUE.accepts, self.Cs))
            if not are_values:
                named(self._table)["Cs"].refuse(self.Cs, type(self).__name__)

    def _values(self, problem):
        """(values of C, ascending, and the one up to which all are tried)."""
        if N_VALUES.accepts(self.Cs):
            design = problem.design
            norms = design.inner.row_norms(design.rows, self.n_jobs)
            unit = 1 / (np.average(norms, weights=problem.weights) or 1.0)
            return unit * np.geomspace(SMALLEST_C, LARGEST_C, int(self.Cs)), unit * LEAST_C
        return np.unique(np.asarray(self.Cs, dtype=np.float64)), np.inf

    def _folds(self, y, weights):
        """Pairs (train, test) of row numbers, counted without the rows of weight 0."""
        kept = weights > 0
        position = np.cumsum(kept) - 1
        folds = check_cv(self.cv, y, classifier=True).split(np.zeros(len(kept)), y)
        return [tuple(position[part][kept[part]] for part in fold) for fold in folds]

    def _try_values(self, problem, codes, folds, weights):
        """Set ``Cs_`` and ``scores_`` of the held-out rows, (folds, values of C that were tried)."""
        scorer = get_scorer("accuracy" if self.scoring is None else self.scoring)
        y = self.columns_.named(codes, self.classes_)
        values, least = self._values(problem)
        facts = self.columns_, self.classes_, LINKS.get(self.loss)
        keeps = len(folds) * self.plan_.rows_bytes <= KEPT_SHARE * available_memory()
        folds = [_Fold(problem, train, test, keeps) for train, test in folds]
        scores, passes, n_open = [], [], 0
        for C in track(values, "Cross-validation"):
            row, n_iter = np.empty(len(folds)), 0
            for k, fold in enumerate(folds):
                part, held_out = fold.parts()
                found = self._solve_fold(replace(part, C=float(C)), fold.state)
                fold.state, n_open = found.state, n_open + (not found.converged)
                n_iter += found.n_iter
                options = {} if weights is None else {"sample_weight": weights[fold.test]}
                row[k] = scorer(_FoldModel(*facts, found), held_out, y[fold.test], **options)
            scores.append(row)
            passes.append(n_iter)
            if least < C and _is_enough(np.mean(scores, axis=1), passes):
                break
        self.Cs_, self.scores_ = values[: len(scores)], np.array(scores).T
        if n_open:
            warnings.warn(
                f"{type(self).__name__}: {n_open} of {self.scores_.size} fits to folds stopped at "
                f"max_iter={self.max_iter} with a relative gap > tol={self.tol:.0e}. Raise max_iter or tol, or try "
                "smaller Cs.",
                ConvergenceWarning,
                stacklevel=3,
            )


def _is_enough(means, passes):
    """Whether larger values are unlikely to help.

    >>> _is_enough([0.5, 0.9, 0.9, 0.8], [1, 1, 1, 1]), _is_enough([0.5, 0.9, 0.8], [1, 1, 1])
    (True, False)
    >>> _is_enough([0.5, 0.9, 0.8], [1, 1, 5])
    True
    """
    idle = len(means) - 1 - int(np.argmax(means))
    is_slow = len(passes) > 1 and passes[-1] > SLOW * passes[-2]
    return idle >= (1 if is_slow else PATIENCE)


class _Fold:
    """Rows to learn from and rows to judge by, encoded, and the state of the last solution."""

    def __init__(self, problem, train, test, keeps):
        self.problem, self.train, self.test, self.keeps = problem, train, test, keeps
        self.state = self._parts = None

    def parts(self):
        """(problem on some rows, design of the others), made anew where keeping them would take too much memory."""
        if self._parts is not None:
            return self._parts
        parts = self.problem.take(self.train), self.problem.design.take(self.test)
        if self.keeps:
            self._parts = parts
        return parts


class _FoldModel(ClassifierMixin, BaseEstimator):
    """A solution as a classifier of encoded rows, which is what scorers ask."""

    def __init__(self, columns, classes, link, solution):
        self.columns, self.classes, self.link, self.solution = columns, classes, link, solution
        self.classes_ = classes

    def decision_function(self, design):
        return self.columns.decision(self._scores(design))

    def predict(self, design):
        return self.columns.choose(self.decision_function(design), self.classes)

    @available_if(lambda self: self.link is not None)
    def predict_proba(self, design):
        return self.columns.probabilities(self.link(self._scores(design)))

    def _scores(self, design):
        return design.scores(self.solution.u) + self.solution.intercept
