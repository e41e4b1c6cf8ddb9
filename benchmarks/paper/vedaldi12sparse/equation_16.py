"""[vedaldi12sparse] (16): the fraction of the operations that delayed expansion needs."""

from __future__ import annotations

from benchmarks.published import StandIn, published

WORDS = 256


def fraction(G, n):
    """(16), line 177 of the paper's text: 1/G + 2^(bG) / n, here with 2^(bG) = 256 words."""
    return 1 / G + WORDS / n


@published(
    "a pass over codes as a fraction of a pass over dense rows",
    source="Equation (16)",
    benchmarks=["pq-cost"],
    stand_ins=[
        StandIn("random codes of 4,096 dimensions", "the codes of Fisher vectors", "a pass takes as long on any codes.")
    ],
)
def equation_16(sheet):
    found = sheet["pq-cost"].rows("scores and accumulate")
    lines = [
        (
            f"G = {row['G']}, {row['rows']:,} rows",
            [
                (fraction(row["G"], row["rows"]), row["measured"]),
                (fraction(row["G"], row["rows"]), row["delayed / immediate"]),
            ],
        )
        for row in found
    ]
    sheet.grid(
        "fraction of the operations (published) and of the time (ours)",
        ["of dense rows", "of immediate expansion"],
        lines or [("G = 8, 50,000 rows", [(fraction(8, 50_000), None), (fraction(8, 50_000), None)])],
    )
    sheet.show("pq-cost", "fraction")
    sheet.remark(
        "(16) counts operations. BLAS does several in the time of one look-up in a table, so the fraction of the "
        "time of dense rows cannot be expected to reach the count."
    )
