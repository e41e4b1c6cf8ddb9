"""Fits the polynomials of ``mercer._native.trigonometric`` and prints coefficients with their error.

Run: python -m benchmarks.fits.trigonometric
"""

import numpy as np
from numpy.polynomial import polynomial

from benchmarks.fits.elementary import REAL, interpolate

PI = REAL(4) * np.arctan(REAL(1))


def cosine(square):
    """(1 - cos(pi f)) / f**2 as a function of f**2: fitted in this form so that cos(0) is exactly 1."""
    f = np.sqrt(np.maximum(square, REAL(1e-30)))
    return 2 * (np.sin(PI * f / 2) / f) ** 2


def sine(square):
    """sin(pi f) / f as a function of f**2."""
    f = np.sqrt(np.maximum(square, REAL(1e-30)))
    return np.sin(PI * f) / f


FITS = {
    # name: (function, degree in single precision, degree in double precision), f**2 from 0 to 1/4
    "cosine": (cosine, 4, 7),
    "sine": (sine, 4, 8),
}


def main():
    t = np.linspace(REAL(0), REAL(1) / 4, 10001, dtype=REAL)
    for name, (function, *degrees) in FITS.items():
        for degree, dtype in zip(degrees, (np.float32, np.float64), strict=True):
            coefficients = interpolate(function, REAL(0), REAL(1) / 4, degree)
            error = np.abs(polynomial.polyval(t, coefficients) / function(t) - 1).max()
            print(f"{name}, {dtype.__name__}, relative error {error:.1e}")
            for coefficient in coefficients:
                print(f"    {dtype(coefficient)!s}")


if __name__ == "__main__":
    main()
