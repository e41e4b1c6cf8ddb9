"""KernelClassifier: a kernel name, a map or a quantizer in, a classifier out."""

__all__ = ["KernelClassifier"]

from functools import partial

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets, is_multilabel
from sklearn.utils.validation import check_is_fitted

from mercer._base.errors import InputError
from mercer._base.files.loaded import check_kind, checked_array
from mercer._base.parameters import Table, keep_arguments
from mercer._base.parameters.learners import CLASSIFIER
from mercer.learners.auto.door import check_scores, refuse_groups, rows_of_trials
from mercer.learners.available import available_where
from mercer.learners.base import KernelLearner
from mercer.learners.dask.tasks import client_of
from mercer.learners.fitting import encode
from mercer.learners.fitting.calibration import fit_sigmoids, fold_scores, stratified_folds
from mercer.learners.fitting.class_weights import class_weights
from mercer.learners.fitting.plan import check_memory
from mercer.learners.fitting.repeats import merged_repeats, without_idle_rows
from mercer.learners.fitting.softmax import SoftmaxLink, fit_softmax
from mercer.learners.fitting.targets import choose_columns, class_columns, refuse_missing
from mercer.learners.solvers.losses import CLASSIFICATION_LOSSES, get_loss
from mercer.spaces import LandmarkPredictor

MOST_COEFFICIENTS = 2**24  # of rows, in all columns of an exact machine
# scores that are log odds already
LINKS = {"logistic": expit, "multinomial": lambda scores: softmax(scores, axis=1)}


def _has_probabilities(self):
    if not (self.probability or self.loss in LINKS or self._is_automatic):
        raise AttributeError(
            f"{type(self).__name__} has probabilities only with kernel=None, with probability=True, or with "
            "loss='logistic' or 'multinomial'."
        )


class KernelClassifier(ClassifierMixin, KernelLearner):
    """A classifier based on a kernel, which trials choose or you name.

    Without arguments, the fit tries scalings of the columns, kernels, widths and penalties on some of the rows. It
    scores each candidate on left-out rows and trains the best one on all rows. With a kernel or a map, there is a
    single fit: a map replaces the kernel, the rows are encoded once, and the weights are found to a given relative
    duality gap. ``plan_`` describes the fit; the method ``plan`` describes it in advance.

    Parameters
    ----------
    kernel : None, str or Kernel
        Kernel that compares rows. None tries the linear, RBF and Laplacian kernels and, for rows >= 0, chi2,
        intersection, Jensen-Shannon and exponential chi2. A name stands for the kernel with its default parameters; the
        default gamma of exp(-gamma D) is 1 over the mean D between rows. Chi2, Jensen-Shannon and other additive
        homogeneous kernels are mapped by HomogeneousMap, and the intersection by SparseAdditiveMap. Kernels that are
        not additive are computed exactly for up to 20,000 rows in memory, as in SVC. They are mapped by NystroemMap for
        more rows, for losses without a dual on kernel values (logistic and joint losses), for an unregularized
        intercept, or if you name a solver.
    map : map or quantizer
        Feature map to use instead of the kernel's default, for example ``SparseAdditiveMap("js")`` or
        ``ProductQuantizer()``.
    loss : None or {"squared_hinge", "hinge", "logistic", "huber_hinge", "crammer_singer", "multinomial"}
        Loss function for a named kernel or map; the last two train all classes jointly. None uses squared_hinge, or
        hinge on exact kernel values, as in SVC. An automatic fit uses the squared loss, whose left-out scores are
        exact.
    C : None, float or "auto"
        Weight of the losses against |u|^2 / 2, as in SVC; a larger C fits the training rows more closely. None uses 1
        for a named kernel or map, and otherwise lets trials choose; "auto" lets trials choose for a named kernel too. A
        suitable C is proportional to 1 / K(x, x): histograms that sum to 1 need a larger C than raw counts.
    scaling : None or {"none", "unit", "standard", "ranks", "rows"}
        How an automatic fit scales columns, see :class:`ColumnScaling`; None tries every scaling that the rows allow.
    budget : None or float
        Time limit in seconds for an automatic fit. None limits the number of operations by the number of rows instead,
        so the choice depends only on the rows and the seed, not on the speed of the machine.
    multi_class : {"auto", "ovr", "ovo"}
        One-vs-rest, which trains all classes in the same passes, or one-vs-one, which trains each pair on its own rows.
        "auto" uses pairs, as SVC does, for up to 20 classes and 2**21 weights in all, because additive kernels separate
        two classes better than one class from a mixture of others; otherwise it uses one-vs-rest. On exact kernel
        values, it uses pairs if they have at most 2**24 coefficients. Joint losses have one column per class.
    expansion : {"delayed", "immediate", "dense"}
        How the solver reads the codes of a quantizer: through tables; decoded 250 at a time; or decoded all at once.
    solver : {"auto", "bundle", "dual", "falkon", "newton", "projected"}
        Optimization algorithm; "auto" picks the applicable one that is likely to be fastest.
    tol : float
        Relative duality gap at which the solver stops. The objective differs from the optimum by at most this share.
    max_iter : int
        Maximum number of passes over the data.
    fit_intercept : bool
    intercept_scaling : float or None
        Value of the constant feature whose weight is the intercept, regularized like other weights; None does not
        regularize the intercept.
    class_weight : dict, "balanced" or None
        Factors for the losses of each class, as in SVC.
    probability : bool
        Enable ``predict_proba`` for losses whose scores are not log odds, by a softmax fitted to five-fold
        cross-validated scores, which takes five more fits. ``predict`` then returns the class of the largest
        probability.
    storage : {"auto", "memory", "disk"}
        Where encoded rows are stored. "auto" uses the disk if they would take half of the available memory.
    random_state : int, RandomState or None
    n_jobs : int or None
    verbose : int
        If greater than 0, show progress on standard error: a bar on a terminal, otherwise a line every few seconds.

    Attributes
    ----------
    classes_ : ndarray
    kernel_ : Kernel
        The kernel that an automatic fit chose, for scaled rows.
    machine_ : ScaledPredictor, LandmarkPredictor, or None
        The coefficients of rows that an automatic fit, or a fit on exact kernel values, learned, without the intercept.
        There is no ``map_`` and no ``coef_`` in this case; set ``map=NystroemMap(...)`` to get them.
    link_ : SoftmaxLink, or None
        Converts scores to log odds.
    map_ : the fitted map or quantizer
    coef_ : ndarray of shape (factors, columns)
        Weights in the factor space of ``map_.inner_``, or coefficients of landmarks if a NystroemMap has more than
        2,048 of them.
    intercept_ : ndarray of shape (columns,)
    plan_ : Plan
    C_ : float
        The C that was used.
    multi_class_ : str
        "ovr", "ovo", "joint" or, for an indicator matrix, "labels".
    objective_, dual_objective_ : ndarrays, of each problem
    gap_ : float
        The largest relative duality gap.
    n_iter_ : int
    interrupted_ : bool
        Whether Ctrl-C ended the fit; the model is then the best one so far. With thousands of classes, computing its
        weights takes a while; a second Ctrl-C ends the fit without a model.
    sigmoids_ : ndarray of shape (2, columns), or None
        Slopes and offsets that convert the scores of labels to log odds.
    history_ : dict of lists
        Objective, dual objective, gap, seconds and planes by iteration.

    Notes
    -----
    X may also be a numpy.memmap or a source of rows: the map is then fitted to a sample, and rows are encoded block by
    block. An indicator matrix y means labels, each of them learned as a problem of its own. Among classes that are
    strings, ``""`` is one like any other, as in scikit-learn; the command line and ``open_rows`` take an empty label of
    a table for a missing one.

    The chunks of a Dask array or data frame are encoded by the workers of the current ``distributed.Client`` and stay
    there; the bundle solver asks them for sums. Scores of such rows are computed there too.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> classifier = KernelClassifier("chi2").fit(X[:1000], y[:1000])
    >>> bool(classifier.score(X[1000:], y[1000:]) > 0.95)
    True
    >>> automatic = KernelClassifier(random_state=0).fit(X[:300], y[:300])
    >>> automatic.kernel_.name, automatic.plan_.judged_by
    ('rbf', 'closed-form leave-one-out')
    """

    _task, _default_loss, _smooth_loss = "classification", "squared_hinge", "squared_hinge"
    _table: Table = CLASSIFIER
    link_ = None  # of an automatic fit

    def __init__(
        self,
        kernel=None,
        *,
        map=None,
        loss=None,
        C=None,
        scaling=None,
        budget=None,
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

    def fit(self, X, y=None, sample_weight=None, groups=None):
        """Learn from rows X and their classes y.

        Parameters
        ----------
        X : array-like, sparse matrix, memory-mapped array, source of rows, Dask array or data frame, shape (n, d)
        y : classes, shape (n,), or an indicator matrix of labels; of a source that has labels, these by default
        sample_weight : None, or the weight of each row
        groups : None, or for each row the group that it belongs to (a compound, a patient), shape (n,)
            An automatic fit scores each row with models trained on other groups.
        """
        self._check_parameters()
        with self._working():
            X, y, weights = self._read(X, y, sample_weight)
            if self._is_automatic:
                return self._fit_automatically(X, y, weights, groups)
            refuse_groups(groups, type(self).__name__)
            X, y, weights = merged_repeats(*without_idle_rows(X, y, weights), self.class_weight is not None)
            self.machine_ = self.link_ = None
            self._choose(X, y)
            if self._route.is_exact(X, self._intercept):
                return self._fit_exactly(X, y, weights)
            problem, codes, choice = self._prepare(X, y, weights)
            self._keep(self._solve(problem, choice), problem.design)
            self._calibrate_on(problem, codes)
        return self

    def decision_function(self, X):
        """Decision score of each class: (n,) for two classes, positive for the second, else (n, classes).

        With one-vs-one columns, these are votes, with ties broken by the scores; ``predictor_`` returns the scores.
        After an automatic fit, and with ``probability=True``, they are log odds, and ``predict_proba`` is their
        softmax.
        """
        return self._decision(self._scores(X))

    def _decision(self, scores):
        if self.sigmoids_ is not None and self.columns_.name == "labels":
            return self.sigmoids_[0] * scores + self.sigmoids_[1]
        if self.loss in LINKS and self.columns_.name == "ovo":  # log odds, of which predict_proba is made
            log_odds = self.columns_.by_class(scores)
            return log_odds[:, 0] if log_odds.shape[1] == 1 else log_odds
        decision = self.columns_.decision(scores)
        return decision if self.link_ is None else self.link_.decision(decision.reshape(len(decision), -1))

    def predict(self, X):
        """Predict the class of each row."""
        return self.columns_.choose(self.decision_function(X), self.classes_)

    @available_where(_has_probabilities)
    def predict_proba(self, X):
        """Predict the probability of each class, (n, classes).

        ``predict`` returns the class of the largest probability. Probabilities are softmax(alpha f + beta), with alpha
        and beta fitted to left-out scores: in closed form after an automatic fit, by cross-validation with
        ``probability=True``. The scores of the logistic loss are log odds already: for one-vs-rest, their probabilities
        are normalized; for pairs, the log odds are fitted.
        """
        scores = self._scores(X)
        if self.link_ is not None:
            return self.link_.probabilities(self.columns_.decision(scores).reshape(len(scores), -1))
        if self.loss in LINKS:
            return self.columns_.probabilities(LINKS[self.loss](scores))
        return self.columns_.probabilities(expit(self.sigmoids_[0] * scores + self.sigmoids_[1]))

    @property
    def columns_(self):
        """``ClassColumns`` that convert classes to columns of scores, and scores to classes."""
        if not hasattr(self, "multi_class_"):
            check_is_fitted(self)
        return class_columns(self.multi_class_, len(self.classes_))

    # ------------------------------------------------------------------------------------------------------- fitting

    def _fit_automatically(self, X, y, weights, groups):
        X, y, weights, groups = rows_of_trials(self, X, y, weights, groups)
        codes, weights = self._set_targets(y, weights)
        columns = self._columns_of_trials()
        check_scores(len(codes), columns.n_columns, type(self).__name__)
        self.multi_class_, self.sigmoids_, self.link_ = columns.name, None, None
        targets = columns.signs(codes).astype(np.float64)
        found = self._learn(X, targets, None if self._are_labels else codes, weights, groups)
        self.link_ = found.link
        if self._are_labels:
            self._link(found.left_out, codes, weights)
        return self

    def _fit_exactly(self, X, y, weights):
        codes, weights = self._set_targets(y, weights)
        columns = self._exact_columns(X)
        self.multi_class_, self.C_ = columns.name, 1.0 if self.C is None else float(self.C)
        self.plan_ = self._exact_plan(X, columns)
        check_memory(self.plan_)
        targets = columns.targets(codes)
        self._keep_exact(X, self._exact_solution(X, targets, weights))
        self._calibrate(codes, weights, lambda train, test: self._exact_scores(X, targets, weights, train, test))
        return self

    def _exact_scores(self, X, targets, weights, train, test):
        """Scores of some rows by what was learned from others."""
        found = self._exact_solution(X[train], targets[train], weights[train])
        if found.interrupted:
            raise KeyboardInterrupt
        return LandmarkPredictor(self.kernel_, X[train], found.u).scores(X[test]) + found.intercept

    def _exact_columns(self, X):
        """Pairs as in SVC, as long as their coefficients are not too many."""
        n_classes, multi_class = len(self.classes_), self.multi_class
        if multi_class == "auto" and not self._are_labels:
            n_pairs = n_classes * (n_classes - 1) // 2
            multi_class = "ovo" if n_pairs * X.shape[0] <= MOST_COEFFICIENTS else "ovr"
        loss, who = self._exact_loss(), type(self).__name__
        return choose_columns(multi_class, loss, n_classes, X.shape[0], self._are_labels, who)

    def _exact_loss(self):
        return get_loss(self.loss or "hinge", task=self._task)

    def _columns_of_trials(self):
        return class_columns("labels" if self._are_labels else "ovr", len(self.classes_))

    def _prepare(self, X, y, weights, C=None):
        """(problem, class numbers, choice of solvers): everything up to the solution, with the C of the parameters."""
        codes, weights = self._set_targets(y, weights)
        self._fit_map(X, is_validated=not encode.is_on_disk(X))
        self.multi_class_ = self._chosen_columns().name
        self.plan_, choice = self._planned(X)
        check_memory(self.plan_)
        columns = self.columns_
        return self._problem(X, columns.targets(codes), weights, columns.n_columns, C), codes, choice

    def _read(self, X, y, sample_weight):
        X, y = encode.opened(X), encode.fetched(y)
        refuse_missing(y, type(self).__name__)
        if self.probability and self.loss not in LINKS and client_of(X) is not None:
            raise InputError(
                f"{type(self).__name__}: probability=True uses cross-validation, which needs all rows in one process. "
                "Use loss='logistic' or 'multinomial', which have probabilities of their own."
            )
        are_labels = y is not None and is_multilabel(y)
        return super()._read(X, y, sample_weight, multi_output=are_labels)

    def _set_targets(self, y, weights):
        """Set ``classes_``; (class numbers, weights with those of the classes)."""
        check_classification_targets(y)
        who = type(self).__name__
        self._are_labels = is_multilabel(y)
        if self._are_labels:
            if self.class_weight is not None:
                raise InputError(
                    f"{who} supports class_weight for classes, not for an indicator matrix of labels. "
                    "Use sample_weight."
                )
            self.classes_ = np.arange(y.shape[1])
            return np.asarray(y.toarray() if hasattr(y, "toarray") else y), weights
        y = column_or_1d(y, warn=True)
        self.classes_ = np.unique(y)
        codes = np.searchsorted(self.classes_, y)  # unique's own inverse sorts all rows, which takes longer
        if len(self.classes_) < 2:
            raise InputError(
                f"{who}: the number of classes has to be greater than one, but there is only one class: {len(codes)} "
                f"rows (of weight > 0) with y = {self.classes_[0].item()!r}. Add rows of a second class."
            )
        if self.class_weight is not None:
            weights = weights * class_weights(self.class_weight, y, self.classes_, codes, weights, who)
        return codes, weights

    def _chosen_columns(self):
        return choose_columns(
            self.multi_class,
            self._loss(),
            len(self.classes_),
            self.map_.inner_.n_factors,
            self._are_labels,
            type(self).__name__,
        )

    def _calibrate_on(self, problem, codes):
        self._calibrate(codes, problem.weights, partial(fold_scores, problem, self._solve_fold))

    def _calibrate(self, codes, weights, scores_of):
        """Set what makes probabilities of scores: ``scores_of(train, test)`` are those of rows that had no part."""
        self.sigmoids_ = self.link_ = None
        if not self.probability or self.loss in LINKS:
            return
        folds = stratified_folds(codes, 0 if self._seed is None else self._seed, type(self).__name__)
        scores = np.zeros((len(weights), self.columns_.n_columns))
        for train, test in folds:
            scores[test] = scores_of(train, test)
        self._link(scores, codes, weights)

    def _link(self, scores, codes, weights):
        """Set ``link_`` of left-out scores or, of labels, ``sigmoids_``."""
        if self._are_labels:
            self.sigmoids_ = fit_sigmoids(scores, self.columns_.signs(codes), weights)
        else:
            decision = self.columns_.decision(scores)
            self.link_ = fit_softmax(decision.reshape(len(codes), -1), codes, weights)

    def _loss(self):
        return get_loss(self.loss or self._default_loss, task=self._task)

    def _check_loaded(self):
        super()._check_loaded()
        classes = self.classes_
        if not isinstance(classes, np.ndarray) or classes.ndim != 1 or not len(classes):
            raise ValueError("classes_ must be a vector.")
        if len(np.unique(classes)) != len(classes):
            raise ValueError("classes_ must be unique.")
        n_columns = self.columns_.n_columns
        if n_columns != len(self.intercept_):
            raise ValueError("classes_, multi_class_ and the weights are inconsistent.")
        if self.sigmoids_ is not None:
            checked_array(self, "sigmoids_", "float64", shape=(2, n_columns))
        n_scores = 1 if len(classes) == 2 else len(classes)
        if self.link_ is not None and len(check_kind(self, "link_", SoftmaxLink).offsets) != n_scores:
            raise ValueError("link_ and classes_ are inconsistent.")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        loss = CLASSIFICATION_LOSSES.get(self.loss)
        tags.classifier_tags.multi_label = self.multi_class != "ovo" and not (loss and loss.joint)
        return tags
