"""What an index asks of a database that keeps its rows, and that others may write into as well."""

from __future__ import annotations

__all__ = ["Candidates", "Condition", "ExternalStore"]

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mercer.search.conditions.tree import Node


@dataclass(frozen=True)
class Condition:
    """Which rows may be found: some ids, or a text in the language of the store with values for what it leaves open.

    ``tree`` is a condition on the columns of the index, which must hold as well.
    """

    ids: Sequence[Any] | None = None
    text: str | None = None
    values: Any = None
    tree: Node | None = None


@dataclass(frozen=True)
class Candidates:
    """Candidates of one query: their ids, scores (larger is nearer) and kept rows, or None for each."""

    ids: list[Any]
    scores: list[float]
    rows: list[bytes | None]

    def best(self, k: int) -> Candidates:
        """The k best by score, equal ones by id.

        >>> Candidates([7, 3, 5], [0.5, 0.9, 0.9], []).best(2).ids
        [3, 5]
        """
        order = sorted(zip([-score for score in self.scores], self.ids, strict=True))[:k]
        return Candidates([value for _, value in order], [-score for score, _ in order], [])


Blocks = Iterable[tuple[np.ndarray, Sequence[bytes | None]]]


class ExternalStore(Protocol):
    """Embedded rows by id, in a table or collection.

    The verbs are those of :class:`VectorStore`, but rows go by the caller's ids: positions belong to a storage of the
    index's own, and a table into which others write has none. Ids, embedded rows and kept rows are validated before.
    """

    place: str  # for people, without passwords
    language: str  # of conditions
    has_transactions: bool

    def create(self, layout: Any, fingerprint: str, model: bytes) -> Any:
        """Begin empty and write down the embedding; the layout as it then is. Refused where there is an index."""

    def open(self, name: str, embedding_column: str) -> tuple[Any, str, bytes]:
        """(layout, fingerprint, model) as they were written down."""

    def finish(self) -> None:
        """After the first rows: build what makes the search fast."""

    def insert(self, ids: Sequence[Any], blocks: Blocks, payload: dict[str, list]) -> None:
        """New rows: all their ids, then embedded and kept rows block by block.

        An id whose row is there already raises, and nothing is changed.
        """

    def update(self, ids: Sequence[Any], blocks: Blocks, payload: dict[str, list]) -> None:
        """Other rows for ids that are there. An id that is not raises, and nothing is changed."""

    def delete(self, ids: Sequence[Any]) -> None:
        """These rows are not found anymore. An id that is not there raises, and nothing is changed."""

    def known(self, ids: Sequence[Any]) -> set[Any]:
        """Those of the ids that are there."""

    def search(
        self, Z: np.ndarray, k: int, condition: Condition | None, ef: int | None, rows: bool
    ) -> list[Candidates]:
        """The k nearest rows of each embedded query, with their kept rows if ``rows``."""

    def scan(self, condition: Condition | None, size: int, rows: bool) -> Iterator[Candidates]:
        """All rows, some at a time, without scores."""

    def explain(self, z: np.ndarray, k: int, condition: Condition | None) -> str:
        """How the store would go about a search."""

    def count(self) -> int:
        """Rows that can be found."""

    def transaction(self) -> AbstractContextManager[Any]:
        """What happens inside happens wholly or not at all; without transactions, it just happens."""

    def changes(self) -> AbstractContextManager[Any]:
        """The same for a push; on a connection of the caller's it is part of his transaction, which he commits."""

    def drop(self) -> None:
        """Take the index out of the store."""

    def drop_if_there(self, name: str, embedding_column: str) -> None:
        """The same for an index that may be there."""

    def abandon(self) -> None:
        """After a failure between `create` and `finish`: take back what no transaction takes back."""

    def close(self) -> None:
        """Give back what was opened."""
