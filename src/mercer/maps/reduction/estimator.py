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
from mercer._base.feature_names import names_of_groups
from mercer._base.parameters import keep_arguments
from mercer._base.parameters.maps import N_PAIRS, REDUCTION
from mercer._base.tables import open_rows
from mercer.kernels import Linear, get_kernel
from mercer.maps.base import FeatureMap
from mercer.maps.dask import is_dask, sampled
from mercer.maps.reduction.checks import check_blocks, check_combination, check_rows
from mercer.maps.reduction.column_choice import ErrorJudge, choose_size, groups_by_size, used_columns
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
    """Reduce the number of columns with little change of the kernel: long histograms become shorter histograms.

    Pass the reduced rows to any map or learner, or set ``map`` to combine both in one map.

    Parameters
    ----------
    kernel : str or Kernel
        Additive kernel to preserve. With a ``map`` of an additive kernel, the weights are for the map's kernel, and
        this kernel only decides which columns ``method="convex"`` selects.
    n_dims : int or None
        Number of columns to keep; fewer if ``refit`` drops some.
    alpha : float or None
        For ``method="convex"``: the penalty of (5), for errors that are means over pairs. A larger penalty keeps fewer
        columns.
    tolerance : float or None
        Keep as few columns as possible with an error (7) of the kernel of at most this value; with ``method="convex"``,
        the error of the solution of (5), which ``refit`` then reduces. Set exactly one of n_dims, alpha and tolerance.
    map : FeatureMap or None
        Map that encodes the reduced rows; ``fit`` clones and fits it. None uses the reduced rows as features.
    method : {"auto", "merge", "supervised", "convex", "energy", "random"}
        ``"auto"`` with ``n_dims`` and classes tries ``"merge"`` and ``"convex"`` on held-out rows and uses the better
        one; with ``alpha`` it is ``"convex"``, otherwise ``"merge"``. ``"merge"`` adds up correlated columns.
        ``"supervised"`` adds up columns that indicate the same classes, and needs labels. The other methods select
        columns: ``"convex"`` by (5) of the paper, ``"energy"`` by the largest squares, ``"random"`` at random.
    refit : bool or None
        Fit the weights of all columns by non-negative least squares, so that they approximate the kernel best, and drop
        columns without weight. Otherwise, all weights are equal, or with ``method="convex"`` those of (5), which the
        penalty shrinks. None refits for ``method="convex"`` only.
    pairs : {"auto", "all", "uniform", "informative"}
        Pairs of rows on which ``method="convex"`` compares kernels. ``"all"`` uses all pairs, by a closed form for the
        linear and the Hellinger kernel. ``"uniform"`` draws ``n_pairs`` uniformly; ``"informative"`` draws them so that
        their kernel values cover the whole range. ``"auto"`` uses all pairs if that is less work, and uniform pairs
        otherwise.
    n_pairs : int
        Number of pairs to draw for ``method="convex"``, for ``refit``, and to measure the remaining error.
    random_state : int, RandomState or None
        Seed of the sampled pairs and rows, and of the columns with ``method="random"``.
    n_jobs : int or None
        Number of threads.

    Attributes
    ----------
    selected_ : ndarray of int64
        The columns that the features depend on, ascending.
    groups_ : int64 array, one number for each column of X
        The column of the reduced rows that each column belongs to, or -1.
    weights_ : float64 array, one number for each column that is left
        c, the weight of each column of the reduced rows.
    factors_ : float64 array, one number for each column that is left
        Factor of each column of the reduced rows: the gamma-th root of its weight, or 1.
    n_dims_ : int
        Number of remaining columns.
    method_ : str
        The method that was used.
    trial_ : dict or None
        With ``method="auto"``, the accuracy on held-out rows after each method; None without a trial.
    alpha_ : float or None
        The penalty of ``method="convex"``.
    path_ : dict of arrays
        ``n_dims`` and ``error`` (7) of the reductions that were tried; with ``method="convex"`` also ``alpha``.
    error_ : float
        Error (7) of the reduction, for ``weighed_kernel_``, on uniformly drawn pairs.
    weighed_kernel_ : Kernel
        The kernel that the weights are for: that of the map if it is additive, else ``kernel``.
    map_ : fitted map or None
    kernel_ : Kernel
        The kernel of the map, or ``kernel`` without a map.
    seconds_ : float
        Time to find the columns and their weights.

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
        """Refuse invalid or incompatible parameters before any row is read."""
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
                f"{self.weighed_kernel_!r} is not homogeneous, so its column weights cannot be applied to the rows. "
                "Pass the map of the kernel as map=..., for example SparseAdditiveMap, which applies the weights."
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
        """Plot kernel values of pairs of rows, before and after the reduction ([gavves12convex] Fig. 2).

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
            raise InputError("ConvexReduction.plot_values needs at least two rows; got one.")
        pairs = draw_pairs(X.shape[0], n_pairs, check_random_state(0))
        exact = pair_values(self.weighed_kernel_, X, pairs, self.n_jobs)
        return draw_values(self, exact, self._values(X, pairs))

    def plot_path(self):
        """Plot the error (7) along the path of reductions against alpha, or columns ([gavves12convex] Fig. 3)."""
        from mercer.maps.reduction.plot import draw_path

        check_is_fitted(self)
        return draw_path(self)

    # ----------------------------------------------------------------------------------------------------- features

    @property
    def _n_features_out(self):
        return self.n_dims_ if self.map_ is None else self.map_.inner_.n_features

    def get_feature_names_out(self, input_features=None):
        """Names of the columns that are left: ``a``, ``a+b``, or of more than three columns ``a+5 more``.

        With ``map`` they are those of its features.

        Parameters
        ----------
        input_features : names of the columns, or None for those of ``fit``; ``x0``, ``x1``, ... if it had none
        """
        check_is_fitted(self)
        names = names_of_groups(self, input_features, self.groups_)
        return names if self.map_ is None else self.map_.get_feature_names_out(names)

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
                f"ConvexReduction({self.kernel!r}) without a map returns reduced rows, whose inner product is not the "
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
        judge = ErrorJudge.of(self.weighed_kernel_, X, self.n_pairs, random_state, self.n_jobs)
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
            reduction = clone(self).set_params(method=method, map=self._map_of_trial())
            return reduction.set_output(transform="default").fit(X, y).transform  # arrays, whatever users see

        scores = trial_scores(fit, X, y, check_random_state(0))
        chosen = CONTENDERS[0] if scores is None else max(CONTENDERS, key=scores.get)
        logger.info("ConvexReduction: method='auto' chose %r, scores %s.", chosen, scores)
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
                f"ConvexReduction(alpha={self.alpha!r}) keeps no column, because the penalty is too large. For these "
                f"rows it must be less than {largest_penalty(moments.q):.6g}."
            )
        if self.n_dims is not None and len(chosen) < self.n_dims:
            logger.info(
                "ConvexReduction: %d columns represent all columns; %d were requested.", len(chosen), self.n_dims
            )
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
                "ConvexReduction cannot weight any column: the kernel is 0 on all sampled pairs of rows. Check that "
                "rows have columns in common."
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
            raise ValueError("groups_ and factors_ do not match the rows.")
        if self.weights_.shape != self.factors_.shape or not np.isfinite(self.weights_).all():
            raise ValueError("weights_ must be finite, one for each factor.")
        if self.map_ is None and self._degree is not None:
            return
        if not isinstance(self.map_, FeatureMap) or self.map_.n_features_in_ != self.n_dims_:
            raise ValueError("map_ must be a map of rows with n_dims_ columns.")
        if self._degree is None:
            check_blocks(self.map_, self.weighed_kernel_)
