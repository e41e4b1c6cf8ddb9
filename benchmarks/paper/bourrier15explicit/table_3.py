"""[bourrier15explicit] Table 3: the compared schemes, and their order."""

from __future__ import annotations

from benchmarks.paper.bourrier15explicit._sift import SIFT, mean
from benchmarks.published import published

BITS = (32, 64, 128, 256)
# lines 333-335 and 345 of the paper's text: which scheme is better
ORDER = {
    "explicit over implicit, binary codes": (
        "KPCA+LSH better than KLSH and RMMH",
        "{} bits: recall_1@100 of KPCA + LSH less the best of KLSH and RMMH",
    ),
    "words over bits, explicit embedding": (
        "KPCA+PQ better than KPCA+LSH",
        "{} bits: recall_1@100 of KPCA + PQ less KPCA + LSH",
    ),
}
SCHEMES = {
    "KLSH": "implicit, binary; centred",
    "RMMH": "implicit, binary; 32 rows a bit",
    "KPCA + LSH": "explicit, binary; centred, at most 64 components",
    "KPCA + PQ": "explicit, words; Mercer's default",
}


@published(
    "implicit and explicit embeddings, binary codes and words: which is better",
    source="Table 3",
    benchmarks=["search-hashing"],
    stand_ins=[SIFT],
)
def table_3(sheet):
    found = sheet["search-hashing"]
    lines = []
    for name, (said, claim) in ORDER.items():
        gains = [found.bar(claim.format(bits)) for bits in BITS]
        lines.append(
            (name, [(said if i == 0 else None, None if x is None else f"{x:+.3f}") for i, x in enumerate(gains)])
        )
    sheet.grid("recall@100 of the better scheme less that of the other", [f"{bits} bits" for bits in BITS], lines)
    recalls = [
        (f"{scheme} ({kind})", [(None, mean(found.cell("recall_1@100", (scheme,), f"{bits} bits"))) for bits in BITS])
        for scheme, kind in SCHEMES.items()
    ]
    sheet.grid("recall@100", [f"{bits} bits" for bits in BITS], recalls, digits=3)
    sheet.remark("The settings are ours. Those of the paper are in Fig. 4 (`search-published`) and in the verdicts.")
    sheet.draw(lambda: _figure(recalls), "Recall@100 of the four schemes by bits")


def _figure(recalls):
    from benchmarks.plotting import new_figure

    figure, axes = new_figure(5.2, 3.2)
    for name, pairs in recalls:
        axes.plot(BITS, [pair[1] for pair in pairs], "o-", markersize=4, label=name)
    axes.set_xscale("log", base=2)
    axes.set_xticks(BITS, [str(bits) for bits in BITS])
    axes.set_xlabel("bits per row")
    axes.set_ylabel("recall@100")
    axes.legend(frameon=False, fontsize=8)
    return figure
