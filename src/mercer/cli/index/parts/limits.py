"""Limits of similarity and of distance: an index ranks by one of them."""

__all__ = ["check_limit"]

from mercer._base.tables import ArgumentError

_OPTIONS = {"similarity": "--min-similarity", "distance": "--max-distance"}


def check_limit(index, place: str, limit: dict[str, float | None]) -> None:
    """Refuse the limit that the index does not rank by; keys are those of ``range_search``."""
    given = {"similarity": limit["min_similarity"], "distance": limit["max_distance"]}
    other = "distance" if index.measure == "similarity" else "similarity"
    if given[other] is not None:
        raise ArgumentError(f"{place} ranks by {index.measure}. Use {_OPTIONS[index.measure]}, not {_OPTIONS[other]}.")
