"""Binary codes and product quantisation from 32 to 256 bits. [bourrier15explicit] Sec. 5.2.2, Fig. 4"""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

BITS = (32, 64, 128, 256)
LANDMARKS, RANK, SEEDS = 1024, 100, 5
QUERIES = 1000
IMPLICIT = ("KLSH", "KLSH, not centred", "RMMH")
EXPLICIT, CODED = "KPCA + LSH", "KPCA + PQ"
LEAST = "{} bits: recall_1@100 of KPCA + LSH less the best of KLSH and RMMH"
WORDS = "{} bits: recall_1@100 of KPCA + PQ less KPCA + LSH"


@benchmark(
    "search-hashing",
    "explicit against implicit embeddings: KPCA + PQ, KPCA + LSH, KLSH and RMMH on a million SIFT descriptors",
    bars=[Bar(claim.format(bits), "> 0") for bits in BITS for claim in (LEAST, WORDS)],
    paper="bourrier15explicit",
    needs=["scenes15", "sift"],
)
def search_hashing(record):
    import numpy as np

    from benchmarks.runner import limited_threads
    from benchmarks.search._scenes import mean_and_spread, neighbours, rows

    seeds = 1 if record.quick else SEEDS
    with limited_threads(record.threads):
        base, queries = rows(record.quick, QUERIES)
        true = neighbours(base, queries)
        found = {}
        for seed in range(seeds):
            for side, bits, recall in _measured(base, queries, true, seed):
                found.setdefault((side, bits), []).append(recall)
    for bits in BITS:
        explicit, words = np.mean(found[EXPLICIT, bits]), np.mean(found[CODED, bits])
        best = max(IMPLICIT, key=lambda side: np.mean(found[side, bits]))
        implicit = np.mean(found[best, bits])
        record.measured(LEAST.format(bits), float(explicit - implicit), f"{explicit:.3f} - {implicit:.3f} ({best})")
        record.measured(WORDS.format(bits), float(words - explicit), f"{words:.3f} - {explicit:.3f}")
    sides = (CODED, EXPLICIT, *IMPLICIT)
    lines = [[side, *(mean_and_spread(found[side, bits]) for bits in BITS)] for side in sides]
    record.table("recall_1@100, mean and spread over seeds", ["code", *(f"{bits} bits" for bits in BITS)], lines)
    record.figure("bits", _figure(found, sides), "recall_1@100 against the length of the code")
    record.note(
        f"{len(base):,} base rows, {len(queries):,} queries, {seeds} seeds; Hamming distances for binary codes. "
        f"{LANDMARKS:,} landmarks for every side. KPCA + LSH: as many centred components as bits but no more than 64, "
        "orthogonal directions; KPCA + PQ: Mercer's default. KLSH and RMMH as in their papers: 30 and 32 landmarks "
        "per bit; their shorter codes are the first bits of the longest."
    )


def _measured(base, queries, true, seed):
    """(side, bits, recall) of everything."""
    from mercer import KLSH, RMMH, KernelIndex, KernelPCA, SignHash

    longest = max(BITS)
    hashers = {
        "KLSH": KLSH("chi2", longest, n_landmarks=LANDMARKS, center=True, random_state=seed),
        "KLSH, not centred": KLSH("chi2", longest, n_landmarks=LANDMARKS, center=False, random_state=seed),
        "RMMH": RMMH("chi2", longest, n_landmarks=LANDMARKS, random_state=seed),
    }
    sample = base[: min(len(base), 100_000)]
    for side, hasher in hashers.items():
        hasher.fit(sample)
        codes, asked = hasher.transform(base), hasher.transform(queries)
        for bits in BITS:
            yield side, bits, _hamming_recall(codes[:, : bits // 8], asked[:, : bits // 8], true)
    for bits in BITS:
        map = KernelPCA("chi2", min(bits, 64), LANDMARKS, center=True, random_state=seed)
        hasher = SignHash(map, bits, random_state=seed).fit(sample)
        yield EXPLICIT, bits, _hamming_recall(hasher.transform(base), hasher.transform(queries), true)
        index = KernelIndex("chi2", bytes_per_item=bits // 8, embedding="kpca", vectors=None, random_state=seed)
        ids, _ = index.fit(base).add(base).search(queries, RANK)
        yield CODED, bits, _recall(ids, true)


def _hamming_recall(codes, queries, true):
    import numpy as np

    from mercer import hamming_top_k

    _, found = hamming_top_k(np.ascontiguousarray(codes), np.ascontiguousarray(queries), RANK)
    return _recall(found, true)


def _recall(found, true):
    from mercer.search import recall_1_at

    return recall_1_at(found, true, RANK)


def _figure(found, sides):
    import numpy as np

    from benchmarks.plotting import new_figure

    figure, axes = new_figure()
    for side in sides:
        runs = np.array([found[side, bits] for bits in BITS])
        spread = runs.std(axis=1, ddof=1) if runs.shape[1] > 1 else 0
        axes.errorbar(BITS, runs.mean(axis=1), yerr=spread, marker="o", markersize=4, capsize=2, label=side)
    axes.set_xscale("log", base=2)
    axes.set_xticks(BITS, [str(bits) for bits in BITS])
    axes.set_xlabel("bits per row")
    axes.set_ylabel("recall_1@100")
    axes.set_ylim(0, 1.02)
    axes.legend(frameon=False, fontsize=8)
    return figure
