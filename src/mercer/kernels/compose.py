"""Kernels made of kernels: sums, products, normalization, and functions from outside."""

__all__ = ["CallableKernel", "NormalizedKernel", "ProductKernel", "SumKernel"]

from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError
from mercer.kernels.additive import Linear
from mercer.kernels.base import Kernel, inverse, kernel_class
from mercer.kernels.engine import in_range, per_side, unit_rows


class _Composite(Kernel):
    kernels: tuple

    def check_values(self, X, name):
        for kernel in self.kernels:
            kernel.check_values(X, name)

    @property
    def positive_definite_on(self):
        """Rows on which Gram matrices are positive semidefinite."""
        domains = {kernel.positive_definite_on for kernel in self.kernels}
        return next(domain for domain in ("unknown", "non-negative", "real") if domain in domains)

    def with_widths(self, width_of):
        return replace(self, kernels=tuple(kernel.with_widths(width_of) for kernel in self.kernels))

    def _check_kernels(self):
        self.kernels = tuple(self.kernels)
        if not self.kernels or not all(isinstance(kernel, Kernel) for kernel in self.kernels):
            raise InputError(f"{type(self).__name__} needs one or more kernel objects, got {self.kernels!r}.")


@kernel_class
class SumKernel(_Composite):
    """K(x, y) = sum_i w_i K_i(x, y), w_i > 0. Written ``Chi2() + 0.5 * Linear()``.

    Examples
    --------
    >>> from mercer import Chi2, Linear
    >>> kernel = Chi2() + 0.5 * Linear()
    >>> type(kernel).__name__, kernel([[1.0, 1.0]], [[1.0, 3.0]]).tolist()  # (1 + 1.5) + 0.5 * 4
    ('SumKernel', [[4.5]])
    """

    kernels: tuple = ()
    weights: tuple = ()
    name = "sum"

    def __post_init__(self):
        self._check_kernels()
        self.weights = tuple(self.weights) or (1.0,) * len(self.kernels)
        if len(self.weights) != len(self.kernels):
            raise InputError(f"SumKernel has {len(self.kernels)} kernels but {len(self.weights)} weights.")
        for weight in self.weights:
            _check_weight(weight)

    @classmethod
    def of(cls, *terms):
        """Sum of kernels; nested sums are flattened."""
        kernels, weights = [], []
        for term in terms:
            if not isinstance(term, Kernel):
                raise InputError(f"A kernel can be added to another kernel, not to {term!r}.")
            inner = isinstance(term, SumKernel)
            kernels += term.kernels if inner else (term,)
            weights += term.weights if inner else (1.0,)
        return cls(tuple(kernels), tuple(weights))

    @classmethod
    def scaled(cls, kernel, weight):
        """``weight * kernel``."""
        _check_weight(weight)
        total = cls.of(kernel)
        return cls(total.kernels, tuple(float(weight) * w for w in total.weights))

    def signed_form(self):
        return replace(self, kernels=tuple(kernel.signed_form() for kernel in self.kernels))

    @property
    def additive(self):
        """Whether every term is additive."""
        return all(kernel.additive for kernel in self.kernels)

    @property
    def homogeneity(self):
        """The g with K(c x, c y) = c**g K(x, y), or None."""
        degrees = {kernel.homogeneity for kernel in self.kernels}
        return degrees.pop() if len(degrees) == 1 else None

    @property
    def has_spectrum(self):
        """Whether the terms have spectra that add up: of one degree, and all with a sign or none."""
        terms = self.kernels
        return self.homogeneity is not None and self.parity is not None and all(term.has_spectrum for term in terms)

    @property
    def has_kink(self):
        """Whether a term has one."""
        return any(kernel.has_kink for kernel in self.kernels)

    @property
    def parity(self):
        """That of all terms, ``"none"`` if one has none, and None if they differ."""
        found = {kernel.parity for kernel in self.kernels}
        if None in found:
            return None
        return "none" if "none" in found else found.pop() if len(found) == 1 else None

    def scalar(self, x, y):
        """The one-dimensional kernel of a sum of additive kernels."""
        return sum(w * kernel.scalar(x, y) for kernel, w in zip(self.kernels, self.weights, strict=True))

    def gram_block(self, X, Y, n_jobs):
        total = self.kernels[0].gram_block(X, Y, n_jobs)
        total *= total.dtype.type(self.weights[0])
        for kernel, weight in zip(self.kernels[1:], self.weights[1:], strict=True):
            total += total.dtype.type(weight) * kernel.gram_block(X, Y, n_jobs)
        return total

    def pair_values(self, X, Y):
        return sum(weight * kernel.pair_values(X, Y) for kernel, weight in zip(self.kernels, self.weights, strict=True))

    def diagonal(self, X):
        return sum(X.dtype.type(w) * kernel.diagonal(X) for kernel, w in zip(self.kernels, self.weights, strict=True))

    def squared_distances(self, X, Y, n_jobs, weight=None):
        parts = zip(self.kernels, self.weights, strict=True)
        if weight is None:
            return sum(X.dtype.type(w) * kernel.squared_distances(X, Y, n_jobs) for kernel, w in parts)
        return sum(kernel.squared_distances(X, Y, n_jobs, w * weight) for kernel, w in parts)

    @property
    def has_differences(self):
        return all(kernel.has_differences for kernel in self.kernels)

    def induced_distances(self, X, Y, left, right, weight=1.0):
        parts = zip(self.kernels, self.weights, strict=True)
        return sum(kernel.induced_distances(X, Y, left, right, w * weight) for kernel, w in parts)


def _check_weight(weight):
    if not isinstance(weight, Real) or not 0 < weight < np.inf:
        raise InputError(f"A kernel can be multiplied by a kernel or by a finite number > 0, got {weight!r}.")


@kernel_class
class ProductKernel(_Composite):
    """K(x, y) = prod_i K_i(x, y). Written ``Chi2() * RBF(0.5)``.

    Examples
    --------
    >>> from mercer import Chi2, Linear
    >>> kernel = Chi2() * Linear()
    >>> type(kernel).__name__, kernel([[1.0, 1.0]], [[1.0, 3.0]]).tolist()  # 2.5 * 4
    ('ProductKernel', [[10.0]])
    """

    kernels: tuple = ()
    name = "product"

    def __post_init__(self):
        self._check_kernels()

    @classmethod
    def of(cls, *factors):
        """Product of kernels; nested products are flattened."""
        kernels = []
        for factor in factors:
            kernels += factor.kernels if isinstance(factor, ProductKernel) else (factor,)
        return cls(tuple(kernels))

    @property
    def homogeneity(self):
        """The g with K(c x, c y) = c**g K(x, y), or None."""
        degrees = [kernel.homogeneity for kernel in self.kernels]
        return None if None in degrees else float(sum(degrees))

    @property
    def unit_diagonal(self):
        return all(kernel.unit_diagonal for kernel in self.kernels)

    def gram_block(self, X, Y, n_jobs):
        total = self.kernels[0].gram_block(X, Y, n_jobs)
        for kernel in self.kernels[1:]:
            total *= kernel.gram_block(X, Y, n_jobs)
        return total

    def pair_values(self, X, Y):
        return np.prod([kernel.pair_values(X, Y) for kernel in self.kernels], axis=0)

    def diagonal(self, X):
        return np.prod([kernel.diagonal(X) for kernel in self.kernels], axis=0)


@kernel_class
class NormalizedKernel(Kernel):
    """K(x, y) / sqrt(K(x, x) K(y, y)): the cosine in feature space. Rows with K(x, x) = 0 have similarity 0.

    Examples
    --------
    Of the linear kernel it is the cosine of the rows themselves:

    >>> from mercer import Linear
    >>> NormalizedKernel(Linear())([[3.0, 4.0]], [[6.0, 8.0], [4.0, -3.0]]).round(6).tolist()
    [[1.0, 0.0]]
    """

    kernel: Kernel = None  # type: ignore[assignment]
    name = "normalized"

    def __post_init__(self):
        if not isinstance(self.kernel, Kernel):
            raise InputError(f"NormalizedKernel needs a kernel object, got {self.kernel!r}.")

    def with_widths(self, width_of):
        return replace(self, kernel=self.kernel.with_widths(width_of))

    @property
    def homogeneity(self):
        """The g with K(c x, c y) = c**g K(x, y), or None."""
        return None if self.kernel.homogeneity is None else 0.0

    @property
    def positive_definite_on(self):
        """Rows on which Gram matrices are positive semidefinite."""
        return self.kernel.positive_definite_on

    def check_values(self, X, name):
        self.kernel.check_values(X, name)

    def gram_block(self, X, Y, n_jobs):
        dtype = np.result_type(X.dtype, Y.dtype)
        scaled = self._in_range(X, Y)
        gram = self.kernel.gram_block(*scaled, n_jobs)
        left = self._inverse_norms(scaled[0], X, "X")
        right = left if X is Y else self._inverse_norms(scaled[1], Y, "Y")
        for i, factor in enumerate(left):  # the product of both factors first, so that the result stays symmetric
            gram[i] = _divided(gram[i], factor, right)
        if X is Y:
            np.fill_diagonal(gram, left > 0)
        return gram.astype(dtype, copy=False)

    def against(self, Y, dtype=np.float32):
        usual = super().against(Y, dtype)
        if sparse.issparse(Y) or Y.dtype != dtype or not self._is_in_range(Y):
            return usual
        inner, right = self.kernel.against(Y, dtype), self._inverse_norms(Y, Y, "Y")

        def block(X, out=None):
            if not self._is_in_range(X):
                return usual(X, out)
            values = inner(X, out)
            for i, factor in enumerate(self._inverse_norms(X, X, "X")):
                values[i] = _divided(values[i], factor, right)
            return values

        return block

    def _is_in_range(self, X):
        """Whether rows are compared as they are, without being scaled first."""
        return self._in_range(X, X)[0] is X

    def pair_values(self, X, Y):
        left, right = self._in_range(X, Y)
        roots = self._inverse_norms(left, X, "X"), self._inverse_norms(right, Y, "Y")
        return _divided(self.kernel.pair_values(left, right), *roots)

    def _in_range(self, X, Y):
        """Both sides scaled so that neither their kernel values overflow nor those of a row with itself vanish.

        The kernel's homogeneity makes that one number for all rows; a linear kernel allows one for each.
        """
        if isinstance(self.kernel, Linear):
            return per_side(unit_rows, X, Y)
        return in_range(X, Y, self.kernel.homogeneity)

    def _inverse_norms(self, X, given, name):
        # in float64 whatever the rows: float32 norms beside float64 values look like a kernel that is not definite
        energy = self.kernel.diagonal(X.astype(np.float64, copy=False))
        small = np.flatnonzero(energy < np.finfo(np.float64).tiny)
        if self.kernel.homogeneity:  # then only empty rows have K(x, x) = 0
            lost = small[np.asarray(abs(given[small]).sum(axis=1)).ravel() > 0]
        else:
            lost = small[energy[small] > 0]
        if len(lost):
            raise InputError(
                f"NormalizedKernel: K(x, x) of row {lost[0]} of {name} is below the smallest normal number, "
                f"{np.finfo(np.float64).tiny:.3g}, and cannot be a divisor. Scale the rows up, or normalize each row "
                "first."
            )
        return inverse(np.sqrt(energy))

    def diagonal(self, X):
        return (self._inverse_norms(self._in_range(X, X)[0], X, "X") > 0).astype(X.dtype)


def _divided(values, left, right):
    """values * (left * right), also where that product leaves the range that the result does not leave."""
    with np.errstate(over="ignore"):
        factors = left * right
    if np.isfinite(factors).all():
        return values * factors.astype(values.dtype)
    (left, shift), (right, other) = np.frexp(left), np.frexp(right)
    return np.ldexp(values * (left * right), shift + other).astype(values.dtype)


@kernel_class
class CallableKernel(Kernel):
    """A kernel computed by your own function.

    Parameters
    ----------
    function : callable
        ``function(X, Y)`` returns the (n, m) matrix; with ``rows=True``, ``function(x, y)`` compares two vectors.
    rows : bool
        Whether the function compares two vectors instead of two matrices.

    Notes
    -----
    Works wherever a kernel does, except in model files, which never contain code.

    Examples
    --------
    >>> from mercer import NystroemMap
    >>> kernel = CallableKernel(lambda X, Y: (1 + X @ Y.T) ** 2)
    >>> kernel([[1.0, 2.0]], [[3.0, 1.0]]).tolist()
    [[36.0]]
    >>> NystroemMap(kernel, n_landmarks=2, random_state=0).fit_transform([[1.0, 2.0], [3.0, 1.0]]).shape
    (2, 2)
    """

    function: Callable[..., Any] = None  # type: ignore[assignment]
    rows: bool = False
    name = "callable"
    positive_definite_on = "unknown"

    def __post_init__(self):
        if not callable(self.function):
            raise InputError(f"CallableKernel needs a function, got {self.function!r}.")

    def gram_block(self, X, Y, n_jobs):
        dtype = np.result_type(X.dtype, Y.dtype)
        if self.rows:
            return np.array([[self.function(x, y) for y in Y] for x in X], dtype=dtype)
        gram = np.array(self.function(X, Y), dtype=dtype, copy=True)
        if gram.shape != (X.shape[0], Y.shape[0]):
            raise InputError(
                f"The function of CallableKernel returned shape {gram.shape} for {X.shape[0]} and {Y.shape[0]} rows; "
                f"it must return {(X.shape[0], Y.shape[0])}. If it compares two vectors, pass rows=True."
            )
        return gram

    def diagonal(self, X):
        if self.rows:
            return np.array([self.function(x, x) for x in X], dtype=X.dtype)
        return np.array(
            [self.gram_block(X[i : i + 1], X[i : i + 1], None)[0, 0] for i in range(X.shape[0])], dtype=X.dtype
        )
