"""Fisher vectors of Scenes-15: their accuracy, and what product quantisation costs. [vedaldi12sparse] Sec. 5.1"""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

ACCURACY = "Fisher vectors with pyramid: accuracy"
PRECISION = "Fisher vectors with pyramid: mAP"
AT_32, AT_40 = "codes of a 32nd of the memory: points of mAP lost", "codes of a 40th of the memory: points of mAP lost"
PYRAMID = ((1, 1), (2, 2), (3, 1))
WORDS, COMPONENTS = 128, 80


@benchmark(
    "scenes-fisher",
    "Fisher vectors of Scenes-15, and product quantisation of them",
    bars=[
        Bar(ACCURACY, ">= 0.87"), Bar(PRECISION, ">= 0.90"),
        Bar(AT_32, "<= 1", "points"), Bar(AT_40, "<= 1", "points"),
    ],
    paper="vedaldi12sparse",
    needs=["scenes15"],
)  # fmt: skip
def scenes_fisher(record):
    from benchmarks.runner import limited_threads
    from benchmarks.vision._scenes15 import cache_folder, judged_rows, split
    from mercer import FisherVectors

    with limited_threads(record.threads):
        train, y, test, y_test = split(record.quick)
        words = 16 if record.quick else WORDS
        encoder = FisherVectors(
            n_words=words, n_components=COMPONENTS, pyramid=PYRAMID, cache=cache_folder(), random_state=0
        )
        X, X_test = encoder.fit(train).transform(train), encoder.transform(test)
        found = {"pyramid": judged_rows(X, y, X_test, y_test)}
        size = X.shape[1] // 8  # the first of eight cells is the whole image
        X, X_test = X[:, :size].copy(), X_test[:, :size].copy()
        found["whole image"] = plain = judged_rows(X, y, X_test, y_test)
        for name, decoded in _quantised(X, X_test):
            found[name] = judged_rows(decoded[0], y, decoded[1], y_test)
    record.measured(ACCURACY, found["pyramid"]["accuracy"])
    record.measured(PRECISION, found["pyramid"]["mAP"])
    for claim, ratio in ((AT_32, 32), (AT_40, 40)):
        best = max((name for name in found if name.startswith(f"{ratio}x")), key=lambda name: found[name]["mAP"])
        record.measured(claim, 100 * (plain["mAP"] - found[best]["mAP"]), best)
    record.table("accuracy and mAP, C chosen on 30 training images per class", ["rows", "mAP", "accuracy", "C"],
                 [[name, *(one[key] for key in ("mAP", "accuracy", "C"))] for name, one in found.items()])  # fmt: skip
    record.note(
        f"{len(train):,} training and {len(test):,} test images. RootSIFT on a grid of 4 pixels at four sizes, "
        f"{COMPONENTS} principal components, {words} Gaussians, means and variances, power 0.5, l2 in each of eight "
        "cells. Quantised: the vector of the whole image; training and test rows are decoded from their codes."
    )


def _quantised(X, X_test):
    """(name, (decoded training rows, decoded test rows)) of quantisers of one byte per block."""
    from mercer import ProductQuantizer

    for ratio, size in ((32, 8), (40, 10)):
        for rotation in (None, "permutation"):
            quantizer = ProductQuantizer(block_size=size, rotation=rotation, random_state=0).fit(X)
            decoded = [quantizer.inverse_transform(quantizer.transform(rows)) for rows in (X, X_test)]
            yield f"{ratio}x, blocks of {size}" + (f", {rotation}" if rotation else ""), decoded
