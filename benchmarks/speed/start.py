"""Waiting times: import, ``mercer --help``, and the first call of every kernel, compiled or from the disk cache."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.registry import Bar, benchmark

BARS = [
    Bar("import mercer", "<= 0.2", "s"),
    Bar("mercer --help", "< 1", "s"),
    Bar("first call, compiled: slowest kernel, storage and dtype", "<= 6", "s"),
    Bar("first call, from the disk cache: slowest kernel, storage and dtype", "<= 0.3", "s"),
]
# parameters that have no special case; by default both kernels coincide with another one
PARAMETERS = {"power-mean": {"p": -1.5}, "generalized-intersection": {"beta": 0.5}}
CACHE_READS = 2


@benchmark("start-time", "import, help, compilation and compile cache, each in fresh processes", bars=BARS)
def start_time(record):
    _import_and_help(record, repeats=2 if record.quick else 5)
    seconds = {case: _first_call(*case) for case in _cases(record.quick)}
    for position, bar in enumerate(BARS[2:]):
        slowest = max(seconds, key=lambda case, position=position: seconds[case][position])
        record.measured(bar.claim, seconds[slowest][position], " ".join(slowest))
    columns = ["kernel", "storage", "dtype", "compiled s", "from the disk cache s", "of which numba's own start s"]
    record.table("First call minus second call", columns, [[*case, *taken] for case, taken in seconds.items()])
    record.note(
        "Each compilation ran once, in a new process with an empty cache folder; reading the cache is the best of "
        f"{CACHE_READS} further processes. numba was imported before the clock started; its own start (filling its "
        "registries) is paid by the first compiled call of a process only, and is counted here in every one."
    )


def _import_and_help(record, repeats):
    inside = "import time; start = time.perf_counter(); import mercer; print(time.perf_counter() - start)"
    empty = [_run(["-c", "pass"]) for _ in range(repeats)]
    importing = [_run(["-c", inside]) for _ in range(repeats)]
    helping = [_run(["-c", "from mercer.cli.main import run; run()", "--help"]) for _ in range(repeats)]
    record.measured(BARS[0].claim, min(float(out) for out, _ in importing), f"inside the process, best of {repeats}")
    record.measured(BARS[1].claim, min(wall for _, wall in helping), f"whole process, best of {repeats}")
    commands = {"python -c pass": empty, "python -c 'import mercer'": importing, "mercer --help": helping}
    rows = [[command, min(wall for _, wall in runs)] for command, runs in commands.items()]
    record.table(f"Whole processes, best of {repeats}", ["command", "s"], rows)


def _cases(quick):
    """(kernel, storage, dtype) of every first call to measure."""
    if quick:
        return [("chi2", "dense", "float32"), ("jensen-shannon", "csr", "float32")]
    from mercer.kernels import KERNELS

    return [
        (name, storage, dtype) for name in KERNELS for storage in ("dense", "csr") for dtype in ("float32", "float64")
    ]


def _first_call(name, storage, dtype):
    """Seconds (compiled, from the disk cache, of which numba's own start); no other case shares the cache."""
    # -P: the script's folder holds files like kernels.py, which are not to be found by an import
    script = str(Path(__file__).with_name("_first_call.py"))
    command = ["-P", script, name, json.dumps(PARAMETERS.get(name, {})), dtype, storage]
    with tempfile.TemporaryDirectory(prefix="mercer-cache-") as cache:
        runs = [json.loads(_run(command, NUMBA_CACHE_DIR=cache)[0]) for _ in range(1 + CACHE_READS)]
    return runs[0][0], *min(runs[1:])


def _run(arguments, **variables):
    """(standard output, wall seconds) of a Python process that finds the same mercer as this one."""
    import mercer

    paths = [str(Path(mercer.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))} | variables
    start = time.perf_counter()
    done = subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if done.returncode:
        raise RuntimeError(f"python {' '.join(arguments)} failed:\n{done.stderr}")
    return done.stdout, seconds
