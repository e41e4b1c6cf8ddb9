"""What an index asks of the store behind it."""

__all__ = ["VectorStore"]

from typing import Any, Protocol

import numpy as np


class VectorStore(Protocol):
    """Codes or embedded rows by position, and the search among them.

    Positions are those of the storage of the index, ascending as rows are added. What is larger is nearer.
    """

    def create(self, coder: Any) -> None:
        """Begin empty, for rows that ``coder`` encodes."""

    def upsert(self, positions: np.ndarray, codes: np.ndarray) -> None:
        """Codes of rows; a position that is there already gets the new code."""

    def delete(self, positions: np.ndarray) -> None:
        """These rows are not found anymore."""

    def search(self, Z: np.ndarray, k: int, allowed: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """(positions, scores) of the k nearest rows of each embedded query, -1 and -inf where there are fewer.

        ``allowed`` has a bool for every position; without it all rows are looked at that were not deleted.
        """

    def count(self) -> int:
        """Rows that can be found."""
