"""Mass spectra: which spectrum shows the same compound, and of which class a new compound is."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

ONE = "same compound found at 1: exact less 16 bytes re-ranked"
TEN = "same compound found at 10: exact less 16 bytes re-ranked"
QUERIES = 2000
CS = (0.1, 0.3, 1.0, 3.0)


@benchmark(
    "uses-spectra",
    "spectral entropy search of mass spectra in 16 and 32 bytes against exact, cosine and ms_entropy; superclasses",
    bars=[Bar(ONE, "<= 1", "points"), Bar(TEN, "<= 1", "points")],
    needs=["massbank"],
    threads=1,
)
def uses_spectra(record):
    from benchmarks.runner import limited_threads

    with limited_threads(record.threads):
        _search(record)
        _classify(record)


# -------------------------------------------------------------------------------------------------------------- search


def _search(record):
    import numpy as np

    from benchmarks.uses._intervals import plus_minus, resampled_interval
    from benchmarks.uses._spectra import Library, ways

    library = Library(quick=record.quick)
    asked = library.queries(200 if record.quick else QUERIES)
    lines, hits = [], {}
    for name, way in ways(library):
        found = way(asked)
        hits[name] = library.hits(found.ids, asked)
        shares = [plus_minus(resampled_interval(hits[name][rank])) for rank in (1, 10)]
        lines.append([name, *shares, found.build_seconds, found.ms_together, found.ms_alone, found.megabytes])
    exact, coded = hits["exact Jensen-Shannon"], hits["16 bytes, re-ranked"]
    for claim, rank in ((ONE, 1), (TEN, 10)):
        lost = 100 * (np.mean(exact[rank]) - np.mean(coded[rank]))
        record.measured(claim, float(lost), f"{100 * np.mean(exact[rank]):.2f} - {100 * np.mean(coded[rank]):.2f} %")
    record.table(
        "queries with another spectrum of the same compound among the first, % (95 % interval over queries)",
        ["by", "1", "10", "build s", "ms per query, all at once", "ms per query, one by one", "kept, MB"],
        lines,
    )
    record.figure("found", _found_figure(hits), "how often the same compound is found, with 95 % intervals")
    record.figure("cost", _cost_figure(lines), "time of a query and memory of what is kept")
    record.note(
        f"{library.n:,} spectra, {len(asked):,} of them (with at least one other of their compound) asked against all "
        "others, on one thread. Rows: bins of 0.1 m/z, entropy-weighted, sum 1. ms_entropy matches peaks within 0.02 "
        "m/z instead of by bins. 'cleaned': peaks below 1 % of the strongest and from 1.6 m/z below the precursor on "
        "are removed, as ms_entropy does by default; the others keep all peaks. 'kept' counts codes, rows for the "
        "exact values and models; of ms_entropy its index, most of which is two tables of positions in m/z."
    )


def _found_figure(hits):
    from benchmarks.uses._intervals import resampled_interval
    from benchmarks.uses._pictures import dots_with_intervals, panels

    figure, sides = panels(2, height=3.9)
    for side, rank, title in zip(sides, (1, 10), ("found first, %", "found among the first 10, %"), strict=True):
        triples = [resampled_interval(found[rank]) for found in hits.values()]
        dots_with_intervals(side, list(hits), triples, _colours(hits))
        side.set_xlabel(title)
    return figure


def _cost_figure(lines):
    from benchmarks.uses._pictures import bars_with_numbers, panels

    names = [line[0] for line in lines]
    figure, sides = panels(2, height=3.9)
    for side, column, title in zip(sides, (5, 6), ("ms per query, one by one", "kept in memory, MB"), strict=True):
        bars_with_numbers(side, names, [line[column] for line in lines], _colours(names))
        side.set_xlabel(title)
    return figure


def _colours(names):
    """Blue for Mercer's kernel and codes, orange for the others."""
    from benchmarks.plotting import COLOURS

    return [COLOURS[0] if "bytes" in name or "Jensen" in name else COLOURS[1] for name in names]


# ------------------------------------------------------------------------------------------------------ classification


def _classify(record):
    from benchmarks.plotting import COLOURS
    from benchmarks.uses._intervals import plus_minus, resampled_interval
    from benchmarks.uses._pictures import dots_with_intervals, panels
    from benchmarks.uses._spectra import balanced, superclasses

    results, n_rows = superclasses(CS, folds=2 if record.quick else 5, quick=record.quick)
    lines, triples = [], {}
    for name, result in results.items():
        triples[name] = resampled_interval(result.right, result.compound)
        lines.append(
            [
                name,
                plus_minus(triples[name]),
                100 * balanced(result),
                ", ".join(f"{C:g}" for C in result.Cs),
                result.seconds,
            ]
        )
    record.table(
        "superclass of compounds that were not seen (95 % interval over compounds)",
        ["features", "right, % of spectra", "mean over classes, %", "C of each fold", "s for the last fit"],
        lines,
    )
    figure, (axes,) = panels(1, width=6.4, height=2.8)
    colours = [COLOURS[1] if name.startswith(("linear", "square")) else COLOURS[0] for name in triples]
    dots_with_intervals(axes, list(triples), list(triples.values()), colours)
    axes.set_xlabel("% of spectra of unseen compounds in the right superclass")
    record.figure("superclass", figure, "superclasses of compounds that were not seen, with 95 % intervals")
    record.note(
        f"Superclasses: {n_rows:,} spectra of 15 classes, cross-validated over compounds, so that no compound is on "
        "both sides; C chosen on a part of the training compounds in each fold. One-vs-rest hinge loss throughout."
    )
