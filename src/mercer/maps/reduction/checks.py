"""What a reduction can be asked for, and of which rows."""

__all__ = ["check_blocks", "check_combination", "check_rows"]

from sklearn.utils.validation import column_or_1d

from mercer._base.errors import InputError
from mercer.kernels import get_kernel
from mercer.maps.grids.sparse_additive import SparseAdditiveMap
from mercer.maps.landmarks.nystroem import NystroemMap
from mercer.maps.reduction.pair_moments import is_product


def check_combination(reduction):
    """Raise for parameters of a ConvexReduction that do not go together."""
    given = [name for name in ("n_dims", "alpha", "tolerance") if getattr(reduction, name) is not None]
    if len(given) != 1:
        raise InputError(
            f"ConvexReduction needs exactly one of n_dims, alpha and tolerance; got {' and '.join(given) or 'none'}. "
            "For example n_dims=300."
        )
    if reduction.alpha is not None and reduction.method not in ("auto", "convex"):
        raise InputError("ConvexReduction uses alpha only with method='convex'. Use n_dims or tolerance.")
    is_convex = reduction.method == "convex" or (reduction.method == "auto" and reduction.alpha is not None)
    if reduction.pairs != "auto" and not is_convex:
        raise InputError(
            f"ConvexReduction uses pairs only with method='convex'; got pairs={reduction.pairs!r} with "
            f"method={reduction.method!r}. Remove pairs, or set method='convex'."
        )
    _check_kernel(get_kernel(reduction.kernel), reduction.pairs)


def _check_kernel(kernel, pairs):
    if not kernel.additive:
        raise InputError(
            f"ConvexReduction needs an additive kernel; got {kernel!r}. Reduce the linear kernel, and pass the map of "
            "this kernel as map=..."
        )
    if pairs == "all" and not is_product(kernel):
        raise InputError(
            f"ConvexReduction supports pairs='all' only for the linear and the Hellinger kernel; got {kernel!r}."
        )


def check_rows(reduction, X, y):
    """Raise for validated rows that cannot be reduced as asked."""
    n, D = X.shape
    if n < 2:
        raise InputError("ConvexReduction compares pairs of rows and needs at least two rows; got n_samples = 1.")
    if reduction.n_dims is not None and reduction.n_dims > D:
        raise InputError(f"ConvexReduction cannot keep n_dims={reduction.n_dims} columns of rows with n_features={D}.")
    if reduction.method == "supervised":
        if y is None:
            raise InputError("ConvexReduction(method='supervised') requires y to be passed: the class of each row.")
        if len(column_or_1d(y)) != n:
            raise InputError(f"ConvexReduction got {n} rows, but {len(y)} classes.")


def check_blocks(map, kernel):
    """Raise unless the fitted map has a block of features for each column, where weights can go."""
    if not (isinstance(map, SparseAdditiveMap) or (isinstance(map, NystroemMap) and map.tables_ is not None)):
        raise InputError(
            f"{kernel!r} is not homogeneous, so its column weights apply to the features of each column, which "
            f"{type(map).__name__} mixes. Use SparseAdditiveMap or NystroemMap(per_dimension=True)."
        )
