"""Rows that come chunk by chunk, from a Dask array or data frame."""

__all__ = ["add_chunks"]

from mercer._base.errors import InputError
from mercer._base.tables import open_rows
from mercer.maps.dask import named
from mercer.search.rows.ids import listed_ids


def add_chunks(index, X, ids, data):
    """Add the chunks in turn; ids and columns are checked before any of them."""
    rows, who = open_rows(X), "KernelIndex.add"
    if ids is not None:
        ids = listed_ids(ids, who)
        if len(ids) != len(rows):
            raise InputError(f"{who} needs one id per row; got {len(ids)} ids for {len(rows)} rows.")
        index.rows_.check_new(ids, who)
    data = index.rows_.new_data(data, len(rows), who)
    for block, part in rows.blocks():
        index.add(named(block, rows.feature_names), None if ids is None else ids[part], data[part])
    return index
