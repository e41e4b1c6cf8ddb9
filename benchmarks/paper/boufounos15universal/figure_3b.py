"""[boufounos15universal] Fig. 3(b): universal embeddings."""

from __future__ import annotations

from benchmarks.paper.boufounos15universal._images import IMAGES, SEEN, accuracies, claims
from benchmarks.paper.wire_rates import BITS, CENTRED, COMPACT, FLOAT, RAW_MEAN, SIGNS, UNIVERSAL, WORDS
from benchmarks.published import published


@published(
    "accuracy against bits per HOG descriptor, universal embeddings",
    source="Fig. 3(b)",
    benchmarks=["wire-rates"],
    stand_ins=[IMAGES],
)
def figure_3b(sheet):
    # line 240 of the paper's text
    lines = claims(sheet, [
        ("universal bits are better", "universal bits are better than QJL"),
        ("the same accuracy at a lower rate", "universal bits at 18 bits are as good as unquantised"),
    ])  # fmt: skip
    sheet.grid("claims: points of accuracy, 95 % interval over splits", [""], lines)
    codes = [FLOAT, RAW_MEAN, SIGNS, CENTRED, UNIVERSAL, COMPACT, WORDS]
    sheet.grid("accuracy by bits per descriptor", [f"{b} bits" for b in BITS], accuracies(sheet, codes, BITS), unit="%")
    sheet.show("wire-rates", "universal", "Universal bits and learned codes, in the form of Fig. 3(b)")
    sheet.remark(SEEN)
    sheet.remark("The last two codes are learned from the training images and are not in the paper.")
