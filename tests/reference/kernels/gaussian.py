"""Twins of `mercer._native.kernels.gaussian`, by numpy in float64."""

import numpy as np


def exp_minus_single(t):
    return np.exp(-np.maximum(np.float64(t), 0))


def finish_gaussian(block, left, right, slack, accuracy):
    energies = left.astype(np.float64)[:, None] + right
    block[...] = exp_minus_single(energies + block)
    return np.count_nonzero(~(slack * energies * block <= accuracy))


def find_uncertain(values, left, right, slack, accuracy, rows, columns):
    energies = left.astype(np.float64)[:, None] + right
    rows[...], columns[...] = np.nonzero(~(slack * energies * values <= accuracy))
