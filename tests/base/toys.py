"""Small estimators that stand in for Mercer's own: registered as public names for the length of a test."""

import sys
from functools import cached_property
from types import ModuleType

from sklearn.base import BaseEstimator

import mercer


class Toy(BaseEstimator):
    """An estimator that keeps any value as a parameter; tests set fitted attributes as they need them."""

    _may_be_infinite = ("value", "state_", "x_")

    def __init__(self, value=None, inner=None, random_state=None):
        self.value = value
        self.inner = inner
        self.random_state = random_state

    @cached_property
    def total_(self):
        return sum(self.weights_)

    @property
    def size_(self):
        return len(self.weights_)

    def predict_(self):
        return "the method of the class"


class PositiveToy(BaseEstimator):
    """Refuses bad parameters and bad state, as classes above compiled loops do."""

    def __init__(self, scale=1.0):
        if not scale > 0:
            raise ValueError(f"The scale must be positive, not {scale}.")
        self.scale = scale

    def _check_loaded(self):
        if self.table_.ndim != 2:
            raise ValueError(f"table_ must have 2 dimensions, not {self.table_.ndim}.")


class Frozen:
    """Immutable and without scikit-learn, as kernels are."""

    def __init__(self, gamma=1.0):
        object.__setattr__(self, "gamma", gamma)

    def __setattr__(self, name, value):
        raise AttributeError("immutable")

    def get_params(self, deep=True):
        return {"gamma": self.gamma}


def register(monkeypatch):
    """Make the toys public names of Mercer until the test ends."""
    module = ModuleType("mercer.toys")
    monkeypatch.setitem(sys.modules, "mercer.toys", module)
    for toy in (Toy, PositiveToy, Frozen):
        monkeypatch.setattr(toy, "__module__", "mercer.toys")
        monkeypatch.setattr(module, toy.__name__, toy, raising=False)
        monkeypatch.setitem(mercer._NAMES, toy.__name__, "mercer.toys")
