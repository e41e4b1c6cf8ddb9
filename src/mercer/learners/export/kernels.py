"""Kernel values between rows and landmarks, in the operators of ONNX."""

__all__ = ["kernel_values"]

import numpy as np

from mercer._base.errors import InputError
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


def kernel_values(graph, kernel, X, Z):
    """K(x, z) of all rows X, a value of the graph, and all landmarks Z, a dense array: shape (n, M)."""
    if isinstance(kernel, PowerMean) and kernel.special_case():
        kernel = kernel.special_case()
    made = VALUES.get(type(kernel))
    if made is None:
        raise InputError(f"to_onnx does not support the kernel {kernel!r}. It supports {', '.join(KNOWN)}.")
    return made(graph, kernel, X, Z)


# ---------------------------------------------------------------------------------------------------- sums over columns


def _sum_of(term, is_odd=lambda kernel: False):
    """The sum over columns of a term of two values, for values >= 0 or with its odd extension."""

    def values(graph, kernel, X, Z):
        signed = is_odd(kernel)

        def step(body, total, x, z):
            x, z = body.column(x), body.op("Unsqueeze", z, np.array([0]))
            if not signed:
                return total + term(body, kernel, x, z)
            return total + term(body, kernel, abs(x), abs(z)) * body.op("Sign", x) * body.op("Sign", z)

        return graph.over_columns(X, [Z.T], len(Z), step)

    return values


def _chi2(body, kernel, x, z):
    return body.share(2.0 * x * z, x + z, 0.0)


def _minimum(body, kernel, x, z):
    return body.op("Min", x, z)


def _jensen_shannon(body, kernel, x, z):
    total = x + z
    return 0.5 / np.log(2) * (_entropy(body, total) - _entropy(body, x) - _entropy(body, z))


def _entropy(body, x):
    """x log x, which is 0 at 0."""
    return x * body.op("Log", body.where(body.op("Equal", x, 0.0), 1.0, x))


def _absolute(body, kernel, x, z):
    return abs(x - z)


def _chi2_distance(body, kernel, x, z):
    apart = x - z
    return body.share(apart * apart, x + z, 0.0)


def _least_power(body, kernel, x, z):
    return body.op("Min", body.op("Pow", abs(x), float(kernel.beta)), body.op("Pow", abs(z), float(kernel.beta)))


def _is_signed(kernel):
    return bool(kernel.signed)


# ------------------------------------------------------------------------------------------- products, and what is made


def _linear(graph, kernel, X, Z):
    return X @ Z.T


def _hellinger(graph, kernel, X, Z):
    return _root(graph, X) @ (np.sign(Z) * np.sqrt(np.abs(Z))).T


def _root(graph, X):
    return graph.op("Sign", X) * graph.op("Sqrt", abs(X))


def _rbf(graph, kernel, X, Z):
    distance = graph.row_sums(X * X) + (Z * Z).sum(axis=1) - 2.0 * (X @ Z.T)
    return graph.op("Exp", -kernel.rate * graph.op("Max", distance, 0.0))


def _exponential_of(distance):
    def values(graph, kernel, X, Z):
        return graph.op("Exp", -kernel.rate * distance(graph, kernel, X, Z))

    return values


def _exponential(graph, kernel, X, Z):
    own, theirs = _diagonal(graph, kernel.kernel, X), kernel.kernel.diagonal(Z)
    distance = own + theirs - 2.0 * kernel_values(graph, kernel.kernel, X, Z)
    return graph.op("Exp", -kernel.rate * graph.op("Max", distance, 0.0))


def _min_max(graph, kernel, X, Z):
    common, total = _minima(graph, kernel, X, Z), graph.row_sums(X) + Z.sum(axis=1)
    return graph.share(common, total - common, 1.0)


def _bray_curtis(graph, kernel, X, Z):
    return graph.share(2.0 * _minima(graph, kernel, X, Z), graph.row_sums(X) + Z.sum(axis=1), 1.0)


def _dot_tanimoto(graph, kernel, X, Z):
    product = X @ Z.T
    return graph.share(product, graph.row_sums(X * X) + (Z * Z).sum(axis=1) - product, 1.0)


def _sum(graph, kernel, X, Z):
    total = None
    for part, weight in zip(kernel.kernels, kernel.weights, strict=True):
        value = float(weight) * kernel_values(graph, part, X, Z)
        total = value if total is None else total + value
    return total


def _product(graph, kernel, X, Z):
    total = None
    for part in kernel.kernels:
        value = kernel_values(graph, part, X, Z)
        total = value if total is None else total * value
    return total


def _normalized(graph, kernel, X, Z):
    plain = kernel.kernel
    theirs = np.sqrt(plain.diagonal(Z))
    scaled = kernel_values(graph, plain, X, Z) * np.divide(1.0, theirs, out=np.zeros_like(theirs), where=theirs > 0)
    return graph.share(scaled, graph.op("Sqrt", _diagonal(graph, plain, X)), 0.0)


def _diagonal(graph, kernel, X):
    """K(x, x) of all rows, shape (n, 1)."""
    if isinstance(kernel, Linear):
        return graph.row_sums(X * X)
    if isinstance(kernel, (Chi2, Intersection, JensenShannon, Hellinger)):
        return graph.row_sums(abs(X))
    if getattr(kernel, "unit_diagonal", False):
        return graph.op("Add", graph.zeros(X, 1), 1.0)
    raise InputError(f"to_onnx does not support K(x, x) of the kernel {kernel!r}.")


_minima = _sum_of(_minimum)
VALUES = {
    Linear: _linear,
    Hellinger: _hellinger,
    Chi2: _sum_of(_chi2, _is_signed),
    Intersection: _sum_of(_minimum, _is_signed),
    JensenShannon: _sum_of(_jensen_shannon, _is_signed),
    GeneralizedIntersection: _sum_of(_least_power),
    BrayCurtis: _bray_curtis,
    MinMax: _min_max,
    DotTanimoto: _dot_tanimoto,
    RBF: _rbf,
    Laplacian: _exponential_of(_sum_of(_absolute)),
    ExpChi2: _exponential_of(_sum_of(_chi2_distance)),
    Exponential: _exponential,
    SumKernel: _sum,
    ProductKernel: _product,
    NormalizedKernel: _normalized,
}
KNOWN = [kind.__name__ for kind in VALUES]
