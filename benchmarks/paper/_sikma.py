"""SIKMA, the stochastic rival on tables: for comparison, not part of the library. [wu10fast] Sec. 4.1, its reference 10

Stochastic gradient descent on lambda / 2 |f|^2 + mean hinge loss, in the space of the intersection kernel, row by row:

    f <- (1 - eta lambda) f + eta y_i K(x_i, .)    where y_i f(x_i) < 1,        eta = 1 / (lambda t)

f is a table per column over the levels 0 to v, f(x) = sum_j T_j(x_j), so that a value costs O(d) and a step O(d v).
"""

from __future__ import annotations

import numpy as np

from mercer._native.jit import jit


@jit
def _steps(levels, order, y, regulariser, t, table):
    """In place; returns the number of steps. The table holds f divided by the scale, which shrinks in every step."""
    n_columns, height = table.shape
    scale = 1.0
    for k in range(order.shape[0]):
        i = order[k]
        t += 1
        value = 0.0
        for j in range(n_columns):
            value += table[j, levels[i, j]]
        eta = 1.0 / (regulariser * t)
        shrink = 1.0 - eta * regulariser
        is_wrong = y[i] * value * scale < 1.0
        if shrink <= 0.0:  # the first step forgets everything, which is nothing
            table[:, :] = 0.0
            scale = 1.0
        else:
            scale *= shrink
        if is_wrong:
            step = eta * y[i] / scale
            for j in range(n_columns):
                x = levels[i, j]
                for level in range(1, height):
                    table[j, level] += step * min(x, level)
        if scale < 1e-100:
            table *= scale
            scale = 1.0
    table *= scale
    return t


class Sikma:
    """A classifier of levels in two classes, -1 and 1.

    Parameters
    ----------
    regulariser : lambda
    passes : over the rows
    seed : of their order
    """

    def __init__(self, regulariser, passes=5, seed=0):
        self.regulariser, self.passes, self.seed = regulariser, passes, seed

    def fit(self, levels, y):
        rng, t = np.random.default_rng(self.seed), 0
        self.table_ = np.zeros((levels.shape[1], int(levels.max()) + 1))
        for _ in range(self.passes):
            t = _steps(levels, rng.permutation(len(y)), y.astype(np.float64), self.regulariser, t, self.table_)
        return self

    def predict(self, levels):
        clipped = np.minimum(levels, self.table_.shape[1] - 1)
        scores = sum(self.table_[j, clipped[:, j]] for j in range(levels.shape[1]))
        return np.where(scores >= 0, 1, -1)

    def score(self, levels, y):
        return float((self.predict(levels) == y).mean())
