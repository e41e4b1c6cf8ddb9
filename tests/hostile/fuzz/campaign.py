"""Many forged files, used on a build with bounds checks: ``make fuzz``, or ``python -m tests.hostile.fuzz.campaign``.

What was found is kept in a file, batch by batch, so that a campaign that was stopped goes on where it was. It belongs
to one state of the source: another one begins anew.

    python -m tests.hostile.fuzz.campaign --cases 100000 --workers 2
    python -m tests.hostile.fuzz.campaign --case 4711       # one case again, in words
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[3]
STATE = ROOT / "build" / "fuzz"
BATCH = 20
FINDINGS = ("out of bounds", "crash", "hang", "allocation", "raw exception at load")


class Campaign:
    """Outcomes of cases 0, 1, ..., counted, with every finding in words; kept in a file.

    Parameters
    ----------
    folder : where the file and the compiled loops are kept
    """

    def __init__(self, folder=STATE):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path = self.folder / "campaign.json"
        self.source = source_digest()
        self.done, self.counts, self.findings, self.seconds = set(), Counter(), [], 0.0
        if self.path.exists():
            kept = json.loads(self.path.read_text(encoding="utf-8"))
            if kept["source"] == self.source:
                self.done, self.counts = set(kept["done"]), Counter(kept["counts"])
                self.findings, self.seconds = kept["findings"], kept["seconds"]

    @property
    def n_cases(self):
        """Cases that have been run."""
        return BATCH * len(self.done)

    def run(self, n_cases, n_workers=1, say=None):
        """Run the batches that are missing of the first cases."""
        waiting = [k for k in range(-(-n_cases // BATCH)) if k not in self.done][::-1]
        lock, begun, kept = threading.Lock(), time.monotonic(), self.seconds

        def work():
            worker = None
            while True:
                with lock:
                    if not waiting:
                        break
                    batch = waiting.pop()
                worker = worker or Worker(self.folder)
                outcomes = worker.ask(batch * BATCH, BATCH)
                if worker.is_lost:
                    worker = None
                with lock:
                    self._add(batch, outcomes)
                    self.seconds = kept + time.monotonic() - begun
                    if len(self.done) % 25 == 0:
                        self.save()
                        if say:
                            say(f"{self.n_cases} of {n_cases} cases, {self.summary()}")
            if worker is not None:
                worker.close()

        threads = [threading.Thread(target=work) for _ in range(n_workers if waiting else 0)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.save()

    def _add(self, batch, outcomes):
        self.done.add(batch)
        for case, outcome, detail in outcomes:
            self.counts[outcome] += 1
            if outcome in FINDINGS:
                self.findings.append([case, outcome, detail])

    def summary(self):
        """Counts in words."""
        return ", ".join(f"{count} {name}" for name, count in sorted(self.counts.items()))

    def save(self):
        """Write the file; it is complete or it is not there."""
        content = {"source": self.source, "done": sorted(self.done), "counts": self.counts, "findings": self.findings}
        beside = self.path.with_suffix(".new")
        beside.write_text(json.dumps(content | {"seconds": self.seconds}), encoding="utf-8")
        beside.replace(self.path)


class Worker:
    """A process on the build with bounds checks; see `tests.hostile.fuzz.worker`."""

    def __init__(self, folder):
        self.is_lost = False
        command = [sys.executable, "-X", "faulthandler", "-m", "tests.hostile.fuzz.worker"]
        self.log = open(Path(folder) / "worker.log", "a", encoding="utf-8")  # noqa: SIM115
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=checked_environment(folder), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
        )  # fmt: skip
        if self.process.stdout.readline().strip() != "ready":
            raise RuntimeError(f"The worker did not start; its words are in {self.log.name}.")

    def ask(self, first, count):
        """Outcomes of a batch. A worker that dies itself, and not a fork of it, has crashed on all of them."""
        try:
            print(first, count, file=self.process.stdin, flush=True)
            return json.loads(self.process.stdout.readline())
        except (OSError, ValueError):
            self.is_lost = True
            self.close()
            return [[case, "crash", "the worker ended"] for case in range(first, first + count)]

    def close(self):
        """End the process."""
        if not self.is_lost:
            self.process.stdin.close()
        self.process.wait()
        self.log.close()


def checked_environment(folder):
    """Environment variables of the build with bounds checks: loops of its own, one thread, quickly compiled."""
    return os.environ | {
        "NUMBA_BOUNDSCHECK": "1", "NUMBA_OPT": "1", "NUMBA_CACHE_DIR": str(Path(folder) / "loops"),
        "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MERCER_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1",
        "MERCER_FUZZ_FOLDER": str(folder), "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
    }  # fmt: skip


def source_digest():
    """Of everything that decides an outcome: the package, the golden files and this folder."""
    digest = hashlib.sha256()
    here = Path(__file__).parent
    files = [*(ROOT / "src").rglob("*.py"), *here.glob("*.py"), *(ROOT / "tests" / "golden").glob("v*/*.mercer")]
    for path in sorted(files):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--state", type=Path, default=STATE)
    parser.add_argument("--case", type=int, help="run one case here, and say what it changes")
    options = parser.parse_args()
    if options.case is not None:
        _explain(options.case)
        return 0
    campaign = Campaign(options.state)
    campaign.run(options.cases, options.workers, say=lambda text: print(text, flush=True))
    print(f"{campaign.n_cases} forged files in {campaign.seconds:.0f} s: {campaign.summary()}")
    for case, outcome, detail in campaign.findings:
        print(f"case {case}: {outcome}, {detail}")
    return 1 if campaign.findings else 0


def _explain(case):
    from tests.hostile.fuzz.forging import forge, read_seeds

    forgery = forge(read_seeds(), case)
    path = STATE / f"case-{case}.mercer"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(forgery.content)
    print(f"{forgery.seed.name}, {len(forgery.content)} bytes, in {path}")
    print("\n".join(forgery.changes))


if __name__ == "__main__":
    sys.exit(main())
