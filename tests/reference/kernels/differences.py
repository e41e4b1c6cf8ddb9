"""Twins of `mercer._native.kernels.differences`: x + y - 2 k(x, y) and the like, with enough digits."""

from decimal import Decimal, getcontext

from scipy import sparse

getcontext().prec = 60
LOG_2 = Decimal(2).ln()


def squared_difference(x, y, p):
    return (p * (x - y)) ** 2


def absolute_difference(x, y, p):
    return abs(x - y)


def chi2_difference(x, y, p):
    return x + y - 4 * x * y / (x + y) if x + y else x


def hellinger_difference(x, y, p):
    return (x.sqrt() - y.sqrt()) ** 2


def jensen_shannon_difference(x, y, p):
    return x + y - sum(v * ((x + y) / v).ln() / LOG_2 for v in (x, y) if v)


def power_mean_difference(x, y, p):
    return x + y - (2 * (((-p * x.ln()).exp() + (-p * y.ln()).exp()) / 2) ** (-1 / p) if x and y else 0)


def power_difference(x, y, p):
    return abs(x**p - y**p)


DIFFERENCES = {
    "squared": squared_difference,
    "absolute": absolute_difference,
    "chi2": chi2_difference,
    "hellinger": hellinger_difference,
    "jensen-shannon": jensen_shannon_difference,
    "power-mean": power_mean_difference,
    "power": power_difference,
}


def dense_differences(name, signed=False):
    formula = DIFFERENCES[name]

    def between(x, y, p):
        if not signed:
            return formula(x, y, p)
        x, y, opposite = abs(x), abs(y), x * y < 0
        return 2 * (x + y) - formula(x, y, p) if opposite else formula(x, y, p)

    def sum_differences(X, Y, left, right, p, out):
        for i in range(len(out)):
            pairs = zip(X[left[i]], Y[right[i]], strict=True)
            out[i] = float(sum(between(Decimal(float(x)), Decimal(float(y)), Decimal(p)) for x, y in pairs))

    return sum_differences


def sparse_differences(name, signed=False):
    dense = dense_differences(name, signed)

    def sum_differences(p_x, k_x, X, p_y, k_y, Y, left, right, p, out):
        width = int(max(k_x.max(initial=0), k_y.max(initial=0))) + 1
        sides = ((p_x, k_x, X), (p_y, k_y, Y))
        rows = [sparse.csr_array((v, k, q), shape=(len(q) - 1, width)).toarray() for q, k, v in sides]
        dense(*rows, left, right, p, out)

    return sum_differences
