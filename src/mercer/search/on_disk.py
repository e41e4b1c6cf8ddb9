"""The index on disk: in a directory, where changes are durable, and in a pickle."""

__all__ = ["OnDisk"]

import os

from mercer._base.errors import InputError
from mercer._base.files.container import FileProblem
from mercer.search.model.file import load_model
from mercer.search.rows.checks import damages_named, read_header
from mercer.search.rows.collection import Collection, columns_of, format_of
from mercer.search.storage.memory import MemoryStorage


class OnDisk:
    """What `KernelIndex` does with directories and pickles."""

    _not_saveable = "its rows do not fit a model file. Use persist(path), and KernelIndex.open(path) to have it back."

    def persist(self, path):
        """Move the index to a directory, where every further change is durable when its method returns.

        Parameters
        ----------
        path : a directory that is empty or does not exist
        """
        from mercer.search.storage.directory.storage import DirectoryStorage

        rows = self._rows
        self._refuse_directory("persist")
        rows.move(DirectoryStorage.at(path), self._header())
        return self

    @classmethod
    def open(cls, path, mode="r", *, verify=True, n_jobs=None):
        """An index in a directory.

        Parameters
        ----------
        path : directory
        mode : {"r", "w"}
            ``"w"`` to change it: one process at a time. Readers see a consistent state and are never blocked.
        verify : bool
            Whether all checksums are compared and all rows looked at, which reads everything once. Without, rows are
            looked at when they are taken.
        """
        from mercer.search.storage.directory.storage import DirectoryStorage

        storage = DirectoryStorage.open(path, mode, verify=verify)
        try:
            return cls._of_storage(storage, n_jobs, verify)
        except BaseException:
            storage.close()
            raise

    @classmethod
    def _of_storage(cls, storage, n_jobs, verify):
        model = load_model(storage, n_jobs)
        with damages_named(storage):
            own, kept, is_sparse = read_header(storage.header)
            try:
                index = cls(**{**model.get_params(deep=False), **own})
            except InputError as error:
                raise FileProblem(f"has a damaged catalogue: {error}") from error
            vectors = format_of(kept, is_sparse, model.n_features_in_)
        index._collection = Collection(model, vectors, index.n_lists, n_jobs, storage, trusted=False)
        if verify:
            index._collection.verify()
        return index

    def refresh(self):
        """See what another process has added or removed since the index was opened or refreshed."""
        self._rows.refresh()
        return self

    def close(self):
        """Give back files and the writer's lock."""
        if hasattr(self, "_collection"):
            self._rows.storage.close()

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.close()

    def _header(self):
        rows = self._rows
        return {
            "oversample": self.oversample,
            "vectors": self.vectors,
            "n_lists": self.n_lists,
            "kept": rows.vectors.name if rows.vectors else None,
            "sparse": bool(rows.vectors and rows.vectors.is_sparse),
            "highest_id": rows.ids.highest,
        }

    def __getstate__(self):
        """For pickle: rows in memory go with the index; one in a directory is opened again, for reading."""
        state = dict(super().__getstate__())
        if state.pop("_collection", None) is None:
            return state
        rows = self._rows
        if hasattr(rows.storage, "path"):
            return {**state, "_pickled_path": os.fspath(rows.storage.path)}
        return {**state, "_pickled_rows": (rows.model, list(rows.batches()), rows.vectors, self._header())}

    def __setstate__(self, state):
        path, rows = state.pop("_pickled_path", None), state.pop("_pickled_rows", None)
        super().__setstate__(state)
        if path is not None:
            self._collection = type(self).open(path, n_jobs=self.n_jobs)._collection
        elif rows is not None:
            model, batches, vectors, header = rows
            storage = MemoryStorage(columns_of(model, vectors), header)
            with storage.transaction() as transaction:
                for batch in batches:
                    transaction.append(batch)
            self._collection = Collection(model, vectors, self.n_lists, self.n_jobs, storage)
