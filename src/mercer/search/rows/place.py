"""Where the rows of an index live beyond this process: in a directory, or in a pickle."""

__all__ = ["Placed", "header_of"]

import os
from types import SimpleNamespace

from sklearn.utils.validation import check_is_fitted

from mercer._base.errors import InputError
from mercer._base.files.container import FileProblem
from mercer._base.html.notebook import ShowsPlan
from mercer.search.columns.types import columns_in
from mercer.search.model.file import load_model
from mercer.search.model.parameters import check_index
from mercer.search.rows.checks import damages_named, read_header, refuse_other_kind
from mercer.search.rows.collection import Collection
from mercer.search.rows.packing import columns_of, format_of
from mercer.search.storage.directory.storage import DirectoryStorage
from mercer.search.storage.memory import MemoryStorage


class Placed(ShowsPlan):
    """An estimator whose rows are in memory or in a directory: what `KernelIndex` has of that."""

    _not_saveable = (
        "model files do not store its rows. Use persist(path) to write it, and KernelIndex.open(path) to read it."
    )

    @property
    def rows_(self):
        """The rows of this moment: their ids, positions and what is kept of them; every method begins here."""
        if "_collection" not in self.__dict__:
            check_is_fitted(self)
        return self._collection.settled()

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_collection")

    def persist(self, path):
        """Move the index to a directory, where every further change is durable when its method returns.

        Parameters
        ----------
        path : a directory that is empty or does not exist
        """
        rows = self.rows_
        self._refuse_directory("persist")
        rows.move(path, header_of(self, rows))
        return self

    @classmethod
    def open(cls, path, mode="r", *, verify=True, n_jobs=None):
        """Open an index in a directory.

        Parameters
        ----------
        path : directory
        mode : {"r", "w"}
            ``"w"`` to change it: one process at a time. Readers see a consistent state and are never blocked.
        verify : bool
            Whether all checksums are compared and all rows looked at, which reads everything once. Without, rows are
            looked at when they are taken.
        """
        parameters, rows = _open_directory(path, mode, verify, n_jobs)
        index = cls(**parameters)
        index._collection = rows
        return index

    def refresh(self):
        """See what another process has added or removed since the index was opened or refreshed."""
        self.rows_.refresh()
        return self

    def close(self):
        """Close the files and release the lock of the writer."""
        if hasattr(self, "_collection"):
            self.rows_.close()

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.close()

    def _refuse_directory(self, who):
        path = self.rows_.path if hasattr(self, "_collection") else None
        if path is not None:
            raise InputError(f"KernelIndex.{who} works only on an index in memory, but this one is in {path}.")

    def __getstate__(self):
        state = dict(super().__getstate__())
        if state.pop("_collection", None) is None:
            return state
        return state | _pickled_rows(self, self.rows_)

    def __setstate__(self, state):
        rows = _unpickled_rows(state)
        super().__setstate__(state)
        if rows is not None:
            self._collection = rows


def _open_directory(path, mode, verify, n_jobs):
    """(parameters of the index in a directory, its rows)."""
    storage = DirectoryStorage.open(path, mode, verify=verify)
    try:
        refuse_other_kind(storage, "rows", "molecules")
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


def _pickled_rows(index, rows):
    """What a pickle keeps: rows in memory go along; those of a directory are opened again, for reading."""
    if rows.path is not None:
        return {"_pickled_path": os.fspath(rows.path)}
    return {"_pickled_rows": (rows.model, list(rows.batches()), rows.vectors, header_of(index, rows))}


def _unpickled_rows(state):
    """The rows that a pickle kept, which are taken out of its state; None for an index that was not fitted."""
    path, rows = state.pop("_pickled_path", None), state.pop("_pickled_rows", None)
    n_jobs = state.get("n_jobs")
    if path is not None:
        return _open_directory(path, "r", True, n_jobs)[1]
    if rows is None:
        return None
    model, batches, vectors, header = rows
    storage = MemoryStorage(columns_of(model, vectors, columns_in(header)), header)
    with storage.transaction() as transaction:
        for batch in batches:
            transaction.append(batch)
    return Collection(model, vectors, state.get("n_lists"), n_jobs, storage)
