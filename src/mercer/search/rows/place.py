"""Where the rows of an index live beyond this process: in a directory, or in a pickle."""

__all__ = ["header_of", "open_directory", "pickled_rows", "unpickled_rows"]

import os
from types import SimpleNamespace

from mercer._base.errors import InputError
from mercer._base.files.container import FileProblem
from mercer.search.columns.types import columns_in
from mercer.search.model.file import load_model
from mercer.search.model.parameters import check_index
from mercer.search.rows.checks import damages_named, read_header
from mercer.search.rows.collection import Collection, columns_of, format_of
from mercer.search.storage.directory.storage import DirectoryStorage
from mercer.search.storage.memory import MemoryStorage


def open_directory(path, mode, verify, n_jobs):
    """(parameters of the index in a directory, its rows)."""
    storage = DirectoryStorage.open(path, mode, verify=verify)
    try:
        model = load_model(storage, n_jobs)
        with damages_named(storage):
            own, kept, is_sparse = read_header(storage.header)
            parameters = {**model.get_params(deep=False), **own}
            try:
                check_index(SimpleNamespace(**parameters))
            except InputError as error:
                raise FileProblem(f"has a damaged catalogue: {error}") from error
            if model.store == "lists" and not is_sparse:
                raise FileProblem("has a damaged catalogue: its model has lists, which need sparse rows.")
        vectors = format_of(kept, is_sparse, model.n_features_in_)
        rows = Collection(model, vectors, parameters["n_lists"], n_jobs, storage, trusted=False)
        if verify:
            rows.verify()
        return parameters, rows
    except BaseException:
        storage.close()
        raise


def header_of(index, rows):
    """What a directory keeps beside the rows: parameters that are not those of the model, and how rows are kept."""
    return {
        "oversample": index.oversample,
        "vectors": index.vectors,
        "n_lists": index.n_lists,
        "kept": rows.vectors.name if rows.vectors else None,
        "sparse": bool(rows.vectors and rows.vectors.is_sparse),
        "highest_id": rows.ids.highest,
        "data": [{"name": column.name, "type": column.type} for column in rows.data],
    }


def pickled_rows(index, rows):
    """What a pickle keeps: rows in memory go along; those of a directory are opened again, for reading."""
    if rows.path is not None:
        return {"_pickled_path": os.fspath(rows.path)}
    return {"_pickled_rows": (rows.model, list(rows.batches()), rows.vectors, header_of(index, rows))}


def unpickled_rows(state):
    """The rows that a pickle kept, which are taken out of its state; None for an index that was not fitted."""
    path, rows = state.pop("_pickled_path", None), state.pop("_pickled_rows", None)
    n_jobs = state.get("n_jobs")
    if path is not None:
        return open_directory(path, "r", True, n_jobs)[1]
    if rows is None:
        return None
    model, batches, vectors, header = rows
    storage = MemoryStorage(columns_of(model, vectors, columns_in(header)), header)
    with storage.transaction() as transaction:
        for batch in batches:
            transaction.append(batch)
    return Collection(model, vectors, state.get("n_lists"), n_jobs, storage)
