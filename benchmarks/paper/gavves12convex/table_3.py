"""[gavves12convex] Table 3: how many pairs of images the selection needs."""

from __future__ import annotations

from benchmarks.paper.gavves12convex._scenes import MACHINE, STEP
from benchmarks.published import published

# lines 242-243 of the paper's text: mAP of the reduced kernel, mean and deviation of 3 runs
PUBLISHED = {10_000: "0.740 ± 0.002", 20_000: "0.744 ± 0.000", 50_000: "0.748 ± 0.000", 100_000: "0.750 ± 0.001"}

MAPPED = {10_000: "0.816 ± 0.001", 20_000: "0.818 ± 0.001", 50_000: "0.819 ± 0.001", 100_000: "0.819 ± 0.000"}


@published(
    "600 words by convex selection from so many pairs of images",
    source="Table 3",
    benchmarks=["scenes-reduction"],
    stand_ins=[STEP, MACHINE],
)
def table_3(sheet):
    found = {row["pairs"]: row for row in sheet["scenes-reduction"].rows("600 words by convex selection from") or
             sheet["scenes-reduction"].rows("60 words by convex selection from")}  # fmt: skip
    lines = []
    for pairs, published_value in PUBLISHED.items():
        row = found.get(pairs, {})
        ours = f"{row['mAP, linear kernel']:.3f} ± {row['standard deviation']:.3f}" if row else None
        mapped = row.get("mAP, map of the chi2 kernel")
        mapped = None if mapped is None else f"{mapped:.3f} ± {row['its deviation']:.3f}"
        lines.append(
            (f"{pairs:,} pairs", [(published_value, ours), (MAPPED[pairs], mapped), (None, row.get("error (7)"))])
        )
    sheet.grid(
        "600 words", ["mAP, linear kernel", "mAP, map of the chi2 kernel (ours: three numbers)", "error (7)"], lines
    )
    sheet.draw(lambda: _figure(found), "mAP by number of pairs: published and ours")


def _figure(found):
    from benchmarks.plotting import new_figure

    figure, axes = new_figure(5.2, 3)
    for label, numbers in (
        ("published", {pairs: tuple(map(float, text.split(" ± "))) for pairs, text in PUBLISHED.items()}),
        ("ours", {pairs: (row["mAP, linear kernel"], row["standard deviation"]) for pairs, row in found.items()}),
    ):
        means, spread = zip(*numbers.values(), strict=True)
        axes.errorbar(list(numbers), means, spread, marker="o", markersize=4, capsize=2, label=label)
    axes.set_xscale("log")
    axes.set_xlabel("pairs of images")
    axes.set_ylabel("mAP, linear kernel")
    axes.legend(frameon=False, fontsize=8)
    return figure
