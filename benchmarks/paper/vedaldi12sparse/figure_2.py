"""[vedaldi12sparse] Fig. 2: product quantisation for classification."""

from __future__ import annotations

from benchmarks.paper.pq_classification import CODEBOOKS, FASTER_THAN_DENSE
from benchmarks.paper.pq_classification import FASTER as FASTER_SYNTHETIC
from benchmarks.published import StandIn, published
from benchmarks.vision.scenes_pq import AT_32, AT_40, FASTER
from benchmarks.vision.scenes_pq import FASTER_THAN_DENSE as FASTER_SCENES
from benchmarks.vision.scenes_pq_bits import BITS, CELLS, PER_VALUE

# lines 199-205 and 226 of the paper's text; the curves of the figure are not given as numbers
BASELINE_MAP = "about 59"
LOSS = "less than 1"
LOSS_AT_40 = "1 at more than 40 times"
MEMORY = "about 20 (2 GB to 100 MB)"
FASTER_THAN_IMMEDIATE = "5 to 10"
FASTER_THAN_PLAIN = "not faster"


@published(
    "learning on product-quantised Fisher vectors: mAP, memory and time",
    source="Fig. 2 and Sec. 5.1",
    benchmarks=["scenes-pq", "scenes-pq-bits", "pq-classification"],
    stand_ins=[
        StandIn("Scenes-15, 1,500 training images, 20,480 numbers per image", "PASCAL VOC 2007, about 5,000 images",
                "the photographs of VOC are not at hand; Fisher vectors of real images of another set are."),
        StandIn("synthetic Fisher vectors, 5,000 x 40,960", "the Fisher vectors of VOC 2007",
                "times and memory depend on the size, which is that of the paper's text (its 2 GB fit three strips)."),
    ],
)  # fmt: skip
def figure_2(sheet):
    scenes, synthetic = sheet["scenes-pq"], sheet["pq-classification"]
    codes = "what codes cost"
    full = scenes.cell(codes, ("float32",), "mAP, test")
    sheet.grid(
        "classification on codes",
        ["Scenes-15", "synthetic, 5,000 x 40,960"],
        [
            ("mAP of the full rows, %", [(BASELINE_MAP, None if full is None else round(100 * full, 1)),
                                         (BASELINE_MAP, _percent(synthetic, "dense"))]),
            ("points of mAP lost, G = 8 (32 times smaller)", [(LOSS, scenes.bar(AT_32)), (LOSS, _lost(synthetic))]),
            ("points of mAP lost, G = 10 (40 times smaller)", [(LOSS_AT_40, scenes.bar(AT_40)), (None, None)]),
            ("times less memory, codes and codebooks, G = 8", [(None, None), (MEMORY, synthetic.bar(CODEBOOKS))]),
            ("times faster than immediate expansion, G = 8",
             [(FASTER_THAN_IMMEDIATE, scenes.bar(FASTER)), (FASTER_THAN_IMMEDIATE, synthetic.bar(FASTER_SYNTHETIC))]),
            ("times faster than plain rows in BLAS, G = 8",
             [(FASTER_THAN_PLAIN, scenes.bar(FASTER_SCENES)),
              (FASTER_THAN_PLAIN, synthetic.bar(FASTER_THAN_DENSE))]),
        ],
    )  # fmt: skip
    _by_bits(sheet, sheet["scenes-pq-bits"])
    sheet.show("scenes-pq", "costs", "mAP, memory and learning time by block size, Scenes-15, in the form of Fig. 2")
    sheet.remark("G is the number of values that one byte stands for, 256 words per block.")


def _by_bits(sheet, by_bits):
    """The b-axis of the figure: points of mAP lost, whose curves the paper does not give as numbers."""
    table = "what codes cost by the bits of a word"

    def lost(cells, b, bits):
        plain, coded = (
            by_bits.cell(table, head, "mAP, test") for head in ((cells, "32, not coded"), (cells, f"{b:g}", bits))
        )
        return None if plain is None or coded is None else round(100 * (plain - coded), 2)

    sheet.grid(
        "points of mAP lost by b, the bits per value, and the bits of a word: Scenes-15, the whole image and strips",
        [f"{cells}, b = {b:g}" for cells in CELLS for b in PER_VALUE],
        [
            (f"words of {bits} bits", [(None, lost(cells, b, bits)) for cells in CELLS for b in PER_VALUE])
            for bits in BITS
        ],
    )


def _percent(synthetic, row):
    return synthetic.cell("costs, and quality", (row,), "mAP %")


def _lost(synthetic):
    plain, coded = _percent(synthetic, "dense"), _percent(synthetic, "delayed, G = 8")
    return None if plain is None or coded is None else plain - coded
