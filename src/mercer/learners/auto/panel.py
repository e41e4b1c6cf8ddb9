"""Several machines answer together where left-out rows cannot tell which of them is the best.

Of few rows, the best of many trials owes part of its place to chance. Its rivals are fitted to all rows as well, and
row by row their left-out losses are compared with those of the best:

    d_i = l_i(rival) - l_i(best),      rival joins the panel   iff   mean d <= 2 sqrt(sum_i (d_i - mean d)^2) / n

so that a panel is large where rows are few, and shrinks to the best machine as they grow. Scores are averaged after
each machine's own slope alpha, which makes them log odds: f = sum_j alpha_j f_j / J. The rule was chosen on nine sets
of 98 to 200 rows against fixed numbers of machines and smaller limits, and confirmed on eight of 500 to 1,500 rows.
"""

__all__ = ["Member", "factors", "judged_alike", "rivals"]

from dataclasses import dataclass

import numpy as np

from mercer.learners.auto.ridge.landmarks import RidgeFit
from mercer.learners.auto.trials import Judge, Trial, mean_and_error

MOST_MEMBERS = 5
MOST_RIVALS = 5  # that are fitted to all rows
ERRORS = 2.0  # standard errors, beyond which the rows tell a rival from the best


@dataclass(frozen=True)
class Member:
    """A trial, fitted to all rows.

    Parameters
    ----------
    trial : Trial
    fit : RidgeFit
    left_out : honest left-out scores, float64 (n, P)
    """

    trial: Trial
    fit: RidgeFit
    left_out: np.ndarray


def rivals(trials, best):
    """The best trials of other scalings and kernels on as many rows as the best one, the better ones first."""
    found = {_key(best): best}
    for one in sorted(trials, key=lambda one: one.loss):
        if one.rows == best.rows:
            found.setdefault(_key(one), one)
    return list(found.values())[1 : 1 + MOST_RIVALS]


def _key(trial):
    """What makes it another machine: scaling, kernel, and whether columns have weights."""
    family = trial.candidate.family
    return family.scaling.kind, family.kernel.name, family.scaling.weights_ is not None


def judged_alike(best, others, judge: Judge):
    """The best Member, and those of the others that left-out rows do not tell from it."""
    losses, members = judge.losses(best.left_out), [best]
    for one in others:
        mean, error = mean_and_error(judge.losses(one.left_out) - losses, judge)
        if mean <= ERRORS * error:
            members.append(one)
    return members[:MOST_MEMBERS]


def factors(members, judge: Judge):
    """alpha_j / J, float64 (J,)."""
    links = [judge.link(one.left_out) for one in members]
    slopes = [1.0 if link is None else link.slope for link in links]
    return np.array(slopes) / len(members)
