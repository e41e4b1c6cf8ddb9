"""What the directory of an index says, compared with what its model needs; checksums prove nothing about who wrote it.

Columns and header are compared whenever a generation is opened. Rows are looked at once, when an index is opened with
``verify=True``; otherwise those that are taken are looked at each time, before a compiled loop is given any of them.
"""

__all__ = [
    "check_columns",
    "check_lengths",
    "check_rows",
    "check_taken",
    "damages_named",
    "read_header",
    "refuse_other_kind",
]

import os
from contextlib import contextmanager
from numbers import Integral

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError, ModelFileError
from mercer._base.files.container import FileProblem
from mercer._base.threads import run_blocks
from mercer.search.model.coders import FlatCoder, WordCoder
from mercer.search.rows.ids import LONGEST_TEXT
from mercer.search.rows.vectors import VECTOR_TYPES
from mercer.search.storage.directory.files import REMEDY

_OPENED_BY = {
    "spectra": "Open it with mercer.spectra.SpectrumIndex.open.",
    "molecules": "Open it with mercer.molecules.MoleculeIndex.open.",
    "rows": "Open it with mercer.KernelIndex.open.",
}
CHECKED_ROWS = 2**14  # looked at together


@contextmanager
def damages_named(storage):
    """Errors that begin with the directory of the index."""
    try:
        yield
    except FileProblem as problem:
        raise ModelFileError(f"{os.fspath(storage.path)!r} {problem} {REMEDY}") from problem.__cause__


def refuse_other_kind(storage, *kinds):
    """Refuse a healthy index that another class opens."""
    header = storage.header
    marks = {"spectra": "spectra", "molecules": "molecules", "rows": "oversample"}
    kind = next((kind for kind, mark in marks.items() if mark in header), None)
    if kind is not None and kind not in kinds:
        raise InputError(f"{os.fspath(storage.path)!r} is an index of {kind}. {_OPENED_BY[kind]}")


def read_header(header):
    """(parameters that are not those of the model, how rows are kept, whether they are sparse), all of them possible.

    Numbers are left to the index, which checks its parameters.
    """
    missing = [name for name in ("oversample", "vectors", "n_lists", "kept", "sparse") if name not in header]
    if missing:
        raise FileProblem(f"has a damaged catalogue: its header has no {missing[0]!r}.")
    kept, is_sparse, highest = header["kept"], header["sparse"], header.get("highest_id", -1)
    if kept not in VECTOR_TYPES[1:] or (kept is not None and not isinstance(kept, str)):
        raise FileProblem(f"has a damaged catalogue: rows cannot be stored as {kept!r:.80}.")
    if not isinstance(is_sparse, bool) or (is_sparse and kept is None):
        raise FileProblem(f"has a damaged catalogue: sparse cannot be {is_sparse!r:.80}.")
    if not isinstance(highest, Integral) or isinstance(highest, bool) or not -1 <= highest < 2**63:
        raise FileProblem(f"has a damaged catalogue: highest_id cannot be {highest!r:.80}.")
    return {name: header[name] for name in ("oversample", "vectors", "n_lists")}, kept, is_sparse


def check_columns(found, wanted):
    """Refuse columns that are not those of the model: loops would read beyond the rows."""
    found, wanted = tuple(found), tuple(wanted)
    if found == wanted:
        return
    place = next((i for i, pair in enumerate(zip(found, wanted, strict=False)) if pair[0] != pair[1]), None)
    if place is None:
        have, need = (", ".join(column.name for column in columns) for columns in (found, wanted))
        raise FileProblem(f"has a damaged catalogue: its columns are {have}, but its model needs {need}.")
    raise FileProblem(
        f"has a damaged catalogue: column {place + 1} is {_told(found[place])}, but its model needs "
        f"{_told(wanted[place])}."
    )


def _told(column):
    shape = "any number" if column.ragged else "x".join(map(str, column.shape)) or "1"
    return f"{column.name!r} of {shape} {column.dtype.name} per row"


def check_lengths(segments, vectors):
    """Rows have as many values as columns, and no id is longer than ids can be."""
    for number, segment in enumerate(segments):
        offsets = segment.arrays["id_text"][1]
        if np.diff(offsets).max(initial=0) > LONGEST_TEXT:
            raise FileProblem(f"has a damaged segment {number}: an id has more than {LONGEST_TEXT} bytes.")
        if vectors and vectors.is_sparse:
            columns, values = segment.arrays["columns"][1], segment.arrays["values"][1]
            if not np.array_equal(columns, values):
                raise FileProblem(f"has a damaged segment {number}: rows have more values than columns, or fewer.")


def check_taken(X, vectors, kernel, where="rows"):
    """Refuse kept rows that no call could have added."""
    if sparse.issparse(X):
        indices = X.indices
        if len(indices) and (indices.min() < 0 or indices.max() >= vectors.width):
            raise FileProblem(f"has damaged {where}: a column is not one of 0 to {vectors.width - 1}.")
        if not X.has_canonical_format:
            raise FileProblem(f"has damaged {where}: the columns of a row do not ascend.")
    if not np.isfinite(X.data if sparse.issparse(X) else X).all():
        raise FileProblem(f"has damaged {where}: a value is not a finite number.")
    try:
        kernel.check_values(X, "a kept row")
    except InputError as error:
        raise FileProblem(f"has damaged {where}: {error}") from error


def check_rows(collection, n_jobs=None):
    """Look at all rows, codes and ids."""
    snapshot, model, vectors = collection.snapshot, collection.model, collection.vectors
    tasks = [
        (number, segment, start)
        for number, segment in enumerate(snapshot.segments)
        for start in range(0, segment.n_rows, CHECKED_ROWS)
    ]

    def check(task):
        number, segment, start = task
        stop = min(start + CHECKED_ROWS, segment.n_rows)
        if model.keeps_codes:
            _check_codes(segment.arrays["codes"][start:stop], model.coder_, f"codes in segment {number}")
        if vectors:
            positions = np.arange(segment.first + start, segment.first + stop)
            rows = vectors.take(snapshot.segments, positions)
            check_taken(rows, vectors, model.kernel_, f"rows in segment {number}")

    run_blocks(check, tasks, n_jobs)
    for start in range(0, snapshot.n_positions, CHECKED_ROWS):
        collection.values(np.arange(start, min(start + CHECKED_ROWS, snapshot.n_positions)))
    _check_ids(collection)


def _check_codes(codes, coder, where):
    if isinstance(coder, FlatCoder):
        if not np.isfinite(np.ascontiguousarray(codes).view(np.float32)).all():
            raise FileProblem(f"has damaged {where}: a value is not a finite number.")
    elif isinstance(coder, WordCoder) and not coder.names_words(codes):
        raise FileProblem(f"has damaged {where}: a code refers to a word that its model does not have.")


def _check_ids(collection):
    alive = np.flatnonzero(~collection.snapshot.removed)
    there = collection.ids.at(alive)
    found = collection.ids.positions(there if there.dtype != object else there.tolist())
    if not np.array_equal(found, alive):
        twice = there[int(np.argmax(found != alive))]
        raise FileProblem(f"has two rows with the id {twice!r:.80}.")
