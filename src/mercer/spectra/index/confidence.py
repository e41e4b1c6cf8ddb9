"""How sure first hits are: q-values, calibrated on the library itself.

The library knows the compounds of its spectra, so it can be asked about them without themselves. For each of many
library spectra, w is the best score of another compound, r that of another spectrum of its own. A query whose compound
the library lacks has a first hit like w; one whose compound is there has max(r, w), and is wrong where w > r. The first
scores of n queries are a mixture of both; EM on their histogram gives the share pi of the first kind. Then, among the
N(t) queries whose first score reaches t,

    FDR(t) = (1 + n (pi P(w >= t) + (1 - pi) P(w >= t, w > r))) / N(t),

and the q-value of a hit is the least FDR of all t up to its score. Every compound that has several spectra counts once.
The literature tries decoys, empirical Bayes and second-ranked hits [scheubert17significance, matsuda24rates]; measured
where the truth is known, decoys and second-ranked hits promised far fewer wrong ones than there were.
"""

__all__ = ["Calibration", "calibrate", "chosen_to_ask", "compounds_of", "q_values"]

from dataclasses import dataclass

import numpy as np

from mercer._base.errors import InputError

PER_COMPOUND, ASKED = 4, 20_000  # library spectra that are asked at most
FEWEST = 100  # compounds, without which nothing can be said
_BINS, _ROUNDS = 20, 500
_SEED = 0


@dataclass(frozen=True)
class Calibration:
    """What library spectra find when they are asked: best scores of the own and of other compounds.

    Attributes
    ----------
    own, others : ndarrays of float64, 0 where there is none
    weights : ndarray of float64, so that every compound counts once
    """

    own: np.ndarray
    others: np.ndarray
    weights: np.ndarray


def compounds_of(inchikeys, names):
    """A number for the compound of each spectrum, by the first block of its InChIKey or else its name; -1 for none."""
    keys = [key[:14] if key else name and f"name {name.casefold()}"
            for key, name in zip(inchikeys, names, strict=True)]  # fmt: skip
    numbers = {key: number for number, key in enumerate(dict.fromkeys(key for key in keys if key))}
    return np.array([numbers[key] if key else -1 for key in keys], dtype=np.int64)


def chosen_to_ask(compounds, allowed):
    """Positions that are asked about themselves, by a fixed seed: some of each compound that has several spectra.

    Where few have, all compounds are asked: there is no score of the own one then.
    """
    known = np.flatnonzero(compounds >= 0 if allowed is None else (compounds >= 0) & allowed)
    counts = np.bincount(compounds[known], minlength=1)
    several = counts > 1
    if several.sum() < FEWEST:
        several = counts > 0
    if several.sum() < FEWEST:
        raise InputError(f"q-values need a library with InChIKeys or names of at least {FEWEST} different compounds.")
    shuffled = np.random.default_rng(_SEED).permutation(known[several[compounds[known]]])
    order = np.argsort(compounds[shuffled], kind="stable")
    ranks = np.empty(len(order), dtype=np.int64)
    ordered = compounds[shuffled][order]
    ranks[order] = np.arange(len(order)) - np.searchsorted(ordered, ordered)
    first = np.argsort(ranks, kind="stable")  # the first of each compound before the second of any
    return shuffled[first[: min(ASKED, np.count_nonzero(ranks < PER_COMPOUND))]]


def calibrate(compounds, asked, best_among, run):
    """Ask library spectra.

    Parameters
    ----------
    compounds, asked : of `compounds_of` and `chosen_to_ask`
    best_among : function of a position and of a bool for every position, to the best score among these, 0 for none
    run : function that calls another one for many numbers, in their order
    """
    order = np.argsort(compounds, kind="stable")
    starts, stops = (np.searchsorted(compounds[order], compounds[asked], side=side) for side in ("left", "right"))

    def found(number):
        position, members = asked[number], order[starts[number] : stops[number]]
        among = np.ones(len(compounds), dtype=bool)
        among[members] = False
        other = best_among(position, among)
        among[:] = False
        among[members] = True
        among[position] = False
        return best_among(position, among) if len(members) > 1 else 0.0, other

    own, others = np.array(run(found, range(len(asked)))).T
    counts = np.bincount(compounds[asked])
    return Calibration(own, others, 1.0 / counts[compounds[asked]])


def q_values(tops, calibration):
    """The q-value of each query's first score; 1 where there is none."""
    tops, n = np.asarray(tops, dtype=np.float64), len(tops)
    own, others, weights = calibration.own, calibration.others, calibration.weights
    # without own compounds nobody can tell how those look that are there: that none is there is the careful guess
    absent = _share_of_absent(tops, others, np.maximum(own, others), weights) if own.any() else 1.0
    lost = others > own
    scores, counts = np.unique(tops, return_counts=True)
    reached = np.cumsum(counts[::-1])[::-1]
    wrong = absent * _share_above(others, weights, scores)
    wrong += (1 - absent) * _share_above(others[lost], weights[lost], scores)
    wrong /= weights.sum()
    rates = np.minimum((1 + n * wrong) / reached, 1.0)
    least = np.minimum.accumulate(rates)
    return np.where(tops > 0, least[np.searchsorted(scores, tops)], 1.0)


def _share_above(values, weights, scores):
    """The weight of the values that reach each score."""
    order = np.argsort(values)
    sums = np.concatenate([np.cumsum(weights[order][::-1])[::-1], [0.0]])
    return sums[np.searchsorted(values[order], scores)]


def _share_of_absent(tops, absent, present, weights):
    """pi, by EM on a histogram of the first scores."""
    edges = np.unique(np.quantile(tops, np.linspace(0, 1, _BINS + 1)[1:-1]))

    def histogram(values, weights):
        places = np.searchsorted(edges, values, side="right")
        found = np.bincount(places, weights, minlength=len(edges) + 1) + 0.5 * weights.mean()  # no bin is empty
        return found / found.sum()

    seen, first, second = histogram(tops, np.ones(len(tops))), histogram(absent, weights), histogram(present, weights)
    share = 0.5
    for _ in range(_ROUNDS):
        share = float((seen * share * first / (share * first + (1 - share) * second)).sum())
    return share
