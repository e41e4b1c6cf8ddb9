"""Candidates of a store in their final order."""

__all__ = ["ranked"]

from dataclasses import replace


def ranked(found, k):
    """The k best candidates by score, equal ones by id.

    >>> from mercer.search.stores._external import Found
    >>> ranked(Found([7, 3, 5], [0.5, 0.9, 0.9], []), 2).ids
    [3, 5]
    """
    order = sorted(zip([-score for score in found.scores], found.ids, strict=True))[:k]
    return replace(found, ids=[value for _, value in order], scores=[-score for score, _ in order], rows=[])
