"""Ctrl-C at random moments of changes of an index: memory and disk hold what was there before the call, or after."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

INTERRUPTS, QUICK_INTERRUPTS = 5_000, 60
WRONG = "interrupted calls after which the index held neither what was there before nor what should be after"
CALLS = ("add", "update", "remove", "compact", "refit", "persist")
KEPT = 60  # rows of the index, about
AGAIN = 0.25  # share of the calls that a second signal follows, while the first is cleared away
LONGER = 1.3  # a moment may lie a little behind the usual end of a call
MEASURED = 3  # calls that nothing interrupts, at first, for their usual time


@benchmark(
    "trust-interrupts",
    f"Ctrl-C at {INTERRUPTS:,} random moments of add, update, remove, compact, refit and persist",
    bars=[Bar(WRONG, "<= 0")],
)
def trust_interrupts(record):
    import tempfile
    from pathlib import Path

    wanted = QUICK_INTERRUPTS if record.quick else INTERRUPTS
    with tempfile.TemporaryDirectory(dir=quick_disk()) as folder:
        runs = {name: _Run(Path(folder) / name, name == "directory") for name in ("directory", "memory")}
        while sum(run.n_interrupted for run in runs.values()) < wanted:
            for run in runs.values():
                run.step()
        shown = [
            [name, call, run.counts[call][0], run.counts[call][1], run.counts[call][2], run.counts[call][3]]
            for name, run in runs.items()
            for call in CALLS
            if run.counts[call][0]
        ]
        n_interrupted = sum(run.n_interrupted for run in runs.values())
        wrong = [what for run in runs.values() for what in run.wrong]
    record.measured(WRONG, len(wrong), f"of {n_interrupted:,} interrupted calls")
    record.table("calls", ["index", "call", "interrupted", "twice", "found before", "found after"], shown)
    for what in wrong[:10]:
        record.note(what)
    record.note(
        "A timer sends a signal whose handler raises KeyboardInterrupt, at a moment that is drawn evenly from the "
        "usual time of the call; of each fourth call a second one follows within a millisecond. After each, the rows "
        "by id, their codes and the nearest rows of the open index, and of the directory opened again with "
        "verify=True, are compared with a dictionary; then the same index goes on."
    )


def quick_disk():
    """Memory as a disk, where there is one: it is not the disk that is tried."""
    import os

    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


class _Run:
    """One index beside the dictionary that it should be."""

    def __init__(self, folder, on_disk):
        import numpy as np

        from benchmarks.trust._indexes import rows

        self.folder, self.on_disk = folder, on_disk
        self.rng = np.random.default_rng(int(on_disk))
        self.counts = {call: [0, 0, 0, 0] for call in CALLS}
        self.usual, self.left_alone = dict.fromkeys(CALLS, 0.0), dict.fromkeys(CALLS, MEASURED)
        self.wrong, self.n_interrupted, self.following = [], 0, 0
        self.sample = rows(self.rng, 40)
        folder.mkdir()
        self.begin()

    def begin(self):
        """A new index."""
        import shutil

        from benchmarks.trust._indexes import fitted, rows

        self.path = self.folder / "index"
        shutil.rmtree(self.path, ignore_errors=True)
        self.index, self.expected = fitted(self.sample), {}
        if self.on_disk:
            self.index.persist(self.path)
        X, ids = rows(self.rng, 20), self._new_ids(20)
        self.index.add(X, ids)
        self.expected = dict(zip(ids, map(tuple, X.tolist()), strict=True))

    def _new_ids(self, n):
        numbers = range(self.following, self.following + n)
        self.following += n
        return [number if number % 3 else f"text {number}" for number in numbers]

    def step(self):
        """One call, interrupted or not, and a look at everything."""
        from benchmarks.trust._indexes import held

        name, call, after = self._drawn()
        before, was = self.expected, self._moment()
        n_signals = self._interrupt(name, call)
        try:
            found = held(self.index)
            problem = self._compare(found, before if n_signals else after, after)
        except Exception as error:  # whatever it is, it is counted
            found, problem = {}, repr(error)
        if n_signals:
            self.n_interrupted += 1
            self._count(name, n_signals, self._moment() != was)
        if problem:
            self.wrong.append(f"{name} of the index in {'a directory' if self.on_disk else 'memory'}: {problem}")
        self.expected = found
        if problem or (name == "persist" and not self.on_disk) or len(found) < 3:
            self.index.close()
            self.begin()

    def _moment(self):
        """What each change alters."""
        kept = self.index.rows_
        return kept.storage, kept.snapshot.generation, kept.snapshot.n_positions, len(kept)

    def _drawn(self):
        """(name of a call, the call, what the index holds behind it)"""
        from benchmarks.trust._indexes import rows

        rng, ids = self.rng, list(self.expected)
        calls = [call for call in CALLS if call != "persist" or not self.on_disk]
        name = calls[int(rng.integers(len(calls)))]
        if name == "remove" and len(ids) < KEPT // 3:
            name = "add"
        if name == "add" and len(ids) > KEPT:
            name = "remove"
        n = int(rng.integers(1, 6))
        chosen = [ids[i] for i in rng.choice(len(ids), n, replace=False)] if len(ids) > n else ids
        X = rows(rng, n)
        given = dict(zip(chosen, map(tuple, X.tolist()), strict=False))
        if name == "add":
            new = self._new_ids(n)
            after = self.expected | dict(zip(new, map(tuple, X.tolist()), strict=True))
            return name, lambda: self.index.add(X, new), after
        if name == "update":
            return name, lambda: self.index.update(X[: len(chosen)], chosen), self.expected | given
        if name == "remove":
            after = {value: row for value, row in self.expected.items() if value not in chosen}
            return name, lambda: self.index.remove(chosen), after
        if name == "persist":
            return name, lambda: self.index.persist(self.path), self.expected
        return name, getattr(self.index, name), self.expected

    def _interrupt(self, name, call):
        """Run a call under a timer; how many signals it heard."""
        import signal
        import time

        heard, armed = 0, self.left_alone[name] == 0
        again = self.rng.random() < AGAIN

        def handler(*_):
            nonlocal heard
            if armed and heard < 1 + again:
                heard += 1
                raise KeyboardInterrupt

        def timed():
            nonlocal armed
            start = time.perf_counter()
            first = max(1e-5, self.rng.random() * LONGER * self.usual[name])
            signal.setitimer(signal.ITIMER_REAL, first, max(1e-5, 1e-3 * self.rng.random()) if again else 0)
            call()
            armed, taken = False, time.perf_counter() - start
            self.usual[name] += 0.1 * (taken - self.usual[name]) if not self.left_alone[name] else taken / MEASURED
            self.left_alone[name] = max(0, self.left_alone[name] - 1)

        before = signal.signal(signal.SIGALRM, handler)
        try:
            try:
                timed()
            except KeyboardInterrupt:
                armed = False
        except KeyboardInterrupt:  # the second, before the line above
            armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        return heard

    def _compare(self, found, before, after):
        """What is wrong, or an empty text."""
        import numpy as np

        from benchmarks.trust._indexes import held
        from mercer import KernelIndex

        if found not in (before, after):
            return f"{len(found)} rows that are neither the {len(before)} before nor the {len(after)} after"
        for value in list(found)[:: max(1, len(found) // 3)]:
            row = np.array([found[value]], dtype=np.float32)
            nearest = self.index.search(row, 1)[0][0, 0]
            if found[nearest] != found[value]:
                return f"the nearest row of the row of {value!r} is {nearest!r}"
        if hasattr(self.index.rows_.storage, "path"):
            with KernelIndex.open(self.path, n_jobs=1) as opened:
                if held(opened) != found:
                    return "the directory and the open index hold different rows"
        return ""

    def _count(self, name, n_signals, happened):
        self.counts[name][0] += 1
        self.counts[name][1] += n_signals > 1
        self.counts[name][3 if happened else 2] += 1
