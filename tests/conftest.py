"""Fixtures and rules shared by all tests."""

import itertools
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# The same examples in every run, and no failure because a machine is busy.
settings.register_profile("mercer", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("mercer")

DATABASES = itertools.count()
# Behind these fixtures is a server, a browser, or the command in a process of its own.
PROCESSES = {"postgres_of_all", "milvus", "browser", "javascript", "start"}


@pytest.hookimpl(tryfirst=True)  # before pytest looks at the marks
def pytest_collection_modifyitems(items):
    """Mark what needs a process; skip what is marked ``data`` when MERCER_DATA names no directory."""
    for item in items:
        if PROCESSES & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.process)
    if data_root() is None:
        skip = pytest.mark.skip(reason="MERCER_DATA names no directory with the data sets")
        for item in items:
            if item.get_closest_marker("data"):
                item.add_marker(skip)


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
