"""What every kernel offers: Gram blocks, diagonal, induced distance, normalization, nearest rows."""

__all__ = ["Kernel", "kernel_class", "require_non_negative"]

from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError
from mercer._base.memory import row_chunks
from mercer._base.validation import as_rows, check_same_width, refuse_negative
from mercer.kernels.engine import refuse_overflow, shrinking, weigh
from mercer.kernels.near import accuracy_of, refine

kernel_class = dataclass(eq=True, unsafe_hash=True)
TOP_K_COLUMNS = 8192  # right-hand rows scored at once by top_k
# the usual cause when a fitted model is asked: new rows that were scaled by the range of the training rows
_CLIP = "If the rows come from MinMaxScaler, use MinMaxScaler(clip=True): it keeps new values in the training range."


class Kernel:
    """A Mercer kernel K(x, y) on rows: an immutable value with parameters, callable on blocks of rows.

    Attributes
    ----------
    name : str
        The name under which :func:`mercer.get_kernel` finds the kernel.
    additive : bool
        K(x, y) = sum_j k(x_j, y_j) for a kernel k on numbers.
    homogeneity : float or None
        The g with K(c x, c y) = c**g K(x, y) for every c > 0, or None.
    positive_definite_on : str
        ``"real"`` (any rows), ``"non-negative"`` (rows without negative values) or ``"unknown"``.
    has_spectrum : bool
        Whether HomogeneousMap has features for it, from the spectrum of k as a function of log-ratios.
    parity : str or None
        ``"odd"``: k(-x, y) = -k(x, y); ``"even"``: k(-x, y) = k(x, y); ``"none"``: values have no signs; None: parts of
        the kernel differ in it.
    has_kink : bool
        Whether k(x, y) bends sharply where x = y, so that its spectrum falls slowly.
    """

    name: ClassVar[str]
    additive: bool = False
    homogeneity: float | None = None
    positive_definite_on: str = "real"
    has_spectrum: bool = False
    parity: str | None = "none"
    has_kink: bool = False

    # ------------------------------------------------------------------------------------------ the public door

    def __call__(self, X, Y=None, n_jobs=None):
        """Gram block, shape (rows of X, rows of Y).

        Parameters
        ----------
        X, Y : array-like or sparse matrix, shape (n, d) and (m, d)
            Rows. Without ``Y`` the rows of X are compared with each other, at half the cost.
        n_jobs : int or None
            Threads; None means as many as :func:`mercer.thread_limit` or the environment allow.

        Returns
        -------
        numpy.ndarray, float32 if both sides are float32, else float64
        """
        X, Y = self._checked(X, Y)
        return self.gram_block(X, Y, n_jobs)

    def diag(self, X):
        """K(x, x) of each row, without the matrix."""
        return self.diagonal(self._checked(X, None)[0])

    def distance(self, X, Y=None, n_jobs=None):
        """Induced distance sqrt(K(x, x) + K(y, y) - 2 K(x, y)): the Euclidean distance of the feature vectors."""
        X, Y = self._checked(X, Y)
        squared = refuse_overflow(self.squared_distances(X, Y, n_jobs), type(self).__name__)
        if X is Y:
            np.fill_diagonal(squared, 0)
        return np.sqrt(squared, out=squared)

    def normalize(self, X):
        """The rows scaled so that K(x, x) = 1; all-zero rows stay zero.

        Possible for kernels that are homogeneous; for others use :meth:`normalized`, which divides kernel values.
        """
        X, _ = self._checked(X, None)
        if self.unit_diagonal:
            return X
        if not self.homogeneity:
            raise InputError(
                f"{self!r} is not homogeneous, so no scaling of a row gives K(x, x) = 1. "
                "Use kernel.normalized(), which divides K(x, y) by sqrt(K(x, x) K(y, y))."
            )
        return _scale_rows(X, inverse(self.diagonal(X).astype(np.float64) ** (1 / self.homogeneity)))

    def normalized(self):
        """The kernel K(x, y) / sqrt(K(x, x) K(y, y)); all-zero rows have similarity 0 with every row."""
        from mercer.kernels.compose import NormalizedKernel

        return self if self.unit_diagonal else NormalizedKernel(self)

    def signed_form(self):
        """The odd extension sign(x) sign(y) k(|x|, |y|) of an additive kernel, for features with signs."""
        raise InputError(
            f"{self!r} has no signed form. Hellinger, Chi2, Intersection, JensenShannon, PowerMean and sums of them "
            "have one."
        )

    def top_k(self, X, Y=None, k=10, n_jobs=None):
        """The k rows of Y with the largest K(x, y) for each row x, without the full matrix.

        Returns
        -------
        scores, indices : arrays of shape (n, min(k, m)), best first; equal scores in the order of Y
        """
        X, Y = self._checked(X, Y)
        if not isinstance(k, (int, np.integer)) or isinstance(k, bool) or k < 1:
            raise InputError(f"top_k needs an integer k >= 1; got k={k!r}.")
        from mercer._native.kernels.selection import keep_best

        k = min(int(k), Y.shape[0])
        scores = np.full((X.shape[0], k), -np.inf, dtype=np.result_type(X.dtype, Y.dtype))
        indices = np.full((X.shape[0], k), -1, dtype=np.int64)
        columns = min(TOP_K_COLUMNS, Y.shape[0])
        # A copy of a block of Y is never X, so no block takes the symmetric path and its different order of sums.
        for rows in row_chunks(X.shape[0], bytes_per_row=columns * scores.itemsize):
            for first in range(0, Y.shape[0], columns):
                block = self.gram_block(X[rows], Y[first : first + columns], n_jobs)
                keep_best(block, first, scores[rows], indices[rows])
        return scores, indices

    # ------------------------------------------------------------------------------- what a kernel must or may define

    def gram_block(self, X, Y, n_jobs):
        """K(x, y) of validated rows; equal objects X and Y are compared with each other at half the cost."""
        raise NotImplementedError

    block_rows = 1024  # rows for which a function of `against` is worth its call

    def against(self, Y, dtype=np.float32):
        """The function X -> K(X, Y) in float32 or float64, for validated rows Y that many blocks X are compared with.

        Given an array ``out`` as well, it writes there.
        """

        def block(X, out=None):
            values = self.gram_block(X, Y, 1)
            if out is None:
                return values.astype(dtype, copy=False)
            out[...] = values
            return out

        return block

    def diagonal(self, X):
        """K(x, x) of validated rows."""
        raise NotImplementedError

    def pair_values(self, X, Y):
        """K(x_i, y_i) for float64 rows X[i], Y[i]: a function of the two rows alone, whatever stands around them.

        A block of `gram_block` may be summed in another order for other rows beside; where equal scores must be equal
        bits (final scores of a search), these are taken. This one is slow: a kernel with loops of its own overrides it.
        """
        return np.array([self.gram_block(X[i : i + 1], Y[i : i + 1], None)[0, 0] for i in range(X.shape[0])])

    def check_values(self, X, name):
        """Raise InputError for values outside the kernel's domain."""

    @property
    def unit_diagonal(self):
        """K(x, x) = 1 for every row."""
        return False

    def squared_distances(self, X, Y, n_jobs, weight=None):
        """weight * (K(x, x) + K(y, y) - 2 K(x, y)), to the digits that exp(-...) needs; without weight, all digits.

        Differences of nearly equal numbers: in float64 whatever the input, then back.
        """
        scale = 1.0 if weight is None else weight
        left = X.astype(np.float64)
        right = left if X is Y else Y.astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):  # what overflows is computed again
            factor = shrinking(left, right) if self.homogeneity == 1 and weight is not None else 1.0
            energies, values = self._weighed(left, right, scale, factor, n_jobs)
            squared = np.maximum(energies[0][:, None] + energies[1] - 2 * values, 0)
        dtype = np.result_type(X.dtype, Y.dtype)
        if self.has_differences or weight is not None:

            def again(i, j):
                return self.induced_distances(left, right, i, j, scale)

            accuracy = accuracy_of(dtype, X.shape[1])
            refine(
                squared,
                *energies,
                again,
                terms=X.shape[1] + self.roundings,
                accuracy=accuracy,
                relative=weight is None,
            )
        with np.errstate(over="ignore"):
            return squared.astype(dtype, copy=False)

    def _weighed(self, X, Y, weight, factor, n_jobs):
        """(weight * K(x, x), weight * K(y, y)), weight * K(x, y), computed of rows times factor."""
        left = X * factor if factor != 1 else X
        right = left if X is Y else Y * factor if factor != 1 else Y
        energies = [weigh(self.diagonal(side), weight, factor) for side in (left, right)]
        return energies, weigh(self.gram_block(left, right, n_jobs), weight, factor)

    has_differences = False  # whether `induced_distances` has a formula
    roundings = 16  # of a value beside those of its sum, as a multiple of the last place

    def induced_distances(self, X, Y, left, right, weight=1.0):
        """weight * (K(x, x) + K(y, y) - 2 K(x, y)) of float64 rows X[left[i]], Y[right[i]], bin by bin."""
        raise InputError(
            f"Exponential: with gamma={weight:g}, row {left[0]} of X and row {right[0]} of Y are so close in {self!r} "
            "that K(x, x) + K(y, y) - 2 K(x, y) loses too many digits. Use a smaller gamma, or scale the rows down; "
            "for a normalized kernel, use the kernel itself with rows scaled by kernel.normalize(X)."
        )

    # -------------------------------------------------------------------------------------------------- parameters

    def with_widths(self, width_of):
        """The kernel with ``width_of(kernel)`` for every width that was left open (None), those of its parts first."""
        return self

    def get_params(self, deep=True):
        """Parameters by name, as scikit-learn's tools expect."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def set_params(self, **params):
        """Change parameters in place: only for scikit-learn's searches, which work on their own copies."""
        type(self)(**{**self.get_params(), **params})  # refuses what the constructor refuses
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __add__(self, other):
        from mercer.kernels.compose import SumKernel

        return SumKernel.of(self, other)

    def __mul__(self, other):
        from mercer.kernels.compose import ProductKernel, SumKernel

        if isinstance(other, Kernel):
            return ProductKernel.of(self, other)
        return SumKernel.scaled(self, other)

    __rmul__ = __mul__

    # ------------------------------------------------------------------------------------------------------ helpers

    def _checked(self, X, Y):
        who = type(self).__name__
        left = as_rows(X, who, "X")
        self.check_values(left, "X")
        if Y is None or Y is X:
            return left, left
        right = as_rows(Y, who, "Y")
        check_same_width(left, right, who)
        self.check_values(right, "Y")
        return left, right


def require_non_negative(X, who, name, hint):
    """Raise for the first negative value, naming its row and column."""
    values = X.data if sparse.issparse(X) else X.ravel()
    if values.min(initial=0) < 0:
        refuse_negative(X, int(np.argmax(values < 0)), who, name, f"{hint} {_CLIP}")


def inverse(values):
    """1 / values, 0 where values are 0."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


def _scale_rows(X, factors):
    factors = factors.astype(X.dtype)
    if sparse.issparse(X):
        return sparse.csr_array(sparse.diags_array(factors) @ X)
    return X * factors[:, None]
