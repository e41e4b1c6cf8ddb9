"""IntersectionSVC and IntersectionSVR: non-linear accuracy at about linear cost, nothing to tune. [wu10fast]

What sets them apart from KernelClassifier and KernelRegressor is their route, `mercer.learners.fitting.levels`.
"""

__all__ = ["IntersectionSVC", "IntersectionSVR"]

from mercer._base.errors import InputError
from mercer._base.parameters import keep_arguments
from mercer._base.parameters.learners import INTERSECTION_SVC, INTERSECTION_SVR
from mercer.learners.classifier import KernelClassifier
from mercer.learners.fitting.levels import LevelRoute
from mercer.learners.fitting.targets import choose_columns
from mercer.learners.regressor import KernelRegressor
from mercer.learners.solvers.losses import get_loss


class IntersectionSVC(KernelClassifier):
    """Support vector classification with the histogram intersection kernel, by coordinate descent on tables. [wu10fast]

    For histograms of integers, and for other data after binning, which it does itself. Training costs about as much as
    a linear SVM, prediction takes one look-up per column and class, and the default parameters rarely need tuning.

    Parameters
    ----------
    C : float or None
        Weight of the losses against |w|^2 / 2; a larger C fits the training rows more closely. None uses 3 over the
        mean of K(x, x) of the training rows, so that the number of levels and columns does not matter. The paper uses
        1e-3, for about 100 levels. With ``kernel="linear"``, a number is multiplied by 1,000, as in the paper, and None
        uses 1.
    loss : {"squared_hinge", "hinge"}
        Squared hinge (L2) or hinge (L1) loss.
    bins : "auto", int or None
        Number of bins, see :class:`LevelQuantizer`. "auto" uses histograms of integers unchanged.
    binning : {"auto", "global", "column", "adaptive"}
        How bins are placed, see :class:`LevelQuantizer`.
    kernel : str or Kernel
        The intersection or another additive kernel on levels: "chi2", "hellinger", "js", ``PowerMean(p)``; "linear"; or
        "auto", which compares intersection and linear on held-out training rows and uses the better.
    multi_class : {"auto", "ovr", "ovo", "crammer_singer"}
        One-vs-rest, as in the paper; one-vs-one; or all classes jointly, with their own L1 loss. "auto" uses pairs for
        up to 20 classes and 2**21 weights in all, for the same reason as :class:`KernelClassifier`, and one-vs-rest
        otherwise. Classes or pairs are trained in parallel.
    solver : {"auto", "icd", "primal"}
        Coordinate descent in the dual, or Newton's method or cutting planes in the primal, which suit data with far
        more columns than rows.
    tol : float
        Relative duality gap at which the solver stops.
    max_iter : int
        Maximum number of passes over the data.
    fit_intercept : bool
        Whether to add an intercept; the paper has none.
    intercept_scaling, class_weight, probability, random_state, n_jobs, verbose
        As in :class:`KernelClassifier`.

    Attributes
    ----------
    classes_ : ndarray
    C_ : float
        The C that was used.
    kernel_ : Kernel
        The kernel that was used.
    trial_scores_ : None or dict
        With ``kernel="auto"``, the accuracy of both kernels on held-out training rows.
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
    'integers as levels, up to 16'
    """

    map, expansion, storage = None, "delayed", "memory"  # nothing to choose here
    _route_kind = LevelRoute
    _table = INTERSECTION_SVC

    def __init__(
        self,
        C=None,
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
        keep_arguments(self, locals())

    def _chosen_columns(self):
        if self._are_labels and self.multi_class == "crammer_singer":
            raise InputError(
                f"{type(self).__name__}: multi_class='crammer_singer' does not support an indicator matrix y. Use "
                "multi_class='ovr'."
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


class IntersectionSVR(KernelRegressor):
    """Support vector regression with the histogram intersection kernel, by coordinate descent on tables. [wu10fast]

    Parameters
    ----------
    C : float or None
        Weight of the losses against |w|^2 / 2, for targets of standard deviation 1; None as in
        :class:`IntersectionSVC`.
    loss : {"epsilon_insensitive", "absolute", "squared"}
        Support vector, median or ridge regression.
    epsilon : float
        Largest error that epsilon_insensitive ignores, in standard deviations of y, see :class:`KernelRegressor`.
    fit_intercept : bool
        Whether to center the targets and add a constant feature.
    bins, binning, kernel, solver, tol, max_iter, intercept_scaling, random_state, n_jobs, verbose
        As in :class:`IntersectionSVC`; ``kernel="auto"`` compares by R^2.

    Attributes
    ----------
    C_, kernel_, trial_scores_, map_, coef_, intercept_, predictor_, plan_, objective_, dual_objective_, gap_, n_iter_
        As in :class:`IntersectionSVC`, with one column per target.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).random((300, 4))
    >>> y = np.sqrt(X[:, 0]) + 10
    >>> model = IntersectionSVR(C=0.01, epsilon=0.01).fit(X[:200], y[:200])
    >>> bool(model.score(X[200:], y[200:]) > 0.95)
    True
    """

    map, expansion, storage = None, "delayed", "memory"  # nothing to choose here
    _route_kind = LevelRoute
    _table = INTERSECTION_SVR

    def __init__(
        self,
        C=None,
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
        keep_arguments(self, locals())
