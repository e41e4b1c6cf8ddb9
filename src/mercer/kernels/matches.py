"""The best matches of rows under a kernel or its distance, and facts about a matrix that is never held whole."""

__all__ = ["MatrixSummary", "best_matches"]

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer._base.memory import row_chunks
from mercer._base.progress import track

EIGENVALUES_UP_TO = 1000  # rows; a fraction of a second


def best_matches(kernel, X, Y, k, distance=False):
    """(scores, indices) of the k rows of Y that match each row of X best, best first; of equals, the first.

    If Y is None, rows are matched with the other rows of X. With ``distance``, scores are distances, smaller ones being
    better.

    >>> from mercer import Linear
    >>> scores, indices = best_matches(Linear(), np.eye(2), np.array([[1.0, 0.0], [3.0, 2.0]]), k=1)
    >>> indices.tolist()
    [[1], [1]]
    """
    if Y is None:
        return _without_self(*best_matches(kernel, X, X, k + 1, distance))
    if not distance:
        return kernel.top_k(X, Y, k=k)
    scores, indices = [], []
    for chunk in track(list(row_chunks(X.shape[0], Y.shape[0] * 24)), "Distances"):
        block = kernel.distance(X[chunk], Y)
        order = np.argsort(block, axis=1, kind="stable")[:, :k]
        indices.append(order)
        scores.append(np.take_along_axis(block, order, axis=1))
    return np.concatenate(scores), np.concatenate(indices)


def _without_self(scores, indices):
    """Leave out each row's match with itself, or its last match where itself is not among them."""
    dropped = indices == np.arange(indices.shape[0])[:, None]
    dropped[~dropped.any(axis=1), -1] = True
    shape = (indices.shape[0], indices.shape[1] - 1)
    return scores[~dropped].reshape(shape), indices[~dropped].reshape(shape)


class MatrixSummary:
    """Summary of a matrix that is processed in blocks of rows."""

    def __init__(self, shape: tuple[int, int], gram: bool):
        self.shape = shape
        self.gram = gram  # the matrix is that of one set of rows with itself
        self.n_blocks = 0
        self.only_block: Any = None
        self.smallest, self.largest, self.total = float("inf"), float("-inf"), 0.0

    def watch(self, blocks: Iterator[Any]) -> Iterator[Any]:
        """Pass the blocks on and remember what is needed of them."""
        for block in blocks:
            self.n_blocks += 1
            self.only_block = block if self.n_blocks == 1 else None
            self.smallest = min(self.smallest, float(block.min()))
            self.largest = max(self.largest, float(block.max()))
            self.total += float(block.sum(dtype="float64"))
            self.dtype = str(block.dtype)
            yield block

    def facts(self) -> dict[str, Any]:
        """Size and range; for a Gram matrix of moderate size also symmetry and definiteness."""
        mean = self.total / (self.shape[0] * self.shape[1])
        found = {"shape": self.shape, "dtype": self.dtype, "min": self.smallest, "max": self.largest, "mean": mean}
        K = self.only_block
        if self.gram and K is not None:
            found["symmetric"] = bool((K == K.T).all())
            if self.shape[0] <= EIGENVALUES_UP_TO:
                found["smallest_eigenvalue"] = float(np.linalg.eigvalsh(K.astype(np.float64))[0])
        return found
