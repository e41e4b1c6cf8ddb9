"""Twin of `mercer._native.maps.columns`: a product with a matrix of zeros and factors."""

import numpy as np


def write_column_sums(X, chosen, targets, factors, first, last, out):
    matrix = np.zeros((X.shape[1], out.shape[1]))
    np.add.at(matrix, (chosen, targets), factors)
    out[first:last] = X[first:last] @ matrix
