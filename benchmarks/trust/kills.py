"""kill -9 at random moments of changes of an index: what was acknowledged is there, and nothing by halves."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

KILLS, QUICK_KILLS = 200, 6
# what rows are found by: parameters beside those of benchmarks.trust._indexes
STORES = {
    "codes": {},
    "inverted lists": {"store": "lists", "bytes_per_item": None},
    "graph": {"store": "graph", "bytes_per_item": None},
}
MEAN_SECONDS = 0.05  # that a writer lives


def wrong(store):
    """The claim about a store."""
    return f"{store}: kills after which the directory held neither what was acknowledged nor what was under way"


@benchmark(
    "trust-kills",
    f"{KILLS} kills of a process that changes an index, for each kind of store",
    bars=[Bar(wrong(store), "<= 0") for store in STORES],
)
def trust_kills(record):
    import multiprocessing
    import tempfile
    from pathlib import Path

    from benchmarks.trust._indexes import small_parts

    small_parts()
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["benchmarks.trust._indexes"])
    for store in STORES:
        with tempfile.TemporaryDirectory() as folder:
            _kill(record, store, processes, Path(folder) / "index")
    record.note(
        "A writer adds, updates, removes and compacts, and is killed after a random time (mean 50 ms). After each kill "
        "the directory is opened; rows, ids, codes and the answers of a few searches are compared with brute force. "
        "Lists have blocks of 16 rows and graphs take up 8 rows at a time, so that their files are written all the "
        "time; all rows are asked of the graph as well."
    )


def _kill(record, store, processes, path):
    """Kill writers of one index, and look at what there is after each."""
    import time

    import numpy as np

    from benchmarks.trust._indexes import fitted, held, rows
    from mercer import KernelIndex

    rng, problems, n_changes, n_under_way = np.random.default_rng(0), [], 0, 0
    X = rows(rng, 40)
    index = fitted(X, **STORES[store]).add(X).persist(path)
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
            problems.append(f"After kill {kill} there are {len(found)} rows, and {len(state)} were acknowledged.")
        state = found
    told = f"of {kill + 1}; {n_changes:,} changes acknowledged, {n_under_way} under way"
    record.measured(wrong(store), len(problems), told)
    for problem in problems[:10]:
        record.note(f"{store}: {problem}")


def _write(pipe, path, seed, state):
    """Changes for ever: each says what there will be, is made, and is then acknowledged."""
    import numpy as np

    from benchmarks.trust._indexes import rows, small_parts
    from mercer import KernelIndex

    small_parts()
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
