"""The nearest of many words by faiss, as it is imported and as Mercer imports it."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

GAIN = "nearest of 1,000 words: faiss as it is against faiss as Mercer loads it"
WORDS, ROWS, COLUMNS = (1000, 4000), 8192, 128
SIDES = {
    "import faiss": "import faiss",
    "load_faiss()": "from mercer._base.faiss_library import load_faiss; faiss = load_faiss()",
}
TIMED = """
import sys, time
import numpy as np
{load}
from threadpoolctl import threadpool_info
faiss.omp_set_num_threads(1)
rng = np.random.default_rng(0)
points, words = (rng.random((n, {columns}), dtype=np.float32) for n in ({rows}, int(sys.argv[1])))
best = np.inf
for _ in range(6):
    start = time.perf_counter()
    faiss.knn(points, words, 1)
    best = min(best, time.perf_counter() - start)
of_faiss = [one for one in threadpool_info() if one["internal_api"] == "openblas" and "faiss" in one["filepath"]]
print(best, of_faiss[0]["architecture"] if of_faiss else "another BLAS")
"""


@benchmark("faiss-blas", "products of matrices inside faiss, with its own choice of loops and with NumPy's",
           bars=[Bar(GAIN, ">= 1", "x")])  # fmt: skip
def faiss_blas(record):
    rounds = 1 if record.quick else 5
    best, core = {}, {}
    for n_words in WORDS:
        for _ in range(rounds):
            for side in SIDES:
                seconds, core[side] = _timed(side, n_words)
                best[side, n_words] = min(seconds, best.get((side, n_words), seconds))
    first, second = SIDES
    record.measured(GAIN, best[first, WORDS[0]] / best[second, WORDS[0]], f"{core[first]} against {core[second]}")
    lines = [[side, core[side], n_words, 1e3 * seconds] for (side, n_words), seconds in best.items()]
    record.table(f"{ROWS:,} rows of {COLUMNS} numbers, one thread", ["loaded by", "loops", "words", "ms"], lines)
    record.note(
        f"A process of its own for each side and size, sides in turn, {rounds} processes each, the best of six calls. "
        "On processors that faiss's OpenBLAS recognises by itself there is no difference."
    )


def _timed(side, n_words):
    """(seconds, loops) of one process."""
    import subprocess
    import sys

    code = TIMED.format(load=SIDES[side], rows=ROWS, columns=COLUMNS)
    done = subprocess.run([sys.executable, "-c", code, str(n_words)], check=True, stdout=subprocess.PIPE, text=True)
    seconds, core = done.stdout.strip().split(maxsplit=1)
    return float(seconds), core
