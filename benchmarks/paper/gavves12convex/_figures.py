"""mAP against the number of words, published and ours."""

from __future__ import annotations


def by_words(lines, label):
    """`lines` are those of a grid: names "how, size", the first pair is mAP."""
    from benchmarks.plotting import COLOURS, new_figure

    figure, axes = new_figure(6.4, 3.6)
    found = {}
    for name, pairs in lines:
        how, size = name.split(", ", 1)
        found.setdefault(how, []).append((int(size.replace(",", "")), *pairs[0]))
    for (how, points), colour in zip(found.items(), COLOURS, strict=False):
        points.sort()
        sizes = [size for size, _, _ in points]
        style = {"color": colour, "markersize": 4}
        if any(published is not None for _, published, _ in points):
            axes.plot(sizes, [one[1] for one in points], "s--", mfc="none", label=f"{how}, published", **style)
        if all(own is not None for _, _, own in points):
            axes.plot(sizes, [one[2] for one in points], "o-", label=f"{how}, ours", **style)
    axes.set_xlabel("words")
    axes.set_ylabel(label)
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure
