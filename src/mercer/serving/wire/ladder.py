"""WireClassifier: one embedding, a classifier for each of several lengths of its code."""

__all__ = ["STEPS", "CodeScorer", "WireClassifier", "trial_rows", "trial_values"]

from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._base.errors import InputError
from mercer._base.evaluation.intervals import wilson_interval
from mercer._base.parameters import keep_arguments
from mercer._base.progress import told, track
from mercer.codes import BitEmbedding, CompactEmbedding, QuantizedJL, UniversalEmbedding
from mercer.learners import KernelClassifierCV

SHORTEST = 32  # bits of the lowest rate by default
STEPS = (0.5, 0.71, 1.0, 1.41, 2.0, 2.83)  # times the delta of the rule, tried by cross-validation
TRIAL_ROWS, TRIAL_CS = 1000, 4  # training rows, and values of C, with which delta is chosen: both matter less than it


class WireClassifier(ClassifierMixin, BaseEstimator):
    """A linear classifier on the bits of an embedding, at several rates, from which a client chooses.

    Shorter codes of random projections are prefixes of longer ones; a CompactEmbedding is learned again for every
    rate. Cross-validation chooses C for each rate, and the delta of universal bits once, at the middle
    rate. Its accuracies are the curve of accuracy against bits.

    Parameters
    ----------
    embedding : UniversalEmbedding, QuantizedJL or CompactEmbedding, or None for UniversalEmbedding(1024)
        If its ``delta`` is "auto", cross-validation chooses a factor from 0.5 to 2.8 for the default delta.
    rates : sequence of int or None
        Numbers of projections, at most those of the embedding. None uses powers of two from 32 on, and all.
    Cs, cv : as in KernelClassifierCV
    input : dict or None
        Content of a row, for the page of the service: ``{"type": "drawing", "height": 8, "width": 8, "maximum": 16}``,
        ``{"type": "vector", "names": [...]}``, or None for plain numbers.
    random_state, n_jobs, verbose : as in KernelClassifier

    Attributes
    ----------
    embedding_ : the fitted embedding, of the highest rate
    classifiers_ : list of KernelClassifierCV, one for each rate
    rates_ : list of int, bits of a code at each rate, ascending
    curve_ : list of dict
        "bits", "accuracy", and the ends "low" and "high" of its 95 % interval, by cross-validation.
    classes_ : ndarray

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> embedding = UniversalEmbedding(128, delta=70.0, random_state=0)
    >>> model = WireClassifier(embedding, rates=[64, 128], Cs=[10.0], cv=2).fit(X[:600], y[:600])
    >>> model.rates_
    [64, 128]
    >>> codes = model.embedding_.transform(X[:2])
    >>> model.decision_codes(codes, 128).shape
    (2, 10)
    """

    def __init__(
        self, embedding=None, *, rates=None, Cs=10, cv=5, input=None, random_state=None, n_jobs=None, verbose=0
    ):
        keep_arguments(self, locals())

    def fit(self, X, y):
        """Fit the embedding, and a classifier for each rate."""
        with told(self.verbose):
            return self._fit(X, y)

    def _fit(self, X, y):
        embedding = self._template()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        projections = self._projections(embedding)
        self.embedding_ = self._chosen(embedding, projections[len(projections) // 2], X, y).fit(X)
        self.input_ = self.input
        self.classifiers_, self.rates_, self.curve_ = [], [], []
        for n in track(projections, "rates"):
            found = KernelClassifierCV(map=self._shorter(n), Cs=self.Cs, cv=self.cv, n_jobs=self.n_jobs)
            found.fit(X, y)
            self.classifiers_.append(found)
            bits = found.map_.specification_.n_bits
            self.rates_.append(bits)
            accuracy = float(found.scores_[:, found.best_index_].mean())
            low, high = wilson_interval(accuracy, len(y))
            self.curve_.append({"bits": bits, "accuracy": accuracy, "low": low, "high": high})
        return self

    def predict(self, X):
        """Predict classes from the longest code."""
        return self.classifiers_[-1].predict(self._checked(X))

    def decision_function(self, X):
        """Scores from the longest code, as in KernelClassifier."""
        return self.classifiers_[-1].decision_function(self._checked(X))

    def decision_codes(self, codes, n_bits):
        """Scores of received codes.

        Parameters
        ----------
        codes : uint8 array of shape (n, ceil(n_bits / 8))
        n_bits : int, one of ``rates_``

        Returns
        -------
        float64 array of shape (n, classes), or (n,) for two classes, positive for the second
        """
        return CodeScorer(self._at(n_bits))(codes)

    def specification(self, n_bits=None):
        """The specification of a rate; the default is the longest code."""
        return self._at(self.rates_[-1] if n_bits is None else n_bits).map_.specification_

    @property
    def specification_(self):
        """The specification of the longest code."""
        check_is_fitted(self)
        return self.embedding_.specification_

    # ------------------------------------------------------------------------------------------------------ helpers

    def _checked(self, X):
        """Rows, whose columns, if they are named, are those of ``fit`` in the same order."""
        check_is_fitted(self)
        return validate_data(self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32])

    def _at(self, n_bits):
        check_is_fitted(self)
        if n_bits not in self.rates_:
            raise InputError(f"WireClassifier has the rates {', '.join(map(str, self.rates_))} bits, got {n_bits!r}.")
        return self.classifiers_[self.rates_.index(n_bits)]

    def _template(self):
        made = UniversalEmbedding(1024) if self.embedding is None else self.embedding
        if not isinstance(made, (UniversalEmbedding, QuantizedJL, CompactEmbedding)):
            raise InputError(
                "WireClassifier needs embedding to be a UniversalEmbedding, QuantizedJL or CompactEmbedding; got "
                f"{self.embedding!r}."
            )
        made = clone(made)
        if made.random_state is None:  # all rates must draw the same projections
            made.set_params(random_state=int(check_random_state(self.random_state).randint(2**31)))
        return made.set_params(n_jobs=self.n_jobs if made.n_jobs is None else made.n_jobs)

    def _projections(self, embedding):
        most = int(getattr(embedding, _length(embedding)))
        if self.rates is None:
            powers = [2**k for k in range(SHORTEST.bit_length() - 1, most.bit_length()) if 2**k < most]
            return [*powers, most]
        rates = sorted(set(self.rates)) if np.ndim(self.rates) == 1 else []
        if not rates or not all(isinstance(n, Integral) and 1 <= n <= most for n in rates):
            raise InputError(f"WireClassifier needs rates of 1 to {most} projections, got {self.rates!r}.")
        return [int(n) for n in rates]

    def _chosen(self, embedding, n_bits, X, y):
        """The embedding with the delta that cross-validation finds best at a rate; at high ones it hardly matters."""
        if not isinstance(embedding, UniversalEmbedding) or embedding.delta != "auto":
            return embedding
        rule = clone(embedding).fit(X).delta_
        X, y = trial_rows(X, y)
        best, chosen = -np.inf, 1.0
        for factor in track(STEPS, "delta"):
            trial = clone(embedding).set_params(delta=factor * rule, n_bits=n_bits)
            found = KernelClassifierCV(map=trial, Cs=trial_values(self.Cs), cv=self.cv, n_jobs=self.n_jobs)
            score = found.fit(X, y).scores_.mean(axis=0).max()
            if score > best:
                best, chosen = score, factor
        return embedding.set_params(delta=chosen * rule)

    def _shorter(self, n):
        """The embedding of the first n projections, with the step of the longest."""
        own = {_length(self.embedding_): n}
        if isinstance(self.embedding_, QuantizedJL):
            own["saturation"] = self.embedding_.saturation_
        return clone(self.embedding_).set_params(**own)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _check_loaded(self):
        fits = isinstance(self.classifiers_, list) and len(self.classifiers_) == len(self.rates_) == len(self.curve_)
        if not fits or not self.rates_:
            raise ValueError("classifiers_, rates_ and curve_ must be lists of one length, not empty.")
        for bits, model in zip(self.rates_, self.classifiers_, strict=True):
            if not isinstance(model, KernelClassifierCV) or not isinstance(model.map_, BitEmbedding):
                raise ValueError("Each rate must have a classifier on codes.")
            if model.map_.specification_.n_bits != bits or model.n_features_in_ != self.n_features_in_:
                raise ValueError("Each rate must have a classifier on codes of its length, of the same columns.")
            if not np.array_equal(model.classes_, self.classes_):
                raise ValueError("All classifiers must have the classes of the model.")


class CodeScorer:
    """Scores of codes by a fitted KernelClassifier whose map makes bits; what it needs of the model is looked up once.

    Parameters
    ----------
    model : fitted KernelClassifier
    """

    def __init__(self, model):
        self._map, self._v, self._intercept = model.map_, model.predictor_.v, model.intercept_
        self._columns = model.columns_

    @property
    def n_weights(self):
        """Numbers that a code is multiplied with."""
        return self._v.size

    def encode(self, X):
        """Codes of raw rows."""
        return self._map.transform(X)

    def __call__(self, codes):
        """As of ``decision_function``: float64 array of shape (n, classes), or (n,) for two classes."""
        scores = self._map.rows_of_codes(codes).scores(self._v)
        return np.asarray(self._columns.decision(scores + self._intercept), dtype=np.float64)


def trial_rows(X, y):
    """Rows that delta is chosen on, with as much of every class as there is in all."""
    if len(y) <= TRIAL_ROWS:
        return X, y
    some, _ = train_test_split(np.arange(len(y)), train_size=TRIAL_ROWS, stratify=_stratified(y), random_state=0)
    return X[some], y[some]


def _stratified(y):
    """The classes, or None if one is too rare to be divided."""
    return y if np.unique(y, return_counts=True)[1].min() > 1 else None


def trial_values(Cs):
    """Values of C that delta is chosen with: some of those that are given."""
    if isinstance(Cs, Integral):
        return min(Cs, TRIAL_CS)
    return list(Cs)[:: max(1, len(Cs) // TRIAL_CS)]


def _length(embedding):
    """The parameter that says how many projections there are."""
    return "n_projections" if isinstance(embedding, QuantizedJL) else "n_bits"
