"""Probabilities of classes from left-out scores: p(x) = softmax(alpha f(x) + beta).

One slope alpha > 0 for all classes and one offset per class, the most likely ones for rows whose scores f were computed
without them. The class of the largest probability is then the prediction on every row, which sigmoids per column,
votes and coupled pairs cannot promise. Of two classes with a single column f, the log odds are alpha f + beta.
"""

__all__ = ["SoftmaxLink", "fit_softmax"]

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

# Rows that speak against an offset, and rows of any class at all: they keep classes with few rows from offsets without
# bound, and scores that tell all rows apart from a slope without bound.
PRIOR = 1.0
LARGEST = 1e4  # slope of scores of spread 1
STEPS = 100


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
    weight, by L-BFGS.
    """
    spread = float(np.sqrt(np.average(np.square(scores - scores.mean(axis=0)).mean(axis=1), weights=weights)))
    spread = spread or float(np.abs(scores).max()) or 1.0
    f, share = scores / spread, weights / weights.sum()
    rows, prior = np.arange(len(codes)), PRIOR / weights.sum()
    doubt = PRIOR / (weights.sum() + PRIOR)

    def value(parameters):
        alpha, beta = parameters[0], parameters[1:]
        logits = _by_class(alpha * f + beta)
        logits -= logits.max(axis=1, keepdims=True)
        powers = np.exp(logits)
        totals = powers.sum(axis=1)
        own = (1 - doubt) * logits[rows, codes] + doubt * logits.mean(axis=1)
        loss = share @ (np.log(totals) - own)
        slopes = powers / totals[:, None] - doubt / logits.shape[1]
        slopes[rows, codes] -= 1 - doubt
        slopes = (share[:, None] * slopes)[:, -f.shape[1] :]
        gradient = [(slopes * f).sum(), *(slopes.sum(axis=0) + prior * beta)]
        return loss + prior / 2 * (beta @ beta), np.array(gradient)

    start = np.concatenate([[1.0], np.zeros(f.shape[1])])
    bounds = [(1e-6, LARGEST)] + [(None, None)] * f.shape[1]
    found = minimize(value, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": STEPS})
    return SoftmaxLink(float(found.x[0] / spread), found.x[1:].astype(np.float64), max(0.0, float(found.fun)))


def _by_class(scores):
    """Two columns for a single one: the first class has score 0."""
    return np.hstack([np.zeros_like(scores), scores]) if scores.shape[1] == 1 else scores.copy()
