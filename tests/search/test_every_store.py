"""One contract for all stores: the same rows give the same answers, or answers of the recall that is stated.

What is special to codes, lists or bounds is tested beside them; what an index promises whatever store it has is here.
"""

import json
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings

from mercer import KernelIndex, thread_limit
from mercer.search.exact import searcher as _searcher
from mercer.search.rows import derived as _derived
from tests.search.index_samples import ROWS, STEPS, Life, histograms
from tests.search.store_samples import STORES, Rows, cut_lists

pytestmark = pytest.mark.filterwarnings("ignore::mercer._base.errors.ApproximationWarning")
MANY = 800


@pytest.fixture(params=STORES)
def store(request):
    return STORES[request.param]


@pytest.fixture(autouse=True)
def few_rows_go_to_the_store_too(monkeypatch):
    monkeypatch.setattr(_derived, "FEW_VALUES", 0)


@pytest.fixture
def small_blocks(monkeypatch):
    """What many rows have: lists of several blocks, and bounds for exact answers."""
    cut_lists(monkeypatch)
    monkeypatch.setattr(_searcher, "BRUTE_FORCE_ROWS", 100)


def held(store, n, place=None):
    X = histograms(n, seed=1)
    index = store.index(X)
    return Rows(store, index if place is None else index.persist(place), X)


@pytest.mark.parametrize(("n", "where"), [(60, "memory"), (MANY, "directory")])
def test_whatever_is_done_answers_are_those_of_the_rows(store, n, where, tmp_path, small_blocks):
    rows = held(store, n, tmp_path / "index" if where == "directory" else None)
    rows.check()
    more = histograms(n // 4, seed=2)
    rows.add(more, np.arange(len(more)) * 3)
    some = sorted(rows.rows)
    rows.update(some[5 : n // 2 : 7], histograms(len(some[5 : n // 2 : 7]), seed=3))
    rows.remove(some[:3] + some[n // 2 :: 5])
    rows.check()
    rows.index.compact()
    rows.check()
    rows.index.refit()
    rows.add(histograms(3, seed=4), [0, 1, 2])
    rows.check()
    if where == "directory":
        rows.index.close()
        for verify in (True, False):
            with KernelIndex.open(tmp_path / "index", verify=verify) as reopened:
                rows.check(reopened)


@pytest.mark.parametrize("name", [name for name, store in STORES.items() if store.proves])
@settings(max_examples=10, deadline=None)
@given(steps=STEPS)
def test_an_index_is_a_dictionary_of_rows(name, steps):
    # all rows get their final score: answers without a proof are those of brute force too
    store = STORES[name]
    life = Life(store.index(ROWS, oversample=1000))
    for step in steps:
        life.step(*step)
        life.check()


def test_two_threads_find_what_one_finds(store, small_blocks):
    rows = held(store, MANY)
    Q, found = store.rows(histograms(40, seed=6)), {}
    wanted = [rows.index.search(Q, 10, **how) for how in ({}, {"where": "near < 300"})]

    def ask(number):
        how = {"where": "near < 300"} if number % 2 else {}
        found[number] = [rows.index.search(Q, 10, **how) for _ in range(3)]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(4):
        for ids, values in found[number]:
            np.testing.assert_array_equal(ids, wanted[number % 2][0])
            np.testing.assert_array_equal(values, wanted[number % 2][1])
    exact = rows.index.search(Q, 10, exact=True)
    with thread_limit(1):
        np.testing.assert_equal(rows.index.search(Q, 10, exact=True), exact)


OTHER = """
import json, sys
import numpy as np
from mercer import KernelIndex
with KernelIndex.open(sys.argv[1]) as index:
    Q = np.load(sys.argv[2])
    found = [index.search(Q, 10, exact=exact, where=where) for exact in (True, False) for where in (None, "near < 12")]
    print(json.dumps([[ids.tolist(), [list(map(float.hex, row)) for row in values.tolist()]] for ids, values in found]))
"""


@pytest.mark.process
def test_another_process_finds_the_same_while_rows_come_and_go(store, tmp_path):
    rows = held(store, 60, tmp_path / "index")
    np.save(tmp_path / "Q.npy", Rows.Q)
    with KernelIndex.open(tmp_path / "index") as reader:
        for change in (lambda: None, lambda: rows.remove([0, 30, 60])):
            change()
            command = [sys.executable, "-c", OTHER, tmp_path / "index", tmp_path / "Q.npy"]
            told = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
            here = [
                rows.index.search(Rows.Q, 10, exact=exact, where=where)
                for exact in (True, False)
                for where in (None, "near < 12")
            ]
            for (ids, values), (their_ids, theirs) in zip(here, told, strict=True):
                assert ids.tolist() == their_ids
                assert [list(map(float.hex, row)) for row in values.tolist()] == theirs
            rows.check(reader.refresh())
