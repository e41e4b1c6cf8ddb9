"""The index on disk: in a directory, where changes are durable, and in a pickle."""

__all__ = ["OnDisk"]

import os
import shutil
from pathlib import Path

from mercer._base.errors import InputError, ModelFileError
from mercer._base.models import load, save
from mercer.search._collection import Collection, columns_of, format_of
from mercer.search._model import SearchModel
from mercer.search._storage_memory import MemoryStorage

RETRIES = 5  # while another process replaces the generation


class OnDisk:
    """What `KernelIndex` does with directories and pickles."""

    _not_saveable = "its rows do not fit a model file. Use persist(path), and KernelIndex.open(path) to have it back."

    def persist(self, path):
        """Move the index to a directory, where every further change is durable when its method returns.

        Parameters
        ----------
        path : a directory that is empty or does not exist
        """
        from mercer.search._directory import DirectoryStorage

        rows = self._rows
        self._refuse_directory("persist")
        columns = columns_of(rows.model, rows.vectors)
        storage = DirectoryStorage.create(path, columns, lambda place: save(rows.model, place), self._header())
        try:
            with storage.transaction() as transaction:
                for batch in rows.batches():
                    transaction.append(batch)
        except BaseException:
            storage.close()
            for made in Path(path).iterdir():  # the directory was empty before
                shutil.rmtree(made) if made.is_dir() else made.unlink()
            raise
        self._collection = Collection(rows.model, rows.vectors, self.n_lists, self.n_jobs, storage)
        self._forget_bounds()
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
            Whether all checksums are compared, which reads everything once.
        """
        from mercer.search._directory import DirectoryStorage

        storage = DirectoryStorage.open(path, mode, verify=verify)
        try:
            return cls._of_storage(storage, n_jobs)
        except BaseException:
            storage.close()
            raise

    @classmethod
    def _of_storage(cls, storage, n_jobs):
        model, header = _load_model(storage), storage.header
        own = {name: header[name] for name in ("oversample", "vectors", "n_lists")}
        parameters = {**model.get_params(deep=False), **own, "n_jobs": n_jobs}
        index = cls(**parameters)
        model.n_jobs = n_jobs
        index.model_, index.n_features_in_ = model, model.n_features_in_
        vectors = format_of(header["kept"], bool(header["sparse"]), model.n_features_in_)
        index._collection = Collection(model, vectors, index.n_lists, n_jobs, storage)
        index._forget_bounds()
        return index

    def refresh(self):
        """See what another process has added or removed since the index was opened or refreshed."""
        rows = self._rows
        generation = rows.snapshot.generation
        rows.refresh()
        if rows.snapshot.generation != generation:
            self.model_ = rows.model = _load_model(rows.storage)
            rows._view()
            self._forget_bounds()
        return self

    def close(self):
        """Give back files and the writer's lock."""
        if hasattr(self, "_collection"):
            self._collection.storage.close()

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
        rows = state.pop("_collection", None)
        if rows is not None and hasattr(rows.storage, "path"):
            state["_pickled_path"] = os.fspath(rows.storage.path)
        elif rows is not None:
            state["_pickled_rows"] = list(rows.batches()), rows.vectors, self._header()
        return {**state, "_bounds": None, "_relaxed": None}

    def __setstate__(self, state):
        path, rows = state.pop("_pickled_path", None), state.pop("_pickled_rows", None)
        super().__setstate__(state)
        if path is not None:
            self._collection = type(self).open(path, n_jobs=self.n_jobs)._collection
        elif rows is not None:
            batches, vectors, header = rows
            storage = MemoryStorage(columns_of(self.model_, vectors), header)
            with storage.transaction() as transaction:
                for batch in batches:
                    transaction.append(batch)
            self._collection = Collection(self.model_, vectors, self.n_lists, self.n_jobs, storage)


def _load_model(storage):
    """The model of the present generation; a writer may replace it between our look and the reading."""
    for _ in range(RETRIES):
        try:
            model = load(storage.model_path)
            break
        except (OSError, ModelFileError):
            if not storage.refresh().generation_changed:
                raise
    else:
        model = load(storage.model_path)
    if not isinstance(model, SearchModel):
        raise InputError(f"{storage.model_path} holds {type(model).__name__}, not the model of an index.")
    return model
