"""Recall@R of explicit and implicit embeddings, on descriptors and bags of words. [bourrier15explicit] Fig. 4 and 5"""

from __future__ import annotations

from types import SimpleNamespace

from benchmarks.registry import Bar, benchmark

SETS = {"SIFT": 100, "words": 1000}  # rank of the curve over bits, as in the paper
RANKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
COMPONENTS, QUERIES = 128, 1000
ROWS = 20_000  # of SIFT
PAPER, MERCER, EXPLICIT, IMPLICIT = "KPCA + PQ", "Mercer's default", "KPCA + LSH", ("KLSH", "RMMH")
FULL = SimpleNamespace(bits=(32, 64, 128, 256), landmarks=1024, seeds=2)
QUICK = SimpleNamespace(bits=(64, 256), landmarks=160, seeds=1)
BETTER = "{}, 64 bits: recall_1@{} of KPCA + PQ less the best binary code"


@benchmark(
    "search-ranks",
    "recall@R of KPCA + PQ, KPCA + LSH, KLSH and RMMH on SIFT descriptors under chi2",
    bars=[Bar(BETTER.format("SIFT", SETS["SIFT"]), "> 0")],
    paper="bourrier15explicit",
    needs=["scenes15", "sift"],
    threads=1,
)
def search_ranks(record):
    _one_set(record, "SIFT")


@benchmark(
    "search-ranks-words",
    "recall@R of KPCA + PQ, KPCA + LSH, KLSH and RMMH on bags of words under chi2",
    bars=[Bar(BETTER.format("words", SETS["words"]), "> 0")],
    paper="bourrier15explicit",
    needs=["20newsgroups"],
    threads=1,
)
def search_ranks_words(record):
    _one_set(record, "words")


def _one_set(record, name):
    import numpy as np

    from benchmarks.runner import limited_threads
    from mercer import exact_knn

    sizes, found = (QUICK if record.quick else FULL), {}
    with limited_threads(record.threads):
        base, queries = _rows(name, record.quick)
        true, _ = exact_knn("chi2", base, queries, 1)
        for seed in range(sizes.seeds):
            for side, bits, ids in _searched(base, queries, seed, sizes):
                found.setdefault((side, bits), []).append(_recalls(ids, true))
    mean = {key: np.mean(runs, axis=0) for key, runs in found.items()}
    sides = (PAPER, EXPLICIT, *IMPLICIT, MERCER)
    place = RANKS.index(SETS[name])
    best = max((EXPLICIT, *IMPLICIT), key=lambda side: mean[side, 64][place])
    ours, theirs = mean[PAPER, 64][place], mean[best, 64][place]
    record.measured(BETTER.format(name, SETS[name]), float(ours - theirs), f"{ours:.3f} - {theirs:.3f} ({best})")
    title = f"{len(base):,} rows of {base.shape[1]:,}, {len(queries):,} queries"
    lines = [[side, *map(float, mean[side, 256])] for side in sides]
    record.table(f"recall_1@R of 256 bits, {title}", ["code", *map(str, RANKS)], lines)
    lines = [[side, *(float(mean[side, bits][place]) for bits in sizes.bits)] for side in sides]
    record.table(f"recall_1@{SETS[name]} by bits, {title}", ["code", *(f"{bits} bits" for bits in sizes.bits)], lines)
    caption = f"Recall@R of 256 bits, and recall@{SETS[name]} by bits; {title}"
    record.figure("recall", _figure(mean, sides, place, sizes.bits), caption)
    record.note(
        f"Mean over {sizes.seeds} seeds; {sizes.landmarks:,} landmarks for every side. KPCA + PQ: {COMPONENTS} "
        "components, landmarks drawn uniformly, a random permutation, Euclidean distances to the codes; KPCA + LSH: "
        "as many centred components as bits but no more than 64; KLSH centred. Mercer's default is "
        "KernelIndex(bytes_per_item=bits / 8), without re-ranking, of one seed."
    )


def _rows(name, quick):
    """(base, queries), rows that sum to 1"""
    import numpy as np

    from benchmarks.search._scenes import rows
    from mercer.datasets import load_20newsgroups

    if name == "SIFT":
        base, queries = rows(quick, QUERIES)
        return (base[:2000], queries[:50]) if quick else (base[:ROWS], queries)
    parts = [load_20newsgroups(part)[0] for part in ("train", "test")]
    columns = np.argsort(-np.asarray(parts[0].sum(axis=0)).ravel(), kind="stable")[:1000]
    X = np.concatenate([np.asarray(part[:, columns].todense(), dtype=np.float32) for part in parts])
    X = X[X.sum(axis=1) >= 10]  # posts of a few words have hundreds of equally near neighbours
    X = X[np.random.default_rng(0).permutation(len(X))]
    X /= X.sum(axis=1, keepdims=True)
    return (X[50:1550], X[:50]) if quick else (X[QUERIES:], X[:QUERIES])


def _searched(base, queries, seed, sizes):
    """(side, bits, ids of the first 1,000)"""
    from mercer import KLSH, RMMH, KernelIndex, KernelPCA, SignHash

    longest, most = max(sizes.bits), min(max(RANKS), len(base))
    hashers = {
        "KLSH": KLSH("chi2", longest, n_landmarks=sizes.landmarks, center=True, random_state=seed),
        "RMMH": RMMH("chi2", longest, n_landmarks=sizes.landmarks, random_state=seed),
    }
    for side, hasher in hashers.items():
        hasher.fit(base)
        codes, asked = hasher.transform(base), hasher.transform(queries)
        for bits in sizes.bits:
            yield side, bits, nearest(codes[:, : bits // 8], asked[:, : bits // 8], most)
    for bits in sizes.bits:
        embedding = KernelPCA("chi2", min(bits, 64), sizes.landmarks, center=True, random_state=seed)
        hasher = SignHash(embedding, bits, random_state=seed).fit(base)
        yield EXPLICIT, bits, nearest(hasher.transform(base), hasher.transform(queries), most)
        if seed == 0:
            index = KernelIndex("chi2", bytes_per_item=bits // 8, vectors=None, random_state=seed)
            yield MERCER, bits, index.fit(base).add(base).search(queries, most)[0]
    yield from as_in_the_paper(base, queries, seed, most, sizes)


def nearest(codes, queries, most):
    import numpy as np

    from mercer import hamming_top_k

    return hamming_top_k(np.ascontiguousarray(codes), np.ascontiguousarray(queries), most)[1]


def as_in_the_paper(base, queries, seed, most, sizes):
    import numpy as np

    from mercer import KernelPCA, ProductQuantizer
    from mercer.search.model.coders import WordCoder
    from mercer.search.stores import CodeStore

    chosen = np.random.default_rng(seed).choice(len(base), min(sizes.landmarks, len(base)), replace=False)
    embedding = KernelPCA("chi2", COMPONENTS, sizes.landmarks, landmarks="uniform", random_state=seed).fit(base[chosen])
    Z, asked = embedding.transform(base), embedding.transform(queries)
    for bits in sizes.bits:
        quantizer = ProductQuantizer(n_blocks=bits // 8, rotation="permutation", random_state=seed).fit(Z)
        coder, store = WordCoder(quantizer), CodeStore()
        store.create(coder)
        store.upsert(np.arange(len(Z)), coder.encode(Z))
        yield PAPER, bits, store.search(asked, most)[0]


def _recalls(ids, true):
    from mercer.search import recall_1_at

    return [recall_1_at(ids, true, min(rank, ids.shape[1])) for rank in RANKS]


def _figure(mean, sides, place, all_bits):
    from benchmarks.plotting import COLOURS, new_figure

    figure, axes = new_figure(8, 3.4)
    figure.delaxes(axes)
    left, right = figure.subplots(1, 2, sharey=True)
    for side, colour in zip(sides, COLOURS, strict=False):
        left.plot(RANKS, mean[side, 256], "o-", markersize=3, color=colour, label=side)
        right.plot(all_bits, [mean[side, bits][place] for bits in all_bits], "o-", markersize=3, color=colour)
    left.set(xscale="log", xlabel="R", ylabel="recall@R of 256 bits")
    right.set_xscale("log", base=2)
    right.set_xticks(all_bits, [str(bits) for bits in all_bits])
    right.set(xlabel="bits", ylabel=f"recall@{RANKS[place]}")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    left.legend(frameon=False, fontsize=8, loc="lower right")
    return figure
