"""Classifiers with a non-linear kernel, as users of several packages make them: functions of C."""

from __future__ import annotations

from typing import Any

HELD_OUT = 5  # one row in so many chooses C
CS = (0.1, 1.0, 10.0)


def judge(parts, name, set_name, quick):
    """A job: choose C on held-out training rows, then learn from all and predict the test rows."""
    import warnings

    import numpy as np
    from sklearn.exceptions import ConvergenceWarning

    from benchmarks.compare.peers_classification import rows

    warnings.simplefilter(
        "ignore", ConvergenceWarning
    )  # the iterations of a linear solver may end before its tolerance
    split = rows(set_name, quick)
    make = MAKERS[name]
    held = np.arange(len(split.y)) % HELD_OUT == 0
    trials = {C: _accuracy(make(C).fit(split.X[~held], split.y[~held]), split.X[held], split.y[held]) for C in CS}
    best = max(trials, key=trials.get)
    model = make(best)
    with parts.part("fit"):
        model.fit(split.X, split.y)
    with parts.part("predict"):
        answers = model.predict(split.X_test)
    return np.asarray(answers).astype(int).tolist(), best


def _accuracy(model, X, y):
    return float((model.predict(X) == y).mean())


# ------------------------------------------------------------------------------------------------------------- Mercer


def mercer_chi2(C):
    from mercer import KernelClassifier

    return KernelClassifier("chi2", C=C, random_state=0)


def mercer_intersection(C):
    from mercer import IntersectionSVC

    return IntersectionSVC(C=1e-3 * C, random_state=0)


def mercer_exponential(C):
    from mercer import KernelClassifier, NystroemMap, get_kernel

    return KernelClassifier(
        map=NystroemMap(get_kernel("exp-chi2", gamma=1.0), n_landmarks=500, random_state=0), C=C, random_state=0
    )


# ------------------------------------------------------------------------------------------------------- scikit-learn


def additive_chi2(C):
    from sklearn.kernel_approximation import AdditiveChi2Sampler

    return _linear_after(AdditiveChi2Sampler(sample_steps=2), C)


def nystroem(C):
    from sklearn.kernel_approximation import Nystroem

    return _linear_after(Nystroem(kernel="chi2", gamma=1.0, n_components=500, random_state=0), C)


def random_fourier(C):
    from sklearn.kernel_approximation import RBFSampler

    return _linear_after(RBFSampler(gamma="scale", n_components=1000, random_state=0), C)


def linear(C):
    from sklearn.svm import LinearSVC

    return LinearSVC(C=C, random_state=0)


def exact_chi2(C):
    """The kernel of a matrix: exp(-sum (x - y)^2 / (x + y)), by scikit-learn's chi2_kernel."""
    from sklearn.metrics.pairwise import chi2_kernel
    from sklearn.svm import SVC

    return _OnMatrix(lambda X, Y: chi2_kernel(X, Y, gamma=1.0), SVC(kernel="precomputed", C=C))


def exact_rbf(C):
    from sklearn.svm import SVC

    return SVC(C=C)


def _linear_after(sampler, C):
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    return make_pipeline(sampler, LinearSVC(C=C, random_state=0))


class _OnMatrix:
    """A machine on the kernel matrix of its rows."""

    def __init__(self, kernel, machine):
        self.kernel, self.machine = kernel, machine

    def fit(self, X, y):
        self.rows_ = X
        self.machine.fit(self.kernel(X, X), y)
        return self

    def predict(self, X):
        return self.machine.predict(self.kernel(X, self.rows_))


# ------------------------------------------------------------------------------------------------------ other packages


def intelex_rbf(C):
    from sklearnex.svm import SVC

    return SVC(C=C)


def liblinear(C):
    return _Liblinear(C)


class _Liblinear:
    """The authors' own package: L2-regularised L2-loss, dual (its default, -s 1), with a bias."""

    def __init__(self, C):
        self.C = C

    def fit(self, X, y):
        import numpy as np
        from liblinear.liblinearutil import train

        self.model_: Any = train(y.astype(float), np.asarray(X, dtype=float), f"-s 1 -c {self.C} -B 1 -q")
        return self

    def predict(self, X):
        import numpy as np
        from liblinear.liblinearutil import predict

        found, _, _ = predict([], np.asarray(X, dtype=float), self.model_, "-q")
        return np.asarray(found)


MAKERS = {
    "Mercer, KernelClassifier('chi2')": mercer_chi2,
    "Mercer, IntersectionSVC": mercer_intersection,
    "Mercer, KernelClassifier, NystroemMap of exp-chi2, 500": mercer_exponential,
    "scikit-learn, AdditiveChi2Sampler + LinearSVC": additive_chi2,
    "scikit-learn, Nystroem of exp-chi2, 500 + LinearSVC": nystroem,
    "scikit-learn, RBFSampler, 1,000 + LinearSVC": random_fourier,
    "scikit-learn, LinearSVC": linear,
    "scikit-learn, SVC, exp-chi2 matrix": exact_chi2,
    "scikit-learn, SVC, RBF": exact_rbf,
    "scikit-learn-intelex, SVC, RBF": intelex_rbf,
    "liblinear-official, linear": liblinear,
}
