"""The "hard" windows of the pedestrian experiment: at random, then two rounds of bootstrapping. [wu10fast] Sec. 4.2

A round looks at many windows at random places of the photos without people, and adds to the training set those that the
machine of the set so far takes for a person most firmly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.paper._centrist import _negatives, _positives, centrist

ROUNDS = 2
BLOCK = 4000


@dataclass(frozen=True)
class HardSet:
    """Windows, in random order.

    Parameters
    ----------
    X : histograms uint16 (n, 6144)
    y : 1 for a person, -1 for others
    groups : a person and its mirror image have the same number
    alarms : how many of the windows that were looked at a round took for persons
    """

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray
    alarms: list[int]


def hard_windows(quick, seed=0):
    """The set of all training photos; in a quick run of some of them."""
    n_photos, n_first, n_candidates, n_added = (40, 100, 400, 60) if quick else (None, 1500, 20_000, 1300)
    rng = np.random.default_rng(seed)
    people = _positives("train", n_photos)
    n_people = len(people)
    people = centrist(np.concatenate([people, people[:, :, ::-1]]))
    others, alarms = centrist(_negatives("train", n_first, n_photos, rng)), []
    for _ in range(ROUNDS):
        hardest, count = _hardest(_trained(people, others), n_candidates, n_added, n_photos, rng)
        others = np.concatenate([others, hardest])
        alarms.append(count)
    X = np.concatenate([people, others])
    y = np.where(np.arange(len(X)) < len(people), 1, -1)
    groups = np.concatenate([np.arange(n_people), np.arange(len(X) - n_people)])
    order = rng.permutation(len(y))
    return HardSet(X[order], y[order], groups[order], alarms)


def _trained(people, others):
    from mercer import IntersectionSVC

    y = np.where(np.arange(len(people) + len(others)) < len(people), 1, -1)
    return IntersectionSVC(1e-3, random_state=0).fit(np.concatenate([people, others]), y)


def _hardest(machine, n_candidates, n_added, n_photos, rng):
    """(the windows of highest score, how many have one above 0), looked at in blocks that fit into memory."""
    kept, scores, alarms = [], [], 0
    for start in range(0, n_candidates, BLOCK):
        X = centrist(_negatives("train", min(BLOCK, n_candidates - start), n_photos, rng))
        found = machine.decision_function(X)
        alarms += int((found > 0).sum())
        best = np.argsort(-found, kind="stable")[:n_added]
        kept.append(X[best])
        scores.append(found[best])
    best = np.argsort(-np.concatenate(scores), kind="stable")[:n_added]
    return np.concatenate(kept)[best], alarms
