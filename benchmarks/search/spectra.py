"""Jensen-Shannon search of mass spectra (spectral entropy similarity) with 16 bytes per spectrum."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

ONE, TEN = "recall_1@100, 16 bytes", "recall_10@100, 16 bytes"
LOSS = "share of queries with a spectrum of the same compound among the first 10: exact less re-ranked"
QUERIES, SEEDS = 1000, 5


@benchmark(
    "search-spectra",
    "Jensen-Shannon search of mass spectra: 16 bytes per spectrum against exact, cosine and square roots",
    bars=[Bar(ONE, ">= 0.99"), Bar(TEN, ">= 0.945"), Bar(LOSS, "<= 0.3", "points")],
    needs=["massbank"],
)
def search_spectra(record):
    import numpy as np

    from benchmarks.runner import limited_threads
    from benchmarks.search._scenes import mean_and_spread
    from mercer import exact_knn

    with limited_threads(record.threads):
        X, compounds = _spectra(record.quick)
        asked = np.random.default_rng(0).choice(len(compounds), min(QUERIES, len(compounds) // 4), replace=False)
        # one more than needed: every query finds itself, which does not count
        true = _others(exact_knn("jensen-shannon", X, X[asked], 101)[0], asked)
        found = [_searched(X, asked, seed) for seed in range(1 if record.quick else SEEDS)]
        others = {name: _others(exact_knn(kernel, X, X[asked], 11)[0], asked) for name, kernel in
                  {"cosine": "linear", "square roots": "hellinger"}.items()}  # fmt: skip
    from mercer.search import recall_1_at, recall_k_at

    ones = [recall_1_at(coded, true, 100) for coded, _, _ in found]
    tens = [recall_k_at(coded, true, 10, 100) for coded, _, _ in found]
    record.measured(ONE, float(np.mean(ones)), f"over {len(found)} seeds: {mean_and_spread(ones)}")
    record.measured(TEN, float(np.mean(tens)), f"over {len(found)} seeds: {mean_and_spread(tens)}")
    exact = _shares(true, asked, compounds)
    ranked = [_shares(again, asked, compounds) for _, again, _ in found]
    ten = float(np.mean([share[1] for share in ranked]))
    record.measured(LOSS, exact[1] - ten, f"{exact[1]:.2f} - {ten:.2f} %")
    lines = [["exact Jensen-Shannon", *exact], ["16 bytes, re-ranked", float(np.mean([s[0] for s in ranked])), ten]]
    lines += [[name, *_shares(ids, asked, compounds)] for name, ids in others.items()]
    record.table("queries with a spectrum of the same compound among the first, %", ["by", "1", "10"], lines)
    record.table(
        "what was tried (first seed)", ["tried", "recall"], [list(entry.values()) for entry in found[0][2]["tried"]]
    )
    plan = found[0][2]
    record.note(
        f"{X.shape[0]:,} spectra in {X.shape[1]:,} bins of 0.1 m/z, entropy-weighted, rows that sum to 1; "
        f"{len(asked):,} of them as queries against all others. Chosen: {plan['embedding']}, "
        f"{plan['n_components']} components."
    )


def _spectra(quick):
    """(rows that sum to 1, compound of each)"""
    import numpy as np
    from scipy import sparse

    from mercer.datasets import load_massbank

    data = load_massbank(0.1)
    X, compounds = sparse.csr_array(data.data, dtype=np.float64), np.asarray(data.compound)
    if quick:
        X, compounds = X[:4000], compounds[:4000]
    P = _sum_to_one(X)
    logs = P.copy()
    logs.data = P.data * np.log(P.data)
    entropy = -np.asarray(logs.sum(axis=1)).ravel()
    weights = np.where(entropy < 3, 0.25 + 0.25 * entropy, 1.0)  # as spectral entropy similarity weighs peaks
    P.data = P.data ** np.repeat(weights, np.diff(P.indptr))
    return sparse.csr_array(_sum_to_one(P), dtype=np.float32), compounds


def _sum_to_one(X):
    from scipy import sparse

    return sparse.csr_array(sparse.diags_array(1 / X.sum(axis=1)) @ X)


def _searched(X, asked, seed):
    """(ids by codes, ids re-ranked, plan)"""
    from mercer import KernelIndex

    index = KernelIndex("jensen-shannon", bytes_per_item=16, random_state=seed).fit(X).add(X)
    coded, _ = index.search(X[asked], 101, rerank=False)
    again, _ = index.search(X[asked], 11)
    return _others(coded, asked), _others(again, asked), index.plan_


def _others(ids, asked):
    """Without the query itself, one column fewer."""
    import numpy as np

    kept = []
    for row, own in zip(ids, asked, strict=True):
        kept.append(row[row != own][: ids.shape[1] - 1])
    return np.array(kept)


def _shares(ids, asked, compounds):
    """Percent of the queries (of those with a mate) with a mate among the first 1 and 10."""
    import numpy as np

    names, counts = np.unique(compounds, return_counts=True)
    mates = counts[np.searchsorted(names, compounds[asked])] > 1
    same = compounds[ids[mates]] == compounds[asked[mates]][:, None]
    return [100 * float(same[:, :rank].any(axis=1).mean()) for rank in (1, 10)]
