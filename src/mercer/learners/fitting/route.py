"""From raw rows to a solver and back: what an estimator has beside its parameters and targets.

    KernelRoute    any kernel, map or quantizer, and any solver
    LevelRoute     levels of values, an additive kernel of them, coordinate descent: `mercer.learners.fitting.levels`

A route reads the parameters of its estimator, and keeps nothing itself.
"""

__all__ = ["CHECKS", "KernelRoute"]

from dataclasses import replace

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from mercer._base.errors import InputError
from mercer._base.memory import available_memory
from mercer.kernels import get_kernel, needs_non_negative
from mercer.learners.dask.rows import encoded_design
from mercer.learners.dask.tasks import client_of
from mercer.learners.exact.machine import LOSSES, bytes_needed
from mercer.learners.fitting import encode
from mercer.learners.fitting.plan import MEMORY_SHARE, choose_map
from mercer.maps import NystroemMap
from mercer.maps.base import FeatureMap

EXACT_ROWS = 20_000  # up to which a named kernel is computed exactly: a number, so that one seed means one model
CHECKS = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C"}


class KernelRoute:
    """The way of KernelClassifier and KernelRegressor.

    Parameters
    ----------
    learner : the estimator, of which only parameters and fitted attributes are read

    Attributes
    ----------
    checks : how raw rows are validated
    map_kind : class of the fitted map
    """

    checks = CHECKS
    map_kind: type = FeatureMap

    def __init__(self, learner):
        self.learner, self.who = learner, type(learner).__name__

    def check_parameters(self):
        """Refuse invalid parameters before any row is read."""

    def choices(self, X, y, seed):
        """What is chosen from raw rows and their targets, before anything is encoded, by the names of attributes."""
        return {}

    def is_exact(self, X, intercept):
        """Whether the machine learns on exact kernel values of raw rows: few of them, and no map that is exact."""
        learner = self.learner
        if learner.map is not None or learner.solver != "auto" or learner.storage == "disk" or encode.is_on_disk(X):
            return False
        kernel, n = get_kernel(learner.kernel), X.shape[0]
        if kernel.positive_definite_on == "unknown" or not isinstance(choose_map(kernel, X.shape[1]), NystroemMap):
            return False
        has_dual = intercept != "free" and (learner.loss is None or learner.loss in LOSSES)
        return has_dual and n <= EXACT_ROWS and bytes_needed(n) <= MEMORY_SHARE * available_memory()

    def new_map(self, X, seed):
        """The map for raw rows, or a sample of them, not fitted yet."""
        learner = self.learner
        if learner.map is None:
            return choose_map(get_kernel(learner.kernel), X.shape[1], seed, learner.n_jobs)
        if not isinstance(learner.map, FeatureMap):
            raise InputError(
                f"{self.who} needs a map or a quantizer of Mercer, such as SparseAdditiveMap('chi2'); got "
                f"map={learner.map!r}."
            )
        found = clone(learner.map)
        own = found.get_params(deep=False)
        unset = {name: value for name, value in (("random_state", seed), ("n_jobs", learner.n_jobs))
                 if name in own and own[name] is None}  # fmt: skip
        return found.set_params(**unset)

    def design(self, X):
        """The encoded rows, where the plan wants them, with their inner product."""
        learner = self.learner
        if client_of(X) is not None:
            return encoded_design(learner.map_, X, learner.expansion, encode.few_rows(X, 1), learner.n_jobs)
        storage, single = learner.plan_.storage, self.is_single(X)
        return encode.design_of(learner.map_, X, learner.expansion, storage, learner.n_jobs, single)

    def is_single(self, X):
        """Whether rows are encoded in float32: only for coordinate descent, whose sums do not depend on blocks."""
        may_descend = self.learner.solver in ("auto", "dual") and client_of(X) is None
        return may_descend and encode.in_single(self.learner.map_, self.learner.tol)

    def penalty(self, X, design, weights):
        """The C of the problem on the rows of a design, made of raw rows X."""
        return 1.0 if self.learner.C is None else float(self.learner.C)

    def described(self, plan):
        """The plan in the words of the estimator; refused if it cannot be followed."""
        return plan

    def solver_name(self, loss, intercept):
        """The solver as `mercer.learners.solvers.registry` calls it, or ``"auto"``."""
        return self.learner.solver

    def solver_on_dask(self, loss, n_columns):
        """The solver for rows on the workers of a cluster."""
        if self.learner.map_.has_many_landmarks and not loss.joint and self.learner.solver in ("auto", "falkon"):
            return "falkon"
        if self.learner.solver not in ("auto", "bundle"):
            raise InputError(
                f"{self.who}: solver={self.learner.solver!r} needs all rows in one process. Use solver='auto' or "
                "'bundle' for rows on the workers of a cluster."
            )
        return "bundle"

    def finished(self, solution, design):
        """The solution for the features of the map, in the words of the estimator."""
        return replace(solution, u=self.learner.map_.kept_weights(solution.u))

    def input_kinds(self):
        """Whether rows may be sparse, and whether they must be non-negative."""
        if self.learner.map is None and self.learner.kernel is None:
            return True, False
        if self.learner.map is None:
            return True, needs_non_negative(lambda: get_kernel(self.learner.kernel))
        of_map = get_tags(self.learner.map).input_tags
        return of_map.sparse, of_map.positive_only
