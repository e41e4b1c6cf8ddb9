"""kill -9 at any moment: what an index has acknowledged is there after it is opened again, and nothing else."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from mercer import KernelIndex
from mercer.search import exact_knn
from mercer.search.graph import rows as _graphs
from mercer.search.rows import derived as _derived
from tests.search.index_samples import histograms
from tests.search.store_samples import BLOCKS, STORES

WIDTH, FIRST = 6, 40
BLOCK_ROWS = 16  # of a block of lists: full ones, which have files, come and go all the time
TAIL_ROWS = 8  # behind a graph, so that there is one of so few rows
WRITER = f"""
import sys
from importlib import import_module
import numpy as np
from mercer import KernelIndex
from mercer.search.graph import rows as graphs

for name in {[module.__name__ for module in BLOCKS]}:
    import_module(name).BLOCK_ROWS = {BLOCK_ROWS}
graphs.TAIL_ROWS = {TAIL_ROWS}
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
@pytest.mark.parametrize("name", [name for name, store in STORES.items() if store.is_killed])
def test_kills_lose_nothing_and_invent_nothing(tmp_path, monkeypatch, name, n_kills):
    for module in BLOCKS:
        monkeypatch.setattr(module, "BLOCK_ROWS", BLOCK_ROWS)
    monkeypatch.setattr(_graphs, "TAIL_ROWS", TAIL_ROWS)
    monkeypatch.setattr(_derived, "FEW_VALUES", 0)
    rows = histograms(FIRST, WIDTH)
    path = tmp_path / "index"
    STORES[name].index(rows).add(rows).persist(path).close()
    expected, rng = set(range(FIRST)), np.random.default_rng(0)
    for kill in range(n_kills):
        expected, begun = _killed(path, kill, expected, rng)
        with KernelIndex.open(path) as index:
            ids, values = index.search(rows[:1], len(index), exact="stored")
            alive = index.rows_.alive
            true = exact_knn("chi2", index.rows_.take(alive), rows[:1], len(index))
            np.testing.assert_array_equal(ids, index.rows_.ids.at(alive[true[0]]))
            np.testing.assert_array_equal(values, true[1])
            if index.plan_["store"] == "graph":  # of all rows, whatever its file has
                assert set(index.search(rows[:1], len(index))[0][0].tolist()) == set(ids[0].tolist())
        found = set(ids[0].tolist())
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
