"""Mass spectra peak by peak: answers and costs against ms_entropy, many spectra, all pairs."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

CLEAN = "54,791 spectra: share that is cleaned as by ms_entropy"
SCORES = "10,000 real pairs cleaned by ms_entropy, tolerance 0.0205: largest difference of scores"
OPEN = "open search: same first score as ms_entropy's, share of queries"
IDENTITY = "identity search: same first score as ms_entropy's, share of queries"
SINGLE = "open search: single query over ms_entropy's, cleaning and the choice of ten included"
BUILD = "build over ms_entropy's, cleaning included"
MEMORY = "memory over that of ms_entropy's index, kept spectra included"
FIRST, TEN = "same compound first: less ms_entropy's", "same compound among ten: less ms_entropy's"
PAIRS = "all pairs above 0.7, two cores"
MANY, START = "2,000,000 spectra: single open query, median", "2,000,000 spectra: time to open"
COSINE = "10,000 real pairs: largest difference to matchms' CosineGreedy"
MODIFIED = "10,000 real pairs: largest difference to matchms' ModifiedCosineGreedy"
FLASH = "open search: same first score as matchms' FlashSimilarity, share of queries"
FASTER = "open search: single query over FlashSimilarity's, of rows of its matrix"
COMMANDS = "a library and 20 queries in two files, two commands to a table of hits and a report"
QUERIES, HITS = 10_000, 11


@benchmark(
    "fields-spectra",
    "mass spectra peak by peak: answers, time and memory against ms_entropy; all pairs; two million spectra",
    bars=[
        Bar(CLEAN, ">= 0.999"),
        Bar(SCORES, "<= 1e-5"),
        Bar(OPEN, ">= 0.99"),
        Bar(IDENTITY, ">= 0.99"),
        Bar(SINGLE, "<= 0.33", "x"),
        Bar(BUILD, "<= 0.1", "x"),
        Bar(MEMORY, "<= 0.25", "x"),
        Bar(FIRST, ">= -0.1", "points"),
        Bar(TEN, ">= -0.1", "points"),
        Bar(PAIRS, "<= 30", "s"),
        Bar(MANY, "<= 15", "ms"),
        Bar(START, "<= 2", "s"),
        Bar(COSINE, "<= 1e-5"),
        Bar(MODIFIED, "<= 1e-5"),
        Bar(FLASH, ">= 0.99"),
        Bar(FASTER, "<= 0.33", "x"),
        Bar(COMMANDS, "<= 60", "s"),
    ],
    needs=["massbank"],
)
def fields_spectra(record):
    from benchmarks.fields._massbank import Library
    from benchmarks.runner import limited_threads

    library = Library(record.quick)
    with limited_threads(1):
        _cleaning(record, library)
        _scores(record, library)
        index = _search(record, library)
        _matchms(record, library, index)
        _many(record, library)
    _pairs(record, index)
    _commands(record, library)
    record.note(
        "One thread but for all pairs. Two million spectra are copies of the real ones with peaks moved, weakened and "
        "dropped at random; queries are of another copy."
    )


def _cleaning(record, library):
    import numpy as np
    from ms_entropy import clean_spectrum

    from mercer.spectra import clean_spectra

    same = []
    for ours, given in zip(clean_spectra(library.spectra, precursor_window="none"), library.spectra, strict=True):
        theirs = clean_spectrum(np.column_stack([given.mz, given.intensity]).astype(np.float32))
        same.append(len(theirs) == len(ours.mz) and np.allclose(theirs[:, 0], ours.mz, atol=1e-3)
                    and np.allclose(theirs[:, 1], ours.intensity, atol=1e-6))  # fmt: skip
    record.measured(CLEAN, float(np.mean(same)), f"{len(same):,} spectra, peaks nearer than 0.05 Da merged")


def _scores(record, library):
    import numpy as np
    from ms_entropy import calculate_entropy_similarity, clean_spectrum

    from mercer.spectra import spectral_similarity

    rng, count = np.random.default_rng(0), 500 if record.quick else 10_000
    order = np.argsort(library.compound, kind="stable")
    first = rng.integers(0, len(order) - 1, count)
    second = np.where(np.arange(count) % 3, first + 1, rng.integers(0, len(order), count))  # neighbours: same compound
    cleaned = {}
    for place in {*first.tolist(), *second.tolist()}:
        given = library.spectra[int(order[place])]
        table = np.column_stack([given.mz, given.intensity]).astype(np.float32)
        cleaned[place] = clean_spectrum(table, min_ms2_difference_in_da=0.041)
    a, b = ([cleaned[place] for place in side.tolist()] for side in (first, second))
    ours, _ = spectral_similarity(a, b, clean=False, tolerance=0.0205)
    theirs = [calculate_entropy_similarity(x, y, ms2_tolerance_in_da=0.0205, clean_spectra=False)
              for x, y in zip(a, b, strict=True)]  # fmt: skip
    record.measured(SCORES, float(np.abs(ours - theirs).max()), f"mean similarity {np.mean(theirs):.2f}")


def _search(record, library):
    import time

    import numpy as np

    from benchmarks.fields._massbank import Flash, alone
    from mercer.spectra import SpectrumIndex

    spectra, asked = library.spectra, library.queries(100 if record.quick else QUERIES)
    SpectrumIndex().add(spectra[:50]).search(spectra[:2], mode="identity")  # loops are compiled
    start = time.perf_counter()
    index = SpectrumIndex(n_jobs=1).add(spectra)
    build = time.perf_counter() - start
    flash = Flash(spectra)
    singles = [spectra[[number]] for number in asked]
    ours = alone(lambda query: index.search(query, 10), singles[:200])
    theirs = alone(lambda number: flash.search(number, 10), asked[:200])
    record.measured(SINGLE, ours / theirs, f"{ours:.3g} ms / {theirs:.3g} ms")
    record.measured(BUILD, build / flash.seconds, f"{build:.3g} s / {flash.seconds:.3g} s")
    stats = index.stats()
    held = (stats["peak_bytes"] + stats["index_bytes"]) / 1e6
    record.measured(MEMORY, held / flash.megabytes, f"{held:.0f} MB / {flash.megabytes:.0f} MB")
    for claim, mode in ((OPEN, "open"), (IDENTITY, "identity")):
        hits = index.search(spectra[asked], HITS, mode=mode)
        found = [flash.search(number, HITS, mode) for number in asked]
        tops = [(hits.of(i)[1][:1].sum(), scores[:1].sum()) for i, (_, scores) in enumerate(found)]
        # of equal scores either may come first; theirs are of single precision
        record.measured(claim, float(np.mean([abs(x - y) <= 1e-4 for x, y in tops])), f"{len(asked):,} queries")
        if mode == "open":
            rates = [library.same_compound([hits.of(i)[0] for i in range(len(asked))], asked),
                     library.same_compound([ids for ids, _ in found], asked)]  # fmt: skip
    for claim, rank in ((FIRST, 0), (TEN, 1)):
        record.measured(claim, rates[0][rank] - rates[1][rank], f"{rates[0][rank]:.1f} - {rates[1][rank]:.1f} %")
    modes = [(mode, alone(lambda query, mode=mode: index.search(query, 10, mode=mode), singles[:100]))
             for mode in ("open", "identity", "loss", "hybrid")]  # fmt: skip
    record.table("single queries by mode, ms", ["mode", "median"], [list(each) for each in modes])
    return index


def _matchms(record, library, index):
    import numpy as np

    from benchmarks.fields import _matchms as side
    from benchmarks.fields._massbank import alone
    from mercer.spectra import clean_spectra, spectral_similarity

    spectra, rng, count = library.spectra, np.random.default_rng(0), 500 if record.quick else 10_000
    order = np.argsort(library.compound, kind="stable")
    first = rng.integers(0, len(order) - 1, count)
    second = np.where(np.arange(count) % 3, first + 1, rng.integers(0, len(order), count))
    pairs = np.column_stack([order[first], order[second]])
    known = spectra.precursor_mz > 0
    pairs = pairs[known[pairs].all(axis=1)]
    asked = library.queries(100)
    cleaned = clean_spectra(spectra)
    theirs = side.ask_matchms(spectra, pairs, cleaned, asked)
    if theirs is None:
        record.note("matchms was not asked: MERCER_MATCHMS names no Python that has it.")
        return
    for claim, name, mode in ((COSINE, "cosine", "open"), (MODIFIED, "modified", "hybrid")):
        ours, _ = spectral_similarity(spectra[pairs[:, 0]], spectra[pairs[:, 1]], mode=mode, similarity="cosine",
                                      tolerance=side.TOLERANCE, clean=False)  # fmt: skip
        record.measured(claim, float(np.abs(ours - theirs[name]).max()), f"tolerance {side.TOLERANCE} Da")
    hits = index.search(spectra[asked], 2)
    tops = [next(iter(hits.of(i)[1][hits.of(i)[0] != own]), 0.0) for i, own in enumerate(asked)]
    record.measured(FLASH, float(np.mean(np.abs(tops - theirs["first"]) <= 1e-4)), f"{len(asked)} queries")
    ours = alone(lambda query: index.search(query, 10), [spectra[[number]] for number in asked])
    single, build = float(theirs["milliseconds"]), float(theirs["build"])
    said = f"{ours:.3g} ms / {single:.3g} ms; its index takes {build:.2g} s, for every matrix anew"
    record.measured(FASTER, ours / single, said)


def _many(record, library):
    import tempfile
    import time

    import numpy as np

    from benchmarks.fields._massbank import alone
    from mercer.spectra import SpectrumIndex

    n = 20_000 if record.quick else 2_000_000
    with tempfile.TemporaryDirectory() as folder:
        with SpectrumIndex().persist(f"{folder}/index") as index:
            seed = 0
            while len(index) < n:
                seed += 1
                index.add(library.copies(seed)[: min(len(library), n - len(index))])
        queries = library.copies(0)[np.random.default_rng(0).choice(len(library), 200, replace=False)]
        start = time.perf_counter()
        with SpectrumIndex.open(f"{folder}/index", verify=False, n_jobs=1) as index:
            index.search(queries[:1], 10)
            opened = time.perf_counter() - start
            index.search(queries, 10)
            single = alone(lambda query: index.search(query, 10), [queries[[i]] for i in range(len(queries))])
    record.measured(MANY, single, f"{n:,} spectra")
    record.measured(START, opened, f"{n:,} spectra, verify=False, one query included")


def _pairs(record, index):
    import time

    from benchmarks.runner import limited_threads

    with limited_threads(2):
        index.n_jobs = 2
        start = time.perf_counter()
        first, *_ = index.pairs(0.7)
        seconds = time.perf_counter() - start
    record.measured(PAIRS, seconds, f"{len(index):,} spectra, {len(first):,} pairs")


def _commands(record, library):
    """A new user's two commands, each in a process of its own."""
    import subprocess
    import sys
    import tempfile
    import time
    from pathlib import Path

    asked = set(library.queries(20).tolist())
    kept = [number for number in range(len(library)) if number not in asked]
    with tempfile.TemporaryDirectory() as folder:
        for name, numbers in (("library.msp", kept), ("queries.msp", sorted(asked))):
            (Path(folder) / name).write_text("\n".join(_msp(library.spectra[number], number) for number in numbers))
        mercer = [sys.executable, "-m", "mercer.cli.main", "spectra"]
        start = time.perf_counter()
        for command in (
            [*mercer, "build", "library.msp", "--out", "library.index"],
            [*mercer, "search", "library.index", "queries.msp", "--out", "hits.csv", "--report", "hits.html"],
        ):
            subprocess.run(command, cwd=folder, check=True, capture_output=True)
        spent = time.perf_counter() - start
        n_hits = len((Path(folder) / "hits.csv").read_text().splitlines()) - 1
    record.measured(COMMANDS, spent, f"{len(kept):,} spectra, {n_hits} hits, a new process for each command")


def _msp(spectrum, number):
    peaks = "".join(f"{mz} {value}\n" for mz, value in zip(spectrum.mz, spectrum.intensity, strict=True))
    precursor = spectrum.metadata.get("precursor_mz")
    line = "" if precursor is None else f"PRECURSORMZ: {precursor}\n"
    return f"NAME: spectrum {number}\n{line}Num Peaks: {len(spectrum.mz)}\n{peaks}"
