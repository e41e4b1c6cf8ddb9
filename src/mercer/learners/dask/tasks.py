"""Tasks of a Dask cluster, with names that its dashboard shows."""

__all__ = ["Tasks", "client_of", "itself"]

import itertools
from functools import partial
from uuid import uuid4

from mercer._base.alignment import settled
from mercer._base.progress import track
from mercer._base.tables.sources.dask import DaskSource, current_client

LARGE_GRAPH = "1GiB"  # weights and targets go with the tasks, so that a lost worker takes nothing with it


def client_of(X):
    """The client whose workers hold the rows X, or None."""
    return current_client() if isinstance(X, DaskSource) else None


class Tasks:
    """Tasks of one fit, with names that the dashboard shows."""

    def __init__(self, client):
        import dask

        self._client, self._config, self._name = client, dask.config, uuid4().hex[:8]
        self._numbers = itertools.count()

    def submit(self, title, function, *arguments):
        """A task that is kept until nobody refers to it."""
        return self.each(title, function, [arguments])[0]

    def each(self, title, function, calls, worker=None):
        """A task for each tuple of arguments, sent in one message; on that worker, while it is there."""
        keys = [f"mercer-{title}-{self._name}-{next(self._numbers)}" for _ in calls]
        place = {} if worker is None else {"workers": [worker], "allow_other_workers": True}
        with self._config.set({"distributed.admin.large-graph-warning-threshold": LARGE_GRAPH}):
            call = partial(_on_settled, function)
            return self._client.map(call, *zip(*calls, strict=True), key=keys, pure=False, **place)

    def gather(self, futures):
        """Their results."""
        return settled(self._client.gather(futures))

    def placed(self, futures, title):
        """Wait for tasks, and say which worker has each; an error of a task is raised."""
        from distributed import as_completed

        for done in track(as_completed(futures), title, total=len(futures)):
            if done.status == "error":
                done.result()
        where, threads = self._client.who_has(futures), self._client.nthreads()
        known = [next((worker for worker in where[future.key] if worker in threads), None) for future in futures]
        return [worker or min(threads) for worker in known], threads  # what is lost by now is made again anywhere


def itself(value):
    """What a task holds, for others to use."""
    return value


def _on_settled(function, *arguments):
    """The function of arguments that may come from another process."""
    return function(*settled(arguments))
