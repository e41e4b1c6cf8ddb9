"""One reader per table format: ``(stream, name, rules) -> Content``.

The streams are binary and seekable. Messages name the source; what is wrong with the content is an InputError, a rule
that does not fit the file an ArgumentError.
"""

__all__ = ["READERS", "load_array"]

import lzma
import os
import zipfile
import zlib
from dataclasses import replace
from math import prod
from typing import BinaryIO

from mercer._base.errors import InputError
from mercer._base.tables.columns import choose_columns
from mercer._base.tables.content import Content
from mercer._base.tables.formats.npy import npy_header
from mercer._base.tables.formats.text import read_csv
from mercer._base.tables.formats.vectors import VECTOR_FORMATS, parse_vectors
from mercer._base.tables.limits import CHUNK, Limit
from mercer._base.tables.rules import ArgumentError, InputRules, settle_labels, whole_ids

# what zipfile and scipy raise on damaged archives; NotImplementedError is a RuntimeError, LZMAError has no better base
ARCHIVE_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    RuntimeError,
    ValueError,
    LookupError,
    EOFError,
    OSError,
)
_LINE_BYTES, _ENTRY_BYTES = 32, 32  # memory that a line and an entry of svmlight take while they are read
SPARSE_MEMBERS = {"format", "shape", "data"}  # what scipy.sparse.save_npz writes for every kind of matrix


def read_npy(stream: BinaryIO, name: str, rules: InputRules):
    """An array of two dimensions."""
    start = stream.tell()
    size = stream.seek(0, 2) - start
    stream.seek(start)
    return split_columns(load_npy(stream, size, name, rules.limit), name, rules)


def read_npz(stream: BinaryIO, name: str, rules: InputRules):
    """Member ``X`` (labels in ``y``), the only member, the member asked for, or a sparse matrix."""
    try:
        archive = zipfile.ZipFile(stream)
    except ARCHIVE_ERRORS as error:
        raise InputError(f"{name} is not an npz file, or it is damaged: {first_line(error)}.") from error
    with archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}

        def load(member):
            what = f"{name}::{member}"
            try:
                with archive.open(members[member]) as part:
                    return load_npy(part, members[member].file_size, what, rules.limit)
            except InputError:
                raise
            except ARCHIVE_ERRORS as error:
                raise InputError(f"{what} is damaged: {first_line(error)}.") from error

        if rules.array is None and members.keys() >= SPARSE_MEMBERS:
            return split_columns(_load_sparse(archive, stream, name, rules.limit), name, rules)
        chosen = choose_member(members, name, rules.array)
        titled = rules.label in members
        found = split_columns(load(chosen), name, replace(rules, label=None) if titled else rules)
        wanted = rules.label if titled else "y" if found.y is None and chosen == "X" else None
        if wanted not in members:
            return found
        y = load(wanted)
    if y.shape != found.X.shape[:1]:
        raise InputError(
            f"{name} has {found.X.shape[0]} rows and labels of shape {y.shape}. There must be one label per row."
        )
    y, unlabelled = settle_labels(y)
    return replace(found, y=y, unlabelled=unlabelled)


def read_svmlight(stream: BinaryIO, name: str, rules: InputRules):
    """A CSR matrix whose columns are still counted from 0, and the labels at the start of the lines."""
    from sklearn.datasets import load_svmlight_file

    if any((rules.id, rules.drop, rules.columns, rules.keep)):
        raise ArgumentError(f"{name} is an svmlight file, whose columns have no names and cannot be selected.")
    if rules.label is not None:
        raise ArgumentError(
            f"{name} is an svmlight file, in which each line starts with its label. Remove the label option."
        )
    _check_svmlight(stream, name, rules.limit)
    try:
        X, y = load_svmlight_file(stream, zero_based=True)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{name} is not an svmlight file (lines of 'label index:value ...'): {error}.") from error
    rules.limit.check_row(X.shape[1], name)
    y, unlabelled = settle_labels(y)
    return Content(X, y, unlabelled=unlabelled)


def read_parquet(stream: BinaryIO, name: str, rules: InputRules):
    """Numeric columns side by side; a column of equally long lists counts as that many columns."""
    from mercer._base.tables.sources.parquet import ParquetSource

    return ParquetSource(stream, name, rules, may_be_empty=True).content()


def read_vectors(stream: BinaryIO, name: str, rules: InputRules):
    """Rows of fvecs, bvecs or ivecs."""
    rules.limit.check_stream(stream, name)
    return split_columns(parse_vectors(stream.read(), name, str(rules.format)), name, rules)


READERS = {
    "npy": read_npy,
    "npz": read_npz,
    "csv": read_csv,
    "tsv": read_csv,
    "parquet": read_parquet,
    "svmlight": read_svmlight,
    **dict.fromkeys(VECTOR_FORMATS, read_vectors),
}


def load_npy(stream, size: int, name: str, limit: Limit):
    """One array; its header is believed only as far as ``size``, the number of bytes there are, and the limit allow."""
    import numpy as np

    shape, fortran_order, dtype = npy_header(stream, size, name)
    n_bytes = prod(shape) * dtype.itemsize
    limit.check(n_bytes, name)
    array = np.empty(prod(shape), dtype=dtype)
    unfilled = array.view(np.uint8) if n_bytes else array
    while len(unfilled):
        count = stream.readinto(unfilled)
        if not count:
            raise InputError(f"{name} is truncated: {len(unfilled)} of {n_bytes} bytes of numbers are missing.")
        unfilled = unfilled[count:]
    return array.reshape(shape, order="F" if fortran_order else "C")


def load_array(path: str, limit: Limit, member: str | None = None):
    """The array of an npy file, or of one member of an npz file (None: ``y``, or the only one)."""
    with open(path, "rb") as stream:
        if not path.lower().endswith(".npz"):
            return load_npy(stream, os.fstat(stream.fileno()).st_size, path, limit)
        try:
            with zipfile.ZipFile(stream) as archive:
                members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
                chosen = member or ("y" if "y" in members or len(members) != 1 else next(iter(members)))
                if chosen not in members:
                    raise ArgumentError(f"{path} has no member {chosen!r}; it holds {', '.join(members)}.")
                with archive.open(members[chosen]) as part:
                    return load_npy(part, members[chosen].file_size, f"{path}::{chosen}", limit)
        except InputError:
            raise
        except ARCHIVE_ERRORS as error:
            raise InputError(f"{path} is not an npz file, or it is damaged: {first_line(error)}.") from error


def _check_svmlight(stream: BinaryIO, name: str, limit: Limit) -> None:
    """Refuse a file whose lines and entries take too much; the stream stays where it is."""
    limit.check_stream(stream, name)
    start, lines, entries = stream.tell(), 1, 0
    while part := stream.read(CHUNK):
        lines += part.count(b"\n")
        entries += part.count(b":")
        limit.check(_LINE_BYTES * lines + _ENTRY_BYTES * entries, name)
    stream.seek(start)


def _load_sparse(archive: zipfile.ZipFile, stream: BinaryIO, name: str, limit: Limit):
    """A matrix as ``scipy.sparse.save_npz`` writes it, its members measured before scipy reads them."""
    import scipy.sparse

    stream.seek(0)
    try:
        _check_sparse(archive, name, limit)
        stream.seek(0)
        matrix = scipy.sparse.csr_matrix(scipy.sparse.load_npz(stream))
        matrix.check_format(full_check=True)
    except InputError:
        raise
    except (*ARCHIVE_ERRORS, TypeError) as error:
        raise InputError(f"{name} is not a sparse matrix that scipy can read: {first_line(error)}.") from error
    return matrix


def _check_sparse(archive: zipfile.ZipFile, name: str, limit: Limit) -> None:
    """Refuse members that promise more than they hold, and a shape whose rows or columns alone take too much."""
    limit.check(sum(info.file_size for info in archive.infolist()), name)
    for info in archive.infolist():
        with archive.open(info) as part:
            if info.filename == "shape.npy":
                shape = load_npy(part, info.file_size, f"{name}::shape", limit).ravel().tolist()
                limit.check(8 * max(map(int, shape), default=0), name, f"a matrix of shape {tuple(shape)}")
            else:
                npy_header(part, info.file_size, f"{name}::{info.filename}")


def choose_member(members, name: str, wanted: str | None) -> str:
    listed = ", ".join(members) or "nothing"
    if wanted is not None:
        if wanted not in members:
            raise ArgumentError(f"{name} has no member {wanted!r}; it holds {listed}.")
        return wanted
    if "X" in members:
        return "X"
    if len(members) == 1:
        return next(iter(members))
    raise ArgumentError(
        f"{name} holds {listed} but no X. Name the member to read, as in {name}::{next(iter(members), 'X')}."
    )


def two_dimensional(X, name: str):
    if X.ndim != 2:
        raise InputError(f"{name} holds an array of shape {X.shape}; it must have two dimensions, rows and columns.")
    return X


def split_columns(X, name: str, rules: InputRules) -> Content:
    """Numbers and, if the rules ask for it, some of their columns as labels and ids."""
    X = two_dimensional(X, name)
    chosen = choose_columns(None, X.shape[1], rules, name)
    y, unlabelled = (None, None) if chosen.label is None else settle_labels(_column(X, chosen.label))
    ids = None if chosen.id is None else whole_ids(_column(X, chosen.id), name)
    if len(chosen.features) != X.shape[1] or rules.columns:
        X = X[:, list(chosen.features)]
    return Content(X, y, None, (), ids, unlabelled)


def _column(X, position: int):
    import numpy as np

    column = X[:, [position]]
    return np.asarray(column.todense() if hasattr(column, "todense") else column).ravel()


def first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else type(error).__name__
