"""Kernel values in extended precision, from the textbook formulas, and rows of every size to try them on.

numpy's longdouble has 64 binary digits and exponents to 16383: nothing of float64 over- or underflows in it. Beside a
value stands what is promised of it: how far a kernel of float32 or float64 rows may be off.
"""

import numpy as np
from scipy import sparse

from mercer import InputError
from mercer.kernels import (
    RBF,
    BrayCurtis,
    Chi2,
    DotTanimoto,
    ExpChi2,
    Exponential,
    GeneralizedIntersection,
    Hellinger,
    Intersection,
    JensenShannon,
    Laplacian,
    Linear,
    MinMax,
    NormalizedKernel,
    PowerMean,
    ProductKernel,
    SumKernel,
)

REAL = np.longdouble
PROMISED = {"d": 1e-12, "f": 1e-4}  # times sqrt(columns) in float64
STORAGES = {
    "dense": (np.asarray, np.asarray),
    "csr": (sparse.csr_array, sparse.csr_array),
    "mixed": (np.asarray, sparse.csr_array),
}
KINDS = ("plain", "mixed", "near", "shared")
KERNELS = {
    "linear": Linear(),
    "hellinger": Hellinger(),
    "chi2": Chi2(),
    "chi2-signed": Chi2(signed=True),
    "intersection": Intersection(),
    "jensen-shannon": JensenShannon(),
    "power-mean": PowerMean(-2.0),
    "power-mean-0.2": PowerMean(-0.2),
    "generalized-intersection": GeneralizedIntersection(0.5),
    "bray-curtis": BrayCurtis(),
    "min-max": MinMax(),
    "dot-tanimoto": DotTanimoto(),
    "rbf": RBF(1.0),
    "laplacian": Laplacian(1.0),
    "exp-chi2": ExpChi2(1.0),
    "exponential-intersection": Exponential(Intersection(), 1.0),
    "exponential-linear": Exponential(Linear(), 1.0),
    "normalized-linear": NormalizedKernel(Linear()),
    "normalized-chi2": NormalizedKernel(Chi2()),
    "sum": Chi2() + 0.5 * Intersection(),
    "sum-rbf": Chi2() + 0.5 * RBF(1.0),
    "product": Intersection() * Laplacian(1.0),
}


def takes_signs(kernel):
    parts = getattr(kernel, "kernels", None) or [getattr(kernel, "kernel", kernel)]
    return all(part.positive_definite_on == "real" for part in parts)


# ------------------------------------------------------------------------------------------------- values


def values_of(kernel, X, Y, dtype):
    """(values, how far they may be off), both longdouble (rows of X, rows of Y); rows as dense arrays."""
    x, y = (np.asarray(side, dtype=REAL) for side in (X, Y))
    with np.errstate(all="ignore"):
        return _values(kernel, x, y, np.dtype(dtype))


def _values(kernel, X, Y, dtype):
    d = X.shape[1]
    share = PROMISED[dtype.char] * (np.sqrt(d) if dtype.char == "d" else 1)
    if isinstance(kernel, SumKernel):
        parts = [_values(part, X, Y, dtype) for part in kernel.kernels]
        weighed = [(REAL(w) * v, REAL(w) * e) for (v, e), w in zip(parts, kernel.weights, strict=True)]
        return sum(v for v, _ in weighed), sum(e for _, e in weighed)
    if isinstance(kernel, ProductKernel):
        value, error = REAL(1), REAL(0)
        for v, e in (_values(part, X, Y, dtype) for part in kernel.kernels):
            value, error = value * v, error * (abs(v) + e) + abs(value) * e
        return value, error + _least(dtype, d)
    if isinstance(kernel, NormalizedKernel):
        v, e = _values(kernel.kernel, X, Y, np.dtype("d"))
        a, b = (np.diagonal(_values(kernel.kernel, side, side, np.dtype("d"))[0]) for side in (X, Y))
        roots = np.sqrt(a)[:, None] * np.sqrt(b)
        size = np.where(roots > 0, np.maximum(abs(v), e / share) / np.where(roots > 0, roots, 1), 0)
        return np.where(roots > 0, v / np.where(roots > 0, roots, 1), 0), share * size + _least(dtype, d)
    if (distances := squared_distances(kernel, X, Y)) is not None:
        return np.exp(-REAL(kernel.gamma) * distances), np.full(distances.shape, REAL(share))
    value, size = _sums(kernel, X, Y)
    return value, share * size + _least(dtype, d)


def _least(dtype, d):
    """What a value may lose to numbers below the smallest, times its columns."""
    return REAL(16 * d * float(np.finfo(dtype).smallest_subnormal))


def squared_distances(kernel, X, Y):
    """The D of exp(-gamma D), from differences; None for other kernels."""
    x, y = X[:, None], Y[None]
    inner = kernel.kernel if isinstance(kernel, Exponential) else kernel
    if isinstance(kernel, RBF) or (isinstance(kernel, Exponential) and isinstance(inner, Linear)):
        return ((x - y) ** 2).sum(-1)
    if isinstance(kernel, Laplacian) or (isinstance(kernel, Exponential) and isinstance(inner, Intersection)):
        return abs(x - y).sum(-1)
    if isinstance(kernel, ExpChi2):
        return ((x - y) ** 2 / np.where(x + y > 0, x + y, 1)).sum(-1)
    return None


def _sums(kernel, X, Y):
    """(values, sums of magnitudes) of kernels that are sums over columns or ratios of such."""
    x, y = X[:, None], Y[None]
    if isinstance(kernel, (BrayCurtis, MinMax)):
        common = np.minimum(x, y).sum(-1)
        total = (x + y).sum(-1) / 2 if isinstance(kernel, BrayCurtis) else np.maximum(x, y).sum(-1)
        value = np.where(total > 0, common / np.where(total > 0, total, 1), 1)
        return value, value
    if isinstance(kernel, DotTanimoto):
        common, total = (x * y).sum(-1), (x * x + y * y - x * y).sum(-1)
        value = np.where(total > 0, common / np.where(total > 0, total, 1), 1)
        return value, value
    terms = scalar(kernel, x, y)
    return terms.sum(-1), abs(terms).sum(-1)


def scalar(kernel, x, y):
    """k(x, y) of an additive kernel on numbers."""
    if isinstance(kernel, Linear):
        return x * y
    if isinstance(kernel, GeneralizedIntersection):
        return np.minimum(abs(x), abs(y)) ** REAL(kernel.beta)
    signs, x, y = np.sign(x) * np.sign(y), abs(x), abs(y)
    both = (x > 0) & (y > 0)
    x, y = np.where(both, x, 1), np.where(both, y, 1)
    if isinstance(kernel, Hellinger):
        found = np.sqrt(x) * np.sqrt(y)
    elif isinstance(kernel, Chi2):
        found = 2 * x * y / (x + y)
    elif isinstance(kernel, Intersection):
        found = np.minimum(x, y)
    elif isinstance(kernel, JensenShannon):
        found = (x * np.log1p(y / x) + y * np.log1p(x / y)) / (2 * np.log(REAL(2)))
    else:
        p = REAL(kernel.p)
        found = ((x**p + y**p) / 2) ** (1 / p)
    return np.where(both, signs * found, 0)


# --------------------------------------------------------------------------------------------------- rows


def draw_rows(rng, kind, scale, dtype, n=4, d=6, signs=False):
    """(X, Y), n rows each: of one size, of sizes far apart, near each other and far from zero, with rows in common."""
    info = np.finfo(dtype)
    X, Y = (rng.random((n, d)) * (rng.random((n, d)) < 0.7) for _ in range(2))
    X[0, :] = 0
    if signs:
        X, Y = (side * rng.choice([-1.0, 1.0], size=side.shape) for side in (X, Y))
    if kind == "mixed":
        factors = [10.0 ** rng.uniform(np.log10(info.tiny), np.log10(info.max) - 2, (n, 1)) for _ in range(2)]
        X, Y = X * factors[0], Y * factors[1] * 10.0 ** rng.uniform(-2, 2)
        X[1], Y[1] = X[1] * 0 + scale, Y[1] * 0 + scale
    elif kind == "near":
        middle = np.ones(d) * scale
        X, Y = (middle + side * np.maximum(1.0, abs(np.spacing(middle.astype(dtype))) * 2) for side in (X, Y))
    else:
        X, Y = X * scale, Y * scale
    if kind == "shared":
        Y[: n // 2] = X[: n // 2]
    with np.errstate(over="ignore", under="ignore"):
        return tuple(np.clip(side, -0.9 * float(info.max), 0.9 * float(info.max)).astype(dtype) for side in (X, Y))


def with_gamma(kernel, X, Y):
    """The kernel with the gamma under which its exponents are near 1, as far as float64 has it."""
    from dataclasses import replace

    distances = squared_distances(kernel, *(np.asarray(side, dtype=REAL) for side in (X, Y)))
    if distances is None or not (distances > 0).any():
        return kernel
    gamma = 1 / np.median(distances[distances > 0])
    return replace(kernel, gamma=float(np.clip(gamma, 1e-300, 1e300)))


def compared(kernel, X, Y, storage, door):
    """(values, expected, allowed), or None where the kernel refused; ``door`` is "gram", "pairs" or "self"."""
    dtype = np.result_type(X.dtype, Y.dtype)
    left, right = (make(side) for make, side in zip(STORAGES[storage], (X, Y), strict=True))
    try:
        if door == "pairs":
            rows = [side.astype(np.float64) for side in (left, right)]
            rows = [sparse.csr_array(side) for side in rows] if storage != "dense" else rows
            got, dtype = kernel.pair_values(*rows), np.dtype("d")
        elif door == "self":
            got, Y = kernel(left), X
        else:
            got = kernel(left, right)
    except InputError:
        return None
    expected, allowed = values_of(kernel, X, Y, dtype)
    if door == "pairs":
        expected, allowed = np.diagonal(expected), np.diagonal(allowed)
    return got, expected, allowed
