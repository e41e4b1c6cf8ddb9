"""Molecules by their fingerprints: answers and costs against RDKit, a million of them, Butina, and two commands."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

SAME = "count and binary Tanimoto, top 10: queries with the scores of RDKit's bulk similarity"
MANY = "1,000,000 count fingerprints, exact top 10: single query, median"
FASTER = "the same: time of RDKit's bulk Tanimoto over ours"
BINARY = "1,000,000 binary fingerprints: time of RDKit's bulk Tanimoto over ours"
OPEN = "1,000,000 count fingerprints: time to open"
BUTINA, BUTINA_MEMORY = "Butina, 41,120 molecules, cutoff 0.65, two cores", "the same: memory beyond that of the index"
AGREES = "Butina, 2,000 molecules: clusters that are RDKit's, share"
PICKED = "MaxMin, 1,000 of 41,120 molecules"
COMMANDS = "41,127 molecules in a file, two commands to a table and a picture of hits"
K, QUERIES, THEIRS = 10, 200, 5
PART = 100_000  # fingerprints that RDKit has in memory at once: a million take gigabytes


@benchmark(
    "fields-molecules",
    "molecules by their fingerprints: answers and time against RDKit; a million of them, Butina, from file to hits",
    bars=[
        Bar(SAME, ">= 1"),
        Bar(MANY, "<= 20", "ms"),
        Bar(FASTER, ">= 20", "x"),
        Bar(BINARY, ">= 1", "x"),
        Bar(OPEN, "<= 2", "s"),
        Bar(AGREES, ">= 1"),
        Bar(BUTINA, "<= 120", "s"),
        Bar(BUTINA_MEMORY, "<= 1", "GB"),
        Bar(PICKED, "<= 60", "s"),
        Bar(COMMANDS, "<= 60", "s"),
    ],
    needs=["molecules"],
)
def fields_molecules(record):
    from benchmarks.runner import limited_threads
    from mercer.datasets import load_molecules
    from mercer.molecules import MoleculeIndex, Molecules

    smiles = load_molecules().smiles[: 2000 if record.quick else None].tolist()
    with limited_threads(1):
        index = MoleculeIndex()
        molecules, counts = index.encode(Molecules(smiles))
        index.add_rows(molecules, counts)
        _answers(record, molecules, counts)
        _many(record, counts)
        _picks(record, index)
    _butina(record, index, molecules)
    _commands(record)
    record.note(
        "One thread but for Butina and the commands. A million fingerprints are copies of the real ones with counts "
        "raised or lowered by chance, and those above 0 are the binary ones; queries are of another copy. RDKit "
        "compares a query with all of them by BulkTanimotoSimilarity, 100,000 at a time, and the best ten are taken by "
        "numpy; both sides take turns. The time to make fingerprints is not counted on either side."
    )


def _answers(record, molecules, counts):
    import numpy as np

    from mercer.molecules import MoleculeIndex

    asked = np.random.default_rng(0).choice(len(molecules), 20 if record.quick else QUERIES, replace=False)
    same = []
    for is_count in (True, False):
        index = MoleculeIndex(counts=is_count).add_rows(molecules, counts if is_count else _binary(counts))
        prints, bulk = _rdkit_prints(counts, is_count)
        hits = index.search_rows(molecules[asked], counts[asked] if is_count else _binary(counts)[asked], K)
        for number, row in enumerate(asked.tolist()):
            expected = np.sort(bulk(prints[row], prints))[::-1][:K]
            same.append(np.allclose(hits.of(number)[1], expected, rtol=1e-12))
    record.measured(SAME, float(np.mean(same)), f"{len(same)} queries")


def _binary(X):
    X = X.copy()
    X.data[:] = 1
    return X


def _rdkit_prints(X, is_count):
    """(RDKit's fingerprints of these rows, its bulk similarity)."""
    from rdkit import DataStructs

    made = []
    for start, stop in zip(X.indptr[:-1].tolist(), X.indptr[1:].tolist(), strict=True):
        columns = X.indices[start:stop].tolist()
        if is_count:
            one = DataStructs.UIntSparseIntVect(X.shape[1])
            for column, value in zip(columns, X.data[start:stop].tolist(), strict=True):
                one[column] = int(value)
        else:
            one = DataStructs.ExplicitBitVect(X.shape[1])
            one.SetBitsFromList(columns)
        made.append(one)
    return made, DataStructs.BulkTanimotoSimilarity


def _many(record, counts):
    """A million molecules: ours in a directory, RDKit's in memory."""
    import tempfile
    import time

    import numpy as np

    from benchmarks.search._sparse import copied_counts
    from mercer.molecules import MoleculeIndex

    n = 20_000 if record.quick else 1_000_000
    X, Q = copied_counts(counts, n), copied_counts(counts, QUERIES, seed=1)
    lines = []
    for name, is_count, figure in (("counts", True, FASTER), ("binary", False, BINARY)):
        rows, asked = (X, Q) if is_count else (_binary(X), _binary(Q))
        with tempfile.TemporaryDirectory() as folder:
            index = MoleculeIndex(fingerprint="given", counts=is_count)
            index.add(None, rows[:1000]).persist(f"{folder}/index")
            for start in range(1000, n, 2**17):
                index.add(None, rows[start : start + 2**17])
            index.close()
            start = time.perf_counter()
            index = MoleculeIndex.open(f"{folder}/index", verify=False)
            index.search(None, K, fingerprints=asked[:1])
            opened = time.perf_counter() - start
            index.search(None, K, fingerprints=asked)
            ours, theirs, wrong = _turns(index, rows, asked, is_count)
            index.close()
        mine, rdkit = 1000 * float(np.median(ours)), 1000 * float(np.median(theirs))
        if is_count:
            record.measured(MANY, mine, f"{n:,} rows, {wrong} of {THEIRS} answers differ from RDKit's")
            record.measured(OPEN, opened, f"{n:,} rows, verify=False, one query included")
        record.measured(figure, rdkit / mine, f"{rdkit:.4g} ms / {mine:.3g} ms, {n:,} rows")
        lines.append([name, mine, rdkit, rdkit / mine])
    record.table(f"{n:,} fingerprints, exact top 10", ["fingerprints", "ours, ms", "RDKit, ms", "ratio"], lines)


def _turns(index, rows, asked, is_count):
    """(seconds of our queries, of RDKit's, answers that differ): in turn, RDKit's part by part of the rows."""
    import time

    import numpy as np

    parts = range(0, rows.shape[0], PART)
    queries, bulk = _rdkit_prints(asked[:THEIRS], is_count)
    ours, theirs, best = [], np.zeros(THEIRS), np.empty((THEIRS, 0))
    for turn, first in enumerate(parts):
        prints, _ = _rdkit_prints(rows[first : first + PART], is_count)
        found = np.empty((THEIRS, K))
        for number, query in enumerate(queries):
            start = time.perf_counter()
            scores = np.array(bulk(query, prints))
            found[number] = scores[np.argpartition(-scores, K)[:K]]
            theirs[number] += time.perf_counter() - start
        best = np.concatenate([best, found], axis=1)
        for number in range(turn, asked.shape[0], len(parts)):
            one = asked[number : number + 1]
            start = time.perf_counter()
            index.search(None, K, fingerprints=one)
            ours.append(time.perf_counter() - start)
    best = np.sort(best, axis=1)[:, : -K - 1 : -1]
    hits = index.search(None, K, fingerprints=asked[:THEIRS])
    wrong = sum(not np.allclose(hits.of(number)[1], best[number], rtol=1e-12) for number in range(THEIRS))
    return ours, theirs, wrong


def _seconds(function):
    import time

    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def _picks(record, index):
    n = 100 if record.quick else 1000
    spent = _seconds(lambda: index.pick(n, first=[0]))
    record.measured(PICKED, spent, f"{n:,} of {len(index):,}")


def _butina(record, index, molecules):
    import tracemalloc

    import numpy as np
    from rdkit.ML.Cluster import Butina

    from mercer.molecules import MoleculeIndex

    some = min(2000, len(molecules))
    small = MoleculeIndex().add(molecules[:some])
    hits = small.search(molecules[:some], some)
    distances = np.empty((some, some))
    for row in range(some):
        ids, scores = hits.of(row)
        distances[row, ids] = 1 - scores
    expected = Butina.ClusterData(distances, some, 0.35 + 1e-12, isDistData=True)
    found = small.cluster(0.65)
    same = [found.members(i).tolist() == [each[0], *sorted(each[1:])] for i, each in enumerate(expected)]
    record.measured(AGREES, float(np.mean(same)), f"{len(expected):,} clusters")
    spent = _seconds(lambda: index.cluster(0.65))
    tracemalloc.start()
    clusters = index.cluster(0.65)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    record.measured(BUTINA, spent, f"{len(clusters):,} clusters of {len(index):,} molecules")
    record.measured(BUTINA_MEMORY, peak / 1e9, "largest sum of what Python and numpy had allocated")


def _commands(record):
    """A new user's two commands, each in a process of its own."""
    import csv
    import subprocess
    import sys
    import tempfile
    from pathlib import Path

    from mercer.datasets import load_molecules

    data = load_molecules()
    n = 500 if record.quick else len(data.smiles)
    with tempfile.TemporaryDirectory() as folder:
        with (Path(folder) / "library.csv").open("w", newline="") as stream:
            csv.writer(stream).writerows([["smiles", "active"], *zip(data.smiles[:n], data.active[:n], strict=True)])
        (Path(folder) / "query.smi").write_text("CC(=O)Oc1ccccc1C(=O)O aspirin\nCn1cnc2c1c(=O)n(C)c(=O)n2C caffeine\n")
        mercer = [sys.executable, "-m", "mercer.cli.main", "molecules"]
        commands = [
            [*mercer, "build", "library.csv", "--out", "library.index"],
            [*mercer, "search", "library.index", "query.smi", "--out", "hits.csv", "--grid", "hits.png"],
        ]

        def run():
            for command in commands:
                subprocess.run(command, cwd=folder, check=True, capture_output=True)

        spent = _seconds(run)
        n_hits = len((Path(folder) / "hits.csv").read_text().splitlines()) - 1
    record.measured(COMMANDS, spent, f"{n:,} molecules, {n_hits} hits, a new process for each command")
