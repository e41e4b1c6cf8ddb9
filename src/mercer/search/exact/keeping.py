"""Bounds of all rows of an index: remembered, opened from files, or made, whichever is less work."""

__all__ = ["complete_bounds"]

from mercer.search.exact.bounds import Bounds
from mercer.search.exact.directions import Directions

FIT_ROWS = 2**16  # rows that directions are found from


def complete_bounds(rows, measure, known, files, projection, n_jobs):
    """Bounds of all positions of a collection.

    Parameters
    ----------
    rows : Collection
    measure : Measure
    known : Bounds of some positions, or None
    files : StoredBounds or None
        Where bounds are kept.
    projection : dict of parameters of Directions, or None
        How directions are found where there are none; with None nothing is made then, and None returned.
    n_jobs : int or None
    """
    n_rows = rows.snapshot.n_positions
    if known is None:
        directions = None if files is None else files.load_directions(measure, rows.vectors.width)
        if directions is None:
            if projection is None:
                return None
            alive = rows.alive
            sample = alive[:: max(1, -(-len(alive) // FIT_ROWS))]
            directions = Directions(measure, n_jobs=n_jobs, **projection).fit(rows.take(sample))
            if files is not None:
                files.save_directions(directions)
        known = Bounds(directions, n_jobs=n_jobs)
    if known.n_rows < n_rows:
        known = known.extended(n_rows, rows.take, None if files is None else files.load)
        if files is not None:
            files.save(known)
    return known
