"""Requests that wait together are scored together, and are answered as if each had been alone."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from mercer.serving.model.served import ServedModel
from mercer.serving.process.batching import Batcher
from tests.serving.running import Running
from tests.serving.samples import Slow, chi2_model, digits, ladder

X, _ = digits()


class Recorder:
    """Answers rows by themselves, writes down batches, and holds the first one until it is let go."""

    def __init__(self, n_held=0, most_quick=0):
        self.batches, self.may_go, self._left = [], threading.Event(), n_held
        self.threads, self._most_quick = [], most_quick

    def is_quick(self, kind, n_rows, bits):
        return n_rows <= self._most_quick

    def answer(self, kind, rows, bits):
        self.batches.append(len(rows))
        self.threads.append(threading.current_thread())
        if self._left:
            self._left -= 1
            self.may_go.wait(10)
        if (rows < 0).any():
            raise ValueError("negative")
        return _Same(rows)


class _Same:
    def __init__(self, rows):
        self.rows = rows

    def part(self, rows):
        return _Same(self.rows[rows])


def run(scenario, max_rows=100):
    async def main():
        batcher = Batcher(max_rows)
        try:
            return await asyncio.wait_for(scenario(batcher), 20)
        finally:
            batcher.close()

    return asyncio.run(main())


def rows_of(value, n=1):
    return np.full((n, 2), float(value))


def test_requests_of_one_moment_are_one_batch():
    model = Recorder()

    async def scenario(batcher):
        return await asyncio.gather(*(batcher.answer(model, "rows", rows_of(i, i + 1), None) for i in range(4)))

    answers = run(scenario)
    assert model.batches == [1 + 2 + 3 + 4]
    for i, answer in enumerate(answers):
        np.testing.assert_array_equal(answer.rows, rows_of(i, i + 1))


def test_a_lone_request_does_not_wait_and_those_behind_a_slow_one_go_together():
    model = Recorder(n_held=1)

    async def scenario(batcher):
        first = asyncio.create_task(batcher.answer(model, "rows", rows_of(0), None))
        while not model.batches:  # it is being scored: nobody waited for company
            await asyncio.sleep(0.001)
        others = [asyncio.create_task(batcher.answer(model, "rows", rows_of(i), None)) for i in range(1, 8)]
        await asyncio.sleep(0.01)
        model.may_go.set()
        return await asyncio.gather(first, *others)

    answers = run(scenario)
    assert model.batches == [1, 7]
    assert [answer.rows[0, 0] for answer in answers] == list(range(8))


def test_only_like_requests_are_joined_and_only_up_to_the_limit():
    one, two = Recorder(n_held=1), Recorder()

    async def scenario(batcher):
        first = asyncio.create_task(batcher.answer(one, "rows", rows_of(0), None))
        while not one.batches:
            await asyncio.sleep(0.001)
        kinds = [(one, "rows", None, 3), (two, "rows", None, 2), (one, "codes", 64, 2), (one, "rows", None, 2),
                 (one, "rows", None, 9), (one, "codes", 32, 2), (one, "rows", None, 1)]  # fmt: skip
        jobs = [asyncio.create_task(batcher.answer(m, kind, rows_of(1, n), bits)) for m, kind, bits, n in kinds]
        await asyncio.sleep(0.01)
        one.may_go.set()
        await asyncio.gather(first, *jobs)

    run(scenario, max_rows=6)
    assert two.batches == [2]
    assert one.batches == [1, 3 + 2 + 1, 2, 9, 2]  # the one with more rows than the limit goes alone


def test_rows_that_are_refused_spoil_only_their_own_request():
    model = Recorder()

    async def scenario(batcher):
        jobs = (batcher.answer(model, "rows", rows_of(i), None) for i in (1, -1, 2))
        return await asyncio.gather(*jobs, return_exceptions=True)

    good, bad, other = run(scenario)
    assert isinstance(bad, ValueError)
    assert (good.rows[0, 0], other.rows[0, 0]) == (1, 2)


def test_what_is_quick_is_scored_at_once_by_the_event_loop_and_what_is_not_by_the_thread():
    model = Recorder(most_quick=4)

    async def scenario(batcher):
        few = [batcher.answer(model, "codes", rows_of(i), 8) for i in (1, -1, 2)]
        few = await asyncio.gather(*few, return_exceptions=True)
        return few, await batcher.answer(model, "codes", rows_of(3, 5), 8)

    (good, bad, other), many = run(scenario)
    assert isinstance(bad, ValueError)
    assert (good.rows[0, 0], other.rows[0, 0], many.rows[0, 0]) == (1, 2, 3)
    assert model.batches == [3, 1, 1, 1, 5]  # together, then each by itself to find the one that is refused
    assert [thread is threading.main_thread() for thread in model.threads] == [True] * 4 + [False]


def test_a_few_codes_are_quick_and_rows_or_many_codes_are_not():
    served = ServedModel(ladder())
    assert served.is_quick("codes", 1, 64)
    assert not served.is_quick("codes", 10_000, 64)
    assert not served.is_quick("rows", 1, 64)


def test_requests_that_were_given_up_are_not_scored():
    model = Recorder(n_held=1)

    async def scenario(batcher):
        first = asyncio.create_task(batcher.answer(model, "rows", rows_of(0), None))
        while not model.batches:
            await asyncio.sleep(0.001)
        gone = asyncio.create_task(batcher.answer(model, "rows", rows_of(1, 50), None))
        await asyncio.sleep(0.01)
        gone.cancel()
        model.may_go.set()
        await first
        await batcher.answer(model, "rows", rows_of(2), None)

    run(scenario)
    assert model.batches == [1, 1]


@pytest.mark.parametrize("make", [ladder, chi2_model])
def test_many_at_once_are_answered_over_http_as_one_by_one(make):
    served = ServedModel(make())
    alone = [served.answer("rows", X[i : i + 1 + i % 3]) for i in range(60)]
    with Running(make()) as running, ThreadPoolExecutor(12) as pool:
        asked = [{"rows": X[i : i + 1 + i % 3].tolist()} for i in range(60)]
        answers = list(pool.map(lambda content: running.post("/v1/classify", content).json, asked))
    for answer, expected in zip(answers, alone, strict=True):
        assert answer["labels"] == expected.labels.tolist()
        # sums of a larger product may be rounded differently in the last bits
        np.testing.assert_allclose(answer["scores"], expected.scores, rtol=1e-10, atol=1e-12)


def test_many_at_once_are_scored_in_fewer_batches():
    model = Slow()
    with Running(model) as running, ThreadPoolExecutor(16) as pool:
        model.batches.clear()  # of warming up
        asked = [{"rows": [[0.05, i % 2]]} for i in range(48)]
        answers = list(pool.map(lambda content: running.post("/v1/classify", content).json, asked))
    assert [answer["labels"] for answer in answers] == [["yes" if i % 2 else "no"] for i in range(48)]
    assert sum(model.batches) == 48
    assert len(model.batches) < 24  # 16 at a time, each batch taking 0.05 s: about 48 / 15 batches
