"""[gavves12convex] Fig. 3: mAP and error along the path of the penalty."""

from __future__ import annotations

from benchmarks.paper.gavves12convex._scenes import MACHINE, STEP, VOC
from benchmarks.published import published

# lines 167-173 and 235 of the paper's text: mAP of 600, 1,200 and 2,200 words, error of 60
MAP = {600: 0.747, 1200: 0.757, 2200: 0.761}
ERROR = {60: 0.14}


@published(
    "mAP and error of the kernel by the penalty of the convex selection",
    source="Fig. 3(a)",
    benchmarks=["scenes-reduction"],
    stand_ins=[STEP, MACHINE, VOC],
)
def figure_3(sheet):
    lines = []
    for row in sheet["scenes-reduction"].rows("convex selection along its path"):
        words = row["words"]
        pairs = [
            (MAP.get(words), row["mAP, linear kernel"]),
            (ERROR.get(words), row["error (7)"]),
            (None, f"{row['alpha']:.2e}"),
        ]
        lines.append((f"{words:,} words", pairs))
    lines = lines or [(f"{words:,} words", [(value, None), (None, None), (None, None)]) for words, value in MAP.items()]
    sheet.grid("along the path", ["mAP, linear kernel", "error (7)", "penalty"], lines, digits=3)
    sheet.show("scenes-reduction", "path", "mAP and error by the penalty, Scenes-15, in the form of Fig. 3")
