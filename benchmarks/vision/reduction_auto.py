"""Merging, convex selection, and the trial that decides between them, on sets of many kinds. [gavves12convex]"""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

WORST = "method='auto' below the better of merging and selecting, worst of the sets: points of accuracy"
METHODS = ("merge", "convex", "random", "auto")
SETS = {"20newsgroups": 600, "20newsgroups, 8 classes": 600, "sector": 600, "Scenes words": 600, "pendigits": 8,
        "massbank bins": 600}  # fmt: skip
HELD_OUT = 3000  # spectra


@benchmark(
    "reduction-auto",
    "fewer columns of texts, images, digits and spectra: merged, selected, and by the trial that decides",
    bars=[Bar(WORST, "<= 0.5", "points")],
    paper="gavves12convex",
    needs=["20newsgroups", "sector", "scenes15", "pendigits", "massbank"],
)
def reduction_auto(record):
    from benchmarks.runner import limited_threads

    lines, below = [], {}
    with limited_threads(record.threads):
        for name, size in SETS.items():
            train, test = _rows(name, record.quick)
            found = {method: _judged(method, size // (6 if record.quick else 1), train, test) for method in METHODS}
            auto = found["auto"]
            below[name] = max(found[method]["accuracy"] for method in ("merge", "convex")) - auto["accuracy"]
            lines.append(
                [name, train[0].shape[0], train[0].shape[1], auto["columns"],
                 *(found[method]["accuracy"] for method in METHODS), auto["chosen"], *auto["trial"],
                 *(found[method]["seconds"] for method in ("merge", "convex", "auto"))]
            )  # fmt: skip
    record.measured(WORST, 100 * max(below.values()), ", ".join(f"{name} {100 * x:.2f}" for name, x in below.items()))
    record.table(
        "accuracy by the way columns are reduced, and what the trial said",
        ["set", "rows", "columns", "left", *METHODS, "auto took", "trial: merge", "trial: convex", "s, merge",
         "s, convex", "s, auto"],
        lines,
    )  # fmt: skip
    record.note(
        "The map of the chi2 kernel, three numbers for each column that is left, then LinearSVC with C = 3 on rows of "
        "length 1; accuracy on test rows, which no method has seen. Raw counts of words; of spectra peaks in bins of "
        "0.1, and their superclasses; spectra of the test set are of compounds that are in training too. Columns drawn "
        "at random are what a selection has to beat."
    )


def _judged(method, n_dims, train, test):
    """Accuracy on the test rows, seconds of the reduction and of its map, and what the trial said."""
    from time import perf_counter

    from sklearn.preprocessing import normalize
    from sklearn.svm import LinearSVC

    from mercer import ConvexReduction, HomogeneousMap

    began = perf_counter()
    reduction = ConvexReduction(n_dims=n_dims, method=method, map=HomogeneousMap("chi2"), random_state=0).fit(*train)
    seconds = perf_counter() - began
    rows, others = (normalize(reduction.transform(X)) for X in (train[0], test[0]))
    machine = LinearSVC(C=3.0, dual=True, max_iter=300, random_state=0).fit(rows, train[1])
    trial = reduction.trial_ or {"merge": "", "convex": ""}
    return {
        "accuracy": machine.score(others, test[1]), "seconds": seconds, "columns": reduction.n_dims_,
        "chosen": reduction.method_, "trial": [trial["merge"], trial["convex"]],
    }  # fmt: skip


def _rows(name, quick):
    """((rows, classes) to learn from, (rows, classes) to judge by); a quick run takes some of them."""
    import numpy as np

    parts = _loaded(name, quick)
    if not quick:
        return parts
    drawn = [np.random.default_rng(0).permutation(len(y))[:600] for _, y in parts]
    return [(X[at], y[at]) for (X, y), at in zip(parts, drawn, strict=True)]


def _loaded(name, quick):
    import numpy as np

    from mercer import datasets

    if name == "Scenes words":
        return _scenes(quick)
    if name == "massbank bins":
        spectra = datasets.load_massbank()
        order = np.random.default_rng(0).permutation(spectra.data.shape[0])
        X, y = spectra.data[order], np.asarray(spectra.superclass)[order]
        return [(X[HELD_OUT:], y[HELD_OUT:]), (X[:HELD_OUT], y[:HELD_OUT])]
    load = {"sector": datasets.load_sector, "pendigits": datasets.load_pendigits}.get(name, datasets.load_20newsgroups)
    parts = [load(part) for part in ("train", "test")]
    if name == "20newsgroups, 8 classes":
        few = np.unique(parts[0][1])[:8]
        parts = [(X[np.isin(y, few)], y[np.isin(y, few)]) for X, y in parts]
    return parts


def _scenes(quick):
    from benchmarks.vision._bags import WORDS, bags, whole_image
    from benchmarks.vision._scenes15 import split

    train, y, test, y_test = split(quick)
    n_words = 400 if quick else WORDS
    _, rows = bags((train, test), n_words, ((1, 1), (2, 2)), assignment="hnsw")
    return [(whole_image(part, n_words), classes) for part, classes in zip(rows, (y, y_test), strict=True)]
