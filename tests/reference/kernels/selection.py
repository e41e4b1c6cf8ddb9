"""Twin of `mercer._native.kernels.selection`."""

import numpy as np


def keep_best(scores, first, best_scores, best_ids):
    for i in range(len(scores)):
        known = best_ids[i] >= 0
        pool = [(-s, item) for s, item in zip(best_scores[i][known], best_ids[i][known], strict=True)]
        pool += [(-s, first + j) for j, s in enumerate(scores[i])]
        best = sorted(pool)[: best_scores.shape[1]]
        best_scores[i, : len(best)] = [-s for s, _ in best]
        best_ids[i, : len(best)] = np.array([item for _, item in best], dtype=np.int64)
