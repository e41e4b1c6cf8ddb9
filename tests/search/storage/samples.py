"""Rows for tests of storages, a plain model of what a storage should hold, and processes that can be killed."""

import multiprocessing
from contextlib import contextmanager
from itertools import pairwise

import numpy as np

from mercer.search.storage.blocks import Column
from mercer.search.storage.directory.storage import DirectoryStorage

COLUMNS = (Column("code", np.uint8, (3,)), Column("vector", np.float32, (2, 2)), Column("word", np.int32, ragged=True))
HEADER = {"kernel": "chi2", "sizes": [1, 2], "nested": {"deep": None}}


def rows(first, n, columns=COLUMNS):
    """Rows that can be told apart: each value follows from a number, counted from ``first``."""
    numbers = np.arange(first, first + n)
    arrays = {}
    for column in columns:
        if column.ragged:
            arrays[column.name] = (np.repeat(numbers, numbers % 4).astype(column.dtype), numbers % 4)
        else:
            spread = numbers.reshape(n, *[1] * len(column.shape))
            arrays[column.name] = np.broadcast_to(spread, (n, *column.shape)).astype(column.dtype)
    return arrays


def rows_of(numbers):
    """One block of rows whose numbers need not be consecutive."""
    blocks = [rows(number, 1) for number in numbers]
    arrays = {}
    for column in COLUMNS:
        values = [block[column.name] for block in blocks]
        if column.ragged:
            arrays[column.name] = tuple(np.concatenate(parts) for parts in zip(*values, strict=True))
        else:
            arrays[column.name] = np.concatenate(values)
    return arrays


def contents(snapshot):
    """What a snapshot holds: per column one list with an entry per position, and the removed positions."""
    columns = {column.name: [] for column in snapshot.columns}
    first = 0
    for segment in snapshot.segments:
        assert segment.first == first
        assert segment.arrays.keys() == columns.keys()
        first += segment.n_rows
        for column in snapshot.columns:
            found = segment.arrays[column.name]
            if column.ragged:
                values, offsets = found
                assert (values.dtype, len(offsets)) == (column.dtype, segment.n_rows + 1)
                found = [values[start:stop] for start, stop in pairwise(offsets)]
            else:
                assert (found.dtype, found.shape) == (column.dtype, (segment.n_rows, *column.shape))
            columns[column.name] += [value.tolist() for value in found]
    assert first == snapshot.n_positions == len(snapshot.removed)
    return columns, np.flatnonzero(snapshot.removed).tolist()


def expected(numbers, removed=(), columns=COLUMNS):
    """What ``contents`` gives for rows with these numbers."""
    lists = {column.name: [] for column in columns}
    for number in numbers:
        for name, value in rows(number, 1, columns).items():
            lists[name].append(value[0].tolist())  # of a ragged column: the values, not their number
    return lists, sorted(removed)


def write_model(path, content=b"a model"):
    path.write_bytes(content)


def new_directory(path, n=0, columns=COLUMNS):
    """A directory with ``n`` rows, open for writing."""
    storage = DirectoryStorage.create(path, columns, write_model, HEADER)
    if n:
        with storage.transaction() as t:
            t.append(rows(0, n, columns))
    return storage


def state_of(path, **options):
    """What a reader finds in a directory."""
    with DirectoryStorage.open(path, **options) as storage:
        return contents(storage.snapshot)


# A server that is forked for each process: a fork of pytest itself would inherit its threads, a fresh interpreter
# would import for seconds.
_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(["mercer.search.storage.directory.storage", "pytest"])


@contextmanager
def process(function, *arguments):
    """A process that runs ``function(pipe, *arguments)``, and this end of the pipe. It is killed in the end."""
    ours, theirs = _processes.Pipe()
    child = _processes.Process(target=function, args=(theirs, *arguments), daemon=True)
    child.start()
    theirs.close()
    try:
        yield child, ours
    finally:
        child.kill()
        child.join()
        ours.close()
