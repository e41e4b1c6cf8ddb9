"""Put each fault into a copy of the tree and say whether the default suite finds it.

    python -m tests.mutants --list           the faults, and what is known of them
    python -m tests.mutants --run [NAME..]   try those that are not known yet, or these again

What was found is kept in build/mutants.json: a run that was stopped goes on where it was.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager

from tests.mutants.faults import FAULTS, ROOT

STATE = ROOT / "build" / "mutants.json"
COPY = ROOT / "build" / "mutants"
WANTED = 38
SLOWEST = 3600  # seconds that a suite may take before it counts as hanging, which is a way of being found
FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--list", action="store_true", help="list the faults")
    action.add_argument("--run", nargs="*", metavar="NAME", help="try all that are not known yet, or these")
    parser.add_argument("--near", action="store_true", help="run the tests near a fault only, not the whole suite")
    options = parser.parse_args()
    known = read_state()
    if options.list:
        for fault in FAULTS:
            print(f"{outcome_of(known.get(fault.name)):12} {fault.name:48} {fault.path}")
        return 0
    check_names(options.run)
    refresh_copy()
    for fault in FAULTS:
        if fault.name in options.run or (not options.run and not is_settled(known.get(fault.name), options.near)):
            known[fault.name] = tried(fault, options.near)
            write_state(known)
            print(f"{outcome_of(known[fault.name]):12} {fault.name:48} {known[fault.name]['test']}", flush=True)
    return summary(known)


def check_names(names):
    """Refuse a name that is none, and a fault that no longer fits its file."""
    unknown = set(names) - {fault.name for fault in FAULTS}
    if unknown:
        sys.exit(f"There is no fault {', '.join(sorted(unknown))}; --list names them.")
    for fault in FAULTS:
        fault.mutated((ROOT / fault.path).read_text(encoding="utf-8"))


# ----------------------------------------------------------------------------------------------------------- one fault


def tried(fault, near):
    """Which test finds a fault, if any does."""
    start, found, test = time.monotonic(), False, ""
    with applied(fault):
        for tests in fault.stages(COPY):
            if not tests and near:
                break
            test = first_failure(tests)
            if test:
                found = True
                break
    return {"found": found, "test": test, "whole": not near, "seconds": round(time.monotonic() - start)}


@contextmanager
def applied(fault):
    """The copy of the tree with the fault in it; afterward the file and its date, which caches read, are as before."""
    path = COPY / fault.path
    text, status = path.read_text(encoding="utf-8"), path.stat()
    path.write_text(fault.mutated(text), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(text, encoding="utf-8")
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def first_failure(tests):
    """The first test of the default suite that fails, or the empty text."""
    workers = [] if tests else ["-n", "2", "--dist", "loadgroup"]
    command = [sys.executable, "-m", "pytest", "-x", "--tb=no", "-rfE", "-p", "no:cacheprovider", *workers, *tests]
    try:
        run = subprocess.run(command, cwd=COPY, env=environment(), capture_output=True, text=True, timeout=SLOWEST)
    except subprocess.TimeoutExpired:
        return "hangs"
    if run.returncode in (0, 5):  # passed, or nothing was collected
        return ""
    found = FAILED.search(run.stdout)
    if found is None:  # pytest itself broke down: as good as a failure, if the tree without the fault does not do it
        return " ".join(tests) or "the suite"
    return found[1]


def environment():
    """With the copy in front of whatever is installed."""
    paths = os.pathsep.join([str(COPY / "src"), str(COPY)])
    data = os.environ.get("MERCER_DATA") or ROOT.parent / "shared" / "data"
    return os.environ | {"PYTHONPATH": paths, "MERCER_DATA": str(data), "PYTHONDONTWRITEBYTECODE": ""}


# ------------------------------------------------------------------------------------------------------- copy and state


def refresh_copy():
    """A clone at the last commit. It is kept: its compiled loops are what takes longest."""
    if not (COPY / ".git").is_dir():
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(COPY)], check=True)
    subprocess.run(["git", "fetch", "--quiet", str(ROOT), "HEAD"], cwd=COPY, check=True)
    subprocess.run(["git", "reset", "--quiet", "--hard", "FETCH_HEAD"], cwd=COPY, check=True)


def read_state():
    """name -> what is known of it."""
    return json.loads(STATE.read_text(encoding="utf-8")) if STATE.is_file() else {}


def write_state(known):
    """Keep what is known, whole or not at all."""
    part = STATE.with_suffix(".part")
    part.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    part.replace(STATE)


def is_settled(entry, near):
    """Whether a fault need not be tried again: it was found, or the whole suite has not found it."""
    return entry is not None and (entry["found"] or entry["whole"] or near)


def outcome_of(entry):
    """In a word or two."""
    if entry is None:
        return "not tried"
    return "found" if entry["found"] else "NOT FOUND" if entry["whole"] else "not nearby"


def summary(known):
    """Print how many were found; 0 if they are enough and the tests that found them pass without a fault."""
    found = [known[fault.name] for fault in FAULTS if known.get(fault.name, {}).get("found")]
    print(f"{len(found)} of {len(FAULTS)} faults are found by the default suite; {WANTED} are wanted.")
    # whole functions: what stands in brackets may be another case by now
    functions = sorted({entry["test"].partition("[")[0] for entry in found if "::" in entry["test"]})
    innocent = first_failure(functions) if functions else ""
    if innocent:
        print(f"{innocent} fails without a fault too: repair it, and run again what it has found.")
    return int(bool(innocent) or len(found) < WANTED)


if __name__ == "__main__":
    sys.exit(main())
