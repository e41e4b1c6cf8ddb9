"""Fixtures and rules shared by all tests."""

import gc
import itertools
import os
from pathlib import Path

# Threads of faiss, scikit-learn and BLAS that wait in a loop for their next turn take the time of the other worker: on
# two cores a small graph was built ten times as fast without. The libraries read it when they are loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# The same examples in every run, and no failure because a machine is busy.
settings.register_profile("mercer", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("mercer")

DATABASES = itertools.count()
# Behind these fixtures is a server, a browser, or the command in a process of its own.
PROCESSES = {"postgres_of_all", "milvus", "browser", "javascript", "start"}
TESTS = Path(__file__).parent
LAYERS = {folder.name for folder in (TESTS / "native").iterdir() if folder.is_dir()}
# Groups that take longest, which workers begin with: the last ones are then short, and both end together.
LONGEST = ("search", "learners", "tests/contracts/test_sklearn.py", "vision", "maps", "codes", "detection", "spaces")


@pytest.hookimpl(tryfirst=True)  # before pytest looks at the marks
def pytest_collection_modifyitems(config, items):
    """The longest groups first; mark what needs a process; skip what has no data."""
    ranks = {group: rank for rank, group in enumerate(LONGEST)}
    items.sort(key=lambda item: ranks.get(group_of(item.nodeid.partition("::")[0]), len(ranks)))
    for item in items:
        if PROCESSES & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.process)
    if data_root() is None:
        skip = pytest.mark.skip(reason="MERCER_DATA names no directory with the data sets")
        for item in items:
            if item.get_closest_marker("data"):
                item.add_marker(skip)


def pytest_collection_finish(session):
    """Ten thousand tests and all that they import are no garbage: collections need not look at them again and again."""
    gc.freeze()


@pytest.hookimpl(optionalhook=True)  # of xdist, which need not be there
def pytest_xdist_make_scheduler(config, log):
    """Groups for ``--dist loadgroup`` from the path of a test.

    Marks of xdist 3.8 do not do it: it writes a group into ``_nodeid`` of a test, which pytest 9.2 no longer reads, and
    every test goes to any worker without a word.
    """
    if config.getvalue("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadGroupScheduling

    by_layer = "not process" in config.getvalue("markexpr")

    class Groups(LoadGroupScheduling):
        def _split_scope(self, nodeid):
            return group_of(nodeid.partition("::")[0], by_layer)

    return Groups(config, log)


def group_of(file, by_layer=True):
    """The name of the tests that ``--dist loadgroup`` gives to one worker: those of a layer and of its compiled loops.

    So a loop is compiled by one worker, and not by two at the same time. Processes are seldom about loops, and take
    long: where they run too, each file goes its own way, as do files outside the layers.
    """
    parts = Path(file).parts[1:] if file.startswith("tests/") else ()
    layer = parts[1] if parts[:1] == ("native",) else parts[0] if parts else ""
    return layer if layer in LAYERS and by_layer else file


def data_root():
    """The directory of the data sets, or None."""
    root = Path(os.environ.get("MERCER_DATA") or "missing")
    return root if root.is_dir() else None


@pytest.fixture(scope="session")
def data_dir():
    """Directory of the data sets; mark the tests that ask for it with ``data``."""
    return data_root() or pytest.skip("MERCER_DATA names no directory with the data sets")


@pytest.fixture
def rng():
    """A generator with a fixed seed: the same numbers in every run."""
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def postgres_of_all():
    """One PostgreSQL for all tests of a process."""
    from tests.servers import postgres_server

    with postgres_server() as server:
        yield server


@pytest.fixture
def postgres(postgres_of_all):
    """The address of an empty database of a real PostgreSQL with pgvector."""
    from tests.servers import fresh_database

    return fresh_database(postgres_of_all, f"test_{next(DATABASES)}")


@pytest.fixture
def milvus(tmp_path):
    """The address of an empty file of Milvus Lite."""
    from tests.servers import milvus_address

    return milvus_address(tmp_path)
