"""The model that answers at this moment, and how another takes its place.

A new model is loaded, checked and warmed up while the old one answers. Then one assignment makes it the present one.
A request takes what is present when it begins and keeps it to its end.
"""

__all__ = ["Loaded", "ModelSlot"]

import asyncio
import logging
import os
from dataclasses import dataclass

from mercer import KernelIndex
from mercer._base.errors import InputError, MercerError
from mercer.serving.http.faults import Fault
from mercer.serving.model.neighbors import Neighbors, open_neighbors
from mercer.serving.model.served import ServedIndex, ServedModel, face_of, load_served
from mercer.serving.model.spectra import ServedSpectra

logger = logging.getLogger("mercer.serving")


_ANSWERED_BY = {  # question -> tasks of the models that answer it
    "classify": {"classification", "labels", "regression", "images"},
    "detect": {"detection"},
    "spectra": {"spectra"},
}


@dataclass(frozen=True)
class Loaded:
    """A model that is ready to answer, and the index that belongs to it."""

    model: ServedModel | ServedIndex | ServedSpectra
    neighbors: Neighbors | None

    def answers(self, question):
        """Whether a question, the last part of a path, is answered: "classify", "neighbors", "embedding", ..."""
        if question == "neighbors":
            return self.neighbors is not None
        if question == "embedding":
            return bool(self.model.rates)
        return question == "model" or self.model.task in _ANSWERED_BY[question]


class ModelSlot:
    """Where requests find the present model.

    Parameters
    ----------
    model : path of a model file, a fitted model, which cannot be reloaded, or None for an index alone
    index : directory of an index, a KernelIndex, or None
    settings : ServiceSettings
    labels : path of the labels of the rows of the index, or None
    spectra : directory of a library of spectra, a SpectrumIndex, or None; then there is no model and no index

    Attributes
    ----------
    problem : why no model answers yet, or None
    failure : the error of the first load, or None
    loaded : function without arguments that is called after the first load
    failed : function of the error that is called if the first load fails; it is logged unless another is set
    """

    def __init__(self, model, index, settings, spectra=None, labels=None):
        self._source, self._index, self._settings, self._spectra = model, index, settings, spectra
        self._labels = labels
        self._lock = asyncio.Lock()  # one load at a time; the last one sees the newest file
        self._present = None
        self.problem = "The model is being loaded."
        self.failure, self.loaded, self.failed = None, _nothing, _log_failure

    @property
    def can_reload(self):
        """Whether the model comes from a file or, without one, the index from a directory."""
        sources = (self._spectra, self._source, self._index)
        return isinstance(next(each for each in sources if each is not None), (str, os.PathLike))

    @property
    def present(self):
        """What answers now; a fault if nothing does yet."""
        if self._present is None:
            raise Fault(503, "not-ready", self.problem, {"Retry-After": "1"})
        return self._present

    def load(self):
        """Load, check and warm up; then answer by it. Whatever is wrong raises, and leaves the old one in place."""
        if self._spectra is not None:
            self._present, self.problem = Loaded(ServedSpectra(self._spectra), None), None
            return self._present
        index = self._index
        if self._source is None:
            index = index if isinstance(index, KernelIndex) else KernelIndex.open(index)
            model = ServedIndex(index)
        else:
            model = load_served(self._source, self._settings.mmap) if self.can_reload else face_of(self._source)
            model.warm_up()
        if index is not None and model.n_features is None:
            raise InputError(
                f"{model.name} takes pictures, but an index is searched with rows. Serve the index under its own name:"
                " --index NAME=DIR."
            )
        neighbors = open_neighbors(index, model, self._labels)
        self._present, self.problem = Loaded(model, neighbors), None
        return self._present

    async def start(self):
        """The first load, unless it has happened: beside the service, which is alive meanwhile but not ready."""
        if self._present is None:
            try:
                async with self._lock:
                    await asyncio.to_thread(self.load)
            except Exception as error:  # the reason is told to whoever asks whether we are ready
                self.problem = f"The model could not be loaded. {_reason(error)}"
                self.failure = error
                self.failed(error)
                return
        self.loaded()

    async def reload(self):
        """Load the file again. A file that cannot be used raises a fault, and the old model goes on."""
        if not self.can_reload:
            raise Fault(
                409, "no-file", "The model of this service was not loaded from a file, so it cannot be reloaded."
            )
        async with self._lock:
            before = self._present
            try:
                loaded = await asyncio.to_thread(self.load)
            except Exception as error:  # whatever is wrong with the new file must not end the old model
                logger.error("reload", extra={"fields": {"event": "reload", "error": _reason(error)}})
                kept = "The service keeps the old model." if before else "There is no model."
                raise Fault(409, "reload-failed", f"{_reason(error)} {kept}") from error
            fields = {"event": "reload", "sha256": loaded.model.sha256}
            logger.info("reload", extra={"fields": fields})
            return loaded


def _nothing():
    pass


def _log_failure(error):
    logger.error("load", extra={"fields": {"event": "load", "error": _reason(error)}})


def _reason(error):
    """A sentence for an error on purpose; the kind of error for any other."""
    if isinstance(error, (MercerError, OSError)):
        return " ".join(str(error).split())
    return f"Unexpected {type(error).__name__}."
