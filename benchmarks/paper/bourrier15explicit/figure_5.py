"""[bourrier15explicit] Fig. 5: search quality on bags of words."""

from __future__ import annotations

from benchmarks.published import StandIn, published

# line 335 of the paper's text, Imagenet, recall@1000; the curves are not given as numbers
AT_64 = {"KPCA + PQ": "about 0.70", "RMMH": "above 0.30"}
BITS = (32, 64, 128, 256)
RANKS = (1, 10, 100, 1000)
SIDES = ("KPCA + PQ", "KPCA + LSH", "KLSH", "RMMH")


@published(
    "recall of explicit and implicit embeddings on bags of words, by R and by bits",
    source="Fig. 5",
    benchmarks=["search-ranks-words"],
    stand_ins=[
        StandIn(
            "counts of 1,000 words in 20newsgroups, some 17,000 posts",
            "1.26M bags of 1,000 visual words of Imagenet",
            "they are not at hand; these are bags of as many words. Of fewer rows a rank of 1,000 is a larger "
            "share, and all "
            "recalls are higher.",
        ),
    ],
)
def figure_5(sheet):
    found = sheet["search-ranks-words"]
    lines = [
        (
            side,
            [
                (AT_64.get(side) if bits == 64 else None, found.cell("recall_1@1000 by bits", (side,), f"{bits} bits"))
                for bits in BITS
            ],
        )
        for side in SIDES
    ]
    sheet.grid("recall@1000 by bits", [f"{bits} bits" for bits in BITS], lines, digits=3)
    lines = [
        (side, [(None, found.cell("recall_1@R of 256 bits", (side,), str(rank))) for rank in RANKS]) for side in SIDES
    ]
    sheet.grid("recall@R of 256 bits", [f"R = {rank}" for rank in RANKS], lines, digits=3)
    sheet.show("search-ranks-words", "recall")
