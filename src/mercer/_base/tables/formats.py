"""One reader per table format: ``(stream, name, rules) -> X, labels or None, feature names or None``.

The streams are binary and seekable. Messages name the source; what is wrong with the content is an InputError, a rule
that does not fit the file an ArgumentError.
"""

__all__ = ["READERS"]

import lzma
import zipfile
import zlib
from math import prod
from typing import BinaryIO

from mercer._base.errors import InputError, require_extra
from mercer._base.tables.npy import npy_header
from mercer._base.tables.rules import ArgumentError, InputRules, label_position, settle_dtype, tidy_labels
from mercer._base.tables.text import read_csv
from mercer._base.tables.vectors import VECTOR_FORMATS, parse_vectors

# what zipfile and scipy raise on damaged archives; NotImplementedError is a RuntimeError, LZMAError has no better base
_ARCHIVE_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    RuntimeError,
    ValueError,
    LookupError,
    EOFError,
    OSError,
)
_SPARSE_MEMBERS = {"format", "shape", "data"}  # what scipy.sparse.save_npz writes for every kind of matrix


def read_npy(stream: BinaryIO, name: str, rules: InputRules):
    """An array of two dimensions."""
    start = stream.tell()
    size = stream.seek(0, 2) - start
    stream.seek(start)
    return _split_columns(_load_npy(stream, size, name), name, rules)


def read_npz(stream: BinaryIO, name: str, rules: InputRules):
    """Member ``X`` (labels in ``y``), the only member, the member asked for, or a sparse matrix."""
    try:
        archive = zipfile.ZipFile(stream)
    except _ARCHIVE_ERRORS as error:
        raise InputError(f"{name} is not an npz file, or it is damaged: {_first_line(error)}.") from error
    with archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}

        def load(member):
            what = f"{name}::{member}"
            try:
                with archive.open(members[member]) as part:
                    return _load_npy(part, members[member].file_size, what)
            except InputError:
                raise
            except _ARCHIVE_ERRORS as error:
                raise InputError(f"{what} is damaged: {_first_line(error)}.") from error

        if rules.array is None and members.keys() >= _SPARSE_MEMBERS:
            return _split_columns(_load_sparse(stream, name), name, rules)
        chosen = _choose_member(members, name, rules.array)
        if rules.label in members:
            X, y, names = _two_dimensional(load(chosen), name), tidy_labels(load(rules.label)), None
        else:
            X, y, names = _split_columns(load(chosen), name, rules)
        if y is None and chosen == "X" and "y" in members:
            y = tidy_labels(load("y"))
    if y is not None and y.shape != X.shape[:1]:
        raise InputError(f"{name} has {X.shape[0]} rows and labels of shape {y.shape}; one label per row is needed.")
    return X, y, names


def read_svmlight(stream: BinaryIO, name: str, rules: InputRules):
    """A CSR matrix whose columns are still counted from 0, and the labels at the start of the lines."""
    from sklearn.datasets import load_svmlight_file

    if rules.label is not None:
        raise ArgumentError(f"{name} is svmlight, where each line starts with its label; leave the label option out.")
    try:
        X, y = load_svmlight_file(stream, zero_based=True)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{name} is not an svmlight file (lines of 'label index:value ...'): {error}.") from error
    return X, tidy_labels(y), None


def read_parquet(stream: BinaryIO, name: str, rules: InputRules):
    """Numeric columns side by side; a column of equally long lists counts as that many columns."""
    import numpy as np

    arrow = require_extra("pyarrow", extra="parquet", purpose="Reading a parquet file")
    from pyarrow import parquet

    try:
        table = parquet.read_table(stream)
    except (arrow.ArrowException, OSError) as error:
        raise InputError(f"{name} is not a parquet file, or it is damaged: {_first_line(error)}.") from error
    y, columns = None, list(range(table.num_columns))
    if rules.label is not None:
        position = label_position(rules.label, table.column_names, table.num_columns, name)
        _refuse_nulls(table.column(position), table.column_names[position], name)
        y = tidy_labels(np.asarray(table.column(position).to_pylist()))
        columns.remove(position)
    blocks, names = [], []
    for i in columns:
        title = table.column_names[i]
        block = _parquet_block(table.column(i), title, name)
        blocks.append(settle_dtype(block, rules, name) if block.size else block)
        names += [title] if block.shape[1] == 1 else [f"{title}[{j}]" for j in range(block.shape[1])]
    X = np.concatenate(blocks, axis=1) if blocks else np.empty((table.num_rows, 0))
    return X, y, names


def read_vectors(stream: BinaryIO, name: str, rules: InputRules):
    """Rows of fvecs, bvecs or ivecs."""
    return _split_columns(parse_vectors(stream.read(), name, str(rules.format)), name, rules)


READERS = {
    "npy": read_npy,
    "npz": read_npz,
    "csv": read_csv,
    "tsv": read_csv,
    "parquet": read_parquet,
    "svmlight": read_svmlight,
    **dict.fromkeys(VECTOR_FORMATS, read_vectors),
}


def _load_npy(stream, size: int, name: str):
    """One array; its header is believed only as far as ``size``, the number of bytes there are, allows."""
    import numpy as np

    shape, fortran_order, dtype = npy_header(stream, size, name)
    n_bytes = prod(shape) * dtype.itemsize
    array = np.empty(prod(shape), dtype=dtype)
    unfilled = array.view(np.uint8) if n_bytes else array
    while len(unfilled):
        count = stream.readinto(unfilled)
        if not count:
            raise InputError(f"{name} is cut short: {len(unfilled)} of {n_bytes} bytes of numbers are missing.")
        unfilled = unfilled[count:]
    return array.reshape(shape, order="F" if fortran_order else "C")


def _load_sparse(stream: BinaryIO, name: str):
    import scipy.sparse

    stream.seek(0)
    try:
        matrix = scipy.sparse.csr_matrix(scipy.sparse.load_npz(stream))
        matrix.check_format(full_check=True)
    except (*_ARCHIVE_ERRORS, TypeError) as error:
        raise InputError(f"{name} is not a sparse matrix that scipy can read: {_first_line(error)}.") from error
    return matrix


def _choose_member(members, name: str, wanted: str | None) -> str:
    listed = ", ".join(members) or "nothing"
    if wanted is not None:
        if wanted not in members:
            raise ArgumentError(f"{name} has no member {wanted!r}; it holds {listed}.")
        return wanted
    if "X" in members:
        return "X"
    if len(members) == 1:
        return next(iter(members))
    raise ArgumentError(f"{name} holds {listed} and no X. Say which to read, as in {name}::{next(iter(members), 'X')}.")


def _two_dimensional(X, name: str):
    if X.ndim != 2:
        raise InputError(f"{name} holds an array of shape {X.shape}; two dimensions, rows and columns, are needed.")
    return X


def _split_columns(X, name: str, rules: InputRules):
    """Numbers and, if the rules ask for it, one of their columns as labels."""
    import numpy as np

    X = _two_dimensional(X, name)
    if rules.label is None:
        return X, None, None
    position = label_position(rules.label, None, X.shape[1], name)
    y = X[:, [position]]
    y = np.asarray(y.todense() if hasattr(y, "todense") else y).ravel()
    kept = np.delete(np.arange(X.shape[1]), position)
    return X[:, kept], tidy_labels(y), None


def _parquet_block(column, title: str, name: str):
    import numpy as np
    from pyarrow import compute, types

    _refuse_nulls(column, title, name)
    kind = column.type
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        lengths = np.asarray(compute.list_value_length(column))
        if lengths.size and (lengths != lengths[0]).any():
            row = int(np.argmax(lengths != lengths[0]))
            raise InputError(
                f"{name}, column {title!r}: row {row} holds {lengths[row]} numbers where row 0 holds {lengths[0]}."
            )
        column = compute.list_flatten(column)
        _refuse_nulls(column, title, name)
        width = int(lengths[0]) if lengths.size else 0
    else:
        width = 1
    kind = column.type
    if not (types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind)):
        raise InputError(
            f"{name}, column {title!r} holds {kind}, not numbers. Drop it, or name it as the label if it is one."
        )
    return column.to_numpy().reshape(-1, width) if width else np.empty((len(lengths), 0))


def _refuse_nulls(column, title: str, name: str) -> None:
    import numpy as np

    if column.null_count:
        row = int(np.argmax(np.asarray(column.is_null())))
        raise InputError(f"{name}, column {title!r}: value {row} is missing (counted from 0). Fill or drop it.")


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else type(error).__name__
