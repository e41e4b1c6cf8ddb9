"""Inverted lists: exact search of sparse rows against brute force and ms_entropy, small and large."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

SINGLE = "54,791 spectra, Jensen-Shannon, exact: single query over ms_entropy's open search"
BUILD = "the same, build over ms_entropy's"
MEMORY = "the same, memory over that of ms_entropy's index"
WRONG = "kernels and data sets with an answer that is not that of brute force"
BATCH = "20newsgroups and kos, slowest kernel: batch over exact_knn"
ALONE = "20newsgroups and kos, slowest kernel: single query"
LARGE, OPEN = "2,000,000 spectra, exact: single query, median", "2,000,000 spectra: time to open"
FALLS = "share of postings read, 2,000,000 spectra over 54,791"
COUNTS = "1,000,000 min-max count fingerprints, top 10 exact: single query, median"
K, QUERIES = 10, 200


@benchmark(
    "search-lists",
    "inverted lists of sparse rows: spectra, words and fingerprints against brute force and ms_entropy",
    bars=[
        Bar(SINGLE, "<= 0.33", "x"),
        Bar(BUILD, "<= 0.1", "x"),
        Bar(MEMORY, "<= 0.25", "x"),
        Bar(WRONG, "<= 0"),
        Bar(BATCH, "<= 0.4", "x"),
        Bar(ALONE, "<= 2", "ms"),
        Bar(LARGE, "<= 10", "ms"),
        Bar(OPEN, "<= 2", "s"),
        Bar(FALLS, "<= 1", "x"),
        Bar(COUNTS, "<= 20", "ms"),
    ],
    needs=["massbank", "20newsgroups", "uci_bow_kos", "molecules"],
)
def search_lists(record):
    from benchmarks.runner import limited_threads

    with limited_threads(1):
        share = _spectra(record)
        _words(record)
        _many_spectra(record, share)
        _fingerprints(record)
    record.note("One thread. Queries of the larger sets are rows of another copy, and are in no index.")


def _spectra(record):
    """Against ms_entropy; returns the share of postings read."""
    import numpy as np

    from benchmarks.search._sparse import one_by_one
    from benchmarks.uses._spectra import TOLERANCE, Library
    from mercer import KernelIndex

    library = Library(record.quick)
    X, asked = library.rows.tocsr().astype(np.float32), library.queries(QUERIES)
    index = KernelIndex("jensen-shannon")
    build = _seconds(lambda: index.fit(X).add(X).search(X[:1], 1))
    ours = one_by_one(lambda row: index.search(row, K), _rows(X, asked))
    index.search(X[asked], K)
    flash, theirs_build = _flash(library)

    def open_search(number):
        similarity = flash.open_search(library.peaks[number], TOLERANCE)
        return np.argpartition(-similarity, K)[:K]

    open_search(asked[0])
    theirs = 1000 * float(np.median([_seconds(lambda n=n: open_search(n)) for n in asked if len(library.peaks[n])]))
    held = sum(array.nbytes for array in flash.entropy_search.index if hasattr(array, "nbytes")) / 1e6
    mine = (index.stats()["lists_bytes"] + index.rows_.kept_bytes()) / 1e6
    record.measured(SINGLE, ours / theirs, f"{ours:.3g} ms / {theirs:.3g} ms")
    record.measured(BUILD, build / theirs_build, f"{build:.3g} s / {theirs_build:.3g} s")
    record.measured(MEMORY, mine / held, f"{mine:.0f} MB, kept rows included / {held:.0f} MB")
    return index.certificate_.share_read


def _flash(library):
    """(ms_entropy's index, seconds it took)."""
    from ms_entropy import FlashEntropySearch

    precursors = library.data.precursor_mz
    entries = [{"precursor_mz": float(precursors[i]), "peaks": table} for i, table in enumerate(library.peaks)]
    flash = FlashEntropySearch()
    seconds = _seconds(lambda: flash.build_index([e for e in entries if len(e["peaks"])], clean_spectra=False))
    return flash, seconds


def _kernels():
    from mercer import kernels

    return [
        kernels.Linear(), kernels.Hellinger(), kernels.Chi2(), kernels.Intersection(), kernels.JensenShannon(),
        kernels.PowerMean(-2.0), kernels.GeneralizedIntersection(0.5), kernels.BrayCurtis(), kernels.MinMax(),
        kernels.RBF(), kernels.Laplacian(), kernels.ExpChi2(), kernels.Chi2() + kernels.Intersection(),
    ]  # fmt: skip


def _words(record):
    """Every kernel that lists serve, on words of posts and of blogs."""
    import numpy as np
    from scipy import sparse

    from benchmarks.search._sparse import one_by_one
    from mercer import KernelIndex, exact_knn
    from mercer.datasets import load_20newsgroups, load_kos

    lines, wrong = [], 0
    for name, X in (("20newsgroups", load_20newsgroups()[0]), ("kos", load_kos())):
        X = sparse.csr_array(getattr(X, "data", X) if not sparse.issparse(X) else X, dtype=np.float32)
        X = X[np.diff(X.indptr) > 0][: 1500 if record.quick else None]
        asked = np.random.default_rng(0).choice(X.shape[0], 20 if record.quick else QUERIES, replace=False)
        for kernel in _kernels():
            index = KernelIndex(kernel).fit(X).add(X)
            index.search(X[asked], K)
            times = {}
            found = _timed(times, "lists", lambda index=index, X=X, asked=asked: index.search(X[asked], K))
            kernel_ = index.kernel_
            true = _timed(times, "brute", lambda k=kernel_, X=X, asked=asked: exact_knn(k, X, X[asked], K))
            wrong += not all(np.array_equal(*pair) for pair in zip(found, true, strict=True))
            alone = one_by_one(lambda row, index=index: index.search(row, K), X[asked])
            lines.append([name, repr(kernel), times["lists"] / times["brute"], alone, index.certificate_.share_read])
    record.measured(WRONG, float(wrong), f"of {len(lines)}")
    record.measured(BATCH, max(line[2] for line in lines), f"{len(lines)} kernels and data sets, in the table")
    record.measured(ALONE, max(line[3] for line in lines), "median of each, in the table")
    columns = ["rows", "kernel", "batch over exact_knn", "single, ms", "share of postings read"]
    record.table("words: every kernel", columns, lines)


def _many_spectra(record, share):
    """Two million made-up spectra in a directory."""
    import tempfile

    from benchmarks.search._sparse import more_spectra, one_by_one
    from mercer import KernelIndex

    lines = [["real", share]]
    queries = more_spectra(QUERIES, seed=1)
    for n_rows in (20_000,) if record.quick else (200_000, 2_000_000):
        X = more_spectra(n_rows)
        with tempfile.TemporaryDirectory() as folder:
            index = KernelIndex("jensen-shannon").fit(X[:1000]).persist(f"{folder}/index")
            for start in range(0, n_rows, 2**17):
                index.add(X[start : start + 2**17])
            index.close()
            opened = _seconds(lambda folder=folder: KernelIndex.open(f"{folder}/index", verify=False).search(X[:1], 1))
            index = KernelIndex.open(f"{folder}/index", verify=False)
            index.search(queries, K)
            lines.append([f"{n_rows:,}", index.certificate_.share_read])
            alone = one_by_one(lambda row, index=index: index.search(row, K), queries)
            index.close()
    record.measured(LARGE, alone, f"{n_rows:,} rows")
    record.measured(OPEN, opened, f"{n_rows:,} rows, verify=False, one query included")
    record.measured(FALLS, lines[-1][1] / share, f"{lines[-1][1]:.3f} / {share:.3f}")
    record.table("share of postings read as rows grow", ["spectra", "share"], lines)


def _fingerprints(record):
    from benchmarks.search._sparse import more_fingerprints, one_by_one
    from mercer import KernelIndex

    X = more_fingerprints(20_000 if record.quick else 1_000_000)
    index = KernelIndex("min-max").fit(X[:1000]).add(X)
    queries = more_fingerprints(QUERIES, seed=1)
    index.search(queries, K)
    alone = one_by_one(lambda row: index.search(row, K), queries)
    record.measured(COUNTS, alone, f"{X.shape[0]:,} rows, {index.certificate_.share_read:.2f} of the postings read")


def _rows(X, asked):
    from scipy import sparse

    return sparse.csr_array(X)[asked]


def _seconds(function):
    import time

    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def _timed(times, name, function):
    import time

    start = time.perf_counter()
    found = function()
    times[name] = time.perf_counter() - start
    return found
