"""Figures of the pages, from stored results: each function takes Results and returns a figure."""

from benchmarks.plotting import COLOURS, new_figure
from measured_tables import OURS, sides_of_sets

QUERY_TIME = "search, microseconds per query"  # column of the benchmark peers-search
LARGE, SMALL = "default parameters", "default parameters, at most 10,000 training rows"
EXACT = "SVC, exact intersection, C = 1"
# (table of icd-accuracy, set, its name in the figure, where that stands from the dot, IntersectionSVC in the table)
SETS = (
    (LARGE, "covtype", "forest types", (8, 0), "IntersectionSVC, 50,000 rows"),
    (LARGE, "ijcnn1", "ijcnn1", (8, 0), "IntersectionSVC"),
    (LARGE, "shuttle", "shuttle", (8, 0), "IntersectionSVC, raw"),
    (LARGE, "20newsgroups", "newsgroups", (8, 0), "IntersectionSVC"),
    (LARGE, "sector", "web pages", (8, 0), "IntersectionSVC"),
    (SMALL, "pendigits", "pen strokes", (-8, -14), "IntersectionSVC"),
    (SMALL, "adult_a9a", "incomes", (-2, 12), "IntersectionSVC"),
    (SMALL, "dna", "DNA", (-28, -4), "IntersectionSVC"),
)


def gain(results):
    """Accuracy above that of a linear machine, against the time it takes."""
    figure, axes = new_figure(7.4, 3.8)
    kernel, exact = (dict(color=colour, marker="o", linestyle="") for colour in COLOURS[:2])
    for table, name, label, offset, side in SETS:
        here = _beside_linear(results["icd-accuracy"], table, name, side)
        there = _beside_linear(results["icd-accuracy"], table, name, EXACT) if table == SMALL else None
        if here is None:
            continue
        if there is not None:
            axes.plot(*zip(here, there, strict=True), color="#bbbbbb", linewidth=1, zorder=1)
            axes.plot(*there, **exact, markersize=7)
        axes.plot(*here, **kernel, markersize=8)
        axes.annotate(label, here, offset, textcoords="offset points", fontsize=9, va="center")
    axes.plot([], [], **kernel, label="IntersectionSVC")
    axes.plot([], [], **exact, label="SVC with the same kernel as a matrix")
    axes.plot(1, 0, "s", color=COLOURS[-1], markersize=7, label="LinearSVC")
    _finish(axes)
    return figure


def _beside_linear(stored, table, name, side):
    """(time / that of LinearSVC, points of accuracy above it)"""
    seconds, points = (
        [stored.cell(table, (name, one), column) for one in (side, "LinearSVC")] for column in ("seconds", "accuracy %")
    )
    return None if None in (*seconds, *points) else (seconds[0] / seconds[1], points[0] - points[1])


def _finish(axes):
    axes.set(xlabel="training time, as a multiple of LinearSVC's", ylabel="points of accuracy above LinearSVC")
    axes.set_xscale("log")
    axes.margins(0.12)
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    axes.set(xlim=(left, 5 * right), ylim=(bottom, top))  # the legend stands on the right
    axes.axhline(0, color="#999999", linewidth=0.8, zorder=0)
    axes.axvline(1, color="#999999", linewidth=0.8, zorder=0)
    axes.fill_between([left, 1], 0, top, color=COLOURS[0], alpha=0.06, linewidth=0, zorder=0)
    axes.annotate("better and quicker", (left, top), (6, -12), textcoords="offset points", fontsize=9, color=COLOURS[0])
    ticks = (0.01, 0.1, 1, 10)
    axes.set_xticks(ticks, [f"{tick:g}×" for tick in ticks])
    axes.minorticks_off()
    axes.legend(frameon=False, fontsize=9, loc="center right", bbox_to_anchor=(1, 0.58))


# side of the benchmark tables, its name in the figure, its mark
RIVALS = (
    ("SVC, grid of 12, 3 folds", "SVC, 12 points tried", "o"),
    ("HistGradientBoosting", "HistGradientBoosting", "s"),
    ("LightGBM", "LightGBM", "D"),
    ("random forest", "random forest", "^"),
)


def against_rivals(results):
    """Points by which Mercer's default is ahead of a rival, against the rival's training time over Mercer's."""
    figure, axes = new_figure(7.4, 4.2)
    sets = sides_of_sets(results)
    for (side, label, mark), colour in zip(RIVALS, (*COLOURS[:3], "#777777"), strict=True):
        pairs = [(sides[side], sides[OURS]) for sides in sets.values() if side in sides]
        if pairs:
            ahead = [ours["score"] - rival["score"] for rival, ours in pairs]
            times = [rival["fit, s"] / ours["fit, s"] for rival, ours in pairs]
            axes.plot(times, ahead, mark, color=colour, label=label, markersize=7, alpha=0.85)
    axes.set(xlabel="training time of the rival, as a multiple of Mercer's", ylabel="points by which Mercer is ahead")
    axes.set_xscale("log")
    axes.set_yscale("symlog", linthresh=2)
    axes.set_yticks([-2, -1, 0, 1, 2, 5, 10, 20], ["-2", "-1", "0", "1", "2", "5", "10", "20"])
    axes.axhline(0, color="#999999", linewidth=0.8, zorder=0)
    axes.axvline(1, color="#999999", linewidth=0.8, zorder=0)
    if sets:
        axes.legend(frameon=False, fontsize=9)
    return figure


# side of the benchmark peers-search, its name in the figure, where that stands from the dot
SEARCHERS = (
    ("Mercer, KernelIndex, 16 bytes, re-ranked", "Mercer, KernelIndex", (-9, -13)),
    ("Mercer, exact_knn (brute force)", "Mercer, brute force", (-9, 9)),
    ("usearch, own chi2", "usearch with a chi2 metric", (-9, 12)),
    ("pynndescent, own chi2", "pynndescent with a chi2 metric", (-9, 9)),
    ("faiss, HNSW32, Euclidean of square roots", "faiss, graph on square roots", (9, 0)),
    ("faiss, Flat, Euclidean of square roots", "faiss, brute force on square roots", (-9, 9)),
    ("faiss, PQ16, Euclidean", "faiss, 16 bytes, Euclidean", (9, 0)),
    ("faiss, Flat, Euclidean", "faiss, brute force, Euclidean", (-9, -13)),
)


def search_peers(results):
    """Time of a query against the share of the ten nearest rows under chi2 that are found."""
    figure, axes = new_figure(7.4, 4.0)
    stored = results["peers-search"]
    for side, label, offset in SEARCHERS:
        recall, time = (stored.cell("search", (side,), column) for column in ("recall_10@10", QUERY_TIME))
        if None in (recall, time):
            continue
        colour = COLOURS[0] if side.startswith("Mercer") else "#777777"
        axes.plot(100 * recall, time, "o", color=colour, markersize=8, clip_on=False)
        align = {"ha": "right" if offset[0] < 0 else "left", "va": "center"}
        axes.annotate(
            label, (100 * recall, time), offset, textcoords="offset points", fontsize=9, color=colour, **align
        )
    axes.set(xlabel="true neighbors under chi2 found, of ten, %", ylabel="microseconds per query (lower is better)")
    axes.set(xlim=(40, 101), ylim=(40, 1800), yscale="log")
    axes.set_yticks([50, 100, 200, 500, 1000, 2000], ["50", "100", "200", "500", "1,000", "2,000"])
    axes.minorticks_off()
    axes.grid(color="#eeeeee")
    axes.set_axisbelow(True)
    return figure


FIGURES = {"gain": gain, "against-rivals": against_rivals, "search-peers": search_peers}
