"""[wu10fast] Table 4: the data sets that are not histograms."""

from __future__ import annotations

from benchmarks.published import StandIn, published

# lines 465-468 of the paper's text: training rows, test rows, dimensions, classes
PUBLISHED = {
    "ijcnn1": (4990, 91_701, 22, 2),
    "shuttle": (43_500, 14_500, 9, 7),
    "acoustic": (78_823, 19_705, 100, 3),
    "rcv1": (677_399, 20_242, 47_236, 2),
}
STAND_INS = {"ijcnn1": "ijcnn1", "shuttle": "shuttle", "acoustic": "covtype", "rcv1": "sector"}
CLASSES = {"ijcnn1": 2, "shuttle": 7, "covtype": 7, "sector": 105}


@published(
    "sizes of the data sets that are not histograms",
    source="Table 4",
    benchmarks=[],
    stand_ins=[
        StandIn(
            "covtype", "acoustic", "acoustic is not at hand; covtype is dense, not a histogram and larger than it."
        ),
        StandIn("sector", "rcv1", "rcv1 is not at hand; sector is sparse text of as many columns, with more classes."),
    ],
)
def table_4(sheet):
    from mercer.datasets.catalogue import CATALOGUE

    lines = []
    for name, (train, test, columns, classes) in PUBLISHED.items():
        own = STAND_INS[name]
        parts = CATALOGUE[own].parts
        title = name if own == name else f"{name}; {own}"
        lines.append((title, [(train, parts["train"].n_rows), (test, parts["test"].n_rows),
                              (columns, parts["train"].n_columns), (classes, CLASSES[own])]))  # fmt: skip
    sheet.grid("sizes", ["training rows", "test rows", "columns", "classes"], lines)
    sheet.remark("The published 4,990 training rows of ijcnn1 are 49,990: its file has as many.")
