"""Messages of a pass on Dask: as many workers as a large cluster has, with small blocks, on one machine."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

WORKERS, QUICK_WORKERS = (10, 25, 50, 100), (4, 8, 16)
GROUPS, GROUP_ROWS, COLUMNS, CLASSES = 4, 64, 54, 7  # groups of each worker; columns and classes as covtype has
PASSES = (4, 12)  # what passes cost is the difference of two fits
TASKS = "tasks of a pass, for each worker, most workers"
MESSAGES, BYTES = (f"{what} of a pass, most workers, over those foretold from fewer" for what in ("messages", "bytes"))
PER_TASK = "seconds of a task, most workers over fewest"


@benchmark(
    "scale-messages",
    "messages, bytes and tasks of a pass of the bundle solver on 10 to 100 Dask workers in one process",
    bars=[
        Bar(TASKS, "<= 8"),
        Bar(MESSAGES, "<= 1.2", "x"),
        Bar(BYTES, "<= 1.2", "x"),
        Bar(PER_TASK, "<= 1.5", "x"),
    ],
    threads=1,
)
def scale_messages(record):
    found = [_of_a_pass(n) for n in (QUICK_WORKERS if record.quick else WORKERS)]
    last, columns = found[-1], ["workers", "tasks", "messages", "bytes", "seconds", "bytes between workers"]
    record.measured(TASKS, last["tasks"] / last["workers"], f"{last['workers']} workers")
    for claim, what in ((MESSAGES, "messages"), (BYTES, "bytes")):
        foretold = _line(found[:-1], what, last["workers"])
        record.measured(claim, last[what] / foretold, f"{last[what]:,.0f}, foretold {foretold:,.0f}")
    rates = [one["seconds"] / one["tasks"] for one in found]
    record.measured(PER_TASK, rates[-1] / rates[0], f"{1000 * rates[-1]:.2f} ms / {1000 * rates[0]:.2f} ms")
    record.table("a pass", columns, [[one[name] for name in columns] for one in found])
    record.note(
        f"{GROUPS} groups of {GROUP_ROWS} random rows for each worker, {COLUMNS} columns, {CLASSES} classes, so that "
        "the work of a task is next to nothing. Scheduler, client and workers are threads of one process that talk "
        f"over TCP; every message is counted where it is written. A pass is the difference of fits of {PASSES[0]} and "
        f"{PASSES[1]} passes, divided by the difference. Foretold by a line through the fewer workers."
    )


def _of_a_pass(n_workers):
    """{"workers", and tasks, messages, bytes and seconds of a pass}"""
    import dask.array as da
    import numpy as np
    from distributed import Client, LocalCluster

    from mercer.learners.dask import groups

    rng, n_groups = np.random.default_rng(0), GROUPS * n_workers
    X = rng.random((n_groups * GROUP_ROWS, COLUMNS), dtype=np.float32)
    y = (X[:, :CLASSES] + 0.5 * rng.random((len(X), CLASSES))).argmax(axis=1)
    kept, groups.GROUP_ROWS = groups.GROUP_ROWS, GROUP_ROWS
    try:
        with (
            LocalCluster(n_workers=n_workers, threads_per_worker=1, processes=False, protocol="tcp", memory_limit=0,
                         dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):  # fmt: skip
            rows = da.from_array(X, chunks=(GROUP_ROWS, -1))
            _fit(rows, y, 1)  # compiled code is loaded, connections are made
            few, many = (_counted(client, cluster, lambda n=n: _fit(rows, y, n)) for n in PASSES)
    finally:
        groups.GROUP_ROWS = kept
    per_pass = {name: (many[name] - few[name]) / (PASSES[1] - PASSES[0]) for name in few}
    return {"workers": n_workers, **per_pass}


def _fit(rows, y, passes):
    import warnings

    from mercer import KernelClassifier, SparseAdditiveMap

    learner = KernelClassifier(
        map=SparseAdditiveMap("intersection", n_points=8), solver="bundle", multi_class="ovr", max_iter=passes, C=1e-3,
        tol=1e-12, storage="memory", random_state=0, n_jobs=1,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few passes are not enough
        return learner.fit(rows, y)


def _counted(client, cluster, job):
    """What the job costs: tasks that ended, messages and bytes written, of them between workers, and seconds."""
    from time import perf_counter
    from unittest import mock

    from distributed.comm.tcp import TCP

    seen, write = {"messages": 0, "bytes": 0}, TCP.write

    async def counted(comm, message, *arguments, **named):
        size = await write(comm, message, *arguments, **named)
        seen["messages"] += 1
        seen["bytes"] += size
        return size

    tasks = _counter()
    cluster.scheduler.add_plugin(tasks, name="ended")
    sent = sum(worker.transfer_outgoing_bytes_total for worker in cluster.workers.values())
    with mock.patch.object(TCP, "write", counted):
        began = perf_counter()
        job()
        seconds = perf_counter() - began
    cluster.scheduler.remove_plugin("ended")
    between = sum(worker.transfer_outgoing_bytes_total for worker in cluster.workers.values()) - sent
    return {**seen, "tasks": tasks.count, "seconds": seconds, "bytes between workers": between}


def _counter():
    """A plugin of the scheduler that counts the tasks that end."""
    from distributed.diagnostics.plugin import SchedulerPlugin

    class Ended(SchedulerPlugin):
        count = 0

        def transition(self, key, start, finish, *arguments, **named):
            self.count += start == "processing" and finish == "memory"

    return Ended()


def _line(found, what, workers):
    """The value at so many workers of the line through those found."""
    import numpy as np

    slope, level = np.polyfit([one["workers"] for one in found], [one[what] for one in found], 1)
    return float(level + slope * workers)
