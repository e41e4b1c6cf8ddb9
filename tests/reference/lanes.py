"""Plain twins of mercer._native.lanes."""

import numpy as np


def add_lanes(target, i, source, j):
    for c in range(8):
        target[i + c] += source[j + c]


def add_words(target, i, tables, k0, k1, k2, k3):
    for c in range(8):
        target[i + c] += (tables[k0 + c] + tables[k1 + c]) + (tables[k2 + c] + tables[k3 + c])


def add_products(target, i, factors, q, stride, source, j):
    target[i : i + 8] += factors[q + stride * np.arange(4)] @ source[j : j + 32].reshape(4, 8)
