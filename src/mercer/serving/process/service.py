"""What a request goes through between its headers and its answer."""

__all__ = ["AskedLabels", "Service"]

import asyncio
import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from mercer.serving.bodies.pictures import check_picture, is_picture
from mercer.serving.bodies.queries import read_query
from mercer.serving.bodies.tables import CSV, read_csv
from mercer.serving.bodies.tables import lines_of as table_lines
from mercer.serving.http.auth import check_token
from mercer.serving.http.faults import Fault
from mercer.serving.http.limits import read_body
from mercer.serving.http.replies import plain
from mercer.serving.model.spectra import read_spectra_request
from mercer.serving.process.batching import Batcher

_ASKED_BY = {  # what is no classifier or regressor, and the path by which it is asked
    "search": ("This service has an index but no model.", "/v1/neighbors"),
    "spectra": ("This service has a library of spectra but no model.", "/v1/spectra"),
    "detection": ("This service has a detector, which finds objects and does not classify.", "/v1/detect"),
}


@dataclass(frozen=True)
class AskedLabels:
    """What a request wants to know beside labels: an explanation of the label of a picture, or of another class;
    scores in a table.
    """

    explained: bool = False
    label: str | None = None
    scores: bool = False


class Service:
    """What answers under one name: a model, an index, or both.

    Parameters
    ----------
    name : by which it is asked
    slot : ModelSlot
    settings : ServiceSettings
    gates : Gate of all requests with a body, and Gate of those with a whole table
    metrics : Metrics
    """

    def __init__(self, name, slot, settings, gates, metrics):
        self.name, self.slot, self.settings, self.metrics = name, slot, settings, metrics
        self._gate, self._tables = gates
        self._batcher = Batcher(settings.max_batch_rows, metrics.batches.observe)
        self._searcher = ThreadPoolExecutor(1, f"mercer-search-{name}")

    def close(self):
        """Let what is in work finish."""
        self._batcher.close()
        self._searcher.shutdown(wait=True)

    async def classify(self, request, asked=None):
        """Labels and scores of the rows, codes or picture in a request; of a table, the csv with its labels."""
        asked = AskedLabels() if asked is None else asked
        check_token(request.headers, self.settings.token)
        with self._gate.entered():
            model = self.slot.present.model
            if model.task in _ASKED_BY:
                raise Fault(404, "no-model", f"{_ASKED_BY[model.task][0]} Ask {_ASKED_BY[model.task][1]}.")
            if model.task == "images":
                return await self._looked_at(request, model.answer, asked.explained, asked.label)
            if asked.explained or asked.label is not None:
                raise Fault(422, "explain", "explain and label apply to image models only.")
            if _is_csv(request):
                return await self._labeled_table(request, model, asked.scores)
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

    async def detect(self, request, threshold, most):
        """Boxes of the objects in the picture of a request."""
        check_token(request.headers, self.settings.token)
        with self._gate.entered():
            model = self.slot.present.model
            if model.task != "detection":
                raise Fault(404, "no-detector", "This model is not a detector. Use /v1/classify or /v1/neighbors.")
            return await self._looked_at(request, model.answer, threshold, most)

    async def neighbors(self, request, wanted):
        """The nearest rows of the index for the rows or codes in a request; of a table, all of them as csv."""
        check_token(request.headers, self.settings.token)
        with self._gate.entered():
            loaded = self.slot.present
            index = loaded.neighbors
            if index is None:
                raise Fault(404, "no-index", "This service has no index. Start it with --index DIR.")
            if wanted.with_rows and not (self.settings.show_rows and index.can_show_rows):
                raise Fault(
                    403, "rows-hidden", "This service does not return rows of its index. Start it with --show-rows."
                )
            if _is_csv(request):
                return await self._table_of_neighbors(request, loaded, wanted)
            query = await self._query(request, loaded.model, index, takes_ids=True)
            if query.kind == "codes" and not index.takes_codes:
                raise Fault(409, "raw-only", "The index stores no rows, so queries must be raw rows.")
            found = await self._in_thread(
                index.search, query.kind, query.rows, query.bits, replace(wanted, ids=query.ids)
            )
        _check_finite(np.concatenate(found.similarity))
        self._count(request, "/v1/neighbors", query)
        similarity = [each.tolist() for each in found.similarity]
        answer = {"ids": found.ids, "similarity": similarity, "model": loaded.model.sha256}
        answer |= _ignored(query)
        more = {"labels": found.labels, "rows": found.rows, "data": found.data}
        return answer | {name: value for name, value in more.items() if value is not None}

    async def spectra(self, request, asked):
        """The library spectra most similar to those in a request."""
        check_token(request.headers, self.settings.token)
        with self._gate.entered():
            model, settings = self.slot.present.model, self.settings
            if model.task != "spectra":
                raise Fault(404, "no-spectra", "This service has no library of spectra. Start it with --spectra DIR.")
            body = await read_body(request, settings.max_body_bytes, settings.timeout)
            spectra = read_spectra_request(request.headers.get("content-type", ""), body, settings.max_rows)
            if asked.with_mirrors and len(spectra) > 1:
                raise Fault(422, "mirrors", "mirrors=1 draws the hits of a single spectrum. Send one spectrum.")
            found = await self._in_thread(model.search, spectra, asked)
        self.metrics.rows.labels("/v1/spectra", "spectra").inc(len(spectra))
        request.state.exchange.notes.update(rows=len(spectra), kind="spectra")
        return {"hits": found}

    def card(self):
        """What ``/v1/model`` tells."""
        loaded, settings = self.slot.present, self.settings
        index = loaded.neighbors
        shown = index is not None and settings.show_rows and index.can_show_rows
        return {
            **loaded.model.card(),
            "served_as": self.name,
            "index": None if index is None else {**index.card(), "shows_rows": shown},
            "limits": settings.limits(),
            "needs_token": settings.token is not None,
        }

    # ------------------------------------------------------------------------------------------ pictures and tables

    async def _looked_at(self, request, look, *asked):
        """What a model says of the picture in a request."""
        settings, content_type = self.settings, request.headers.get("content-type", "")
        if not is_picture(content_type):
            raise Fault(415, "media-type", "This model takes pictures. Send one as image/png or image/jpeg.")
        body = await read_body(request, settings.max_body_bytes, settings.timeout, "Send a smaller picture.")
        check_picture(content_type, body, settings.max_pixels)
        answer = await self._in_thread(look, body, *asked, refused="picture-refused", remedy="Send a smaller picture.")
        self.metrics.rows.labels(_route(request), "picture").inc()
        request.state.exchange.notes.update(rows=1, kind="picture")
        return answer

    async def _labeled_table(self, request, model, with_scores):
        """The csv of a request with a column of labels, and one of scores for each class if they are wanted."""
        with self._tables.entered():
            table = await self._table(request, model, model)
            labels, scores = [], []
            for part in self._parts(table.numbers):
                answers = await self._in_time(self._batcher.answer(model, "rows", part, None))
                _check_finite(answers.labels if answers.scores is None else answers.scores)
                labels += _label_lists(answers.labels, model)
                if with_scores and answers.scores is not None:
                    scores += answers.scores.tolist()
            words = [";".join(map(str, each)) if isinstance(each, list) else each for each in labels]
            names, columns = ["predicted"], [words]
            if scores:
                names += [f"score {name}" for name in model.classes]
                columns += list(zip(*scores, strict=True))
            return await asyncio.to_thread(table.with_columns, names, columns)

    async def _table_of_neighbors(self, request, loaded, wanted):
        """The nearest rows of each row of a csv, a line for each of them."""
        with self._tables.entered():
            index, names, found_lines = loaded.neighbors, [], []
            table = await self._table(request, loaded.model, index)
            for part in self._parts(table.numbers, max(1, self.settings.max_rows // wanted.k)):
                found = await self._in_thread(index.search, "rows", part, None, replace(wanted, with_rows=False))
                names, lines = index.table(found, len(found_lines))
                found_lines += lines
            return await asyncio.to_thread(table_lines, itertools.chain([names], *found_lines))

    async def _table(self, request, model, columns):
        """The csv in a request, by the columns of the model or of the index that is to answer."""
        settings = self.settings
        body = await read_body(request, settings.max_table_bytes, settings.timeout, "Send the table in parts.")
        table = await self._in_time(asyncio.to_thread(read_csv, body, columns, model.n_features))
        self.metrics.rows.labels(_route(request), "table").inc(len(table.lines))
        request.state.exchange.notes.update(rows=len(table.lines), kind="table")
        return table

    def _parts(self, rows, size=None):
        """Rows in parts that are scored one after another, so that other requests have their turn between them."""
        size = self.settings.max_batch_rows if size is None else size
        return [rows[start : start + size] for start in range(0, len(rows), size)]

    # -------------------------------------------------------------------------------------------------------- rows

    async def _query(self, request, model, table, takes_ids=False):
        settings, content_type = self.settings, request.headers.get("content-type", "")
        if is_picture(content_type):
            raise Fault(
                415, "media-type", "This model takes rows of numbers, not pictures. GET /v1/model lists its columns."
            )
        body = await read_body(request, settings.max_body_bytes, settings.timeout)
        return read_query(content_type, body, model, settings.max_rows, table, takes_ids)

    async def _in_thread(self, function, *arguments, **told):
        """What a function answers in the thread of searches."""
        work = asyncio.get_running_loop().run_in_executor(self._searcher, function, *arguments)
        return await self._in_time(work, **told)

    async def _in_time(self, work, refused="rows-refused", remedy="Send fewer rows."):
        """What is awaited, unless it takes too long or the model refuses it."""
        try:
            async with asyncio.timeout(self.settings.timeout):
                return await work
        except TimeoutError:
            seconds = self.settings.timeout
            raise Fault(504, "timeout", f"The request was not answered within {seconds:g} s. {remedy}") from None
        except ValueError as error:  # Mercer's and scikit-learn's word for what a model cannot take
            raise Fault(422, refused, " ".join(str(error).split())[:300]) from None

    def _count(self, request, route, query):
        self.metrics.rows.labels(route, query.kind).inc(len(query.rows))
        request.state.exchange.notes.update(rows=len(query.rows), kind=query.kind, bits=query.bits)


def _route(request):
    return request.scope["route"].path


def _is_csv(request):
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() == CSV


def _ignored(query):
    """What an answer says of columns that were left out, if any were."""
    return {"ignored_columns": list(query.ignored)} if query.ignored else {}


def _label_lists(labels, model):
    if model.task == "labels":
        return [[model.classes[i] for i in np.flatnonzero(row)] for row in labels]
    return plain(labels)


def _check_finite(values):
    if np.issubdtype(np.asarray(values).dtype, np.floating) and not np.isfinite(values).all():
        raise Fault(422, "overflow", "A row has numbers so large that its scores are not finite. Scale the row down.")
