"""Twins of `mercer._native.elementary`, by numpy in float64."""

import numpy as np


def log2_ratio_double(z):
    z = np.float64(z)
    return (np.log1p(z) - np.log1p(-z)) / np.log(2)


def log2_ratio_over_z_double(z):
    return log2_ratio_double(z) / z


def one_minus_exp2_double(a):
    return -np.expm1(-np.float64(a) * np.log(2))


def exp2_double(a):
    return np.exp2(np.float64(a))


def power_of_two_double(n):
    return np.ldexp(1.0, n)


log2_ratio_single = log2_ratio_double
one_minus_exp2_single = one_minus_exp2_double
exp2_single = exp2_double
power_of_two_single = power_of_two_double
exp2_fraction_single = exp2_double


def log2_single(y):
    return np.log2(np.float64(y))


def power_single(y, p):
    return y.astype(np.float64) ** p
