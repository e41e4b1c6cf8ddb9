"""[wu10fast] Table 2: pedestrians of INRIA."""

from __future__ import annotations

from benchmarks.paper.icd_inria import LINEAR, MERCER, RAW
from benchmarks.paper.wu10fast._rows import INRIA
from benchmarks.published import published

# lines 391-392 of the paper's text: seconds, accuracy in %, iterations
PUBLISHED = {"ICD": (160.0, 98.56, 21.4), "LIBLINEAR": (681.0, 90.69, 1000.0)}


@published(
    "pedestrians by CENTRIST histograms: time, accuracy and iterations",
    source="Table 2",
    benchmarks=["icd-inria"],
    stand_ins=[INRIA],
)
def table_2(sheet):
    found = {row["side"]: row for row in sheet["icd-inria"].rows("hard windows")}
    lines = []
    for method, side in (("ICD", MERCER), ("LIBLINEAR", RAW), ("LIBLINEAR, scaled columns", LINEAR)):
        ours = [found.get(side, {}).get(key) for key in ("seconds", "accuracy", "iterations")]
        lines.append((method, list(zip(PUBLISHED.get(method, (None,) * 3), ours, strict=True))))
    sheet.grid("five-fold cross-validation", ["training time, s", "accuracy, %", "iterations"], lines, digits=2)
    sheet.draw(lambda: _figure(lines), "Accuracy and training time: published and ours")
    sheet.remark(
        "Ours count a person and its mirror image as one when folds are made. LIBLINEAR is given raw counts, and in "
        "the last line columns divided by the largest level, as its authors advise."
    )


def _figure(lines):
    from benchmarks.plotting import COLOURS, new_figure

    figure, axes = new_figure(7.2, 3)
    figure.delaxes(axes)
    for axes, place, label in zip(figure.subplots(1, 2), (1, 0), ("accuracy, %", "training time, s"), strict=True):
        for shift, whose in ((0, "published"), (1, "ours")):
            heights = [pairs[place][shift] or 0 for _, pairs in lines]
            axes.bar(
                [i + 0.4 * shift for i in range(len(lines))], heights, width=0.36, color=COLOURS[shift], label=whose
            )
        axes.set_xticks([i + 0.2 for i in range(len(lines))], [name.replace(", ", ",\n") for name, _ in lines])
        axes.set_ylabel(label)
        axes.spines[["top", "right"]].set_visible(False)
        if place == 1:
            axes.set_ylim(85, 100)
            axes.legend(frameon=False, fontsize=8)
    return figure
