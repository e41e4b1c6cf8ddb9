"""kill -9 at random moments of changes of an index: what was acknowledged is there, and nothing by halves."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

KILLS, QUICK_KILLS = 200, 6
WRONG = "kills after which the directory held neither what was acknowledged nor what was under way"
MEAN_SECONDS = 0.05  # that a writer lives


@benchmark("trust-kills", f"{KILLS} kills of a process that changes an index", bars=[Bar(WRONG, "<= 0")])
def trust_kills(record):
    import multiprocessing
    import tempfile
    import time
    from pathlib import Path

    import numpy as np

    from benchmarks.trust._indexes import fitted, held, rows
    from mercer import KernelIndex

    rng, wrong, n_changes, n_under_way = np.random.default_rng(0), [], 0, 0
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["benchmarks.trust._indexes"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index"
        X = rows(rng, 40)
        index = fitted(X).add(X).persist(path)
        state = held(index)
        index.close()
        for kill in range(QUICK_KILLS if record.quick else KILLS):
            ours, theirs = processes.Pipe()
            child = processes.Process(target=_write, args=(theirs, path, kill, state), daemon=True)
            child.start()
            theirs.close()
            ours.recv()
            time.sleep(rng.exponential(MEAN_SECONDS))
            child.kill()
            child.join()
            state, begun, n_done = _acknowledged(ours, state)
            n_changes += n_done
            n_under_way += begun != state
            with KernelIndex.open(path) as opened:
                found = held(opened)
            if found not in (state, begun):
                wrong.append(f"After kill {kill} there are {len(found)} rows, and {len(state)} were acknowledged.")
            state = found
    record.measured(WRONG, len(wrong), f"of {kill + 1}; {n_changes:,} changes acknowledged, {n_under_way} under way")
    for what in wrong[:10]:
        record.note(what)
    record.note("A writer adds, updates, removes and compacts, and is killed after a random time (mean 50 ms).")


def _write(pipe, path, seed, state):
    """Changes for ever: each says what there will be, is made, and is then acknowledged."""
    import numpy as np

    from benchmarks.trust._indexes import rows
    from mercer import KernelIndex

    rng = np.random.default_rng(1000 + seed)
    index = KernelIndex.open(path, "w", verify=False)
    index.search(rows(rng, 1), 1)
    following = 10_000 * (seed + 1)
    pipe.send("open")
    while True:
        call = rng.choice(["add", "update", "remove", "compact"], p=[0.4, 0.2, 0.3, 0.1])
        n, ids = int(rng.integers(1, 6)), list(state)
        chosen = [ids[i] for i in rng.choice(len(ids), n, replace=False)]
        X = rows(rng, n)
        if call == "remove" and len(ids) > 20:
            state = {value: row for value, row in state.items() if value not in chosen}
        elif call == "update":
            state = state | dict(zip(chosen, map(tuple, X.tolist()), strict=True))
        elif call != "compact":
            call, chosen, following = "add", list(range(following, following + n)), following + n
            state = state | dict(zip(chosen, map(tuple, X.tolist()), strict=True))
        pipe.send(state)
        if call == "compact":
            index.compact()
        elif call == "remove":
            index.remove(chosen)
        else:
            getattr(index, call)(X, chosen)
        pipe.send("done")


def _acknowledged(pipe, state):
    """(what was acknowledged, what there is if the change under way has happened, changes acknowledged)"""
    begun, n_done = state, 0
    try:
        while True:
            message = pipe.recv()
            if message == "done":
                state, n_done = begun, n_done + 1
            else:
                begun = message
    except (EOFError, OSError):
        return state, begun, n_done
