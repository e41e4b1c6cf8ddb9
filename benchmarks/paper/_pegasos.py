"""PEGASOS with mini-batches, the stochastic rival of the bundle solver: for comparison, not part of the library.

[vedaldi12sparse] (18) is v <- v - eta (lambda K_ZZ^+ v + delta_i Phi(x_i)), a step in the Euclidean geometry of v. The
objective is not strongly convex there, no rate is right, and the paper found the tuning delicate. With K_ZZ = F'F and
v = F'u the same objective is strongly convex in u, which gives the step that [shalev07pegasos] proves a rate for:

    u <- (1 - eta lambda) u - eta F (mean over the batch of delta_i Phi(x_i)),        eta = 1 / (lambda t)

This is (18) with the step multiplied by K_ZZ. Each step costs one lift and one projection of all D features, however
few rows the batch has; that is what batches are for.

With little regularisation the first of these steps are enormous, and what they do takes many passes to undo. In favour
of the rival the steps may therefore begin later, eta = 1 / (lambda (t + delay)), with the best of several delays.
"""

from __future__ import annotations

import time

import numpy as np

GROWTH = 1.25  # from one look at the weights to the next


def pegasos(rows, inner, targets, regulariser, batch, delay=0.0, seed=0):
    """Yields (passes over the rows, seconds, u) at ever longer intervals, without end; the clock stops meanwhile.

    Parameters
    ----------
    rows, inner : encoded rows and their inner product
    targets : (n, P) of -1 and +1
    regulariser : lambda of lambda / 2 |u|^2 + mean hinge loss
    batch : rows per step
    delay : steps that the step size is behind; 0 as published
    seed : of the order of the rows
    """
    n, P = targets.shape
    rng = np.random.default_rng(seed)
    u = np.zeros((inner.n_factors, P))
    seconds, seen, t, stop = 0.0, 0, 0, n / 8
    start = time.perf_counter()
    while True:
        order = rng.permutation(n)
        shuffled, y = rows.take(order), targets[order].astype(np.float64)
        for first in range(0, n, batch):
            part = slice(first, min(first + batch, n))
            t += 1
            u = _step(shuffled.take(part), inner, y[part], u, regulariser, t + delay)
            seen += part.stop - part.start
            if seen >= stop:
                seconds += time.perf_counter() - start
                yield seen / n, seconds, u.copy()
                stop = GROWTH * seen
                start = time.perf_counter()


def _step(rows, inner, y, u, regulariser, t):
    eta = 1 / (regulariser * t)
    scores = rows.scores(inner.lift(u))
    slopes = np.where(y * scores < 1, -y, 0.0) / len(y)
    u = (1 - eta * regulariser) * u - eta * inner.project(rows.accumulate(slopes))
    # the optimum lies in this ball ([shalev07pegasos] Fig. 1), so that going back to it can only help
    norms = np.sqrt((u**2).sum(axis=0))
    return u * np.minimum(1, 1 / (np.sqrt(regulariser) * np.maximum(norms, 1e-300)))
