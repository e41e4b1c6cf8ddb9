"""How an index compares two rows, and the final scores that decide.

    normalize  measure       value reported                                 objective, larger is nearer
    True       similarity    C(x, y) = K(x, y) / sqrt(K(x, x) K(y, y))       C(x, y)
    True       distance      sqrt(2 - 2 C(x, y))                             -(distance squared)
    False      similarity    K(x, y)                                         K(x, y)
    False      distance      sqrt(K(x, x) + K(y, y) - 2 K(x, y))             -(distance squared)

Final scores are in float64 and a function of the two rows alone, so that two ways of searching that look at the same
pair agree in every bit, and ties are ties. Where K(x, x) = 1, what rounding puts beyond -1 or 1 is cut off, so that
sqrt(1 - C) and arccos(C) are numbers.
"""

__all__ = ["MEASURES", "Measure", "as_double"]

from numbers import Real

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError
from mercer._base.threads import run_blocks
from mercer.kernels import closed
from mercer.kernels.additive import HistogramKernel
from mercer.kernels.base import inverse
from mercer.kernels.engine import refuse_overflow

MEASURES = ("similarity", "distance")
PAIRS_PER_TASK = 2048


class Measure:
    """A kernel, whether it is normalized, and what is reported.

    Parameters
    ----------
    kernel : Kernel
    normalize : bool
    measure : {"similarity", "distance"}
    """

    def __init__(self, kernel, normalize=True, measure="similarity"):
        self.plain = kernel = closed(kernel)
        self.normalize = normalize
        self.kernel = kernel.normalized() if normalize else kernel
        self.is_distance = measure == "distance"

    @classmethod
    def of(cls, owner):
        """The measure of an index or of its model, once fitted."""
        return cls(owner.kernel_, owner.normalize, owner.measure)

    @property
    def unit_diagonal(self):
        """K(x, x) = 1 for all rows but empty ones, so that the nearest by similarity and by distance are the same."""
        return self.normalize or self.kernel.unit_diagonal

    @property
    def levels_norms(self):
        """Similarity of rows with different norms: one more number makes them equal, so that distances rank."""
        return not (self.unit_diagonal or self.is_distance)

    def energy(self, X):
        """K(x, x) of each row, float64."""
        return self.kernel.diagonal(X.astype(np.float64)).astype(np.float64)

    def roots(self, X):
        """sqrt(K(x, x)) of the kernel before it is normalized, 1 for empty rows: what features are divided by."""
        energy = np.sqrt(self.plain.diagonal(X.astype(np.float64)).astype(np.float64))
        return np.where(energy > 0, energy, 1.0)

    # ----------------------------------------------------------------------------------------------- final scores

    def scores(self, Q, X, left, right, n_jobs=None):
        """The objective of the pairs Q[left[i]], X[right[i]], float64."""
        out = np.empty(len(left))

        def fill(part):
            x, y = as_double(Q[left[part]]), as_double(X[right[part]])
            out[part] = -self._sq_distances(x, y) if self.is_distance else self.cut(self.kernel.pair_values(x, y))

        run_blocks(fill, [slice(i, i + PAIRS_PER_TASK) for i in range(0, len(left), PAIRS_PER_TASK)], n_jobs)
        return out

    def scores_of_one(self, q, X, energies=None):
        """The same of one query and all rows of X, by the shortest way; ``energies`` are K(x, x) of X before the kernel
        is normalized, where they are known.

        In float64 no magnitude of a float32 asks for care: energies neither vanish nor leave the range.
        """
        plain = isinstance(self.plain, HistogramKernel) and self.normalize and isinstance(q, np.ndarray)
        if not plain or q.dtype != np.float32 or X.dtype != np.float32 or len(X) > PAIRS_PER_TASK:
            rows = np.arange(X.shape[0])
            return self.scores(q, X, np.zeros_like(rows), rows)
        x, y = q.astype(np.float64), X.astype(np.float64)
        values = self.plain.pair_values(x.repeat(len(y), axis=0), y)
        energy, energies = self.plain.diagonal(x), self.plain.diagonal(y) if energies is None else energies
        values *= inverse(np.sqrt(energy)) * inverse(np.sqrt(energies))
        if not self.is_distance:
            return self.cut(values)
        return -np.maximum((energy > 0) + (energies > 0).astype(np.float64) - 2 * values, 0.0)

    def cut(self, values):
        """Kernel values without what rounding puts beyond -1 and 1; of a caller's function, which may be indefinite, as
        they are.
        """
        is_cosine = self.unit_diagonal and self.kernel.positive_definite_on != "unknown"
        return np.clip(values, -1.0, 1.0) if is_cosine else values

    def _sq_distances(self, X, Y):
        """Squared distances of paired rows, without cancellation where the kernel has a formula for it."""
        if self.kernel.has_differences:
            rows = np.arange(X.shape[0])
            return refuse_overflow(self.kernel.induced_distances(X, Y, rows, rows), type(self.kernel).__name__)
        return np.maximum(self.kernel.diagonal(X) + self.kernel.diagonal(Y) - 2 * self.kernel.pair_values(X, Y), 0.0)

    def reported(self, objective):
        """What the caller sees for an objective."""
        return np.sqrt(np.abs(np.minimum(objective, 0.0))) if self.is_distance else objective

    def threshold(self, who, min_similarity, max_distance):
        """The objective that a limit of a range search stands for."""
        wanted, given = ("max_distance", max_distance) if self.is_distance else ("min_similarity", min_similarity)
        other = min_similarity if self.is_distance else max_distance
        if given is None or other is not None:
            raise InputError(f"{who} of an index that ranks by {self.name} needs {wanted} and no other limit.")
        is_number = isinstance(given, Real) and not isinstance(given, (bool, np.bool_))
        if not is_number or not np.isfinite(given) or (self.is_distance and given < 0):
            least = ", 0 or more" if self.is_distance else ""
            raise InputError(f"{who} needs {wanted} to be a finite number{least}; got {given!r:.80}.")
        return -(float(given) ** 2) if self.is_distance else float(given)

    @property
    def name(self):
        return "distance" if self.is_distance else "similarity"

    @property
    def nothing(self):
        """What stands where no row was found."""
        return np.inf if self.is_distance else -np.inf


def as_double(X):
    """Rows in float64, CSR in canonical form or C-contiguous."""
    return sparse.csr_array(X, dtype=np.float64) if sparse.issparse(X) else np.ascontiguousarray(X, dtype=np.float64)
