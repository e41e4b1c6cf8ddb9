"""[bourrier15explicit] Table 2: what is done to components before product quantisation."""

from __future__ import annotations

from benchmarks.paper.bourrier15explicit._sift import SIFT, mean
from benchmarks.published import StandIn, published

# lines 285-290 of the paper's text, SIFT1M: recall at 1, 10, 100
PUBLISHED = {
    "none": (0.17, 0.42, 0.75),
    "random rotation": (0.15, 0.39, 0.74),
    "random permutation": (0.19, 0.51, 0.85),
}
MORE = ("balanced allocation", "OPQ from the allocation")
RANKS = (1, 10, 100)


@published(
    "recall of 64 components in 8 bytes: as they are, rotated, permuted",
    source="Table 2",
    benchmarks=["search-rotations"],
    stand_ins=[SIFT, StandIn(None, "the bags of words of Imagenet", "they are not at hand.")],
)
def table_2(sheet):
    found = sheet["search-rotations"]
    lines = []
    for how in (*PUBLISHED, *MORE):
        ours = [mean(found.cell("recall by codes alone", (64, how), f"recall_1@{rank}")) for rank in RANKS]
        lines.append((how, list(zip(PUBLISHED.get(how, (None,) * 3), ours, strict=True))))
    sheet.grid("recall by codes alone", [f"recall@{rank}" for rank in RANKS], lines, digits=3)
    sheet.draw(lambda: _figure(lines), "Recall@10 by what is done to the components: published and ours")
    sheet.remark(
        "250,000 rows, mean of 5 seeds; published: a million rows, mean of 10 experiments. The last two ways are "
        "Mercer's and not in the paper."
    )


def _figure(lines):
    from benchmarks.plotting import new_figure

    figure, axes = new_figure(6.4, 3)
    for shift, label in ((0, "published"), (1, "ours")):
        axes.barh(
            [i + 0.4 * shift for i in range(len(lines))],
            [pairs[1][shift] or 0 for _, pairs in lines],
            height=0.36,
            label=label,
        )
    axes.set_yticks([i + 0.2 for i in range(len(lines))], [name for name, _ in lines])
    axes.invert_yaxis()
    axes.set_xlabel("recall@10")
    axes.legend(frameon=False, fontsize=8)
    return figure
