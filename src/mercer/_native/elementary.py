"""Vectorisable elementary functions, where numba has only scalar calls into the C library.

Each is a polynomial fitted by ``benchmarks/fits/elementary.py`` (relative error on the stated interval beside it),
written out so that the compiler keeps it in registers.
"""

__all__ = [
    "exp2_double",
    "exp2_fraction_single",
    "exp2_single",
    "log2_ratio_double",
    "log2_ratio_over_z_double",
    "log2_ratio_single",
    "log2_single",
    "one_minus_exp2_double",
    "one_minus_exp2_single",
    "power_single",
]

import numpy as np

from mercer._native.jit import inline


@inline
def log2_ratio_single(z):
    """np.log2((1 + z) / (1 - z)) for 0 <= z <= 1/3; relative error 1.7e-07."""
    q = z * z
    # Estrin's order: a shorter chain of dependent operations than Horner's
    return z * (
        (np.float32(2.8853896) + q * np.float32(0.96192914))
        + (q * q) * (np.float32(0.57120895) + q * np.float32(0.49345392))
    )


@inline
def log2_single(y):
    """np.log2(y) for a normal y > 0; error 3e-07 and a rounding. Of 0 it is some number near -127.

    With y = 2^n m and m in [sqrt(1/2), sqrt(2)):  n + log2((1 + z) / (1 - z)), z = (m - 1) / (m + 1).
    """
    bits = np.int32(np.float32(y).view(np.int32))
    n = (bits - np.int32(0x3F3504F3)) >> np.int32(23)
    m = np.int32(bits - (n << np.int32(23))).view(np.float32)
    z = (m - np.float32(1)) / (m + np.float32(1))
    return np.float32(n) + log2_ratio_single(z)


@inline
def power_of_two_single(n):
    """np.exp2(n) for an integer n in the range of normal numbers, by writing the exponent bits."""
    return np.int32((np.int32(n) + np.int32(127)) << np.int32(23)).view(np.float32)


@inline
def one_minus_exp2_single(a):
    """1 - np.exp2(-a) for a >= 0, without cancellation near a = 0; relative error 1.1e-08.

    With n = floor(a) and f = a - n:  1 - 2^-a = (1 - 2^-n) + 2^-n (1 - 2^-f), a sum of positive terms.
    """
    a = min(a, np.float32(64))
    n = np.int32(a)
    f = a - np.float32(n)
    scale = power_of_two_single(-n)
    p = np.float32(0.6931472) + f * (
        np.float32(-0.24022609)
        + f
        * (
            np.float32(0.05549923)
            + f * (np.float32(-0.009597035) + f * (np.float32(0.0012916368) + f * (np.float32(-0.00011491995))))
        )
    )
    return (np.float32(1) - scale) + scale * (f * p)


@inline
def exp2_fraction_single(f):
    """np.exp2(f) for 0 <= f <= 1; relative error 1.4e-08."""
    p = np.float32(0.6931472) + f * (
        np.float32(0.24022721)
        + f
        * (
            np.float32(0.055496022)
            + f * (np.float32(0.0096521955) + f * (np.float32(0.0012692166) + f * (np.float32(0.00020817915))))
        )
    )
    return np.float32(1) + f * p


@inline
def exp2_single(a):
    """np.exp2(a) for 0 <= a <= 126; relative error 1.4e-08."""
    a = min(a, np.float32(126))
    n = np.int32(a)
    return power_of_two_single(n) * exp2_fraction_single(a - np.float32(n))


@inline
def power_single(y, p):
    """y ** p for a normal y > 0, between 2^-126 and 2^127; relative error 3e-07 p and p roundings of log2(y)."""
    a = min(max(p * log2_single(y), np.float32(-126)), np.float32(126))
    n = np.floor(a)
    return power_of_two_single(np.int32(n)) * exp2_fraction_single(a - n)


@inline
def log2_ratio_over_z_double(z):
    """np.log2((1 + z) / (1 - z)) / z for 0 <= z <= 1/3; relative error 4.7e-17."""
    q = z * z
    return 2.8853900817779268 + q * (
        0.9617966939262053
        + q
        * (
            0.577078016287565
            + q
            * (
                0.41219859090864264
                + q
                * (
                    0.32059844535093535
                    + q
                    * (
                        0.2623232216459763
                        + q
                        * (
                            0.22165091516691368
                            + q * (0.19608183480530275 + q * (0.14254593281297573 + q * (0.2565299317437936)))
                        )
                    )
                )
            )
        )
    )


@inline
def log2_ratio_double(z):
    """np.log2((1 + z) / (1 - z)) for 0 <= z <= 1/3."""
    return z * log2_ratio_over_z_double(z)


@inline
def power_of_two_double(n):
    """np.exp2(n) for an integer n in the range of normal numbers, by writing the exponent bits."""
    return np.int64((np.int64(n) + np.int64(1023)) << np.int64(52)).view(np.float64)


@inline
def one_minus_exp2_double(a):
    """1 - np.exp2(-a) for a >= 0, without cancellation near a = 0; relative error 4.3e-19.

    With n = floor(a) and f = a - n:  1 - 2^-a = (1 - 2^-n) + 2^-n (1 - 2^-f), a sum of positive terms.
    """
    a = min(a, np.float64(64))
    n = np.int32(a)
    f = a - np.float64(n)
    scale = power_of_two_double(-n)
    p = 0.6931471805599453 + f * (
        -0.24022650695910067
        + f
        * (
            0.055504108664819835
            + f
            * (
                -0.00961812910759617
                + f
                * (
                    0.0013333558143319199
                    + f
                    * (
                        -0.00015403530216481968
                        + f
                        * (
                            1.5252727413795144e-05
                            + f
                            * (
                                -1.3215334533277487e-06
                                + f
                                * (
                                    1.0175658375960849e-07
                                    + f
                                    * (
                                        -7.029201037786942e-09
                                        + f * (4.270871489527782e-10 + f * (-1.8665741266034008e-11))
                                    )
                                )
                            )
                        )
                    )
                )
            )
        )
    )
    return (np.float64(1) - scale) + scale * (f * p)


@inline
def exp2_double(a):
    """np.exp2(a) for 0 <= a <= 1022; relative error 5.4e-19."""
    a = min(a, np.float64(1022))
    n = np.int32(a)
    f = a - np.float64(n)
    p = 0.6931471805599453 + f * (
        0.24022650695910078
        + f
        * (
            0.05550410866481868
            + f
            * (
                0.009618129107682498
                + f
                * (
                    0.0013333558141206663
                    + f
                    * (
                        0.00015403530691144232
                        + f
                        * (
                            1.5252723057256959e-05
                            + f
                            * (
                                1.3215741471976862e-06
                                + f
                                * (
                                    1.017407496565931e-07
                                    + f
                                    * (
                                        7.096382421776224e-09
                                        + f * (4.176729834482752e-10 + f * (3.541111225218122e-11))
                                    )
                                )
                            )
                        )
                    )
                )
            )
        )
    )
    return power_of_two_double(n) * (np.float64(1) + f * p)
