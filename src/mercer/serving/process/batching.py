"""Requests that wait at the same time are scored together.

One thread scores. A request that finds it idle is scored at once, with whatever else arrived in the same turn of the
event loop. Requests that arrive while it is busy wait for it anyway, and then go together: the busier the service, the
larger the batches, and a lone request never waits for company. A batch that takes no longer to score than to hand over
and back, as a few codes do, is scored by the event loop itself.
"""

__all__ = ["Batcher"]

import asyncio
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class _Job:
    """One request: rows for ``model.answer(kind, rows, bits)``, and where the answers go.

    ``model.is_quick(kind, n_rows, bits)`` says whether so many rows are answered in no time to speak of.
    """

    model: object
    kind: str
    bits: int | None
    rows: np.ndarray
    future: asyncio.Future

    @property
    def key(self):
        """Jobs of one key may be scored together; a model that is being replaced still answers its own."""
        return id(self.model), self.kind, self.bits


class Batcher:
    """Scores the rows of concurrent requests together.

    Parameters
    ----------
    max_rows : most rows scored together; a request with more goes alone
    observe : called with the number of rows of every batch
    """

    def __init__(self, max_rows, observe=lambda rows: None):
        self._max_rows, self._observe = max_rows, observe
        self._thread = ThreadPoolExecutor(1, "mercer-score")
        self._waiting = deque()
        self._is_busy = self._is_called = False

    async def answer(self, model, kind, rows, bits):
        """The answers of a model to the rows of one request."""
        loop = asyncio.get_running_loop()
        job = _Job(model, kind, bits, rows, loop.create_future())
        self._waiting.append(job)
        self._call(loop)
        return await job.future

    def close(self):
        """Let the thread finish."""
        self._thread.shutdown(wait=True)

    def _call(self, loop):
        if not self._is_busy and not self._is_called:
            self._is_called = True
            loop.call_soon(self._dispatch, loop)

    def _dispatch(self, loop):
        self._is_called = False
        batch = self._taken()
        if not batch:
            return
        first, n_rows = batch[0], sum(len(job.rows) for job in batch)
        self._observe(n_rows)
        if first.model.is_quick(first.kind, n_rows, first.bits):
            self._deliver(loop, batch, _score(batch))
            return
        self._is_busy = True
        loop.run_in_executor(self._thread, _score, batch).add_done_callback(
            lambda scored: self._deliver(loop, batch, scored.result())
        )

    def _taken(self):
        """The first job that is still wanted, and the next ones like it while there is room."""
        batch, others, room = [], deque(), self._max_rows
        while self._waiting:
            job = self._waiting.popleft()
            if job.future.done():  # its request has been given up
                continue
            if not batch or (job.key == batch[0].key and len(job.rows) <= room):
                batch.append(job)
                room -= len(job.rows)
            else:
                others.append(job)
            if room <= 0:
                break
        self._waiting.extendleft(reversed(others))
        return batch

    def _deliver(self, loop, batch, scored):
        self._is_busy = False
        for job, (answers, error) in zip(batch, scored, strict=True):
            if job.future.done():
                continue
            if error is not None:
                job.future.set_exception(error)
            else:
                job.future.set_result(answers)
        if self._waiting:
            self._call(loop)


def _score(batch):
    """(answers, None) or (None, error) for each job; rows that a model refuses spoil only their own request."""
    first = batch[0]
    try:
        rows = first.rows if len(batch) == 1 else np.concatenate([job.rows for job in batch])
        answers = first.model.answer(first.kind, rows, first.bits)
    except Exception as error:  # goes to the request that it belongs to
        if len(batch) == 1:
            return [(None, error)]
        return [_score([job])[0] for job in batch]
    ends = np.cumsum([len(job.rows) for job in batch])
    starts = ends - [len(job.rows) for job in batch]
    return [(answers.part(slice(start, stop)), None) for start, stop in zip(starts, ends, strict=True)]
