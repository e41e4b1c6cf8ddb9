"""[gavves12convex] Fig. 4: the words of largest weight in images."""

from __future__ import annotations

from benchmarks.published import StandIn, published
from benchmarks.vision.scenes_weights import SALIENT

# line 226 of the paper's text
SAID = "tend to be located on salient locations"


@published(
    "where the ten words of largest weight are in images",
    source="Fig. 4",
    benchmarks=["scenes-weights"],
    stand_ins=[
        StandIn("Scenes-15", "PASCAL VOC 2007", "its photographs are not at hand."),
        StandIn(
            "1,000 words of SIFT every 8 pixels",
            "4,000 words of SIFT every 2 pixels",
            "a picture can be read with fewer patches.",
        ),
    ],
)
def figure_4(sheet):
    found = sheet["scenes-weights"]
    value = found.bar(SALIENT)
    text = None if value is None else f"{value:.2f} times the contrast of all patches"
    sheet.grid("patches with the ten words of largest weight", [""], [("where they are", [(SAID, text)])])
    lines = [(row["class"], [(None, row["with one of the ten words"]), (None, row["contrast / that of all patches"])])
             for row in found.rows("images")]  # fmt: skip
    if lines:
        sheet.grid("images shown", ["patches with one of the ten words", "contrast / that of all patches"], lines)
    sheet.show("scenes-weights", "patches")
