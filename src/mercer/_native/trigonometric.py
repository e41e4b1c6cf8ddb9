"""Vectorisable logarithm, cosine and sine, where numba has only scalar calls into the C library.

Angles are in half turns: removing whole half turns is then exact. The polynomials are fitted by
``benchmarks/fits/trigonometric.py``; what remains is the rounding of the evaluation.
"""

__all__ = ["cos_sin_double", "cos_sin_single", "log2_parts_double", "log2_parts_single"]

import numpy as np

from mercer._native.elementary import log2_ratio_double, log2_ratio_single
from mercer._native.jit import inline


@inline
def log2_parts_single(x):
    """(n, np.log2(x) - n) with n a whole number, |second part| <= 1/2, for x > 0; any finite numbers for x = 0."""
    is_small = x < np.float32(1.1754944e-38)  # below the normal numbers
    bits = np.float32(x * np.float32(2**24) if is_small else x).view(np.int32)
    # counted from sqrt(1/2), so that the fraction is around 1
    exponent = np.int32(bits - np.int32(0x3F3504F3)) >> np.int32(23)
    fraction = np.int32(bits - np.int32(exponent << np.int32(23))).view(np.float32)
    n = np.float32(exponent) - (np.float32(24) if is_small else np.float32(0))
    return n, log2_ratio_single((fraction - np.float32(1)) / (fraction + np.float32(1)))


@inline
def cos_sin_single(h):
    """np.cos(np.pi * h), np.sin(np.pi * h) for |h| < 2**22; absolute error 2e-07."""
    n = np.rint(h)
    f = h - n
    q = f * f
    sign = np.float32(1) - np.float32(2) * (n - np.float32(2) * np.floor(n * np.float32(0.5)))
    cosine = np.float32(1) - q * (
        np.float32(4.934802)
        + q
        * (
            np.float32(-4.0587115)
            + q * (np.float32(1.33524) + q * (np.float32(-0.23507437) + q * np.float32(0.024627112)))
        )
    )
    sine = f * (
        np.float32(3.1415927)
        + q
        * (
            np.float32(-5.1677103)
            + q * (np.float32(2.5500774) + q * (np.float32(-0.5982904) + q * np.float32(0.07765591)))
        )
    )
    return sign * cosine, sign * sine


@inline
def log2_parts_double(x):
    """As the single-precision function, with the longer polynomial."""
    is_small = x < 2.2250738585072014e-308
    bits = np.float64(x * 2.0**54 if is_small else x).view(np.int64)
    # AVX2 converts no 64-bit integers: the exponent becomes a number by writing it into the last bits of 2**52
    biased = np.int64((bits >> np.int64(52)) | np.int64(0x4330000000000000)).view(np.float64) - 2.0**52
    fraction = np.int64((bits & np.int64(0x000FFFFFFFFFFFFF)) | np.int64(0x3FF0000000000000)).view(np.float64)
    is_large = fraction > 1.4142135623730951
    fraction = fraction * (0.5 if is_large else 1.0)
    n = biased - (1077.0 if is_small else 1023.0) + (1.0 if is_large else 0.0)
    return n, log2_ratio_double((fraction - 1.0) / (fraction + 1.0))


@inline
def cos_sin_double(h):
    """np.cos(np.pi * h), np.sin(np.pi * h) for |h| < 2**51; absolute error 4e-16."""
    n = np.rint(h)
    f = h - n
    q = f * f
    sign = 1.0 - 2.0 * (n - 2.0 * np.floor(n * 0.5))
    cosine = 1.0 - q * (
        4.934802200544679
        + q
        * (
            -4.058712126416736
            + q
            * (
                1.3352627688518763
                + q
                * (
                    -0.23533063027206286
                    + q
                    * (
                        0.025806890024810517
                        + q * (-0.0019295626461964697 + q * (0.00010458284503470968 + q * -4.166377593361472e-06))
                    )
                )
            )
        )
    )
    sine = f * (
        3.141592653589793
        + q
        * (
            -5.167712780049969
            + q
            * (
                2.550164039877298
                + q
                * (
                    -0.5992645293188916
                    + q
                    * (
                        0.08214588657248087
                        + q
                        * (
                            -0.007370430501510459
                            + q * (0.0004662997976912499 + q * (-2.1903454886049208e-05 + q * 7.697425025474761e-07))
                        )
                    )
                )
            )
        )
    )
    return sign * cosine, sign * sine
