"""Sparse features for additive kernels: each value on its neighboring grid points. [vedaldi12sparse] Sec. 2.1

Notation
    paper      code            meaning                                                              shape
    Z          grid_           representative points, > 0, shared by all columns                    (m,)
    Z_x        window          the points next to a value, n_neighbors of them or fewer             (P,)
    Phi(x)     coefficients    (5): K_SS^+ k_Sx on the window S                                     (P,)
    K_ZZ       inner_          per column; for the intersection a cumulative sum, else a factor     (m, m)

With two neighbors a <= x < b, (5) has the closed forms

    intersection   ((b - x), (x - a)) / (b - a)                                                     (8)
    chi2           2 (a + b) x / ((a + x) (b + x)) times that                                       (9)

Below the first point and above the last there is one neighbor z, with the coefficient k(z, x) / k(z, z). Zero values
have none.

Deviations from the paper: in (9) the second coefficient is x - i (printed: x - 1). Grids need not be uniform. The point
zero is left out: k(0, x) = 0 makes its coefficient meaningless (in (9), 0 / 0).
"""

__all__ = ["SparseAdditiveMap"]

import warnings

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._base.errors import ApproximationWarning, InputError
from mercer._base.files.loaded import check_kind, checked_array
from mercer._base.linalg import rank_revealing_factor
from mercer._base.parameters import keep_arguments, named
from mercer._base.parameters.maps import POINTS, SPARSE_ADDITIVE
from mercer._base.threads import run_blocks
from mercer._base.validation import index_type
from mercer._native.spaces.grid import scatter_coefficients
from mercer.maps.base import FeatureMap
from mercer.maps.grids.points import GRID_RULES, given_points, grid_points, sample_magnitudes
from mercer.spaces import BlockFactor, CumulativeSum, GridPredictor, InnerProduct
from mercer.spaces.placement import Placement, intersection_exponent, nonzeros

BLOCK_VALUES = 2**16  # non-zero values per task
TRIAL_ROWS = 1024  # rows on which grid="auto" compares the rules: half of them make the grids ...
JUDGED_ROWS = 128  # ... and up to this many of the other half are the judges


class SparseAdditiveMap(FeatureMap):
    """Sparse features for an additive kernel: a few numbers per nonzero value, for any number of grid points.

    Each value is represented by its neighboring points of a grid, with the coefficients that approximate it best in the
    feature space of the kernel. The features form a CSR matrix, with point p of column j at j * n_points + p, and a
    geometry ``inner_`` that is not the identity: K(x, y) ~ phi(x)' H phi(y).

    Parameters
    ----------
    kernel : str or Kernel
        An additive kernel (chi2, intersection, Jensen-Shannon, power means, ...), or a sum of additive kernels.
    n_points : int
        Maximum number of grid points; fewer if the data has fewer distinct values. More points are closer to the
        kernel.
    grid : {"auto", "uniform", "quantile", "geometric", "optimal"} or array of points > 0
        How points are placed. "auto" tries all rules on some of the rows, and uses the one with the smallest relative
        error of the kernel on other rows.
    signed : bool
        Accept negative values, by the odd extension sign(x) sign(y) k(|x|, |y|) of the kernel: negative values get
        negative coefficients.
    n_neighbors : int, even
        Number of grid points per value, half of them on either side. For the intersection, two points already give the
        projection on all points.
    random_state : int, RandomState or None
        Seed of the sample of rows, which is used if there are many rows.
    n_jobs : int or None

    Attributes
    ----------
    grid_ : ndarray
        The points, ascending.
    grid_choice_ : str
        The rule that placed the points; "given" for your own points.
    grid_errors_ : dict
        With ``grid="auto"``, the relative Frobenius error of the kernel by rule, on rows that were not used to place
        points.

    See Also
    --------
    HomogeneousMap : dense features with the usual inner product.
    SparseMap : sparse features for kernels that are not additive.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).dirichlet(np.ones(8), size=300)
    >>> for n_points in (4, 16):
    ...     map = SparseAdditiveMap("chi2", n_points=n_points).fit(X)
    ...     error = np.abs(map.approximate_kernel(X) - map.kernel_(X)).max()
    ...     print(map.transform(X).shape, bool(error < 0.02))
    (300, 32) False
    (300, 128) True
    """

    _table = SPARSE_ADDITIVE

    def __init__(
        self, kernel="chi2", n_points=POINTS, grid="auto", signed=False, n_neighbors=2, random_state=None, n_jobs=None
    ):
        keep_arguments(self, locals())

    def fit(self, X, y=None):
        """Place the points of the grid. ``y`` is ignored."""
        X = self._checked(X, reset=True)
        if not isinstance(self.grid, str) and self.n_points != POINTS:
            raise InputError(
                "SparseAdditiveMap uses n_points only for grids that it places itself; got "
                f"n_points={self.n_points!r} and a grid of points. Remove one of them."
            )
        self.kernel_ = self.resolved_kernel()
        random_state = check_random_state(self.random_state)
        self.grid_errors_ = {}
        if not isinstance(self.grid, str):
            self.grid_choice_, self.grid_ = "given", given_points(self.grid, "SparseAdditiveMap")
        else:
            if self.grid == "auto":
                self.grid_errors_ = self._trial_errors(X, random_state)
                self.grid_choice_ = min(self.grid_errors_, key=self.grid_errors_.__getitem__)
            else:
                self.grid_choice_ = self.grid
            magnitudes = sample_magnitudes(X, random_state)
            self.grid_ = grid_points(self.grid_choice_, self.kernel_, magnitudes, self.n_points)
        self.inner_ = _inner_product(self.kernel_, self.grid_, X.shape[1])
        return self

    def residual(self, X):
        """r(x) = sqrt(K(x, x) - phi(x)' H phi(x)), the norm of what the features lose of each row, float64.

        It bounds the error of the kernel: |phi(x)' H phi(y) - K(x, y)| <= r(x) R(y) + r(y) R(x) + r(x) r(y), where
        R(x) = sqrt(phi(x)' H phi(x)).
        """
        X = self._checked(X, reset=False).astype(np.float64)
        kept = self.inner_.row_norms(self.encode_rows(X))
        return np.sqrt(np.maximum(self.kernel_.diagonal(X) - kept, 0.0))

    def fold(self, v):
        """The predictor x -> phi(x)' v on raw input: one function per column, tabulated on the grid."""
        check_is_fitted(self)
        v = np.asarray(v)
        if v.shape[:1] != (self._n_features_out,):
            return super().fold(v)  # which says what is wrong
        return GridPredictor(self.kernel_, self.grid_, v, self.n_neighbors)

    @property
    def _n_features_out(self):
        return self.n_features_in_ * len(self.grid_)

    @property
    def _features_per_column(self):
        return len(self.grid_)

    def encode_rows(self, X):
        features, n_above = encode(X, self.kernel_, self.grid_, self.n_neighbors, self.n_jobs)
        if n_above:
            n_values = X.nnz if sparse.issparse(X) else np.count_nonzero(X)
            warnings.warn(
                f"SparseAdditiveMap: {n_above} of {n_values} nonzero values are above the last grid point "
                f"{self.grid_[-1]:.6g} and are approximated by that point alone. Fit on data that covers their range, "
                "scale the data, or pass a wider grid.",
                ApproximationWarning,
                stacklevel=4,  # over transform and scikit-learn's wrapper of it
            )
        return features

    def resolved_kernel(self):
        kernel = super().resolved_kernel()
        return kernel.signed_form() if self.signed else kernel

    def check_parameters(self):
        """Refuse invalid parameters before any row is read."""
        super().check_parameters()
        if self.n_neighbors % 2:
            raise InputError(
                "SparseAdditiveMap needs an even n_neighbors, half of them above a value and half below; got "
                f"{self.n_neighbors}."
            )
        if isinstance(self.grid, str) and self.grid not in ("auto", *GRID_RULES):
            named(self._table)["grid"].refuse(self.grid, "SparseAdditiveMap")
        _check_kernel(self.resolved_kernel())

    def _trial_errors(self, X, random_state):
        """Relative error of the kernel for each rule, on rows that had no part in placing the points."""
        if X.shape[0] > TRIAL_ROWS:
            X = X[np.sort(random_state.permutation(X.shape[0])[:TRIAL_ROWS])]
        judges = X[1::2][:JUDGED_ROWS] if X.shape[0] > 1 else X
        if sparse.issparse(judges):
            judges = judges[:, np.unique(judges.indices)]  # columns without values have no part in the kernel
        judges = judges.astype(np.float64)
        exact = self.kernel_.gram_block(judges, judges, self.n_jobs)
        magnitudes = sample_magnitudes(X[::2], random_state)
        errors = {}
        for rule in GRID_RULES:
            points = grid_points(rule, self.kernel_, magnitudes, self.n_points)
            features, _ = encode(judges, self.kernel_, points, self.n_neighbors, self.n_jobs)
            approximate = _inner_product(self.kernel_, points, judges.shape[1]).gram(features)
            errors[rule] = float(np.linalg.norm(approximate - exact) / (np.linalg.norm(exact) or 1.0))
        return errors

    def _check_loaded(self):
        if not hasattr(self, "grid_"):
            return
        self.check_parameters()
        _check_kernel(self.kernel_)
        given_points(checked_array(self, "grid_", "float64", ndim=1), "SparseAdditiveMap")
        if check_kind(self, "inner_", InnerProduct).n_features != self._n_features_out:
            raise ValueError(f"inner_ has {self.inner_.n_features} features, the grid {self._n_features_out}.")


# ------------------------------------------------------------------------------------------------------- encoding


def encode(X, kernel, grid, n_neighbors, n_jobs=None):
    """(features, number of values above the grid): the features of validated rows as a CSR matrix of the type of X."""
    placement = Placement(kernel, grid, n_neighbors)
    n, d = X.shape
    n_values = X.nnz if sparse.issparse(X) else n * d
    index = index_type(d * len(grid), n_values * n_neighbors)
    step = max(1, int(BLOCK_VALUES * n / max(1, n_values)))
    blocks = [slice(i, min(i + step, n)) for i in range(0, n, step)]
    parts = run_blocks(lambda rows: _encode_block(nonzeros(X, rows), placement, X.dtype, index), blocks, n_jobs)
    lengths, indices, data, above = zip(*parts, strict=True)
    indptr = np.zeros(n + 1, dtype=index)
    np.cumsum(np.concatenate(lengths), out=indptr[1:])
    features = sparse.csr_array((np.concatenate(data), np.concatenate(indices), indptr), shape=(n, d * len(grid)))
    features.has_canonical_format = True  # columns ascend in the rows of X, points in a window
    return features, sum(above)


def _encode_block(entries, placement, dtype, index_type):
    starts, columns, values = entries
    intervals, coefficients, n_above = placement.coefficients(values)
    indptr = np.empty(len(starts), dtype=np.int64)
    indices, data = np.empty(coefficients.size, dtype=index_type), np.empty(coefficients.size, dtype=dtype)
    used = scatter_coefficients(
        starts, columns, values, placement.odd, intervals, coefficients,
        placement.half, len(placement.grid), indptr, indices, data,
    )  # fmt: skip
    return np.diff(indptr), indices[:used], data[:used], n_above


# --------------------------------------------------------------------------------------------- what the kernel allows


def _inner_product(kernel, grid, n_columns):
    exponent = intersection_exponent(kernel)
    if exponent:
        return CumulativeSum(np.tile(np.diff(grid**exponent, prepend=0.0), (n_columns, 1)))
    return BlockFactor(rank_revealing_factor(kernel.scalar(grid[:, None], grid))[None], repeat=n_columns)


def _check_kernel(kernel):
    if not kernel.additive:
        raise InputError(
            f"SparseAdditiveMap needs an additive kernel; got {kernel!r}. Use SparseMap for other kernels."
        )
    if kernel.scalar(0.0, 1.0) != 0:
        raise InputError(f"SparseAdditiveMap needs a kernel with k(0, y) = 0, which {kernel!r} does not satisfy.")
    if kernel.positive_definite_on == "real" and abs(kernel.scalar(-1.0, 2.0)) != kernel.scalar(1.0, 2.0):
        raise InputError(
            f"SparseAdditiveMap needs a kernel that is odd or even in the sign of a value; {kernel!r} mixes both."
        )
