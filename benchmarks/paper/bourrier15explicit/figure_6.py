"""[bourrier15explicit] Fig. 6: exact search by bounds."""

from __future__ import annotations

from benchmarks.paper.bourrier15explicit._sift import SIFT
from benchmarks.published import StandIn, published
from benchmarks.search.bounds import SHARE

# line 462 of the paper's text: 90 % of the queries need fewer than 15,000 of 10^6 kernel values (printed as 0.15 %)
ROWS, SHARE_PUBLISHED = "fewer than 15,000", "1.5 %"


@published(
    "exact search: kernel values, approximate values and bounds of the nearest rows of a query",
    source="Fig. 6 and App. A.3",
    benchmarks=["search-bounds", "search-exact"],
    stand_ins=[
        SIFT,
        StandIn(
            "100,000 rows for the bound as it is written, a million for Mercer's",
            "a million rows, in the figure 10M",
            "a share of the rows can be told from fewer.",
        ),
    ],
)
def figure_6(sheet):
    plain, exact = sheet["search-bounds"], sheet["search-exact"]
    rows = plain.cell("rows whose kernel value", (0.9,), "rows")
    share = plain.bar(SHARE)
    ours = exact.cell("bounds of", (1,), "90th percentile")
    sheet.grid(
        "kernel values that 90 % of the queries need at most, for the nearest row",
        ["rows", "share of the rows"],
        [
            (
                "one bound, as in the paper",
                [(ROWS, rows), (SHARE_PUBLISHED, None if share is None else f"{100 * share:.2f} %")],
            ),
            (
                "Mercer's bounds, level by level, a million rows",
                [(None, ours), (None, None if ours is None else f"{ours / 1e4:.4f} %")],
            ),
        ],
    )
    faster = exact.cell("bounds of", (1,), "times faster")
    said = "a speedup"
    sheet.grid(
        "time of brute force over that of exact search", [""], [("nearest row, batches of 100", [(said, faster)])]
    )
    sheet.show("search-bounds", "query", "One query with the median number of rows left, in the form of Fig. 6")
