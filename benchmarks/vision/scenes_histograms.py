"""On which histograms the convex selection of words serves a classifier better than chance. [gavves12convex]"""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

MERGED = "kinds of histograms, of five, on which 1,200 merged words are better than 1,200 at random, after the map"
PER_CLASS = 50  # of the training images; as many of the test images
SIZES, DRAWS = (600, 1200), 3


@benchmark(
    "scenes-histograms",
    "convex selection of 600 and 1,200 of 4,000 words against chance and merging, on histograms made in five ways",
    bars=[Bar(MERGED, ">= 5")],
    paper="gavves12convex",
    needs=["scenes15"],
)
def scenes_histograms(record):
    from benchmarks.runner import limited_threads
    from benchmarks.vision._bags import WORDS, bags
    from benchmarks.vision._scenes15 import split

    train, y, test, y_test = split(record.quick)
    count = 10 if record.quick else PER_CLASS
    (train, y), (test, y_test) = _few(train, y, count), _few(test, y_test, count)
    n_words = 400 if record.quick else WORDS
    lines = []
    with limited_threads(record.threads):
        for name, parameters in _histograms().items():
            _, rows = bags((train, test), n_words, **parameters)
            lines += _judged(name, rows, (y, y_test), [size * n_words // WORDS for size in SIZES])
    found = {(line[0], line[2], line[3]): line[-1] for line in lines}
    judged = SIZES[1] * n_words // WORDS
    better = {
        how: sum(found[name, judged, how] > found[name, judged, "at random"] for name in _histograms())
        for how in ("merged", "convex")
    }
    record.measured(MERGED, better["merged"], f"convex selection: {better['convex']} of {len(_histograms())}")
    columns = ["histograms", "mean kernel", "words", "how", "error (7)", "mAP, linear", "mAP, map of the chi2 kernel"]
    record.table("mAP by histogram, number of words and how they were found", columns, lines)
    record.note(
        f"{count} training and {count} test images of each of 15 classes; SIFT at four sizes, {n_words:,} words. "
        "Machines as in scenes-reduction; convex: weights and words of (5) on the linear kernel of l2-normalised "
        f"histograms; at random: mean of {DRAWS} draws. Mean kernel: the mean inner product of two l2-normalised "
        "training histograms, which is the larger the smoother they are."
    )


def _histograms():
    """{name: parameters of BagOfWords}"""
    from mercer.vision import DenseSIFT

    return {
        "every 4 pixels, nearest word": {"assignment": "hnsw"},
        "every 4 pixels, no threshold of contrast": {"assignment": "hnsw", "descriptor": DenseSIFT(contrast=0)},
        "every 4 pixels, approximate words (IVF)": {"assignment": "ivf"},
        "every 4 pixels, five nearest words": {"assignment": "hnsw", "n_nearest": 5},
        "every 2 pixels, nearest word": {"assignment": "hnsw", "descriptor": DenseSIFT(step=2)},
    }


def _judged(name, rows, sets, sizes):
    import numpy as np
    from sklearn.preprocessing import normalize

    from benchmarks.vision._bags import chi2_features, linear_precision
    from mercer import ConvexReduction

    rows = [normalize(part) for part in rows]
    K = rows[0] @ rows[0].T
    mean = float(K[~np.eye(len(K), dtype=bool)].mean())

    def line(size, how, found, error):
        precision = np.mean([(linear_precision(part, sets), linear_precision(chi2_features(part), sets))
                             for part in found], axis=0)  # fmt: skip
        return [name, mean, size, how, error, *map(float, precision)]

    lines = [line(rows[0].shape[1], "all", [rows], "")]
    for size in sizes:
        for how, method, draws in (("convex", "convex", 1), ("merged", "merge", 1), ("at random", "random", DRAWS)):
            fitted = [
                ConvexReduction(n_dims=size, method=method, refit=False, random_state=draw).fit(rows[0])
                for draw in range(draws)
            ]
            found = [[one.transform(part) for part in rows] for one in fitted]
            lines.append(line(size, how, found, float(np.mean([one.error_ for one in fitted]))))
    return lines


def _few(paths, y, count):
    """The first images of each class."""
    import numpy as np

    chosen = np.concatenate([np.flatnonzero(y == c)[:count] for c in np.unique(y)])
    return [paths[i] for i in chosen], y[chosen]
