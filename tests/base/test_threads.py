"""Threads in one place: how many, in which order, and what happens when a block fails."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from mercer import InputError, thread_limit
from mercer._base.threads import effective_threads, run_blocks, single_threaded


def test_the_number_of_threads_follows_limit_environment_and_n_jobs(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert effective_threads() == 3
    monkeypatch.setenv("MERCER_NUM_THREADS", "2")
    assert effective_threads() == 2
    with thread_limit(5):
        assert effective_threads() == 5
        assert effective_threads(1) == 1
        with thread_limit(None):
            assert effective_threads() == 5
    assert effective_threads() == 2
    assert effective_threads(-1) >= 1
    assert effective_threads(-1000) == 1
    assert effective_threads(73_874) <= max(16, os.cpu_count())  # whatever a file says
    with pytest.raises(InputError, match="n_jobs must not be 0"):
        effective_threads(0)


def test_a_limit_reaches_blas_and_is_lifted_again():
    np.ones((2, 2)) @ np.ones((2, 2))

    def blas_threads():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    before = blas_threads()
    with single_threaded():
        assert set(blas_threads()) == {1}
    with thread_limit(1):
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_threads_that_leave_in_another_order_lift_the_single_limit_once():
    def blas_threads():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    before = blas_threads()
    first, second = single_threaded(), single_threaded()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert set(blas_threads()) == {1}
    second.__exit__(None, None, None)
    assert blas_threads() == before


@pytest.mark.process
def test_a_limit_reaches_libraries_loaded_since_the_last_one():
    code = """
import sys
from mercer import thread_limit
with thread_limit(1):
    pass
import faiss, numpy, scipy.linalg, sklearn.metrics.pairwise, sklearn.cluster
from threadpoolctl import threadpool_info
with thread_limit(1):
    print({pool["num_threads"] for pool in threadpool_info()})
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "{1}"


def test_a_limit_reaches_faiss():
    import faiss

    before = faiss.omp_get_max_threads()
    with thread_limit(1):
        assert faiss.omp_get_max_threads() == 1
    assert faiss.omp_get_max_threads() == before


def test_results_come_in_the_order_of_the_blocks_whoever_finishes_first():
    def slow_first(block):
        time.sleep(0.02 if block == 0 else 0)
        return block, threading.current_thread() is threading.main_thread()

    results = run_blocks(slow_first, range(5), n_jobs=2)
    assert [block for block, _ in results] == [0, 1, 2, 3, 4]
    assert not any(main for _, main in results)
    assert all(main for _, main in run_blocks(slow_first, range(3), n_jobs=1))


def test_a_call_from_inside_a_block_does_not_multiply_threads():
    assert run_blocks(lambda _: effective_threads(8), range(2), n_jobs=2) == [1, 1]


def test_the_first_failure_is_raised_and_the_rest_is_not_started():
    started = []

    def fail(block):
        started.append(block)
        time.sleep(0.01)
        if block == 1:
            raise KeyboardInterrupt
        return block

    for title in (None, "Blocks"):
        with pytest.raises(KeyboardInterrupt):
            run_blocks(fail, range(500), n_jobs=2, title=title)
        assert len(started) < 100
        started.clear()
