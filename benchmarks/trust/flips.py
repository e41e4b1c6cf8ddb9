"""Flipped bits in the directory of an index: found, or without effect; and no crash where nobody looks for them."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

FLIPS, QUICK_FLIPS = 20_000, 60
SECONDS = 20.0  # that a use of a damaged index may take
BATCH = 500  # flips of one process
CRASHES = "flips that ended a process by a signal"
HANGS = f"flips after which an index took more than {SECONDS:.0f} s"
FOREIGN = "flips after which an error was raised that is not one of Mercer's"
CHANGED = "flips that changed an answer with verify=True"
OUTCOMES = ("refused when opened", "refused when used", "answers as before", "other answers")


@benchmark(
    "trust-flips",
    f"{FLIPS:,} single flipped bits in directories of indexes with verify=True, and as many with verify=False",
    bars=[Bar(CRASHES, "<= 0"), Bar(HANGS, "<= 0"), Bar(FOREIGN, "<= 0"), Bar(CHANGED, "<= 0")],
)
def trust_flips(record):
    import multiprocessing
    import tempfile
    from collections import Counter
    from pathlib import Path

    from benchmarks.trust._flips import make_indexes
    from benchmarks.trust.interrupts import quick_disk

    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["benchmarks.trust._flips"])
    total = QUICK_FLIPS if record.quick else FLIPS
    counts, notes = Counter(), []
    with tempfile.TemporaryDirectory(dir=quick_disk()) as folder:
        names = make_indexes(Path(folder))
        for verify in (True, False):
            for number, name in enumerate(names):
                flips = range(number, total, len(names))
                for outcome, note in _outcomes(processes, Path(folder), name, verify, flips):
                    counts[verify, name, outcome] += 1
                    notes += [note] if note else []

    def counted(*outcomes, verify=(True, False)):
        return sum(n for (way, _, outcome), n in counts.items() if outcome in outcomes and way in verify)

    record.measured(CRASHES, counted("crash"), f"of {2 * total:,}")
    record.measured(HANGS, counted("hang"), f"of {2 * total:,}")
    record.measured(FOREIGN, counted("foreign"), f"of {2 * total:,}")
    record.measured(CHANGED, counted("other answers", verify=(True,)), f"of {total:,}")
    shown = [
        [name, str(verify), *(counts[verify, name, outcome] for outcome in OUTCOMES)]
        for verify in (True, False)
        for name in names
    ]
    record.table("what became of a flipped bit", ["index", "verify", *OUTCOMES], shown)
    for note in notes[:10]:
        record.note(note)
    record.note(
        "A bit of one file of the directory, each file as often as the others, half of them in bytes that are not "
        "zero. The index is opened for writing and searched by codes, exactly and by range; rows are added and "
        "removed, and it is compacted, opened again and searched. 40 rows of 8 columns, ids of numbers and texts, four "
        "rows removed."
    )


def _outcomes(processes, folder, name, verify, flips):
    """(outcome, what to note of it) of every flip, each used in a process that may die of it."""
    from benchmarks.trust._flips import use_damaged

    left = list(flips)
    while left:
        ours, theirs = processes.Pipe()
        arguments = theirs, folder, name, verify, left[:BATCH]
        child = processes.Process(target=use_damaged, args=arguments, daemon=True)
        child.start()
        theirs.close()
        try:
            for number in range(len(left[:BATCH])):
                # the first takes as long as the loops take to load
                if not ours.poll(SECONDS if number else 60 + SECONDS):
                    child.kill()
                    yield "hang", f"Flip {left[0]} of {name} with verify={verify} took more than {SECONDS:.0f} s."
                    left = left[1:]
                    break
                outcome, note = ours.recv()
                left = left[1:]
                yield outcome, note
        except EOFError:
            child.join()
            yield "crash", f"Flip {left[0]} of {name} with verify={verify} ended by exit code {child.exitcode}."
            left = left[1:]
        child.join(5)
        child.kill()
        ours.close()
