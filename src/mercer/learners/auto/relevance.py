"""How much each column matters: mean squared slope of a learned function along it. [radhakrishnan24mechanism]

For f(x) = sum_m a_m exp(-gamma |x - z_m|^2),

    df/dx_j = -2 gamma sum_m a_m K(x, z_m) (x_j - z_mj)

and columns weighed by a power of the mean of (df/dx_j)^2 bring rows together that differ in what does not matter.
Deviation from the paper: weights of columns, not a full matrix, and the fourth root; no other power was compared.
"""

__all__ = ["column_weights"]

import numpy as np

from mercer._base.threads import single_threaded

ROWS = 1000  # at which slopes are taken
POWER = 0.25
LEAST = 1e-3  # weight of a column that does not matter, relative to the largest


def column_weights(kernel, X, landmarks, coefficients):
    """Weights in (0, 1], float64 (d,), by the slopes of a function of dense rows.

    Parameters
    ----------
    kernel : RBF
    X : rows at which slopes are taken, as many as ROWS of them
    landmarks, coefficients : of the function, (M, d) and (M, P)
    """
    X = X[:ROWS]
    total = np.zeros(X.shape[1])
    with single_threaded():
        gram = kernel.gram_block(X, landmarks, None)
        for column in coefficients.T.astype(gram.dtype):
            shares = gram * column
            slopes = shares.sum(axis=1, keepdims=True) * X - shares @ landmarks
            total += np.square(slopes, dtype=np.float64).sum(axis=0)
    largest = total.max()
    return np.maximum((total / largest) ** POWER, LEAST) if largest > 0 else np.ones(X.shape[1])
