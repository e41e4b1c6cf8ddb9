"""Keeping the best few of many scores without sorting them all."""

__all__ = ["keep_best"]

from mercer._native.jit import jit


@jit
def keep_best(scores, first, best_scores, best_ids):
    """Merge a block of scores into the k best so far, best first, equal scores by smaller id.

    scores       (n, m)  float   scores[i, j] belongs to item first + j
    best_scores  (n, k)  float   written in place; start with -inf
    best_ids     (n, k)  int64   written in place; start with -1
    Blocks must come in the order of their items: an item never displaces an equal one that came before.
    """
    n, m = scores.shape
    k = best_scores.shape[1]
    for i in range(n):
        row, ids = best_scores[i], best_ids[i]
        for j in range(m):
            s = scores[i, j]
            if s > row[k - 1] or ids[k - 1] < 0:
                p = k - 1
                while p > 0 and (ids[p - 1] < 0 or s > row[p - 1]):
                    row[p] = row[p - 1]
                    ids[p] = ids[p - 1]
                    p -= 1
                row[p] = s
                ids[p] = first + j
