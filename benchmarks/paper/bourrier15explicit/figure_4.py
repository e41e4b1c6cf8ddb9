"""[bourrier15explicit] Fig. 4: search quality on SIFT descriptors."""

from __future__ import annotations

from benchmarks.paper.bourrier15explicit._sift import SIFT, mean
from benchmarks.published import StandIn, published

# lines 333-335 of the paper's text, SIFT1M, recall@100; the curves are not given as numbers
AT_64 = {"KPCA + PQ": "about 0.80", "KLSH": "0.20"}
AT_128 = {"KPCA + LSH": "about 0.10 above KLSH", "RMMH": "about 0.10 below KLSH"}
BITS = (32, 64, 128, 256)
RANKS = (1, 10, 100, 1000)
SIDES = ("KPCA + PQ", "KPCA + LSH", "KLSH", "RMMH")


@published(
    "recall of explicit and implicit embeddings on SIFT descriptors, by R and by bits",
    source="Fig. 4",
    benchmarks=["search-hashing", "search-ranks"],
    stand_ins=[
        SIFT,
        StandIn("20,000 rows for the curves over R", "a million rows", "they are enough to tell the schemes apart."),
    ],
)
def figure_4(sheet):
    hashing, ranks = sheet["search-hashing"], sheet["search-ranks"]
    said = {64: AT_64, 128: AT_128}
    lines = [
        (
            side,
            [
                (said.get(bits, {}).get(side), mean(hashing.cell("recall_1@100", (side,), f"{bits} bits")))
                for bits in BITS
            ],
        )
        for side in SIDES
    ]
    sheet.grid("recall@100 by bits, a million rows", [f"{bits} bits" for bits in BITS], lines, digits=3)
    lines = [
        (side, [(None, ranks.cell("recall_1@R of 256 bits", (side,), str(rank))) for rank in RANKS]) for side in SIDES
    ]
    sheet.grid("recall@R of 256 bits, 20,000 rows", [f"R = {rank}" for rank in RANKS], lines, digits=3)
    sheet.show("search-hashing", "bits", "Recall@100 by bits, a million rows, in the form of Fig. 4, right")
    sheet.show(
        "search-ranks",
        "recall",
        "Recall@R of 256 bits, in the form of Fig. 4, left, and recall@100 by bits, 20,000 rows",
    )
    sheet.remark(
        "Our KLSH is centred, as its authors have it; without, its recall is near 0 on these rows (`search-hashing`)."
    )
