"""Twin of `mercer._native.maps.minhash`: the textbook loop over rows, hashes and non-zeros."""

import numpy as np

from tests.reference.counter import bits_of, uniform_of


def fill_variates(key, columns, first_hash, tables):
    for h in range(tables.shape[2]):
        stream = bits_of(key, first_hash + h)
        for k, column in enumerate(columns):
            u = [uniform_of(stream, 5 * int(column) + i) for i in range(5)]
            rate, gamma, shift = -np.log(u[0] * u[1]), -np.log(u[2] * u[3]), u[4]
            tables[k, :, h] = rate, shift, np.log(gamma) + rate * (shift - 1)


def pick_columns(indptr, places, logs, tables, costs, picks, best):
    for i in range(len(best)):
        mine = slice(indptr[i], indptr[i + 1])
        rate, shift, offset = (tables[places[mine], part] for part in range(3))
        # the step is decided in float32, the costs are compared exactly
        step = np.floor(logs[mine, None] / rate + shift)
        cost = np.where(
            np.isfinite(step), offset - rate.astype(np.float64) * np.where(np.isfinite(step), step, 0), np.inf
        )
        for h in range(best.shape[1]):
            best[i, h] = -1 if not np.isfinite(cost[:, h]).any() else cost[:, h].argmin()


def reduce_to_words(key, first_hash, indptr, places, logs, columns, tables, best, n_buckets, words):
    for i in range(len(best)):
        for h in range(best.shape[1]):
            if best[i, h] < 0:
                words[i, h] = n_buckets
                continue
            q = indptr[i] + best[i, h]
            step = int(np.floor(logs[q] / tables[places[q], 0, h] + tables[places[q], 1, h]))
            bits = bits_of(bits_of(bits_of(key, first_hash + h), columns[places[q]]), step)
            words[i, h] = (bits >> 32) * n_buckets // 2**32 + (bits % 2) * (n_buckets + 1)
