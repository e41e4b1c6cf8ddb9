"""q-values of first hits where the truth is known: MassBank's compounds, half of those asked missing in the library."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

LEVELS = (0.05, 0.1, 0.2, 0.3)
ASKED, DRAWS = 1600, 5
CLAIM = "{mode} search, compounds not used for choices: wrong hits among those of q <= {level}, less {level}, absolute"
BARS = (0.1, 0.2)  # at 0.05 next to no hit is so sure


@benchmark(
    "fields-certainty",
    "mass spectra: q-values against the truth, half of the compounds asked missing in the library",
    bars=[Bar(CLAIM.format(mode=mode, level=level), "<= 0.03") for mode in ("identity", "open") for level in BARS],
    needs=["massbank"],
)
def fields_certainty(record):
    import numpy as np

    from benchmarks.fields._massbank import Library

    library = Library(False)
    names, compound = np.unique(library.compound, return_inverse=True)
    confirmed = np.random.default_rng(7).random(len(names)) < 0.5  # methods were chosen on the others
    lines = []
    for mode in ("identity", "open"):
        for half in (False, True):
            kept = np.flatnonzero(confirmed == half)
            draws = range(1 if record.quick else DRAWS)
            found = [_draw(library, compound, kept, mode, seed) for seed in draws]
            for method in found[0]:
                counts = np.array([each[method] for each in found]).sum(axis=0)
                shares = [f"{wrong / total:.3f} of {total}" if total else "none" for wrong, total in counts.tolist()]
                lines.append([mode, "confirmed" if half else "chosen on", method, *shares])
            for level, (wrong, total) in zip(LEVELS, counts.tolist(), strict=True):  # the last method is ours
                if half and level in BARS:
                    error = abs(wrong / total - level) if total else level
                    record.measured(CLAIM.format(mode=mode, level=level), error, f"{wrong} of {total} are wrong")
    record.table("wrong first hits among those up to a q-value, all draws", ["search", "compounds", "method",
                 *(f"q <= {level}" for level in LEVELS)], lines)  # fmt: skip
    record.note(
        f"Each draw asks one spectrum of each of {ASKED} compounds with several and leaves all spectra of every second "
        "one out of the library. Decoys: library spectra whose m/z are those of others at most as heavy as their "
        "precursor, in competition; second: the best hit of another compound than the first, counted as if the first "
        "were wrong so."
    )


def _draw(library, compound, kept, mode, seed):
    """(wrong hits, hits) up to each level by every method."""
    import numpy as np

    from mercer.spectra import Spectra, SpectrumIndex

    rng = np.random.default_rng(100 + seed)
    counts = np.bincount(compound)
    asked = rng.permutation(kept[counts[kept] > 1])[:ASKED]
    order = rng.permutation(len(compound))
    _, first = np.unique(compound[order], return_index=True)
    queries = order[first][asked]
    missing = np.zeros(len(counts), dtype=bool)
    missing[asked[::2]] = True
    there = ~missing[compound]
    there[queries] = False
    rows = np.flatnonzero(there)
    known = library.spectra[rows]
    known.columns["name"] = [f"compound {number}" for number in compound[rows].tolist()]
    index = SpectrumIndex().add(known)
    hits = index.search(library.spectra[queries], 300, mode=mode, q_values=True)
    tops, seconds, right = np.zeros(len(queries)), np.zeros(len(queries)), np.zeros(len(queries), dtype=bool)
    for query in range(len(queries)):
        ids, scores, _ = hits.of(query)
        if len(ids):
            found = compound[rows[ids]]
            tops[query], right[query] = scores[0], found[0] == compound[queries[query]]
            seconds[query] = next(iter(scores[found != found[0]]), 0.0)
    pool = np.sort(known.mz)
    heaviest = np.repeat(np.nan_to_num(known.precursor_mz, nan=np.inf), np.diff(known.offsets))
    below = np.maximum(np.searchsorted(pool, heaviest, side="right"), 1)
    decoys = Spectra(pool[(rng.random(len(below)) * below).astype(int)], known.intensity, known.offsets, known.columns)
    rivals = SpectrumIndex().add(decoys).search(library.spectra[queries], 1, mode=mode)
    beaten = np.array([next(iter(rivals.of(query)[1]), 0.0) for query in range(len(queries))])
    won = tops >= beaten
    return {
        "decoys": _up_to(_rates(np.where(won, tops, 0), np.where(won, 0, beaten)), right),
        "second": _up_to(_rates(tops, seconds), right),
        "library": _up_to(hits.q_values, right),
    }


def _rates(targets, nulls):
    """q-values by counting: (nulls + 1) / targets, monotone."""
    import numpy as np

    scores, counts = np.unique(targets, return_counts=True)
    reached = np.cumsum(counts[::-1])[::-1]
    above = len(nulls) - np.searchsorted(np.sort(nulls), scores)
    least = np.minimum.accumulate((above + 1) / reached)
    return np.where(targets > 0, least[np.searchsorted(scores, targets)], 1.0)


def _up_to(q, right):
    return [(int((~right & (q <= level)).sum()), int((q <= level).sum())) for level in LEVELS]
