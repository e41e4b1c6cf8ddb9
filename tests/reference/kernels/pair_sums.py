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


def shared_entries(columns, row_columns, row_values, begins, ends, places, entries, stops):
    found = []
    for i, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        for e in range(begin, end):
            place = np.flatnonzero(columns == row_columns[e])
            if len(place) and row_values[e]:
                found.append((place[0], e))
        stops[i] = len(found)
    places[: len(found)], entries[: len(found)] = zip(*found, strict=True)
    return len(found)


def shared_sums(name, signed=False):
    dense = dense_pair_sums(name, signed)

    def sum_shared(X, X_logs, places, Y, Y_logs, stops, param, out):
        for i, (begin, end) in enumerate(zip([0, *stops[:-1]], stops, strict=True)):
            dense(X[places[begin:end]][None], None, Y[begin:end][None], None, param, out[i : i + 1])

    return sum_shared


def logarithms(values):
    return np.array([np.log2(abs(value)) if value else 0.0 for value in values.ravel()]).reshape(values.shape)
