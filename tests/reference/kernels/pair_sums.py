"""Twins of `mercer._native.kernels.pair_sums`: the textbook formulas over all bins, row by row."""

import numpy as np
from scipy import sparse

from tests.reference.kernels import pairs


def product_pair(x, log_x, y, log_y, p):
    return x * y


PAIRS = {
    "product": product_pair,
    "minimum": pairs.minimum_pair,
    "chi2": pairs.chi2_pair,
    "jensen-shannon": pairs.jensen_shannon_double_pair,
    "power-mean": pairs.power_mean_double_pair,
    "common-part": pairs.common_part_pair,
}


def dense_pair_sums(name, signed=False):
    pair = PAIRS[name]

    def sum_pairs(X, X_logs, Y, Y_logs, param, out):
        if signed:
            out[:] = (np.sign(X) * np.sign(Y) * pair(np.abs(X), None, np.abs(Y), None, param)).sum(axis=1)
        else:
            out[:] = pair(X, None, Y, None, param).sum(axis=1)

    return sum_pairs


def sparse_pair_sums(name, signed=False):
    dense = dense_pair_sums(name, signed)

    def sum_pairs(p_x, k_x, X, X_logs, p_y, k_y, Y, Y_logs, param, out):
        width = int(max(k_x.max(initial=0), k_y.max(initial=0))) + 1
        left, right = (
            sparse.csr_array((data, columns, starts), shape=(len(out), width)).toarray()
            for starts, columns, data in ((p_x, k_x, X), (p_y, k_y, Y))
        )
        dense(left, None, right, None, param, out)

    return sum_pairs


def logarithms(values):
    return np.array([np.log2(abs(value)) if value else 0.0 for value in values.ravel()]).reshape(values.shape)
