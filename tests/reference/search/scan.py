"""Twins of `mercer._native.search.scan`: all sums, then a full sort."""

import numpy as np


def scan_codes(codes, tables, allowed, first, sums, marks, limits, best_scores, best_rows, sizes):
    blocks = np.arange(codes.shape[1])
    for row, code in enumerate(codes):
        if len(allowed) and not allowed[row]:
            continue
        for c, score in enumerate(tables[blocks, code].sum(axis=0)):
            sizes[c] = push(best_scores[c], best_rows[c], sizes[c], score, first + row)


def push(scores, rows, size, score, row):
    """The same entries, in order and not as a heap; what is not better than a full heap's top is left out."""
    entries = [*zip(scores[:size].tolist(), rows[:size].tolist(), strict=True), (float(score), int(row))]
    best = sorted(entries, key=lambda entry: (-entry[0], entry[1]))[: len(scores)]
    scores[: len(best)] = [value for value, _ in best]
    rows[: len(best)] = [place for _, place in best]
    return len(best)
