"""Products with CSR rows, entry by entry."""

import numpy as np


def score_csr_vector(indptr, indices, data, v, first, last, out):
    for i in range(first, last):
        out[i] = sum(float(data[q]) * float(v[indices[q]]) for q in range(indptr[i], indptr[i + 1]))


def score_csr_matrix(indptr, indices, data, v, first, last, out):
    for c in range(v.shape[1]):
        score_csr_vector(indptr, indices, data, v[:, c], first, last, out[:, c])


def accumulate_csr_vector(indptr, indices, data, r, first, last, total):
    for i in range(first, last):
        for q in range(indptr[i], indptr[i + 1]):
            total[indices[q]] += float(data[q]) * float(r[i])


def accumulate_csr_matrix(indptr, indices, data, r, first, last, total):
    for c in range(r.shape[1]):
        accumulate_csr_vector(indptr, indices, data, r[:, c], first, last, total[:, c])


def sum_csr_squares(indptr, data, first, last, out):
    for i in range(first, last):
        out[i] = np.square(data[indptr[i] : indptr[i + 1]], dtype=np.float64).sum()
