"""Act 1, search: find where covered patches of photographs come from, and search without visiting all rows."""

__all__ = ["search"]

import time

from mercer.cli.demo.act import Act, Line, milliseconds
from mercer.cli.demo.claims import best, capital, compared, faster

BYTES = 16  # of a code
SPECTRA, HISTOGRAMS = 200_000, 40_000  # rows of the made-up libraries
_K, _ASKED = 10, 20  # neighbors, and queries asked one by one
_DRAWN = 6  # queries on the page
_SHOWN = ("Euclidean distance", "cosine", "chi2 index")  # whose first hits are drawn there

SNIPPET = """from mercer import KernelIndex

index = KernelIndex("chi2", bytes_per_item=16).fit(rows).add(rows)
ids, similarity = index.search(queries, k=10)"""


def search(seed: int) -> Act:
    """Search by color in photographs, then two made-up libraries for speed."""
    import numpy as np

    from mercer.cli.demo.photographs import photographs

    patches = photographs(seed)
    found, pictures = _find_patches(patches, seed)
    rng = np.random.default_rng(seed)
    spectra, histograms = _by_lists(rng, seed), _by_graph(rng, seed)
    return Act(
        title="Search",
        about=f"{len(patches.rows):,} patches of two photographs, each a histogram of 512 colors. The queries are the "
        "same patches with 30 % covered by the other photograph. An answer is right if the first hit is the patch "
        "itself. Vector databases usually compare by Euclidean distance or cosine; chi2 is made for histograms. "
        f"Speed is measured on two made-up libraries, {SPECTRA:,} sparse spectra and {HISTOGRAMS:,} histograms, with "
        "queries that are not in them; there, right is the share of the ten nearest rows that is found.",
        columns=("data", "compared by", "right", "bytes scanned per row", "one query"),
        lines=[*found.values(), *spectra, *histograms],
        headline=_headline(found),
        claims=_claims(found, spectra, histograms),
        pictures=pictures,
        cells=_cells,
        snippet=SNIPPET,
    )


def _cells(line: Line) -> list[str]:
    size = "" if line.n_bytes is None else f"{line.n_bytes:,}"
    return [line.data, line.method, f"{100 * line.share:.1f} %", size, milliseconds(line.seconds)]


# ---------------------------------------------------------------------------------------------------------- photographs


def _find_patches(patches, seed: int):
    """Who finds the true place first: a line for each way to compare, and pictures of some answers."""
    import numpy as np

    from mercer import Chi2, Hellinger, KernelIndex

    X, Q = patches.rows, patches.questions
    index = KernelIndex("chi2", bytes_per_item=BYTES, random_state=seed).fit(X).add(X)
    alone = KernelIndex("chi2", bytes_per_item=BYTES, vectors=None, random_state=seed).fit(X).add(X)
    norms = np.linalg.norm(X, axis=1)
    directions = X / norms[:, None]
    ways = {
        "Euclidean distance": lambda Q: (2 * Q @ X.T - norms**2).argmax(axis=1),
        "cosine": lambda Q: (Q @ directions.T).argmax(axis=1),
        "Hellinger": lambda Q: Hellinger().top_k(Q, X, k=1)[1][:, 0],
        "exact chi2": lambda Q: Chi2().top_k(Q, X, k=1)[1][:, 0],
        "chi2 index": lambda Q: index.search(Q, k=1)[0][:, 0],
        "chi2 code alone": lambda Q: alone.search(Q, k=1)[0][:, 0],
    }
    lines, answers, truth = {}, {}, np.arange(len(X))
    for name, ask in ways.items():
        answers[name] = ask(Q)
        seconds = _of_one([lambda i=i, ask=ask: ask(Q[i : i + 1]) for i in range(_ASKED)])
        n_bytes = BYTES if name in ("chi2 index", "chi2 code alone") else X[0].nbytes
        lines[name] = Line(f"{len(X):,} patches", name, answers[name] == truth, seconds, n_bytes, "chi2" in name)
    return lines, [_where_they_differ(lines, answers, patches, seed)]


def _where_they_differ(lines: dict[str, Line], answers, patches, seed: int) -> tuple[str, list[tuple[str, str]]]:
    """Queries that either cosine or the index answers right: how many each, and some of them at random."""
    import numpy as np

    from mercer._base.html.pieces import pixels_uri

    index, cosine = lines["chi2 index"].hits, lines["cosine"].hits
    differ = np.flatnonzero(index != cosine)
    caption = (
        f"On {len(differ):,} of {len(index):,} queries either the chi2 index or cosine is right, but not both: the "
        f"index on {np.count_nonzero(index[differ]):,}, cosine on {np.count_nonzero(cosine[differ]):,}. "
        f"{min(_DRAWN, len(differ))} of these at random, with the patch to find and the first hits"
    )
    shown: list[tuple[str, str]] = []
    for i in np.random.default_rng(seed).permutation(differ)[:_DRAWN].tolist():
        shown += [(pixels_uri(patches.covered[i]), "query"), (pixels_uri(patches.pixels[i]), "to find")]
        for name in _SHOWN:
            answer = int(answers[name][i])
            mark = "right" if answer == i else "wrong"
            shown.append((pixels_uri(patches.pixels[answer]), f"{name}: {mark}"))
    return caption, shown


def _of_one(questions) -> float:
    """Seconds of a question, the median; the first is asked before, so that nothing is compiled in it."""
    questions[0]()
    times = []
    for ask in questions:
        started = time.perf_counter()
        ask()
        times.append(time.perf_counter() - started)
    return sorted(times)[len(times) // 2]


# ---------------------------------------------------------------------------------------------------- made-up libraries


def _by_lists(rng, seed: int) -> list[Line]:
    import numpy as np

    from mercer import KernelIndex
    from mercer.cli.demo.made_up import made_up_spectra

    rows = made_up_spectra(SPECTRA + _ASKED, rng)
    asked = rng.choice(rows.shape[0], _ASKED, replace=False)  # their families stay in the library
    X, queries = rows[np.setdiff1d(np.arange(rows.shape[0]), asked)], rows[asked]
    index = KernelIndex("jensen-shannon", store="lists", random_state=seed).fit(X[:5000]).add(X)
    return _beside_all(f"{SPECTRA:,} made-up spectra", index, "inverted lists", X, queries)


def _by_graph(rng, seed: int) -> list[Line]:
    from mercer import KernelIndex
    from mercer.cli.demo.made_up import made_up_histograms

    rows = made_up_histograms(HISTOGRAMS + _ASKED, rng)
    X, queries = rows[_ASKED:], rows[:_ASKED]
    index = KernelIndex("chi2", store="graph", n_landmarks=256, effort="low", random_state=seed).fit(X[:5000]).add(X)
    return _beside_all(f"{HISTOGRAMS:,} made-up histograms", index, "graph", X, queries)


def _beside_all(data: str, index, name: str, X, queries) -> list[Line]:
    """Brute force and the index, asked the same questions one by one; right is what brute force finds."""
    import numpy as np

    from mercer import get_kernel

    kernel, one = get_kernel(index.kernel), [queries[[i]] for i in range(queries.shape[0])]
    every = _of_one([lambda q=q: kernel.top_k(q, X, k=_K) for q in one[:8]])
    few = _of_one([lambda q=q: index.search(q, k=_K) for q in one])
    truth, (found, _) = kernel.top_k(queries, X, k=_K)[1], index.search(queries, k=_K)
    hits = np.concatenate([np.isin(a, b) for a, b in zip(found, truth, strict=True)])
    return [Line(data, "brute force", np.ones_like(hits), every), Line(data, name, hits, few, ours=True)]


# --------------------------------------------------------------------------------------------------------------- claims


def _headline(found: dict[str, Line]) -> tuple[str, str]:
    index, cosine = found["chi2 index"], found["cosine"]
    said = f"of covered patches found by a chi2 index, which scans {BYTES} bytes per row; cosine finds "
    said += f"{100 * cosine.share:.0f} % with {cosine.n_bytes:,}"
    return f"{100 * index.share:.0f} %", said


def _claims(found: dict[str, Line], spectra: list[Line], histograms: list[Line]) -> list[str]:
    index, exact, alone = (found[name] for name in ("chi2 index", "exact chi2", "chi2 code alone"))
    usual = best([found["Euclidean distance"], found["cosine"]])
    row_bytes = exact.n_bytes or 0
    claims = [
        f"{compared(exact, usual)}.",
        f"{compared(exact, found['Hellinger'])}.",
        f"{compared(index, exact)}. It scans {BYTES} bytes per row instead of {row_bytes:,}, {row_bytes / BYTES:.0f} "
        "times fewer, and reads whole rows only to rank its best candidates.",
        f"{compared(alone, exact)}. Such an index stores {BYTES} bytes per row and not the rows.",
    ]
    for every, few in (spectra, histograms):
        claims.append(
            f"{capital(few.data)}, {few.method}: a query takes {milliseconds(few.seconds)}, "
            f"{faster(few.seconds, every.seconds)} brute force ({milliseconds(every.seconds)}), and finds "
            f"{100 * few.share:.1f} % of the ten nearest rows."
        )
    return [capital(claim) for claim in claims]
