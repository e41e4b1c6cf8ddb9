"""A linear support vector machine for few rows of very many columns: one-vs-rest on the Gram matrix."""

from __future__ import annotations

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.svm import SVC

TRUSTED = {"assume_finite": True, "skip_parameter_validation": True}  # checks take longer than 120 rows


class GramSVC(ClassifierMixin, BaseEstimator):
    """libsvm on inner products of rows less their mean, in units of their mean square.

    Parameters
    ----------
    C : float
    """

    def __init__(self, C=10.0):
        self.C = C

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.mean_ = X.mean(axis=0, dtype=np.float64).astype(np.float32)
        self.rows_ = np.asarray(X, dtype=np.float32) - self.mean_
        self.unit_ = float(np.einsum("ij,ij->", self.rows_, self.rows_, dtype=np.float64)) / len(X) or 1.0
        K = self.gram_block(self.rows_)
        with sklearn.config_context(**TRUSTED):
            machines = [SVC(C=self.C, kernel="precomputed").fit(K, 1.0 * (y == c)) for c in self.classes_]
        self.dual_coef_ = np.zeros((len(X), len(machines)))
        for column, machine in zip(self.dual_coef_.T, machines, strict=True):
            column[machine.support_] = machine.dual_coef_[0]
        self.intercept_ = np.array([machine.intercept_[0] for machine in machines])
        return self

    def decision_function(self, X):
        K = self.gram_block(np.asarray(X, dtype=np.float32) - self.mean_)
        return K @ self.dual_coef_ + self.intercept_

    def predict(self, X):
        return self.classes_[self.decision_function(X).argmax(axis=1)]

    def gram_block(self, rows):
        return (rows @ self.rows_.T).astype(np.float64) / self.unit_
