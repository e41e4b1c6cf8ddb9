"""Bags of words of Scenes-15 with a spatial pyramid: linear machines, intersection. [wu10fast] Sec. 4.2"""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

INTERSECTION = "IntersectionSVC with pyramid: points of accuracy above a linear SVM"
EXACT = "IntersectionSVC with pyramid: points of accuracy below the exact intersection kernel"
PYRAMID = ((1, 1), (2, 2))
OURS = ("IntersectionSVC", "IntersectionSVC, levels given")
PUBLISHED = "IntersectionSVC, C = 1e-3, one class against the rest, as published"
ICD = "IntersectionSVC, one class against the rest"
LEVELS = 20_000  # of a value of 1, so that one patch of an image is about a level


@benchmark(
    "scenes-words",
    "bags of 4,000 words of Scenes-15 with pyramid: IntersectionSVC, a linear machine and the exact kernel",
    bars=[Bar(INTERSECTION, ">= 4", "points"), Bar(EXACT, "<= 0.5", "points")],
    paper="wu10fast",
    needs=["scenes15"],
)
def scenes_words(record):
    from benchmarks.runner import limited_threads
    from benchmarks.vision._bags import WORDS, bags
    from benchmarks.vision._scenes15 import split

    train, y, test, y_test = split(record.quick)
    n_words = 400 if record.quick else WORDS
    with limited_threads(record.threads):
        encoder, (X, X_test) = bags((train, test), n_words, PYRAMID, assignment="hnsw")
        found = _machines(X, X_test, y, y_test)
        defaults = _defaults(X, X_test, y, y_test)
        chosen = _chosen(X, X_test, y, y_test, record.quick)
        agreement = _agreement(encoder, test[:: max(1, len(test) // 40)])
    name = max(OURS, key=lambda name: found[name][1])  # by held-out training images
    ours = found[name][0]
    record.measured(INTERSECTION, 100 * (ours - found["linear SVM"][0]), name)
    record.measured(EXACT, 100 * (found["exact intersection"][0] - ours), name)
    record.table("accuracy with pyramid 1 x 1 + 2 x 2", ["machine", "test", "held-out training images"],
                 [[name, *pair] for name, pair in found.items()])  # fmt: skip
    record.table("default parameters", ["machine", "rows", "accuracy %", "seconds"], defaults)
    record.table("parameters chosen on held-out training images", ["machine", "accuracy %", "C", "gamma"], chosen)
    record.table("descriptors that get their nearest word", ["assignment", "share"], agreement)
    record.note(
        f"{len(train):,} training and {len(test):,} test images; SIFT on a grid of 4 pixels at four sizes, {n_words:,} "
        "words, nearest words by HNSW. The linear machine and the exact kernel: one-vs-rest support vector machines on "
        "Gram matrices, C from 0.3 to 10 chosen on 30 training images per class. IntersectionSVC as it comes clips "
        "values at their 97.5th percentile (13), about ten patches where many words are empty; with levels "
        f"given (X times {LEVELS:,}, rounded, bins=None) nothing is clipped. Of the two, held-out images choose. C "
        "is 3 over the mean of the kernel, the default; as published it is 1e-3."
    )
    record.note(
        "Default parameters: LinearSVC (LIBLINEAR, one class against the rest) and SVC (LIBSVM, pairs) with C = 1, "
        "gamma one over the number of columns, on shares of patches and on their levels; the intersection kernel on "
        "the levels of a LevelQuantizer, as IntersectionSVC makes them, with C = 1e-3. Seconds: one fit, two threads "
        "for IntersectionSVC and for kernel matrices, one for LIBLINEAR and LIBSVM. Chosen: C from 1e-5 to 1e3, gamma "
        "from 1e-5 to 1e-1, as published, on levels of about a patch."
    )


def _machines(X, X_test, y, y_test):
    """{machine: (accuracy on the test, on held-out training images)}"""
    import numpy as np
    from sklearn.preprocessing import normalize

    from benchmarks.vision._scenes15 import held_out_parts, judged, judged_rows
    from mercer import Intersection, IntersectionSVC

    kernel, (fitted, held) = Intersection(), held_out_parts(y)
    exact = judged(kernel(X), y, kernel(X_test, X), y_test)
    linear = judged_rows(normalize(X), y, normalize(X_test), y_test)
    found = {"linear SVM": (linear["accuracy"], None), "exact intersection": (exact["accuracy"], None)}
    levels = [np.rint(rows * LEVELS).astype(np.uint16) for rows in (X, X_test)]
    for name, bins, (rows, test) in zip(OURS, ("auto", None), ((X, X_test), levels), strict=True):
        chosen = IntersectionSVC(bins=bins).fit(rows[fitted], y[fitted]).score(rows[held], y[held])
        found[name] = (IntersectionSVC(bins=bins).fit(rows, y).score(test, y_test), chosen)
    published = IntersectionSVC(1e-3, multi_class="ovr").fit(X, y)
    found[PUBLISHED] = (published.score(X_test, y_test), None)
    return found


def _defaults(X, X_test, y, y_test):
    """[machine, what it is given, accuracy in %] of machines as they come. [wu10fast] Table 3"""
    from time import perf_counter

    import numpy as np
    from sklearn.svm import SVC, LinearSVC

    from benchmarks.paper.icd_accuracy import ExactSVC
    from mercer import IntersectionSVC, LevelQuantizer

    counts = [np.rint(rows * LEVELS).astype(np.float32) for rows in (X, X_test)]
    quantizer = LevelQuantizer().fit(X)
    levels = [quantizer.transform(rows).astype(np.float32) for rows in (X, X_test)]
    machines = {
        "LIBLINEAR": lambda: LinearSVC(dual=True, random_state=0),
        "LIBSVM+LIN": lambda: SVC(kernel="linear"),
        "LIBSVM+RBF": lambda: SVC(kernel="rbf", gamma="auto"),
    }
    jobs = [(name, given, make, rows) for name, make in machines.items()
            for given, rows in (("shares", (X, X_test)), ("levels", counts))]  # fmt: skip
    jobs.append(("LIBSVM+HIK", "levels of IntersectionSVC", lambda: ExactSVC(1e-3), levels))
    jobs.append((ICD, "as they are", lambda: IntersectionSVC(1e-3, multi_class="ovr"), (X, X_test)))
    lines = []
    for name, given, make, rows in jobs:
        began = perf_counter()
        machine = make().fit(rows[0], y)
        seconds = perf_counter() - began
        lines.append([name, given, 100 * machine.score(rows[1], y_test), seconds])
    return lines


def _chosen(X, X_test, y, y_test, quick):
    """[machine, accuracy in %, C, gamma] by the grid of the paper, on levels of about a patch. [wu10fast] Table 3"""
    import numpy as np
    from scipy import sparse
    from sklearn.metrics.pairwise import euclidean_distances
    from sklearn.svm import SVC, LinearSVC

    from benchmarks.vision._scenes15 import held_out_parts

    X, X_test = (np.rint(rows * LEVELS).astype(np.float64) for rows in (X, X_test))
    fitted, held = held_out_parts(y)
    Cs, gammas = (10.0 ** np.arange(*grid) for grid in (((-1, 1), (-3, -2)) if quick else ((-5, 4), (-5, 0))))

    def linear(rows, others, C, _):
        machine = LinearSVC(C=C, dual=True, random_state=0).fit(X[rows], y[rows])
        return machine.predict(X[others] if others is not None else X_test)

    def rbf(rows, others, C, gamma):
        machine = SVC(C=C, kernel="precomputed").fit(np.exp(-gamma * squares[np.ix_(rows, rows)]), y[rows])
        left = squares[others] if others is not None else squares_test
        return machine.predict(np.exp(-gamma * left[:, rows]))

    X, X_test = (sparse.csr_array(rows) for rows in (X, X_test))
    squares, squares_test = (euclidean_distances(rows, X, squared=True) for rows in (X, X_test))
    lines, every = [], np.arange(len(y))
    for name, predict, grid in (("LIBLINEAR", linear, [None]), ("LIBSVM+RBF", rbf, gammas)):
        trials = {(C, gamma): (predict(fitted, held, C, gamma) == y[held]).mean() for C in Cs for gamma in grid}
        best = max(trials, key=trials.get)
        lines.append([name, 100 * float((predict(every, None, *best) == y_test).mean()), *best])
    return lines


def _agreement(encoder, paths):
    """How often each approximate assignment finds the nearest word of a descriptor."""
    from copy import deepcopy

    import numpy as np

    from mercer.vision import describe_images

    values = np.concatenate([found.values for _, found in describe_images(paths, encoder.descriptor_)])
    values = values[:: max(1, len(values) // 50_000)]
    return [
        [assignment, deepcopy(encoder.vocabulary_).set_params(assignment=assignment).agreement(values)]
        for assignment in ("hnsw", "ivf")
    ]
