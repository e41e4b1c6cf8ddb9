"""Kept rows as bytes, one value per row, for a column of a store.

    dense     [scale]  values
    sparse    [scale]  columns  values, equally many of both

Little-endian. The scale, a float32, is there for uint8 only; see `mercer.search.rows.vectors`. How many values a sparse
row has follows from its length.
"""

__all__ = ["as_bytes", "from_bytes"]

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError

SCALE = np.dtype("<f4")
COLUMN = np.dtype("<i4")


def as_bytes(vectors, arrays):
    """One bytes object per row.

    Parameters
    ----------
    vectors : VectorFormat
    arrays : the columns that ``vectors.pack`` or a storage gives
    """
    value = np.dtype(vectors.name).newbyteorder("<")
    if vectors.is_sparse:
        (columns, lengths), (values, _) = arrays["columns"], arrays["values"]
        stops = np.cumsum(lengths)
        cuts = [slice(stop - length, stop) for stop, length in zip(stops.tolist(), lengths.tolist(), strict=True)]
        columns, values = columns.astype(COLUMN), values.astype(value)
        rows = [columns[cut].tobytes() + values[cut].tobytes() for cut in cuts]
    else:
        rows = [row.tobytes() for row in arrays["vectors"].astype(value)]
    if vectors.name != "uint8":
        return rows
    scales = [scale.tobytes() for scale in arrays["scale"].astype(SCALE)]
    return [scale + row for scale, row in zip(scales, rows, strict=True)]


def from_bytes(vectors, rows, where):
    """The rows, float32; dense or CSR as the format says.

    ``where`` names the store should the bytes not be rows of this format.
    """
    value = np.dtype(vectors.name).newbyteorder("<")
    scales, rows = _without_scales(vectors, rows, where)
    if not vectors.is_sparse:
        if any(len(row) != vectors.width * value.itemsize for row in rows):
            raise _damaged(where)
        X = np.frombuffer(b"".join(rows), dtype=value).reshape(len(rows), vectors.width).astype(np.float32)
        return X if scales is None else X * scales[:, None]
    return _sparse(vectors, rows, scales, value, where)


def _without_scales(vectors, rows, where):
    if vectors.name != "uint8":
        return None, rows
    if any(len(row) < SCALE.itemsize for row in rows):
        raise _damaged(where)
    scales = np.frombuffer(b"".join(row[: SCALE.itemsize] for row in rows), dtype=SCALE)
    return scales.astype(np.float32), [row[SCALE.itemsize :] for row in rows]


def _sparse(vectors, rows, scales, value, where):
    entry = COLUMN.itemsize + value.itemsize
    if any(len(row) % entry for row in rows):
        raise _damaged(where)
    lengths = np.array([len(row) // entry for row in rows], dtype=np.int64)
    heads = [row[: COLUMN.itemsize * length] for row, length in zip(rows, lengths.tolist(), strict=True)]
    tails = [row[len(head) :] for row, head in zip(rows, heads, strict=True)]
    columns = np.frombuffer(b"".join(heads), dtype=COLUMN).astype(np.int32)
    if len(columns) and not 0 <= columns.min() <= columns.max() < vectors.width:
        raise _damaged(where)
    values = np.frombuffer(b"".join(tails), dtype=value).astype(np.float32)
    if scales is not None:
        values = values * np.repeat(scales, lengths)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    X = sparse.csr_array((values, columns, starts), shape=(len(rows), vectors.width))
    X.sum_duplicates()  # sorts the columns as well: loops trust their order
    return X


def _damaged(where):
    return InputError(
        f"{where} holds rows that were changed by another program. Add these rows again, or pass a function with rows=."
    )
