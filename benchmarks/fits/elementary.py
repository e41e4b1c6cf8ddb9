"""Fits the polynomials of ``mercer._native.elementary`` and prints coefficients with their relative error.

Run: python -m benchmarks.fits.elementary
"""

import numpy as np
from numpy.polynomial import polynomial

REAL = np.longdouble


def interpolate(function, low, high, degree):
    """Coefficients, in powers of t, of the polynomial through ``function`` at the Chebyshev points of [low, high]."""
    nodes = np.cos((np.arange(degree + 1, dtype=REAL) + REAL(0.5)) * REAL(np.pi) / (degree + 1))
    t = (low + high) / REAL(2) + (high - low) / REAL(2) * nodes
    # Newton's divided differences, then expansion to powers: stable enough in extended precision at these degrees.
    table = function(t).copy()
    for order in range(1, degree + 1):
        table[order:] = (table[order:] - table[order - 1 : -1]) / (t[order:] - t[:-order])
    coefficients = np.zeros(1, dtype=REAL)
    for node, value in zip(t[::-1], table[::-1], strict=True):
        coefficients = polynomial.polyadd(polynomial.polymul(coefficients, [-node, REAL(1)]), [value])
    return coefficients[: degree + 1]


def log2_ratio(square):
    """log2((1 + z) / (1 - z)) / z as a function of z**2."""
    z = np.sqrt(np.maximum(square, REAL(1e-30)))
    return (np.log1p(z) - np.log1p(-z)) / (z * np.log(REAL(2)))


def one_minus_exp2(f):
    """(1 - 2**-f) / f."""
    f = np.maximum(f, REAL(1e-30))
    return -np.expm1(-f * np.log(REAL(2))) / f


def exp2_minus_one(f):
    """(2**f - 1) / f: fitted in this form so that 2**0 is exactly 1."""
    f = np.maximum(f, REAL(1e-30))
    return np.expm1(f * np.log(REAL(2))) / f


FITS = {
    # name: (function, low, high, degree in single precision, degree in double precision)
    "log2_ratio": (log2_ratio, 0, REAL(1) / 9, 3, 9),
    "one_minus_exp2": (one_minus_exp2, 0, 1, 5, 11),
    "exp2_minus_one": (exp2_minus_one, 0, 1, 5, 11),
}


def main():
    for name, (function, low, high, *degrees) in FITS.items():
        for degree, dtype in zip(degrees, (np.float32, np.float64), strict=True):
            coefficients = interpolate(function, REAL(low), REAL(high), degree)
            t = np.linspace(REAL(low), REAL(high), 10001, dtype=REAL)
            error = np.abs(polynomial.polyval(t, coefficients) / function(t) - 1).max()
            print(f"{name}, {dtype.__name__}, relative error {error:.1e}")
            for coefficient in coefficients:
                print(f"    {dtype(coefficient)!s}")


if __name__ == "__main__":
    main()
