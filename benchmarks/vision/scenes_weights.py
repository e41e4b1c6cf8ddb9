"""The words of largest weight, where they are in images. [gavves12convex] Fig. 4"""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

PER_CLASS, SHOWN, N_WORDS, N_DIMS, LARGEST = 20, ("Coast", "InsideCity", "Kitchen", "TallBuilding"), 1000, 150, 10
SALIENT = "contrast of patches with the ten words of largest weight over that of all patches, mean of the images shown"


@benchmark(
    "scenes-weights",
    "the ten words of largest weight after convex selection, where they are in images of Scenes-15",
    bars=[Bar(SALIENT, "> 1", "x", published="tend to be located on salient locations")],
    paper="gavves12convex",
    needs=["scenes15"],
    threads=1,
)
def scenes_weights(record):
    import numpy as np

    from benchmarks.runner import limited_threads
    from benchmarks.vision._scenes15 import split
    from mercer import BagOfWords, ConvexReduction
    from mercer.vision import DenseSIFT, locate_words

    train, y, test, _ = split(record.quick)
    count, n_words, n_dims = (4, 100, 30) if record.quick else (PER_CLASS, N_WORDS, N_DIMS)
    with limited_threads(record.threads):
        chosen = [path for c in np.unique(y) for path in np.asarray(train)[y == c][:count]]
        encoder = BagOfWords(DenseSIFT(step=8, sizes=(6,)), n_words=n_words, assignment="hnsw", random_state=0).fit(
            chosen
        )
        reduction = ConvexReduction(n_dims=n_dims, method="convex", refit=False, random_state=0).fit(
            encoder.transform(chosen)
        )
        shown = [next(path for path in test if path.parent.name == name) for name in SHOWN]
        found = [locate_words(path, encoder, reduction, LARGEST) for path in shown]
    lines = [
        [path.parent.name, len(one.place), int((one.place >= 0).sum()), _contrast(one)]
        for path, one in zip(shown, found, strict=True)
    ]
    record.measured(SALIENT, float(np.mean([line[3] for line in lines])))
    record.table("images", ["class", "patches", "with one of the ten words", "contrast / that of all patches"], lines)
    record.figure(
        "patches",
        _figure(found),
        f"Patches with the {LARGEST} words of largest weight, in images not used to find them; grey: contrast",
    )
    record.note(
        f"{len(chosen):,} training images, SIFT every 8 pixels at one size, {n_words:,} words, {reduction.n_dims_} "
        "of them selected by (5) on the linear kernel, without labels. The first test image of each of four "
        "classes. Contrast is the standard deviation of the grey values of a patch."
    )


def _contrast(one):
    """Mean contrast of the shown patches over that of all."""
    contrasts = _contrasts(one)
    return float(contrasts[one.place >= 0].mean() / contrasts.mean()) if (one.place >= 0).any() else float("nan")


def _contrasts(one):
    """Standard deviation of the grey values of each patch."""
    import numpy as np

    grey = one.pixels if one.pixels.ndim == 2 else one.pixels.mean(axis=2)
    patches = [
        grey[max(0, int(y - r)) : int(y + r) + 1, max(0, int(x - r)) : int(x + r) + 1]
        for (x, y, _), r in zip(one.frames, one.frames[:, 2] * 2, strict=True)
    ]
    return np.array([patch.std() for patch in patches])


def _figure(found):
    """Contrast of all patches in grey, words in colours; the photographs under them are not ours to show."""
    from benchmarks.plotting import COLOURS, new_figure

    figure, axes = new_figure(8, 6.4)
    figure.delaxes(axes)
    colours = [*COLOURS, "#999999", "#882255"]
    for axes, one, name in zip(figure.subplots(2, 2).ravel(), found, SHOWN, strict=False):
        height, width = one.pixels.shape[:2]
        contrasts = _contrasts(one)
        x, y = one.frames[:, 0], one.frames[:, 1]
        axes.scatter(
            x, y, c=contrasts, cmap="Greys", vmin=0, vmax=1.6 * contrasts.max(), s=26, marker="s", linewidths=0
        )
        for place in range(len(one.columns)):
            own = one.frames[one.place == place]
            axes.plot(own[:, 0], own[:, 1], "s", mfc="none", mew=1.3, markersize=5, color=colours[place])
        axes.set(xlim=(0, width), ylim=(height, 0), aspect="equal", xticks=[], yticks=[], title=name)
    return figure
