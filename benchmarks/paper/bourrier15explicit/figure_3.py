"""[bourrier15explicit] Fig. 3: recall as the base grows."""

from __future__ import annotations

from benchmarks.published import StandIn, published
from benchmarks.search.growth import LOST, RANKS

# line 339 of the paper's text; the curves are not given as numbers
SAID = "no drastic loss from 1M to 200M rows"


@published(
    "recall of 64 components in 16 bytes by the number of rows",
    source="Fig. 3",
    benchmarks=["search-growth"],
    stand_ins=[
        StandIn("10,000 to a million SIFT descriptors of the Scenes-15 images", "1M to 200M rows of BIGANN",
                "BIGANN is not at hand; a million rows is what these images have."),
    ],
)  # fmt: skip
def figure_3(sheet):
    found = sheet["search-growth"]
    lost = found.bar(LOST)
    text = None if lost is None else f"{lost:.3f} of recall@100 lost from 100,000 to a million"
    sheet.grid("as the base grows", [""], [("KPCA+PQ, D = 16, E = 64, M = 1,024", [(SAID, text)])])
    lines = [
        (f"{row['rows']:,} rows", [(None, row[f"recall_1@{rank}"]) for rank in RANKS])
        for row in found.rows("recall by codes")
    ]
    if lines:
        sheet.grid("recall@R", [f"R = {rank}" for rank in RANKS], lines, digits=3)
    sheet.show("search-growth", "recall")
