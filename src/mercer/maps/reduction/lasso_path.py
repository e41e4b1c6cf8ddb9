"""The path of (5) of [gavves12convex]: weights for falling penalties, down to the one that is asked for.

    minimize over c >= 0    mean over pairs of (K_xy - c'k_xy)^2  +  alpha sum(c)                    (5)

Deviation from the paper: the error is a mean over pairs, so that alpha does not depend on how many there are; the
paper's lambda is alpha times their number.
"""

__all__ = ["LassoPath"]

import numpy as np

from mercer.maps.reduction.nonnegative import largest_penalty

RATIO = 0.8  # from one penalty of the path to the next
SMALLEST = 1e-8  # of the largest penalty: what comes below is taken to be none
HALVINGS = 40  # of the interval in which the wanted penalty lies


class LassoPath:
    """Solves (5) for one penalty after another and keeps what it has seen.

    Parameters
    ----------
    moments : Moments or ScreenedMoments

    Attributes
    ----------
    alphas, counts, errors : lists
        Penalty, number of weights > 0 and (7) of every solution so far.
    """

    def __init__(self, moments):
        self.moments = moments
        self.alphas, self.counts, self.errors = [], [], []

    def at_alpha(self, alpha):
        """(c, alpha) of a given penalty."""
        return self._down_to(lambda count, error, at: at <= alpha, least=alpha)[:2]

    def of_size(self, n_dims):
        """(c, alpha) with exactly ``n_dims`` weights > 0, or fewer if these reproduce the kernel already.

        Where a penalty adds or drops several at once no solution has that size; the next larger one then loses its
        smallest weights.
        """
        c, alpha, above = self._down_to(lambda count, error, at: count >= n_dims)
        for _ in range(HALVINGS):
            if np.count_nonzero(c) <= n_dims or above <= alpha:
                break
            middle = np.sqrt(above * alpha) if alpha > 0 else above / 2
            between = self._solve(middle, c)
            if self.counts[-1] < n_dims:
                above = middle
            else:
                c, alpha = between, middle
        c[np.argsort(-c, kind="stable")[n_dims:]] = 0.0
        return c, alpha

    def within(self, tolerance):
        """(c, alpha) of the largest penalty, to one part in a hundred, whose error (7) is at most ``tolerance``."""
        c, alpha, above = self._down_to(lambda count, error, at: error <= tolerance)
        while alpha < 0.99 * above and above > SMALLEST * largest_penalty(self.moments.q):
            middle = np.sqrt(above * alpha) if alpha > 0 else above / 2
            between = self._solve(middle, c)
            if self.errors[-1] > tolerance:
                above = middle
            else:
                c, alpha = between, middle
        return c, alpha

    def record(self):
        """What was seen, by falling penalty: arrays ``alpha``, ``n_dims`` and ``error``."""
        order = np.argsort(-np.array(self.alphas), kind="stable")
        return {
            "alpha": np.array(self.alphas)[order],
            "n_dims": np.array(self.counts, dtype=np.int64)[order],
            "error": np.array(self.errors)[order],
        }

    def _down_to(self, is_enough, least=0.0):
        """(c, penalty, the one before): the first of falling penalties, >= ``least``, that is enough, or the last."""
        above = alpha = largest_penalty(self.moments.q)
        c = None
        while True:
            above, alpha = alpha, RATIO * alpha
            if alpha < SMALLEST * largest_penalty(self.moments.q):
                alpha = 0.0
            alpha = max(alpha, least)
            c = self._solve(alpha, c)
            if is_enough(self.counts[-1], self.errors[-1], alpha) or alpha <= least:
                return c, alpha, above

    def _solve(self, alpha, start):
        c = self.moments.minimizer(alpha, start)
        self.alphas.append(float(alpha))
        self.counts.append(int(np.count_nonzero(c)))
        self.errors.append(self.moments.error(c))
        return c
