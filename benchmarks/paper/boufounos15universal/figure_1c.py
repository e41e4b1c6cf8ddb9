"""[boufounos15universal] Fig. 1(c): the map g of distances."""

from __future__ import annotations

import math

from benchmarks.published import published

DISTANCES = (0.1, 0.25, 0.5, 0.75, 1.0, 1.5)  # in units of delta


def g(distance):
    """(9), line 107 of the paper's text, with sqrt(2) delta for its sqrt(2 delta); distance in units of delta."""
    terms = (
        math.exp(-((math.pi * (2 * i + 1) * distance / math.sqrt(2)) ** 2)) / (math.pi * (i + 0.5)) ** 2
        for i in range(200)
    )
    return 0.5 - sum(terms)


@published(
    "share of bits that differ against the distance of two rows",
    source="Fig. 1(c) and (9)",
    benchmarks=["wire-rates", "wire-kernel"],
)
def figure_1c(sheet):
    error = sheet["wire-kernel"]
    lines = [(f"d = {d} delta", [(g(d), _library(d))]) for d in DISTANCES]
    sheet.grid("g(d): the sum of (9), and UniversalEmbedding.expected_distance", [""], lines, digits=5)
    sheet.grid(
        "error of kernel values from codes of M bits, times sqrt(M)",
        ["mean", "largest"],
        [
            (
                matrix,
                [
                    (None, error.bar(f"{matrix}: {which} error of K from codes, times sqrt(M)"))
                    for which in ("mean", "largest")
                ],
            )
            for matrix in ("dense", "structured")
        ],
    )
    sheet.show(
        "wire-rates", "g", "Share of 4,096 bits that differ against distance: universal bits and signs of projections"
    )
    sheet.remark("Points of the figure are measured on pairs of rows at known distances, lines are the formulas.")


def _library(distance):
    import numpy as np

    from mercer import UniversalEmbedding

    embedding = UniversalEmbedding(8, delta=1.0, random_state=0).fit(np.eye(2))
    return float(embedding.expected_distance(np.array([distance]))[0])
