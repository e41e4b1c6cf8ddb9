"""[boufounos15universal] Fig. 3(a): quantised Johnson-Lindenstrauss embeddings."""

from __future__ import annotations

from benchmarks.paper.boufounos15universal._images import IMAGES, SEEN, accuracies, claims
from benchmarks.paper.wire_rates import BITS, CENTRED, FLOAT, RAW_MEAN, RAW_MEDIAN, SIGNS
from benchmarks.published import published


@published(
    "accuracy against bits per HOG descriptor, quantised projections",
    source="Fig. 3(a)",
    benchmarks=["wire-rates"],
    stand_ins=[IMAGES],
)
def figure_3a(sheet):
    # lines 236-238 of the paper's text
    lines = claims(sheet, [
        ("no reduction in performance", "QJL at 18 bits is as good as raw bits at 36 (mean"),
        ("no reduction in performance", "QJL at 18 bits is as good as raw bits at 36 (median"),
        ("1 bit is the best", "1 bit per projection is better than 2"),
        ("1 bit is the best", "1 bit per projection is better than 3"),
        ("1 bit is the best", "1 bit per projection is better than 4"),
    ])  # fmt: skip
    sheet.grid("claims: points of accuracy, 95 % interval over splits", [""], lines)
    codes = [FLOAT, RAW_MEAN, RAW_MEDIAN, SIGNS, "QJL, 2 bits", "QJL, 3 bits", "QJL, 4 bits", CENTRED]
    sheet.grid("accuracy by bits per descriptor", [f"{b} bits" for b in BITS], accuracies(sheet, codes, BITS), unit="%")
    sheet.show("wire-rates", "qjl", "Quantised projections, in the form of Fig. 3(a)")
    sheet.remark(SEEN)
    sheet.remark(
        "How the paper thresholds raw descriptors is not said. They are non-negative, so that their signs say "
        "nothing; ours are the mean and the median of the training rows."
    )
