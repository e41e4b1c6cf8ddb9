"""Fixtures and rules shared by all tests."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# The same examples in every run, and no failure because a machine is busy.
settings.register_profile("mercer", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("mercer")


def pytest_collection_modifyitems(items):
    """Skip what is marked ``data`` when MERCER_DATA names no directory."""
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
