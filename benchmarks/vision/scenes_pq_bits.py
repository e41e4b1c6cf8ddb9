"""Words of 4 to 16 bits at a fixed number of bits per value, Fisher vectors of Scenes-15. [vedaldi12sparse] Fig. 2"""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

PER_VALUE = (0.5, 1.0, 2.0)  # the b of the figure
BITS = (4, 8, 12, 16)
WHOLE, STRIPS = "1 x 1", "3 x 1"
CELLS = {WHOLE: slice(0, 1), STRIPS: slice(5, 8)}  # of the eight of the pyramid 1 x 1, 2 x 2, 3 x 1
LOST = "{}, 1 bit per value in words of 8 bits: points of mAP lost"
LONGER = "{}, 1 bit per value: points of mAP that words of 8 bits gain over words of 4"


@benchmark(
    "scenes-pq-bits",
    "words of 4 to 16 bits at the same bits per value, on the Fisher vectors of Scenes-15: what codes cost",
    bars=[
        *(Bar(LOST.format(cells), "<= 1", "points", published="less than 1") for cells in CELLS),
        *(Bar(LONGER.format(cells), ">= 0", "points") for cells in CELLS),
    ],
    paper="vedaldi12sparse",
    needs=["scenes15"],
)
def scenes_pq_bits(record):
    import numpy as np

    from benchmarks.runner import limited_threads
    from benchmarks.vision._scenes15 import judged_rows, split
    from benchmarks.vision.scenes_fisher import fisher_rows

    found = {}
    with limited_threads(record.threads):
        train, y, test, y_test = split(record.quick)
        cells = [part.reshape(len(part), 8, -1) for part in fisher_rows(train, test, record.quick)]
        for name, chosen in CELLS.items():
            X, X_test = (part[:, chosen].reshape(len(part), -1) for part in cells)
            norm = np.float32(np.sqrt(8 / (chosen.stop - chosen.start)))  # each cell has 1/8 of the squares
            X, X_test = X * norm, X_test * norm
            found[name, None, None] = {"bytes": X[0].nbytes, "codebooks": 0.0, **judged_rows(X, y, X_test, y_test)}
            for b in PER_VALUE:
                for bits in BITS:
                    found[name, b, bits] = _coded(X, y, X_test, y_test, b, bits)
    for name in CELLS:
        plain, words, short = (found[name, *key]["mAP"] for key in ((None, None), (1.0, 8), (1.0, 4)))
        record.measured(LOST.format(name), 100 * (plain - words), f"{words:.4f} against {plain:.4f}")
        record.measured(LONGER.format(name), 100 * (words - short), f"{words:.4f} against {short:.4f}")
    record.table(
        "what codes cost by the bits of a word; training and test rows are decoded from their codes",
        ["cells", "bits per value", "bits of a word", "values per word", "bytes per row", "codebooks, MB",
         "mAP, held out", "mAP, test", "accuracy, test"],
        [[*_head(key), one["bytes"], one["codebooks"], one["held out"], one["mAP"], one["accuracy"]]
         for key, one in found.items()],
    )  # fmt: skip
    record.note(
        f"{len(train):,} training and {len(test):,} test images; columns as they are. Bytes are those of a row as it "
        f"is kept: words of 12 bits take two bytes each. Beyond {int(np.log2(len(train)))} bits there are more words "
        "than training rows: each of these is then a word of its own, and the training rows are not quantized at all."
    )


def _head(key):
    cells, b, bits = key
    return [cells, "32, not coded" if b is None else f"{b:g}", bits, None if b is None else int(bits / b)]


def _coded(X, y, X_test, y_test, b, bits):
    """What it costs to keep rows by words of so many bits, each for bits / b values."""
    import warnings

    from benchmarks.vision._scenes15 import judged_rows
    from mercer import ProductQuantizer
    from mercer._base.errors import ApproximationWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApproximationWarning)  # fewer rows than words, which the note says
        quantizer = ProductQuantizer(block_size=int(bits / b), bits=bits, random_state=0).fit(X)
    decoded = [quantizer.inverse_transform(quantizer.transform(part)) for part in (X, X_test)]
    sizes = {"bytes": quantizer.code_size_, "codebooks": quantizer.inner_.layout.flat.nbytes / 1e6}
    return sizes | judged_rows(decoded[0], y, decoded[1], y_test)
