"""Reduction of the columns of additive kernels, by merging or by convex selection. [gavves12convex]

Notation
    paper      code        meaning                                                               shape
    D, Delta   -           columns; columns that are left (n_dims)
    c          weights_    weight of the one-dimensional kernel of each column that is left      (n_dims,)
    gamma      -           homogeneity of the kernel: K(a x, a y) = a^gamma K(x, y)
    lambda     alpha       penalty of (5), there times the number of pairs
    t          tolerance   bound of (7), the root mean square error of the kernel over its mean

The reduced kernel is sum_g c_g k(z_g, w_g), z_g being a column that was kept or the sum of columns that were merged.
With a homogeneous kernel the weights go into the rows, z_g times c_g^(1 / gamma) (in (6) the paper writes c_g^gamma);
with any other they go into the features of a map, the block of column g times sqrt(c_g).

Deviation from the paper: (5) is offered, but by default it has to be better than merging on left-out rows, because of
visual words those that (5) selects serve a classifier no better than words drawn at random, and merged ones do
(`docs/maps/reduction.md`).
"""

__all__ = ["ConvexReduction"]

import logging
from time import perf_counter

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._base.errors import InputError
from mercer._base.parameters import keep_arguments
from mercer._base.parameters.maps import N_PAIRS, REDUCTION
from mercer._base.tables import open_rows
from mercer.kernels import Linear, get_kernel
from mercer.maps.base import FeatureMap
from mercer.maps.dask import is_dask, sampled
from mercer.maps.reduction.checks import check_blocks, check_combination, check_rows
from mercer.maps.reduction.column_choice import Judge, choose_size, groups_by_size, used_columns
from mercer.maps.reduction.column_groups import WIDEST, numbered
from mercer.maps.reduction.lasso_path import LassoPath
from mercer.maps.reduction.nonnegative import largest_penalty, solve_nonnegative
from mercer.maps.reduction.pair_moments import design_moments, draw_pairs, kernel_moments, pair_values, weighted_values
from mercer.maps.reduction.reduced_columns import ReducedPredictor, check_groups, reduce_columns
from mercer.maps.reduction.screening import screened_moments
from mercer.maps.reduction.spread_moments import spread_design_moments, spread_kernel_moments
from mercer.maps.reduction.trial import CONTENDERS, trial_scores
from mercer.maps.spectral.homogeneous import HomogeneousMap
from mercer.maps.spectral.spectra import spectrum_of
from mercer.spaces import Identity

logger = logging.getLogger("mercer")


class ConvexReduction(FeatureMap):
    """Fewer columns whose kernel is close to that of all columns: histograms of many words as shorter histograms.

    The rows that are left can be given to any map or learner; with ``map`` the two are one map.

    Parameters
    ----------
    kernel : str or Kernel
        Additive kernel that is to be kept. With a ``map`` of an additive kernel the weights are those for the map's
        kernel, and this one only decides which columns ``method="convex"`` selects.
    n_dims : int or None
        Number of columns to be left, fewer where ``refit`` drops some.
    alpha : float or None
        For ``method="convex"``: the penalty of (5), for errors that are means over pairs.
    tolerance : float or None
        As few columns as keep the error (7) of the kernel at or below this; with ``method="convex"`` that of the
        solution of (5), which ``refit`` then makes smaller. One of the three must be given.
    map : FeatureMap or None
        Encodes the reduced rows; cloned and fitted by ``fit``. None: the features are the reduced rows.
    method : {"auto", "merge", "supervised", "convex", "energy", "random"}
        ``"auto"``: with ``n_dims`` and classes, the better of ``"merge"`` and ``"convex"`` on rows that were left out;
        with ``alpha`` ``"convex"``; otherwise ``"merge"``. ``"merge"``: columns that rise and fall together are added
        up. ``"supervised"``: columns are added up that speak for the same classes, which takes labels. The others
        select columns: ``"convex"`` by (5) of the paper, ``"energy"`` those with the largest squares, ``"random"``
        any.
    refit : bool or None
        Whether each column gets the weight that approximates the kernel best, all together by non-negative least
        squares; columns without weight are dropped. Otherwise all have the same weight, or with ``method="convex"``
        those of (5), which are too small by what the penalty takes. None: for ``method="convex"`` only.
    pairs : {"auto", "all", "uniform", "informative"}
        Pairs of rows on which ``method="convex"`` compares kernels. ``"all"``: all pairs, by a closed form that the
        linear and the Hellinger kernel have. ``"uniform"``: ``n_pairs`` drawn evenly; ``"informative"``: drawn such
        that their kernel values are spread over their range. ``"auto"``: all where that is less work, else uniform.
    n_pairs : int
        Pairs that are drawn, for ``method="convex"``, for ``refit``, and to measure the error that is left.
    random_state : int, RandomState or None
        Which pairs and rows are looked at; with ``method="random"`` also the columns.
    n_jobs : int or None
        Threads.

    Attributes
    ----------
    selected_ : ndarray of int64
        The columns that the features depend on, ascending.
    groups_ : int64 array, one number for each column of X
        The column of the reduced rows that each column goes to, -1 for none.
    weights_ : float64 array, one number for each column that is left
        c, the weight of each column of the reduced rows.
    factors_ : float64 array, one number for each column that is left
        What each column of the reduced rows is multiplied by: the gamma-th root of its weight, or 1.
    n_dims_ : int
        Columns that are left.
    method_ : str
        How they were found.
    trial_ : dict or None
        Of ``method="auto"`` the share of left-out rows that are classified rightly after each method; None without a
        trial.
    alpha_ : float or None
        The penalty of ``method="convex"``.
    path_ : dict of arrays
        ``n_dims`` and ``error`` (7) of the reductions that were looked at; with ``method="convex"`` also ``alpha``.
    error_ : float
        (7) of the reduction, for ``weighed_kernel_``, on pairs that were drawn evenly.
    weighed_kernel_ : Kernel
        The kernel that the weights are for: that of the map if it is additive, else ``kernel``.
    map_ : fitted map or None
    kernel_ : Kernel
        That of the map, else ``kernel``.
    seconds_ : float
        How long finding the columns and their weights took.

    See Also
    --------
    HomogeneousMap : what to put in ``map`` for chi2, intersection, Jensen-Shannon.

    Examples
    --------
    Two columns that are multiples of each other are one:

    >>> import numpy as np
    >>> X = np.random.default_rng(0).random((50, 4))
    >>> X[:, 3] = 2 * X[:, 0]
    >>> reduction = ConvexReduction("chi2", n_dims=3).fit(X)
    >>> reduction.groups_
    array([0, 1, 2, 0])
    >>> reduction.transform(X).shape
    (50, 3)

    As a map of the chi2 kernel, for learners:

    >>> from mercer import HomogeneousMap
    >>> ConvexReduction(n_dims=3, map=HomogeneousMap("chi2")).fit_transform(X).shape
    (50, 9)
    """

    _table = REDUCTION

    def __init__(
        self,
        kernel="linear",
        *,
        n_dims=None,
        alpha=None,
        tolerance=None,
        map=None,
        method="auto",
        refit=None,
        pairs="auto",
        n_pairs=50_000,
        random_state=None,
        n_jobs=None,
    ):
        keep_arguments(self, locals())

    def check_parameters(self):
        """Refuse parameters that cannot be, or not together, before any row is seen."""
        super().check_parameters()
        check_combination(self)

    def fit(self, X, y=None):
        """Find the columns and their weights, then fit the map to the reduced rows.

        Parameters
        ----------
        X : rows, at least two of them
        y : class of each row, for ``method="supervised"`` and the trial of ``"auto"``; passed on to the map
        """
        self.check_parameters()
        spread = open_rows(X) if is_dask(X) else None  # all rows; X is then a sample of them
        if spread is not None:
            X, y = sampled(spread, y, self.random_state)
        X = self._checked(X, reset=True)
        kernel = get_kernel(self.kernel)
        kernel.check_values(X, "X")
        check_rows(self, X, y)
        self.kernel_ = self.resolved_kernel()
        self.weighed_kernel_ = self.kernel_ if self.kernel_.additive else kernel
        if self.map is None and self._degree is None:
            raise InputError(
                f"{self.weighed_kernel_!r} is not homogeneous, so no scaling of the rows gives its columns weights. "
                "Pass the map of the kernel as map=..., for example SparseAdditiveMap, which then takes the weights."
            )
        started = perf_counter()
        self._reduce(X, y, kernel, spread)
        self.seconds_ = perf_counter() - started
        self.map_ = None if self.map is None else clone(self.map).fit(self._reduced(X), y)
        if self.map_ is not None:
            self.kernel_ = self.map_.kernel_  # with a width that was left open
        if self._degree is None:
            check_blocks(self.map_, self.weighed_kernel_)
        return self

    @property
    def inner_(self):
        """The inner product of the features: that of the map, or the usual one."""
        check_is_fitted(self)
        return Identity(self.n_dims_) if self.map_ is None else self.map_.inner_

    def as_rows(self, X):
        """The features as `mercer.spaces` rows, the form that learners and searchers work on."""
        self._require_features()
        if self.map_ is None or self._block_factors() is not None:
            return super().as_rows(X)
        return self.map_.rows_of_validated(self._reduced(X))

    def approximate_kernel(self, X, Y=None):
        """The kernel after the reduction: phi(X)' H phi(Y), or without a map the kernel of the reduced rows."""
        if getattr(self, "map_", None) is not None:
            return super().approximate_kernel(X, Y)
        left = self.transform(X)
        return self.kernel_(left, None if Y is None else self.transform(Y))

    def fold(self, v):
        """The predictor x -> phi(x)' v on raw input, for weights v of shape (features,) or (features, classes)."""
        self._require_features()
        if self.map_ is None:
            return super().fold(v)
        v, scales = np.asarray(v), self._block_factors()
        if scales is not None and v.shape[:1] == scales.shape:
            v = (v.T * scales.astype(v.dtype)).T
        return ReducedPredictor(self.groups_, self.factors_, self.map_.fold(v))

    def plot_values(self, X, n_pairs=1000):
        """Kernel values of pairs of rows, before and after the reduction ([gavves12convex] Fig. 2).

        Parameters
        ----------
        X : rows
        n_pairs : int

        Returns
        -------
        matplotlib.figure.Figure
        """
        from mercer.maps.reduction.plot import draw_values

        X = self._checked(X, reset=False)
        N_PAIRS.check(n_pairs, "ConvexReduction.plot_values")
        if X.shape[0] < 2:
            raise InputError("ConvexReduction.plot_values needs two rows or more, got one.")
        pairs = draw_pairs(X.shape[0], n_pairs, check_random_state(0))
        exact = pair_values(self.weighed_kernel_, X, pairs, self.n_jobs)
        return draw_values(self, exact, self._values(X, pairs))

    def plot_path(self):
        """The error (7) along the path of reductions ([gavves12convex] Fig. 3): against alpha, or the columns left."""
        from mercer.maps.reduction.plot import draw_path

        check_is_fitted(self)
        return draw_path(self)

    # ----------------------------------------------------------------------------------------------------- features

    @property
    def _n_features_out(self):
        return self.n_dims_ if self.map_ is None else self.map_.inner_.n_features

    def _reduced(self, X):
        return reduce_columns(X, self.groups_, self.factors_, self.n_jobs)

    def encode_rows(self, X):
        reduced = self._reduced(X)
        if self.map_ is None:
            return reduced
        features, scales = self.map_.transform(reduced), self._block_factors()
        if scales is None:
            return features
        scales = scales.astype(features.dtype)
        return sparse.csr_array(features * scales[None]) if sparse.issparse(features) else features * scales

    def _require_features(self):
        """Raise where there are rows for the kernel but no features of it."""
        check_is_fitted(self)
        if self.map_ is None and not isinstance(self.kernel_, Linear):
            raise InputError(
                f"ConvexReduction({self.kernel!r}) without a map gives shorter rows, whose inner product is not the "
                f"kernel. Pass map=..., for example map=HomogeneousMap({self.kernel!r}), or put it in front of such a "
                "map or learner in a pipeline."
            )

    def _block_factors(self):
        """sqrt(c_g) for every feature of the map, if the weights could not go into the rows, else None."""
        if self._degree is not None:
            return None
        return np.repeat(np.sqrt(self.weights_), self.map_.inner_.n_features // self.n_dims_)

    def _values(self, X, pairs):
        """sum_g c_g k(z_g, w_g) of pairs of rows."""
        c = np.ones(self.n_dims_) if self._degree is not None else self.weights_
        return weighted_values(self.weighed_kernel_, self._reduced(X), pairs, c, self.n_jobs)

    # ------------------------------------------------------------------------------------------- columns and weights

    def _reduce(self, X, y, kernel, spread=None):
        """Set the columns, their weights and what is known of them; pairs are those of ``spread`` if it is given."""
        random_state = check_random_state(self.random_state)
        judge = Judge.of(self.weighed_kernel_, X, self.n_pairs, random_state, self.n_jobs)
        used_columns(X)  # refuses rows without values
        self.method_, self.trial_ = self._chosen_method(X, y)
        moments = None
        if self.method_ == "convex":
            moments = self._moments(X, kernel, random_state, spread)
            groups, weights = self._select(moments)
        else:
            groups_of, most = groups_by_size(self.method_, X, y, random_state, self.n_jobs)
            groups, weight, self.path_ = choose_size(groups_of, most, judge, self.n_dims, self.tolerance)
            weights, self.alpha_ = np.full(groups.max() + 1, weight), None
        if self._refits and moments is not None and self.weighed_kernel_ == kernel:
            at = np.flatnonzero(groups >= 0)
            weights = moments.refitted(at, weights)
        elif self._refits:
            weights = self._refitted(X, groups, random_state, spread)
        self._keep(groups, weights)
        self.error_ = judge.error(self._values(judge.X, judge.pairs))

    def _chosen_method(self, X, y):
        """(method, scores of the trial or None)"""
        if self.method != "auto":
            return self.method, None
        if self.alpha is not None:
            return "convex", None
        if self.n_dims is None:
            return CONTENDERS[0], None

        def fit(method, X, y):
            reduction = clone(self).set_params(method=method, map=self._map_of_trial()).fit(X, y)
            return reduction.transform

        scores = trial_scores(fit, X, y, check_random_state(0))
        chosen = CONTENDERS[0] if scores is None else max(CONTENDERS, key=scores.get)
        logger.info("ConvexReduction: method='auto' takes %r, scores %s.", chosen, scores)
        return chosen, scores

    def _map_of_trial(self):
        """What makes features for the linear machines of a trial: without a map, that of the kernel if it has one."""
        kernel = self.weighed_kernel_
        if self.map is not None or isinstance(kernel, Linear):
            return self.map
        try:
            spectrum_of(kernel)
        except InputError:
            return None
        return HomogeneousMap(kernel)

    def _moments(self, X, kernel, random_state, spread):
        """Moments for (5): of all columns in memory, or of so many as get a weight."""
        how = self.pairs, int(self.n_pairs), random_state
        if X.shape[1] > WIDEST:
            return screened_moments(kernel, X, *how, self.n_jobs)
        if spread is not None:
            return spread_kernel_moments(kernel, spread, *how)
        return kernel_moments(kernel, X, *how, self.n_jobs)

    def _select(self, moments):
        """(groups, c) of the solution of (5) that is asked for."""
        path = LassoPath(moments)
        if self.n_dims is not None:
            c, self.alpha_ = path.of_size(int(self.n_dims))
        elif self.alpha is not None:
            c, self.alpha_ = path.at_alpha(float(self.alpha))
        else:
            c, self.alpha_ = path.within(float(self.tolerance))
        self.path_ = path.record()
        chosen = np.flatnonzero(c)
        if not len(chosen):
            raise InputError(
                f"ConvexReduction(alpha={self.alpha!r}) leaves no column: the penalty outweighs the kernel. With these "
                f"rows it has to be below {largest_penalty(moments.q):.6g}."
            )
        if self.n_dims is not None and len(chosen) < self.n_dims:
            logger.info("ConvexReduction: %d columns represent all; %d were asked for.", len(chosen), self.n_dims)
        groups = np.full(len(c), -1, dtype=np.int64)
        groups[chosen] = np.arange(len(chosen))
        return groups, c[chosen]

    def _refitted(self, X, groups, random_state, spread=None):
        """Weights of the reduced columns by non-negative least squares, for the kernel that they are for."""
        pairs = draw_pairs(X.shape[0] if spread is None else len(spread), int(self.n_pairs), random_state)
        if spread is not None:
            moments = spread_design_moments(self.weighed_kernel_, spread, pairs, groups)
        else:
            values = pair_values(self.weighed_kernel_, X, pairs, self.n_jobs)
            reduced = reduce_columns(X, groups, np.ones(groups.max() + 1), self.n_jobs)
            moments = design_moments(self.weighed_kernel_, reduced, pairs, values, self.n_jobs)
        return solve_nonnegative(moments.G, moments.q, start=np.ones(len(moments.q)))

    def _keep(self, groups, weights):
        """Set what is left, without columns of weight 0."""
        left = weights > 0
        if not left.any():
            raise InputError(
                "ConvexReduction finds no column with a weight: the kernel is 0 on the pairs of rows that were drawn. "
                "Do any rows have columns in common?"
            )
        self.groups_ = numbered(np.where((groups >= 0) & left[groups], groups, -1))
        self.selected_ = np.flatnonzero(self.groups_ >= 0)
        self.weights_ = weights[left]
        self.n_dims_ = len(self.weights_)
        self.factors_ = np.ones(self.n_dims_) if self._degree is None else self.weights_ ** (1 / self._degree)

    @property
    def _refits(self):
        return self._way == "convex" if self.refit is None else self.refit

    @property
    def _way(self):
        """The method, once it is known."""
        return getattr(self, "method_", self.method)

    @property
    def _degree(self):
        """gamma, by which weights go into the rows, or None.

        The weights of (5) are those of one kernel, whatever kernel comes after them, as the paper has it.
        """
        is_paper = self._way == "convex" and not self._refits
        return (get_kernel(self.kernel) if is_paper else self.weighed_kernel_).homogeneity

    # -------------------------------------------------------------------------------------------------------- checks

    def resolved_kernel(self):
        if self.map is None:
            return get_kernel(self.kernel)
        if not isinstance(self.map, FeatureMap):
            raise InputError(
                f"ConvexReduction needs a map of Mercer, such as HomogeneousMap('chi2'), or None, got map={self.map!r}."
            )
        return self.map.resolved_kernel()

    def _check_loaded(self):
        if not hasattr(self, "groups_"):
            return  # not fitted
        check_groups(self.groups_, self.factors_)
        if len(self.groups_) != self.n_features_in_ or len(self.factors_) != self.n_dims_:
            raise ValueError("groups_ and factors_ do not fit the rows.")
        if self.weights_.shape != self.factors_.shape or not np.isfinite(self.weights_).all():
            raise ValueError("weights_ must be finite, one for each factor.")
        if self.map_ is None and self._degree is not None:
            return
        if not isinstance(self.map_, FeatureMap) or self.map_.n_features_in_ != self.n_dims_:
            raise ValueError("map_ must be a map of rows with n_dims_ columns.")
        if self._degree is None:
            check_blocks(self.map_, self.weighed_kernel_)
