"""[boufounos15universal] Fig. 3(c): the step of universal embeddings."""

from __future__ import annotations

from benchmarks.paper.boufounos15universal._images import IMAGES
from benchmarks.paper.wire_rates import DELTA_BITS
from benchmarks.published import published

# lines 240-242 of the paper's text
BEST, PERFORMANCE = 1.4507, "suffers if delta is too small or too large"


@published(
    "accuracy of universal embeddings by delta",
    source="Fig. 3(c)",
    benchmarks=["wire-rates"],
    stand_ins=[IMAGES],
)
def figure_3c(sheet):
    found = sheet["wire-rates"].rows("universal bits: accuracy")
    lines = [(f"delta = {row['delta']}", [(None, row[str(b)]) for b in DELTA_BITS]) for row in found]
    sheet.grid(
        "accuracy by bits per descriptor",
        [f"{b} bits" for b in DELTA_BITS],
        lines or [("", [(None, None)] * 3)],
        unit="%",
    )
    best = [_best(found, str(b)) for b in DELTA_BITS]
    sheet.grid(
        "delta of the best accuracy",
        [f"{b} bits" for b in DELTA_BITS],
        [("delta", [(BEST, one) for one in best])],
        digits=2,
    )
    sheet.show("wire-rates", "delta", "Accuracy of universal bits by delta, in the form of Fig. 3(c)")
    sheet.remark(f"Published: performance {PERFORMANCE}.")


def _best(found, bits):
    return max(found, key=lambda row: float(row[bits].split(" ")[0]))["delta"] if found else None
