"""Twins of `mercer._native.maps.interpolation`, with numpy's interp."""

import numpy as np


def interpolate_dense(X, first_logs, inverse_steps, points, tables, out):
    rows, columns = np.indices(X.shape)
    entries = np.empty((X.size, out.shape[2]))
    beyond = interpolate_sparse(columns.ravel(), X.ravel(), first_logs, inverse_steps, points, tables, entries)
    out[rows, columns] = entries.reshape(out.shape)
    return beyond


def interpolate_sparse(columns, values, first_logs, inverse_steps, points, tables, out):
    beyond = 0
    for q, (x, j) in enumerate(zip(np.asarray(values, dtype=np.float64), columns, strict=True)):
        side = 1 if x < 0 and len(tables) == 2 else 0
        for e in range(out.shape[1]):
            out[q, e] = np.interp(abs(x), points[j], tables[side, j, :, e])
        beyond += abs(x) > points[j, -1]
    return beyond


def sum_interpolated(starts, columns, values, first_logs, inverse_steps, points, tables, out):
    entries = np.empty((len(values), out.shape[1]))
    beyond = interpolate_sparse(columns, values, first_logs, inverse_steps, points, tables, entries)
    for i in range(len(out)):
        out[i] = entries[starts[i] - starts[0] : starts[i + 1] - starts[0]].sum(axis=0)
    return beyond
