"""Probabilities of classes from left-out scores: p(x) = softmax(alpha f(x) + beta).

One slope alpha > 0 for all classes and one offset per class, the most likely ones for rows whose scores f were computed
without them. The class of the largest probability is then the prediction on every row, which sigmoids per column,
votes and coupled pairs cannot promise. Of two classes with a single column f, the log odds are alpha f + beta.
"""

__all__ = ["SoftmaxLink", "fit_softmax"]

from dataclasses import dataclass, field

import numpy as np
from scipy import linalg
from scipy.special import softmax

# Rows that speak against an offset, and rows of any class at all: they keep classes with few rows from offsets without
# bound, and scores that tell all rows apart from a slope without bound.
PRIOR = 1.0
SLOPES = 1e-6, 1e4  # of scores of spread 1
STEPS = 100
EQUAL = 1e-12  # spread over size, below which scores are equal
ENOUGH = 1e-9  # of the decrease of the mean loss that a further step promises
LEAST_DECREASE = 1e-3  # of what a step promises, that it must bring, or it is halved
RIDGE = 1e-12  # of the trace of second derivatives, which may be singular


@dataclass
class SoftmaxLink:
    """alpha f + beta.

    Parameters
    ----------
    slope : alpha
    offsets : beta, float64 (classes,), or (1,) for a single column of scores
    log_loss : mean of -log p(class of the row) over the rows that it was fitted to
    """

    slope: float
    offsets: np.ndarray
    log_loss: float = field(default=0.0)

    def get_params(self, deep=True):
        """Fields by name, which is what a model file keeps."""
        return {"slope": self.slope, "offsets": self.offsets, "log_loss": self.log_loss}

    def decision(self, scores):
        """Log odds (n,) of two classes with one column of scores, else (n, classes): the largest is predicted."""
        found = self.slope * scores + self.offsets
        return found[:, 0] if len(self.offsets) == 1 else found

    def probabilities(self, scores):
        """Probabilities of the classes, (n, classes)."""
        return softmax(_by_class(self.slope * scores + self.offsets), axis=1)

    def _check_loaded(self):
        from mercer._base.files.loaded import check_number, checked_array

        check_number(self, "slope", above=0.0)
        check_number(self, "log_loss", lowest=0.0)
        checked_array(self, "offsets", "float64", ndim=1)


def fit_softmax(scores, codes, weights):
    """The :class:`SoftmaxLink` of left-out scores, float64 (n, P), for class numbers and weights of the rows.

    Minimizes the mean of -log p over rows, of which PRIOR in all are of any class, and PRIOR / 2 |beta|^2 per unit of
    weight, by Newton steps that are halved until the loss falls. With q_i the probabilities of row i and u_i its share,

        d/d alpha = sum_i u_i f_i'(q_i - e_i),       d/d beta = sum_i u_i (q_i - e_i) + prior beta
        second derivatives: sum_i u_i J_i'(diag(q_i) - q_i q_i') J_i + prior,      J_i = (f_i, I)
    """
    unit = float(np.abs(scores).max()) or 1.0  # squares stay within the range of numbers
    f = scores / unit
    spread = float(np.sqrt(np.average(np.square(f - f.mean(axis=0)).mean(axis=1), weights=weights)))
    spread = spread if spread > EQUAL else 1.0  # of equal scores it is rounding
    likelihood = _Likelihood(f / spread, codes, weights)
    at = np.concatenate([[1.0], np.zeros(scores.shape[1])])
    loss, odds = likelihood.loss(at)
    for _ in range(STEPS):
        gradient, second = likelihood.derivatives(at, odds)
        step = _newton_step(at, gradient, second)
        promised = -float(gradient @ step)
        if not promised > ENOUGH:
            break
        share = 1.0
        while share > LEAST_DECREASE:
            following = at + share * step
            following[0] = np.clip(following[0], *SLOPES)
            found = likelihood.loss(following)
            if found[0] <= loss - LEAST_DECREASE * share * promised:
                break
            share /= 2
        else:
            break
        at, (loss, odds) = following, found
    return SoftmaxLink(float(at[0] / spread / unit), at[1:], max(0.0, loss))


class _Likelihood:
    """The loss of (alpha, beta) for scores of spread 1, and its derivatives."""

    def __init__(self, f, codes, weights):
        self.f, self.rows, self.codes = f, np.arange(len(codes)), codes
        self.share = weights / weights.sum()
        self.prior, self.doubt = PRIOR / weights.sum(), PRIOR / (weights.sum() + PRIOR)

    def loss(self, at):
        """(loss, probabilities of the classes)."""
        logits = _by_class(at[0] * self.f + at[1:])
        logits -= logits.max(axis=1, keepdims=True)
        own = (1 - self.doubt) * logits[self.rows, self.codes] + self.doubt * logits.mean(axis=1)
        odds = np.exp(logits)
        totals = odds.sum(axis=1)
        odds /= totals[:, None]
        return float(self.share @ (np.log(totals) - own) + self.prior / 2 * (at[1:] @ at[1:])), odds

    def derivatives(self, at, odds):
        """(first, second) derivatives by alpha and beta."""
        n_columns = self.f.shape[1]
        slopes = odds - self.doubt / odds.shape[1]
        slopes[self.rows, self.codes] -= 1 - self.doubt
        slopes = self.share[:, None] * slopes[:, -n_columns:]
        gradient = np.concatenate([[np.vdot(slopes, self.f)], slopes.sum(axis=0) + self.prior * at[1:]])
        q = odds[:, -n_columns:]
        moved = q * (self.f - np.einsum("ij,ij->i", q, self.f)[:, None])  # (diag(q) - q q') f
        second = np.empty((1 + n_columns, 1 + n_columns))
        second[0, 0] = self.share @ np.einsum("ij,ij->i", moved, self.f)
        second[0, 1:] = second[1:, 0] = self.share @ moved
        second[1:, 1:] = -(q * self.share[:, None]).T @ q
        second[np.diag_indices(1 + n_columns)] += np.concatenate([[0.0], self.share @ q + self.prior])
        return gradient, second


def _newton_step(at, gradient, second):
    """The step to the minimum of the quadratic model, where the slope stays within its bounds."""
    second[np.diag_indices(len(second))] += RIDGE * np.trace(second)
    step = -linalg.solve(second, gradient, assume_a="pos")
    bound = np.clip(at[0] + step[0], *SLOPES)
    if bound != at[0] + step[0]:
        step[0] = bound - at[0]
        step[1:] = -linalg.solve(second[1:, 1:], gradient[1:] + second[1:, 0] * step[0], assume_a="pos")
    return step


def _by_class(scores):
    """Two columns for a single one: the first class has score 0."""
    return np.hstack([np.zeros_like(scores), scores]) if scores.shape[1] == 1 else scores.copy()
