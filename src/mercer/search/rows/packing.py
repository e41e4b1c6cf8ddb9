"""Rows as a storage takes them: its columns, and blocks of rows that are new, or that are there and stay."""

__all__ = ["ADD_ROWS", "columns_of", "format_of", "gathered", "new_blocks", "old_blocks"]

import numpy as np

from mercer._base.progress import track
from mercer.search.columns.types import storage_columns
from mercer.search.graph.rows import halves, unit_of
from mercer.search.rows.ids import ID_COLUMNS, pack_ids
from mercer.search.rows.vectors import VectorFormat
from mercer.search.storage.blocks import Column

ADD_ROWS = 2**14  # rows encoded at a time


def columns_of(model, vectors, data=()):
    """Columns of the storage. ``flags``: bit 0, much of the row is lost; bit 1, the kept row is rounded."""
    kept = vectors.columns if vectors else []
    codes = [Column("codes", np.dtype(np.uint8), (model.coder_.n_bytes,))] if model.keeps_codes else []
    return [*codes, Column("flags", np.dtype(np.uint8)), *ID_COLUMNS, *kept, *storage_columns(data)]


def format_of(name, is_sparse, width):
    """The format of kept vectors, or None."""
    return None if name is None else VectorFormat(name, is_sparse, width)


def new_blocks(model, vectors, X, ids, data, who, fresh):
    """New rows, some at a time.

    Parameters
    ----------
    model : SearchModel
    vectors : VectorFormat or None
    X, ids, data : validated rows, their ids and the columns beside them
    fresh : list, to which the embedded rows are appended that a graph will take
    """
    for start in track(range(0, X.shape[0], ADD_ROWS), "Adding rows"):
        part = slice(start, start + ADD_ROWS)
        yield {**packed(model, vectors, X[part], ids[part], who, fresh), **data[part].packed()}


def packed(model, vectors, X, ids, who, fresh):
    """Some of them, without the columns beside them."""
    arrays, flags = pack_ids(ids), np.zeros(X.shape[0], dtype=np.uint8)
    if model.embeds:
        Z, flags = _embedded(model, X)
        if model.keeps_codes:
            arrays["codes"] = model.coder_.encode(Z)
        if model.store == "graph":
            fresh.append(halves(Z, unit_of(model)))
    if vectors:
        kept, exact = vectors.pack(X, who)
        arrays.update(kept)
        flags |= np.uint8(0 if exact else 2)
    return {**arrays, "flags": flags}


def old_blocks(rows, positions, model=None):
    """Rows of a `Collection`, some at a time, for a new generation; encoded again by a model if one is given."""
    names = [column.name for column in rows.snapshot.columns]
    for start in range(0, len(positions), ADD_ROWS):
        part = positions[start : start + ADD_ROWS]
        arrays = {name: gathered(rows.snapshot, name, part) for name in names}
        if model is not None and model.embeds:
            rounded = arrays["flags"] & np.uint8(2)
            Z, far = _embedded(model, rows.take(part))
            if model.keeps_codes:
                arrays["codes"] = model.coder_.encode(Z)
            arrays["flags"] = rounded | far
        yield arrays


def _embedded(model, X):
    """(embedded rows, flags of those of which much is lost)."""
    Z, lost = model.embed(X)
    return Z, (lost > model.residual_limit_).astype(np.uint8)


def gathered(snapshot, name, positions):
    """A column at ascending positions, as it is appended to a storage."""
    parts, lengths = [], []
    for segment in snapshot.segments:
        mine = positions[(positions >= segment.first) & (positions < segment.first + segment.n_rows)]
        places = mine - segment.first
        array = segment.arrays[name]
        if isinstance(array, tuple):
            values, offsets = array
            counts = offsets[places + 1] - offsets[places]
            starts = np.concatenate([[0], np.cumsum(counts)])
            parts.append(values[np.arange(starts[-1]) + np.repeat(offsets[places] - starts[:-1], counts)])
            lengths.append(counts)
        else:
            parts.append(array[places])
    return (np.concatenate(parts), np.concatenate(lengths)) if lengths else np.concatenate(parts)
