"""[vedaldi12sparse] (8) and (9): sparse maps of additive kernels."""

from __future__ import annotations

from benchmarks.published import published

# lines 105 and 109 of the paper's text: the formulas; no errors are published
EXACT = "0 at the points"
FORMS = ("intersection, (8)", "chi2, (9) with x - i", "chi2, (9) as printed")


@published(
    "error of sparse maps of additive kernels by the number of points",
    source="Equations (8) and (9)",
    benchmarks=["additive-maps"],
)
def additive_maps(sheet):
    found = sheet["additive-maps"]
    for title, table in (
        ("one column, values from 0 to 1: largest error", "one column"),
        ("SIFT descriptors: relative error", "SIFT descriptors: relative"),
    ):
        rows = found.rows(table)
        columns = [name for name in (reversed(rows[0]) if rows else []) if name != "kernel"]
        sheet.grid(
            title,
            columns or [""],
            [(row["kernel"], [(None, row[name]) for name in columns]) for row in rows] or [(EXACT, [(None, None)])],
        )
    sheet.show("additive-maps", "error")
    sheet.remark(
        "The paper gives the maps and no errors. In (9) the second coefficient is printed as x - 1; solved again, "
        "it is x - i, and only then is the map exact at the points, as a projection on them must be."
    )
