"""A process that uses forged files on a build with bounds checks: ``python -m tests.hostile.fuzz.worker``.

It is started by `tests.hostile.fuzz.campaign`, which sets the environment. Everything is imported, compiled and used
once; then each line ``first count`` of the standard input is a batch of cases, run in a fork and answered by one line
of JSON. A batch that dies, takes long or takes memory is run again, one fork per case; a case that does so is run once
more, since a type of numbers that was never seen is compiled first. What is left is a finding.
"""

import json
import os
import resource
import signal
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np

import mercer
from tests.hostile.fuzz.forging import forge, read_seeds, sealed
from tests.hostile.fuzz.using import use

CPU_SECONDS = 5  # of a case, once its loops are compiled
COMPILING = 60  # while they may be compiled
MOST_BYTES, FILES = 64 * 2**20, 8  # growth of the peak: so much, and so many times the size of the file
ADDRESS_SPACE = 2**31  # beyond what the process has: allocations of more fail at once
OUT_OF_BOUNDS = "index is out of bounds"  # numba's words; numpy says which index
FINDINGS = ("out of bounds", "crash", "hang", "allocation", "raw exception at load")


def main():
    """Answer batches until the input ends."""
    seeds = read_seeds()
    threading.stack_size(2**20)  # of threads: their whole stacks count as memory, though nobody touches it
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    folder = Path(tempfile.mkdtemp(dir=os.environ.get("MERCER_FUZZ_FOLDER")))
    try:
        _warm_up(seeds, folder)
        print("ready", file=answers, flush=True)
        for line in sys.stdin:
            first, count = map(int, line.split())
            print(json.dumps(_batch(seeds, folder, range(first, first + count))), file=answers, flush=True)
    finally:
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()


def _warm_up(seeds, folder):
    """Load and use every file as it is, on all odd rows: what is compiled now is there in every fork."""
    for seed in seeds:
        path = folder / "seed.mercer"
        path.write_bytes(sealed(json.loads(seed.document), seed.arrays))
        model = mercer.load(path)
        for k in range(6):
            use(model, seed.method, seed.rows, _Fixed(k))


class _Fixed:
    """Stands in for a random generator that always gives one number."""

    def __init__(self, number):
        self.number = number

    def integers(self, high):
        """The number, if it is below."""
        return self.number % high


def _batch(seeds, folder, cases):
    """[case, outcome, ...] of each case."""
    together = _in_fork(seeds, folder, cases, CPU_SECONDS)
    if together["trouble"] is None and together["growth"] < MOST_BYTES:
        return together["outcomes"]
    return [outcome for case in cases for outcome in _alone(seeds, folder, case)]


def _alone(seeds, folder, case):
    first = _in_fork(seeds, folder, [case], COMPILING)
    if first["trouble"] is None and first["seconds"] < CPU_SECONDS and not _is_too_much(first):
        return first["outcomes"]
    again = _in_fork(seeds, folder, [case], CPU_SECONDS)
    if again["trouble"] is not None:
        return [[case, *again["trouble"]]]
    if again["seconds"] >= CPU_SECONDS:
        return [[case, "hang", f"{again['seconds']:.1f} s"]]
    if _is_too_much(again):
        return [[case, "allocation", f"{again['growth'] / 2**20:.0f} MiB for a file of {again['bytes']} bytes"]]
    return again["outcomes"]


def _is_too_much(found):
    return found["growth"] > MOST_BYTES + FILES * found["bytes"]


def _in_fork(seeds, folder, cases, seconds):
    """What a fork finds: the outcomes, its CPU time, the growth of its peak, or the trouble that ended it."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        code = 1
        try:
            found = _measured(seeds, folder, cases, seconds)
            with os.fdopen(write, "w") as pipe:
                json.dump(found, pipe)
            code = 0
        finally:
            os._exit(code)  # whatever happens, this is not the parent
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    found = json.loads(text) if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0 else None
    if found is not None:
        return found | {"trouble": None}
    if not os.WIFSIGNALED(status):
        return {"trouble": ("crash", "the process ended by itself")}
    number = os.WTERMSIG(status)
    if number in (signal.SIGXCPU, signal.SIGKILL):
        return {"trouble": ("hang", f"more than {seconds} s")}
    return {"trouble": ("crash", signal.Signals(number).name)}


def _measured(seeds, folder, cases, seconds):
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 2))  # a loop without the GIL hears no other signal
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resident, size = _memory("VmRSS", "VmSize")
    resource.setrlimit(resource.RLIMIT_AS, (size + ADDRESS_SPACE, -1))
    largest, outcomes = 0, []
    for case in cases:
        forgery = forge(seeds, case)
        largest = max(largest, len(forgery.content))
        outcomes.append([case, *_outcome(forgery, folder / f"{os.getpid()}.mercer", case)])
    used = resource.getrusage(resource.RUSAGE_SELF)
    peak, most = _memory("VmHWM", "VmPeak")  # of this fork: both begin anew with it
    growth = max(peak - resident, most - size)
    return {"outcomes": outcomes, "seconds": used.ru_utime + used.ru_stime, "growth": growth, "bytes": largest}


def _outcome(forgery, path, case):
    """("refused" | "used" | a finding, detail)"""
    path.write_bytes(forgery.content)
    try:
        model = mercer.load(path)
    except mercer.ModelFileError as error:
        return _hidden(error) or ("refused", "")
    except Exception as error:
        return _hidden(error) or ("raw exception at load", f"{type(error).__name__}: {error}"[:200])
    finally:
        path.unlink()
    raised = use(model, forgery.seed.method, forgery.seed.rows, np.random.default_rng(case))
    for error in raised:
        found = _hidden(error)
        if found:
            return found
    return "used", type(raised[0]).__name__ if raised else ""


def _hidden(error):
    """The finding that an exception stands for, or one of those it was raised from; None if it is none."""
    seen = 0
    while error is not None and seen < 20:
        if isinstance(error, IndexError) and str(error) == OUT_OF_BOUNDS:
            return "out of bounds", _where(error)
        if isinstance(error, MemoryError):
            return "allocation", str(error)[:200] or "MemoryError"
        error, seen = error.__cause__ or error.__context__, seen + 1
    return None


def _where(error):
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"


def _memory(*names):
    """Bytes, from the kernel's own account."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    found = {line.split(":")[0]: line.split()[1] for line in lines if line.startswith("Vm")}
    return [1024 * int(found[name]) for name in names]


if __name__ == "__main__":
    main()
