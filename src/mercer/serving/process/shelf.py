"""Several models and indexes behind one address, each under a name.

Where no name is said, the first one answers or, if it cannot, the only one that can.
"""

__all__ = ["Shelf", "Source", "sources_of"]

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mercer._base.errors import InputError
from mercer.serving.bodies.columns import shown_names
from mercer.serving.http.faults import Fault
from mercer.serving.http.limits import Gate
from mercer.serving.process.metrics import Metrics
from mercer.serving.process.service import Service
from mercer.serving.process.state import ModelSlot

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LACKING = {"classify": "no-model", "detect": "no-detector", "neighbors": "no-index", "spectra": "no-spectra"}
_LARGE = 4  # whole tables in work at once, per process


@dataclass(frozen=True)
class Source:
    """What is served under one name: a model, an index, both, or a library of spectra; labels of the index."""

    model: Any = None
    index: Any = None
    spectra: Any = None
    labels: Any = None


class Shelf:
    """The services of one application, by name.

    Parameters
    ----------
    sources : dict from names to Source
    settings : ServiceSettings
    reloaded : called after models were loaded again on request, so that other processes hear of it; or None
    """

    def __init__(self, sources, settings, reloaded=None):
        self.settings, self._reloaded = settings, reloaded
        self.slots = {
            name: ModelSlot(each.model, each.index, settings, each.spectra, each.labels)
            for name, each in sources.items()
        }
        self.gate, tables = Gate(settings.concurrency), Gate(_LARGE)
        self.metrics = Metrics(self.slots, self.gate)
        self.services = {
            name: Service(name, slot, settings, (self.gate, tables), self.metrics) for name, slot in self.slots.items()
        }
        self.first = next(iter(self.services.values()))

    def service(self, name=None, question="model"):
        """The service of a name that answers a question; a fault if there is none, or if another one must be asked."""
        if name is not None and name not in self.services:
            known = ", ".join(self.services)
            raise Fault(404, "no-such-model", f"There is no model {shown_names([name])}. There are: {known}.")
        chosen = self.first if name is None else self.services[name]
        if chosen.slot.present.answers(question):
            return chosen
        self.check_ready()
        others = self.answering(question)
        if name is None and len(others) == 1:
            return others[0]
        if not others:
            return chosen  # which says itself what it lacks
        routes = " or ".join(f"/v1/models/{each.name}/{question}" for each in others)
        raise Fault(404, _LACKING[question], f"{shown_names([chosen.name])} does not answer this. Ask {routes}.")

    def answering(self, question):
        """The services that answer a question, as far as they are loaded."""
        loaded = [each for each in self.services.values() if each.slot.problem is None]
        return [each for each in loaded if each.slot.present.answers(question)]

    def unnamed(self, question):
        """The service that answers a question without a name: the first or, if it does not, the only one; else None."""
        if question == "embedding":  # bits go to what classifies them
            asked = self.unnamed("classify")
            return asked if asked is not None and asked.slot.present.answers(question) else None
        services = self.answering(question)
        return services[0] if self.first in services or len(services) == 1 else None

    @property
    def is_ready(self):
        """Whether all models are loaded."""
        return all(slot.problem is None for slot in self.slots.values())

    def load(self):
        """Load all models that are not loaded; whatever is wrong raises."""
        for slot in self.slots.values():
            if slot.problem is not None:
                slot.load()

    @property
    def failure(self):
        """The error of the first model that could not be loaded at the start, or None."""
        return next((slot.failure for slot in self.slots.values() if slot.failure is not None), None)

    def check_ready(self):
        """The model that answers without a name; a fault as long as any of the models is not loaded."""
        present = [slot.present for slot in self.slots.values()]
        return present[0].model

    def close(self):
        """Let what is in work finish."""
        for service in self.services.values():
            service.close()

    async def reload(self):
        """Load all files again, one after another; those that cannot be used keep their old model, and are told."""
        faults, again = [], [slot for slot in self.slots.values() if slot.can_reload] or [self.first.slot]
        for slot in again:
            try:
                await slot.reload()
                self.metrics.reloads.labels("ok").inc()
            except Fault as fault:
                self.metrics.reloads.labels("failed").inc()
                faults.append(fault)
        if faults:
            raise faults[0]

    async def reload_on_request(self):
        """The same for a request, with what answers now."""
        await self.reload()
        if self._reloaded is not None:
            self._reloaded()
        model = self.first.slot.present.model
        return {"model": model.sha256, "name": model.name, "models": self.checksums()}

    def checksums(self):
        """The checksum of each model, by its name."""
        return {name: slot.present.model.sha256 for name, slot in self.slots.items()}

    def card(self):
        """What ``/v1/models`` tells: the names, the first one first."""
        told = []
        for name, slot in self.slots.items():
            model = slot.present.model if slot.problem is None else None
            about = {"task": model and model.task, "class": model and model.name, "sha256": model and model.sha256}
            told.append({"name": name, "ready": model is not None, **about})
        return {"models": told, "default": self.first.name}


# ------------------------------------------------------------------------------------------------------------- sources


def sources_of(model=None, index=None, spectra=None, labels=None):
    """What to serve, by name, from what ``create_app`` takes: single things, or dicts from names to them.

    A model and an index of one name are served together. A single index without a name belongs to the only model.
    """
    models, libraries = _named(model, "model"), _named(spectra, "spectra")
    owner = next(iter(models)) if len(models) == 1 else None
    if index is not None and not isinstance(index, dict) and len(models) > 1:
        raise InputError("The service has several models. Give the index the name of one of them, or its own name.")
    indexes = _named(index, "index") if isinstance(index, dict) or owner is None else _named({owner: index}, "index")
    both = (models.keys() | indexes.keys()) & libraries.keys()
    if both:
        raise InputError(f"The name {shown_names(sorted(both))} is taken. Give the library of spectra another name.")
    files = _labels(labels, indexes)
    found = {name: Source(one, indexes.get(name), None, files.get(name)) for name, one in models.items()}
    found |= {name: Source(None, one, None, files.get(name)) for name, one in indexes.items() if name not in models}
    found |= {name: Source(None, None, one) for name, one in libraries.items()}
    if not found:
        raise InputError("There is nothing to serve. Give a model, an index, or a library of spectra.")
    return found


def _named(given, kind):
    """Things by name; one without is called like its file, or by its kind."""
    if given is None:
        return {}
    if not isinstance(given, dict):
        return {_stem(given, kind): given}
    for name in given:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise InputError(
                f"The name of a {kind} must start with a letter or digit and have at most 64 letters, digits, '.', "
                f"'_' and '-'; got {name!r:.80}."
            )
    return {name: one for name, one in given.items() if one is not None}


def _stem(source, kind):
    if not isinstance(source, (str, os.PathLike)):
        return kind
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(source).stem).lstrip("._-")[:64]
    return stem or kind


def _labels(labels, indexes):
    """Files of labels by the name of their index."""
    if labels is None:
        return {}
    if not isinstance(labels, dict):
        if len(indexes) != 1:
            raise InputError("index_labels must name its index, as in NAME=FILE, or the service must have one index.")
        labels = {next(iter(indexes)): labels}
    unknown = [name for name in labels if name not in indexes]
    if unknown:
        raise InputError(f"There are labels for {shown_names(unknown)}, but no index of this name.")
    return labels
