"""[gavves12convex] Table 4: Fisher vectors of the words that are left."""

from __future__ import annotations

from benchmarks.paper.gavves12convex._scenes import MACHINE, STEP, VOC
from benchmarks.published import published

# lines 251-254 of the paper's text, Scenes: mAP of all words, of 600
PUBLISHED = {
    "words": (0.767, 0.747),
    "words, map": (0.855, 0.819),
    "Fisher vectors": (None, 0.848),
    "Fisher vectors, map": (None, 0.883),
}


@published(
    "Fisher vectors of 600 selected words, with and without the map of the chi2 kernel",
    source="Table 4",
    benchmarks=["scenes-reduction", "scenes-fisher"],
    stand_ins=[STEP, MACHINE, VOC],
)
def table_4(sheet):
    words, fisher = sheet["scenes-reduction"], sheet["scenes-fisher"]
    table = "mAP (Tables 1 and 2)"
    columns = {"words": "linear kernel", "words, map": "map of the chi2 kernel"}
    after = {"Fisher vectors": "l2", "Fisher vectors, map": "map of the chi2 kernel"}
    lines = []
    for name, (full, few) in PUBLISHED.items():
        if name in columns:
            ours = [
                words.cell(table, row, columns[name])
                for row in (("all words", 4000), ("convex", 600), ("at random", 600))
            ]
        else:
            ours = [None, *(_fisher(fisher, how, after[name]) for how in ("convex", "random"))]
        lines.append((name, [(full, ours[0]), (few, ours[1]), (None, ours[2])]))
    sheet.grid("mAP on Scenes-15", ["4,000 words", "600 words, convex", "600 words, at random"], lines, digits=3)
    sheet.draw(lambda: _figure(lines), "mAP of 600 words by convex selection: published and ours")
    sheet.remark("Descriptors go to one word each; `scenes-fisher` also shares them out among words.")


def _fisher(fisher, how, after):
    found = [row["mAP"] for row in fisher.rows("600 of 4,000 words")
             if (row["words"], row["descriptors"], row["after"]) == (how, "hard", after)]  # fmt: skip
    return found[0] if found else None


def _figure(lines):
    from benchmarks.plotting import new_figure

    figure, axes = new_figure(6.4, 3)
    for shift, label in ((0, "published"), (1, "ours")):
        heights = [pairs[1][shift] or 0 for _, pairs in lines]
        axes.bar([i + 0.4 * shift for i in range(len(lines))], heights, width=0.36, label=label)
    axes.set_xticks([i + 0.2 for i in range(len(lines))], [name for name, _ in lines])
    axes.set_ylim(0.5, 0.95)
    axes.set_ylabel("mAP")
    axes.legend(frameon=False, fontsize=8)
    return figure
