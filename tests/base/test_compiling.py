"""The word at first use: said once, when compilation takes long, to people who wait; otherwise only to the log."""

import logging
import sys
import time

import pytest

from mercer._base import compiling
from mercer._base.compiling import Announcer


@pytest.fixture
def said():
    return []


def test_a_long_compilation_is_announced_while_it_lasts_and_once(said):
    announcer = Announcer(lambda: said.append(1), long=0.01)
    for _ in range(2):
        announcer.begin()
        announcer.begin()  # of a function that the loop calls
        time.sleep(0.2)
        announcer.end()
        announcer.end()
    assert said == [1]


def test_short_compilations_are_added_up(said):
    announcer = Announcer(lambda: said.append(1), long=0.1)
    announcer.begin()
    announcer.end()
    time.sleep(0.2)  # nothing is compiled
    assert said == []
    for _ in range(8):
        announcer.begin()
        time.sleep(0.05)
        announcer.end()
    assert said == [1]


def test_what_is_compiled_by_others_is_not_announced(monkeypatch):
    import numba

    import mercer._native.jit  # listens from now on

    assert mercer._native.jit
    began = []
    monkeypatch.setattr(Announcer, "begin", lambda self: began.append(1))
    monkeypatch.setattr(Announcer, "end", lambda self: None)
    numba.njit(lambda x: x + 1)(1)
    assert began == []
    ours = lambda x: x + 2  # noqa: E731 (its module is then set)
    ours.__module__ = "mercer.somewhere"
    numba.njit(ours)(1)
    assert began


@pytest.mark.parametrize(("is_terminal", "level"), [(True, logging.WARNING), (False, logging.INFO)])
def test_the_word_is_a_warning_where_somebody_waits(monkeypatch, caplog, is_terminal, level):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal, raising=False)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    with caplog.at_level(logging.INFO, logger="mercer"):
        compiling._say()
    assert [(record.levelno, record.message) for record in caplog.records] == [(level, compiling.WORD)]
