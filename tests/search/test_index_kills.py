"""kill -9 at any moment: what an index has acknowledged is there after it is opened again, and nothing else."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from mercer import KernelIndex
from mercer.search.graph import rows as _graphs
from tests.search.index_samples import histograms

WIDTH, FIRST, TAIL = 6, 40, 8
WRITER = f"""
import sys
import numpy as np
from mercer import KernelIndex
from mercer.search.graph import rows as graphs

graphs.TAIL_ROWS = {TAIL}  # so that there is a graph of so few rows
path, seed = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(seed)
index = KernelIndex.open(path, "w", verify=False)
print("open", flush=True)
while True:
    here = sorted(index.search(np.ones((1, {WIDTH}), dtype="f4"), len(index), exact="stored")[0][0].tolist())
    if rng.random() < 0.6 or len(here) < 20:
        rows = rng.dirichlet(np.ones({WIDTH}), size=int(rng.integers(1, 6))).astype("f4")
        first = index.stats()["rows"] and max(here) + 1
        ids = [int(first) + i for i in range(len(rows))]
        print("add", *ids, flush=True)
        index.add(rows, ids)
    else:
        ids = rng.choice(here, int(rng.integers(1, 6)), replace=False).tolist()
        print("remove", *ids, flush=True)
        index.remove(ids)
    print("done", flush=True)
"""


@pytest.mark.process
@pytest.mark.filterwarnings("ignore::mercer._base.errors.ApproximationWarning")
@pytest.mark.parametrize("n_kills", [4, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "parameters",
    [{"bytes_per_item": 2, "effort": "low"}, {"store": "lists"}, {"store": "graph", "n_components": 4}],
    ids=repr,
)
def test_kills_lose_nothing_and_invent_nothing(tmp_path, parameters, n_kills, monkeypatch):
    monkeypatch.setattr(_graphs, "TAIL_ROWS", TAIL)
    rows = histograms(FIRST, WIDTH)
    path = tmp_path / "index"
    KernelIndex("chi2", **parameters, random_state=0).fit(rows).add(rows).persist(path).close()
    expected, rng = set(range(FIRST)), np.random.default_rng(0)
    for kill in range(n_kills):
        expected, begun = _killed(path, kill, expected, rng)
        with KernelIndex.open(path) as index:
            found = set(index.search(rows[:1], len(index), exact="stored")[0][0].tolist())
            if index.plan_["store"] == "graph":  # of all rows, whatever its file has
                assert set(index.search(rows[:1], len(index))[0][0].tolist()) == found
        assert found in (expected, begun)
        expected = found


def _killed(path, seed, expected, rng):
    """(ids that were acknowledged, ids if what was under way has happened) of a writer killed at a random moment."""
    command = [sys.executable, "-c", WRITER, str(path), str(seed)]
    writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert writer.stdout.readline() == "open\n"
    time.sleep(rng.exponential(0.05))
    os.kill(writer.pid, signal.SIGKILL)
    begun = expected
    for line in writer.communicate()[0].splitlines():
        what, *ids = line.split()
        if what == "done":
            expected = begun
        elif line.endswith(tuple("0123456789")):
            ids = set(map(int, ids))
            begun = expected | ids if what == "add" else expected - ids
    return expected, begun
