"""Products of a few rows with a matrix, serial: BLAS would need to be told so, which takes longer than the product."""

__all__ = ["project_few"]

from mercer._native.jit import jit


@jit
def project_few(values, weights, out):
    """out += values @ weights

    values   (n, m) float
    weights  (m, d) float
    out      (n, d) float   written in place
    """
    m, d = weights.shape
    fours = m - m % 4
    for i in range(values.shape[0]):
        o = out[i]
        for j in range(0, fours, 4):
            a, b, c, e = values[i, j], values[i, j + 1], values[i, j + 2], values[i, j + 3]
            w, x, y, z = weights[j], weights[j + 1], weights[j + 2], weights[j + 3]
            for k in range(d):
                o[k] += (a * w[k] + b * x[k]) + (c * y[k] + e * z[k])
        for j in range(fours, m):
            a, w = values[i, j], weights[j]
            for k in range(d):
                o[k] += a * w[k]
