"""What a request goes through between its headers and its answer."""

__all__ = ["Service"]

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from mercer.serving.http.auth import check_token
from mercer.serving.http.faults import Fault
from mercer.serving.http.limits import Gate, read_body
from mercer.serving.http.queries import read_query
from mercer.serving.http.replies import plain
from mercer.serving.model.spectra import read_spectra_request
from mercer.serving.process.batching import Batcher
from mercer.serving.process.metrics import Metrics
from mercer.serving.process.state import ModelSlot


class Service:
    """The parts of a service, and the questions that it answers.

    Parameters
    ----------
    model, index : as of ``create_app``
    settings : ServiceSettings
    reloaded : called after a model was loaded again on request, so that other processes hear of it; or None
    spectra : as of ``create_app``
    """

    def __init__(self, model, index, settings, reloaded=None, spectra=None):
        self.settings, self._reloaded = settings, reloaded
        self.slot, self.gate = ModelSlot(model, index, settings, spectra), Gate(settings.concurrency)
        self.metrics = Metrics(self.slot, self.gate)
        self._batcher = Batcher(settings.max_batch_rows, self.metrics.batches.observe)
        self._searcher = ThreadPoolExecutor(1, "mercer-search")

    def close(self):
        """Let what is in work finish."""
        self._batcher.close()
        self._searcher.shutdown(wait=True)

    async def classify(self, request):
        """Labels and scores of the rows or codes in a request."""
        check_token(request.headers, self.settings.token)
        with self.gate.entered():
            model = self.slot.present.model
            if model.task in ("search", "spectra"):
                path = "/v1/neighbours" if model.task == "search" else "/v1/spectra"
                raise Fault(404, "no-model", f"This service has an index and no model. Ask {path}.")
            query = await self._query(request, model, model)
            answers = await self._in_time(self._batcher.answer(model, query.kind, query.rows, query.bits))
        _check_finite(answers.labels if answers.scores is None else answers.scores)
        self._count(request, "/v1/classify", query)
        longest = model.rates[-1] if model.rates else None
        return {
            "labels": _label_lists(answers.labels, model),
            "classes": model.classes,
            "scores": None if answers.scores is None else answers.scores.tolist(),
            "bits": longest if query.bits is None else query.bits,
            "model": model.sha256,
            **_ignored(query),
        }

    async def neighbours(self, request, wanted):
        """The nearest rows of the index for the rows or codes in a request."""
        check_token(request.headers, self.settings.token)
        with self.gate.entered():
            loaded = self.slot.present
            index = loaded.neighbours
            if index is None:
                raise Fault(404, "no-index", "This service has no index. Start it with --index DIR.")
            if wanted.with_rows and not (self.settings.show_rows and index.can_show_rows):
                raise Fault(403, "rows-hidden", "This service does not give away rows of its index.")
            query = await self._query(request, loaded.model, index, takes_ids=True)
            if query.kind == "codes" and not index.takes_codes:
                raise Fault(409, "raw-only", "The index keeps no rows, so it is searched by raw rows only.")
            loop = asyncio.get_running_loop()
            search = (index.search, query.kind, query.rows, query.bits, replace(wanted, ids=query.ids))
            found = await self._in_time(loop.run_in_executor(self._searcher, *search))
        _check_finite(np.concatenate(found.similarity))
        self._count(request, "/v1/neighbours", query)
        similarity = [each.tolist() for each in found.similarity]
        answer = {"ids": found.ids, "similarity": similarity, "model": loaded.model.sha256}
        answer |= _ignored(query)
        more = {"labels": found.labels, "rows": found.rows, "data": found.data}
        return answer | {name: value for name, value in more.items() if value is not None}

    async def spectra(self, request, asked):
        """The library spectra most similar to those in a request."""
        check_token(request.headers, self.settings.token)
        with self.gate.entered():
            model, settings = self.slot.present.model, self.settings
            if model.task != "spectra":
                raise Fault(404, "no-spectra", "This service has no library of spectra. Start it with --spectra DIR.")
            body = await read_body(request, settings.max_body_bytes, settings.timeout)
            spectra = read_spectra_request(request.headers.get("content-type", ""), body, settings.max_rows)
            if asked.with_mirrors and len(spectra) > 1:
                raise Fault(422, "mirrors", "mirrors=1 draws the hits of one spectrum; send one.")
            loop = asyncio.get_running_loop()
            found = await self._in_time(loop.run_in_executor(self._searcher, model.search, spectra, asked))
        self.metrics.rows.labels("/v1/spectra", "spectra").inc(len(spectra))
        request.state.exchange.notes.update(rows=len(spectra), kind="spectra")
        return {"hits": found}

    async def reload(self, request):
        """Load the model file again."""
        if self.settings.token is None:
            raise Fault(403, "no-token", "Reloading over HTTP needs a service with a token. SIGHUP works without.")
        check_token(request.headers, self.settings.token)
        loaded = await self.reload_file()
        if self._reloaded is not None:
            self._reloaded()
        return {"model": loaded.model.sha256, "name": loaded.model.name}

    async def reload_file(self):
        """The same for a signal."""
        try:
            loaded = await self.slot.reload()
        except Fault:
            self.metrics.reloads.labels("failed").inc()
            raise
        self.metrics.reloads.labels("ok").inc()
        return loaded

    def card(self):
        """What ``/v1/model`` tells."""
        loaded, settings = self.slot.present, self.settings
        index = loaded.neighbours
        shown = index is not None and settings.show_rows and index.can_show_rows
        return {
            **loaded.model.card(),
            "index": None if index is None else {**index.card(), "shows_rows": shown},
            "limits": settings.limits(),
            "needs_token": settings.token is not None,
        }

    async def _query(self, request, model, table, takes_ids=False):
        settings = self.settings
        body = await read_body(request, settings.max_body_bytes, settings.timeout)
        names = {"columns": table.columns, "others": table.other_columns, "takes_ids": takes_ids}
        return read_query(request.headers.get("content-type", ""), body, model, settings.max_rows, **names)

    async def _in_time(self, work):
        """What is awaited, unless it takes too long or the model refuses the rows."""
        try:
            async with asyncio.timeout(self.settings.timeout):
                return await work
        except TimeoutError:
            seconds = self.settings.timeout
            raise Fault(504, "timeout", f"There was no answer within {seconds:g} s. Send fewer rows.") from None
        except ValueError as error:  # Mercer's and scikit-learn's word for rows that a model cannot take
            raise Fault(422, "rows-refused", " ".join(str(error).split())[:300]) from None

    def _count(self, request, route, query):
        self.metrics.rows.labels(route, query.kind).inc(len(query.rows))
        request.state.exchange.notes.update(rows=len(query.rows), kind=query.kind, bits=query.bits)


def _ignored(query):
    """What an answer says of columns that were left out, if any were."""
    return {"ignored_columns": list(query.ignored)} if query.ignored else {}


def _label_lists(labels, model):
    if model.task == "labels":
        return [[model.classes[i] for i in np.flatnonzero(row)] for row in labels]
    return plain(labels)


def _check_finite(values):
    if np.issubdtype(np.asarray(values).dtype, np.floating) and not np.isfinite(values).all():
        raise Fault(422, "overflow", "The numbers of a row are so large that its scores are not finite.")
