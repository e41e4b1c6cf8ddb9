"""Twins of `mercer._native.learners.descent.gram`: every step tries all pairs from the formulas, in numpy."""

import numpy as np

FLAT = 1e-9


def gains_of(g, h, lower, upper, b, out):
    step = np.clip(b - g / h, lower, upper) - b
    out[:] = -(g + h * step / 2) * step


def descend_gram(K, constant, bends, h, lower, upper, least, most, b, g, gains):
    Q = K.astype(np.float64) + constant
    for steps in range(most):
        gains_of(g, h, lower, upper, b, gains)
        i = int(np.argmax(gains))
        alone = gains[i]
        if not alone > least:
            return steps
        k = Q[i]
        determinant = np.maximum(h[i] * h - k * k, FLAT * h[i] * h)
        step_i = np.clip(b[i] + (g * k - g[i] * h) / determinant, lower[i], upper[i]) - b[i]
        step = np.clip(b - (g + k * step_i) / h, lower, upper) - b
        step_i = np.clip(b[i] - (g[i] + k * step) / h[i], lower[i], upper[i]) - b[i]
        gains[:] = -(g[i] * step_i + g * step + h[i] * step_i**2 / 2 + h * step**2 / 2 + k * step_i * step)
        gains[i] = alone
        j = int(np.argmax(gains))
        change = np.zeros(len(b))
        if i == j:
            change[i] = np.clip(b[i] - g[i] / h[i], lower[i], upper[i]) - b[i]
        else:
            change[i], change[j] = step_i[j], step[j]
        b += change
        g += Q @ change + bends * change
    return most


def add_rows(K, rows, steps, first, last, out):
    out[first:last] += steps @ K[rows, first:last].astype(np.float64)


def gather(K, places, columns, out):
    out[:] = K[places[:, None], columns]
