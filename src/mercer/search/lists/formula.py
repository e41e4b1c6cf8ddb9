"""Kernels as functions of sums over shared columns and of row totals: what inverted lists can serve.

A kernel is taken apart into *sums* s = sum_j k(x_j, y_j), to which only columns that both rows have add anything, and a
tree of nodes above them. With a = K(x, x) and b = K(y, y) of each sum (row totals for the minimum):

    node                 value                             K(x, x)
    sum                  s                                 a
    Bray-Curtis          2 s / (a + b)                     1
    min-max, Tanimoto    s / (a + b - s)                   1
    exponential          exp(-gamma (K(x, x) + K(y, y) - 2 K(x, y)))      1
    normalized           K(x, y) / sqrt(K(x, x) K(y, y))   1, or 0 of an empty row
    weighted sum, product

Every value grows with each s and falls, where s = 0, with each b. So an interval of a sum is an interval of the value,
and among rows that share no column with the query none is nearer than one with the smallest totals.
"""

__all__ = ["Formula", "Sum", "formula_of"]

from dataclasses import dataclass, replace

import numpy as np

from mercer._base.errors import InputError
from mercer.kernels import (
    RBF,
    BrayCurtis,
    DotTanimoto,
    ExpChi2,
    Exponential,
    GeneralizedIntersection,
    Hellinger,
    Kernel,
    Laplacian,
    Linear,
    MinMax,
    NormalizedKernel,
    PowerMean,
    ProductKernel,
    SumKernel,
)
from mercer.kernels.additive import Chi2, HistogramKernel, Intersection

SINGLE = float(np.finfo(np.float32).eps)
SLACK = 1e-11  # of a value: rounding in float64, of ours and of the final scores
TINY = 2.0**-100  # sums that underflow
# how lists rank the rows that they touch: see `mercer._native.search.postings`
PLAIN, COSINE, DICE, JACCARD, APART = range(5)


@dataclass(frozen=True)
class Sum:
    """s(x, y) = sum_j k(x_j, y_j) in single precision.

    Attributes
    ----------
    name : str
        The formula of k, see `mercer._native.search.postings`.
    param : float
    signed : bool
        Whether sign(x_j) sign(y_j) k(|x_j|, |y_j|) is meant.
    kernel : Kernel
        s(x, x) is its diagonal.
    roundings : int
        Of k, as a multiple of the last place of a number in single precision.
    may_be_negative : bool
    """

    name: str
    param: float
    signed: bool
    kernel: Kernel
    roundings: int = 16
    may_be_negative: bool = False

    def totals(self, X):
        """s(x, x) of rows in float64."""
        return self.kernel.diagonal(X)

    def prepared(self, values):
        """Values of a query, float64, as the loop takes them, and their base-2 logarithms; float32."""
        if self.name == "roots":
            values = np.copysign(np.sqrt(np.abs(values)), values)
        elif self.name in ("sizes", "powers"):
            values = np.abs(values) ** self.param
        logs = np.log2(np.abs(values)) if self.name in ("jensen-shannon", "power-mean") else values
        return values.astype(np.float32), logs.astype(np.float32)

    def energies(self, values):
        """k(x_j, x_j) of each value of a query, float64."""
        values = np.abs(values)
        if self.name == "product":
            return values * values
        return values**self.param if self.name == "powers" else values


class _Row(Kernel):
    """sum_j |x_j|, as a kernel's diagonal."""

    homogeneity = 1.0

    def diagonal(self, X):
        return np.asarray(abs(X).sum(axis=1, dtype=np.float64)).ravel()


_TOTALS = _Row()


class Formula:
    """A kernel, normalized or not, as similarity or as the negative squared distance.

    Parameters
    ----------
    measure : Measure

    Attributes
    ----------
    sums : list of Sum
    form : int or None
        How a loop may rank the rows of a single sum; None where only `intervals` can.
    """

    def __init__(self, measure):
        self.sums = []
        self._root = self._node(measure.kernel)
        self.is_distance = measure.is_distance
        self.form = self._form()

    # ------------------------------------------------------------------------------------------------- taking apart

    def _node(self, kernel):
        if isinstance(kernel, SumKernel):
            return _Weighted([self._node(part) for part in kernel.kernels], kernel.weights)
        if isinstance(kernel, ProductKernel):
            return self._product(kernel)
        if isinstance(kernel, NormalizedKernel):
            return _Normalized(self._node(kernel.kernel))
        if isinstance(kernel, (BrayCurtis, MinMax)):
            return _Share(self._leaf(Sum("minimum", 0.0, False, _TOTALS)), isinstance(kernel, BrayCurtis))
        if isinstance(kernel, DotTanimoto):  # of rows without negative values
            return _Share(self._leaf(replace(_sum_of(Linear()), may_be_negative=False)), False)
        if isinstance(kernel, RBF):
            return _Decay(self._leaf(_sum_of(Linear())), kernel.rate)
        if isinstance(kernel, Laplacian):
            return _Decay(self._leaf(Sum("common-part", 0.0, False, _TOTALS)), kernel.rate)
        if isinstance(kernel, ExpChi2):
            return _Decay(self._leaf(_sum_of(Chi2())), kernel.rate)
        if isinstance(kernel, Exponential):
            return _Decay(self._node(kernel.kernel), kernel.rate)
        return self._leaf(_sum_of(kernel))

    def _product(self, kernel):
        nodes = [self._node(part) for part in kernel.kernels]
        if any(node.may_be_negative for node in nodes):
            raise InputError(f"{kernel!r} may multiply negative values")
        return _Product(nodes)

    def _leaf(self, wanted):
        if wanted not in self.sums:
            self.sums.append(wanted)
        return _Leaf(self.sums.index(wanted), wanted.may_be_negative)

    def _form(self):
        """The ranking of a single sum that this value grows with."""
        root = self._root
        if isinstance(root, _Leaf):
            return APART if self.is_distance else PLAIN
        if not isinstance(getattr(root, "inner", None), _Leaf):
            return None
        if isinstance(root, _Normalized):
            return COSINE
        if isinstance(root, _Share):
            return DICE if root.twice else JACCARD
        return APART

    # ------------------------------------------------------------------------------------------------------ values

    def objective(self, sums, query, rows):
        """The objective, larger is nearer.

        Parameters
        ----------
        sums : arrays s, one for each sum
        query : numbers a
        rows : arrays b
        """
        value = self._root.value(sums, query, rows)
        if not self.is_distance:
            return value
        return -np.maximum(self._root.diagonal(query) + self._root.diagonal(rows) - 2 * value, 0.0)

    def interval(self, lows, highs, query, rows):
        """(lowest, highest) objective of sums between ``lows`` and ``highs``, beyond rounding."""
        low, high = self.objective(lows, query, rows), self.objective(highs, query, rows)
        if self.is_distance:  # what cancels in a distance counts
            scale = 2 * (self._root.diagonal(query) + self._root.diagonal(rows))
        else:
            scale = np.maximum(np.abs(low), np.abs(high))
        return low - SLACK * scale, high + SLACK * scale

    @property
    def has_fixed_rest(self):
        """Whether the objective of a row that shares no column is the same in every bit, however it is computed."""
        if self.is_distance:
            return isinstance(self._root, _Normalized) and self._root.is_zero
        return self._root.is_zero or isinstance(self._root, _Share)

    @property
    def rate(self):
        """The gamma of an exponential of one sum, else None."""
        return self._root.rate if isinstance(self._root, _Decay) else None


def _sum_of(kernel):
    """The sum of an additive kernel; raises for others."""
    if isinstance(kernel, PowerMean) and kernel.special_case() is not None:
        kernel = kernel.special_case()
    if isinstance(kernel, Linear):
        return Sum("product", 0.0, False, kernel, may_be_negative=True)
    if isinstance(kernel, GeneralizedIntersection):
        name, beta = "sizes" if kernel.beta == 1 else "powers", float(kernel.beta)
        return Sum(name, beta, False, kernel, 64 + int(128 * beta) * (name == "powers"))
    if not isinstance(kernel, HistogramKernel):
        raise InputError(f"{kernel!r} is not a function of sums over shared columns")
    negative = kernel.signed
    if isinstance(kernel, Hellinger):
        return Sum("roots", 0.0, False, kernel, may_be_negative=negative)
    if isinstance(kernel, Intersection):
        return Sum("minimum", 0.0, negative, kernel, may_be_negative=negative)
    if isinstance(kernel, Chi2):
        return Sum("chi2", 0.0, negative, kernel, may_be_negative=negative)
    if isinstance(kernel, PowerMean):
        return Sum("power-mean", -float(kernel.p), negative, kernel, 512, negative)
    return Sum("jensen-shannon", 0.0, negative, kernel, 512, negative)


def formula_of(measure):
    """The `Formula` of a measure; an InputError with half a sentence where lists cannot serve its kernel."""
    return Formula(measure)


# --------------------------------------------------------------------------------------------------------------- nodes


class _Leaf:
    is_zero = True  # the value of rows that share no column

    def __init__(self, place, may_be_negative):
        self.place, self.may_be_negative = place, may_be_negative

    def value(self, sums, query, rows):
        return np.asarray(sums[self.place], dtype=np.float64)

    def diagonal(self, totals):
        return totals[self.place]


class _Share:
    """2 s / (a + b), or s / (a + b - s); 1 of two empty rows."""

    may_be_negative = is_zero = False

    def __init__(self, inner, twice):
        self.inner, self.twice = inner, twice

    def value(self, sums, query, rows):
        common = self.inner.value(sums, query, rows)
        total = np.broadcast_to(self.inner.diagonal(query) + self.inner.diagonal(rows), common.shape)
        over = total if self.twice else total - common
        share = np.divide((1 + self.twice) * common, over, out=np.ones_like(common), where=over > 0)
        return np.minimum(share, 1.0)

    def diagonal(self, totals):
        return np.ones_like(np.asarray(self.inner.diagonal(totals)))


class _Decay:
    """exp(-rate (K(x, x) + K(y, y) - 2 K(x, y)))"""

    may_be_negative = is_zero = False

    def __init__(self, inner, rate):
        self.inner, self.rate = inner, rate

    def value(self, sums, query, rows):
        apart = self.inner.diagonal(query) + self.inner.diagonal(rows) - 2 * self.inner.value(sums, query, rows)
        return np.exp(-self.rate * np.maximum(apart, 0.0))

    def diagonal(self, totals):
        return np.ones_like(np.asarray(self.inner.diagonal(totals)))


class _Normalized:
    """K(x, y) / sqrt(K(x, x) K(y, y)), 0 with an empty row."""

    def __init__(self, inner):
        self.inner, self.may_be_negative, self.is_zero = inner, inner.may_be_negative, inner.is_zero

    def value(self, sums, query, rows):
        value = self.inner.value(sums, query, rows)
        roots = np.sqrt(self.inner.diagonal(query)) * np.sqrt(self.inner.diagonal(rows))
        roots = np.broadcast_to(roots, value.shape)
        return np.divide(value, roots, out=np.zeros_like(value), where=roots > 0)

    def diagonal(self, totals):
        return (np.asarray(self.inner.diagonal(totals)) > 0).astype(np.float64)


class _Weighted:
    def __init__(self, parts, weights):
        self.parts, self.weights = parts, weights
        self.may_be_negative = any(part.may_be_negative for part in parts)
        self.is_zero = all(part.is_zero for part in parts)

    def value(self, sums, query, rows):
        pairs = zip(self.parts, self.weights, strict=True)
        return sum(weight * part.value(sums, query, rows) for part, weight in pairs)

    def diagonal(self, totals):
        return sum(weight * part.diagonal(totals) for part, weight in zip(self.parts, self.weights, strict=True))


class _Product:
    may_be_negative = False

    def __init__(self, parts):
        self.parts, self.is_zero = parts, any(part.is_zero for part in parts)

    def value(self, sums, query, rows):
        return np.prod(np.broadcast_arrays(*(part.value(sums, query, rows) for part in self.parts)), axis=0)

    def diagonal(self, totals):
        return np.prod(np.broadcast_arrays(*(part.diagonal(totals) for part in self.parts)), axis=0)
