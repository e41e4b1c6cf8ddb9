"""[vedaldi12sparse] Fig. 3: product quantisation for detection."""

from __future__ import annotations

from benchmarks.detection._training import CODES, DENSE
from benchmarks.detection.speed import SCORING
from benchmarks.detection.training import BYTES, MINING, NEGATIVES, SOLVER
from benchmarks.published import StandIn, published

# lines 228-238 of the paper's text: standard method and sparse features, the class person and the mean of 20 classes
PERSON = {"AP": (38.8, 37.3), "mining": (42, 28), "solver": (17.9, 4.8), "negatives": (1.19, 0.05), "data": (34.6, 2.4)}
MEAN = {"AP": (30.5, 27.7), "mining": (146, 80), "solver": (9.1, 3.0), "negatives": (1.10, 0.04), "data": (15.2, 1.0)}
LINEAR = "256 words, linear"
MODELS = {"linear words, as published": LINEAR, "smooth words, ours": CODES, "as it comes": "256 words, mirrored pair"}
# lines 217-219
FEWER_BITS, FEWER_BYTES, FASTER_FILTERS = 113, 28, 2


@published(
    "part models on gradients kept as one word per cell: average precision, time and memory",
    source="Fig. 3 and Sec. 5.2",
    benchmarks=["detection-inria", "detection-training", "detection-speed"],
    stand_ins=[
        StandIn(
            "persons of INRIA, 220 training photographs with persons and 110 without",
            "PASCAL VOC 2007, 20 classes",
            "the photographs of VOC are not at hand; INRIA is a set of its most frequent class.",
        ),
        StandIn("256 words, one byte per cell", "512 words, kept as 32 bits", "a byte is what a word of 256 takes."),
    ],
)
def figure_3(sheet):
    whole, part, speed = sheet["detection-inria"], sheet["detection-training"], sheet["detection-speed"]
    rows = []
    for quantity, key, column, unit in (
        ("average precision, %", "AP", "AP", 1),
        ("mining of negatives, min", "mining", None, 1),
        ("solver, min", "solver", None, 1),
        ("negatives kept, GB", "negatives", "negatives, MB", 1000),
        ("cells of all photographs, GB", "data", "cells, MB", 1000),
    ):
        ours = [column and whole.cell("mean over seeds", (storage, 6), column) for storage in (DENSE, *MODELS.values())]
        said = (*PERSON[key], None, None)
        rows.append((quantity, [(x, None if y is None else y / unit) for x, y in zip(said, ours, strict=True)]))
    sheet.grid("class person, a model with parts", ["full cells", *MODELS], rows)
    taken = {row["cells"]: row for row in part.rows("seconds")}
    lines = [("points of AP lost", [(2.8, None), (1.5, _lost(whole, LINEAR)), (None, _lost(whole, CODES))])]
    for step in ("mining", "solver"):
        linear, smooth = (
            taken["dense"][step] / taken[words][step] if taken else None for words in ("codes", "codes, rbf")
        )
        lines.append((step, [(_over(MEAN[step]), None), (_over(PERSON[step]), linear), (None, smooth)]))
    sheet.grid("ratios, full cells over words", ["mean of 20 classes", *list(MODELS)[:2]], lines)
    sheet.grid(
        "ratios, full cells over words of any model",
        [""],
        [
            ("bits of a cell, float32 over codes", [(FEWER_BITS, part.bar(NEGATIVES))]),
            ("bits of a cell, bytes over codes", [(FEWER_BYTES, part.bar(BYTES))]),
            ("scoring of filters", [(FASTER_FILTERS, speed.bar(SCORING))]),
        ],
    )
    sheet.draw(
        lambda: _figure(sheet), "Cost of words as a fraction of that of full cells: the paper's class person and ours"
    )
    sheet.remark(
        "Mining and solver of `detection-training` are one round of training at the same model; published are the "
        "sums of a whole training on twelve cores. Each column is one model. The paper's has two components and a "
        "filter value for each word; ours one component, its own mirror image, with such values (linear), or with "
        "filters that are smooth functions of words; PartDetector as it comes has a mirrored pair of components."
    )


def _over(pair):
    return pair[0] / pair[1]


def _lost(whole, words):
    ap = [whole.cell("mean over seeds", (storage, 6), "AP") for storage in (DENSE, words)]
    return None if None in ap else ap[0] - ap[1]


def _figure(sheet):
    from benchmarks.plotting import new_figure

    part, speed = sheet["detection-training"], sheet["detection-speed"]
    names = ["mining", "solver", "memory of negatives", "scoring of filters"]
    published = [28 / 42, 4.8 / 17.9, 0.05 / 1.19, 1 / FASTER_FILTERS]
    ours = [part.bar(MINING), part.bar(SOLVER), part.bar(BYTES), speed.bar(SCORING)]
    figure, axes = new_figure(6.4, 3)
    for shift, (label, values) in enumerate((("published", published), ("ours", [1 / x if x else 0 for x in ours]))):
        axes.barh([i + 0.4 * shift for i in range(len(names))], values, height=0.36, label=label)
    axes.set_yticks([i + 0.2 for i in range(len(names))], names)
    axes.invert_yaxis()
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlabel("words / full cells (memory: bytes per number)")
    axes.legend(frameon=False, fontsize=8, loc="lower right", bbox_to_anchor=(0.95, 0))
    return figure
