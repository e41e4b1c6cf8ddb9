"""The claims of Fig. 3 on more classes, with intervals. [boufounos15universal] Sec. IV"""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

BITS, SPLITS, DRAWS = (9, 18, 36), 20, 2
JUDGED = "universal bits at 18 bits per descriptor: points of accuracy lost against unquantised descriptors"


@benchmark(
    "wire-classes",
    "raw bits, quantised projections and universal embeddings of HOG descriptors, as published, on 25 classes",
    bars=[Bar(JUDGED, "<= 0.5", "points", published="none")],
    paper="boufounos15universal",
    needs=["caltech101", "inria_person", "scenes15"],
)
def wire_classes(record):
    from benchmarks.paper._caltech import load_descriptors
    from benchmarks.paper.wire_rates import (
        COMPACT,
        FLOAT,
        PER_CLASS,
        UNIVERSAL,
        WORDS,
        accuracy_lines,
        codes_by_name,
        judged,
        judged_claims,
    )
    from benchmarks.runner import limited_threads

    n_splits, n_draws, per_class = (2, 1, 6) if record.quick else (SPLITS, DRAWS, PER_CLASS)
    names = [name for name in codes_by_name() if name not in (COMPACT, WORDS)]
    with limited_threads(record.threads):
        X, y = load_descriptors(*([2 * per_class] if record.quick else []), more=True)
    size = per_class * (y.max() + 1)
    common = {"n_splits": n_splits, "n_draws": n_draws, "train_size": size, "test_size": size}
    found = judged(X, y, BITS, codes_by_name, names, record.threads, common)
    mean, low, high = found.difference(found.at(FLOAT), found.at(UNIVERSAL, 18))
    record.measured(JUDGED, 100 * mean, f"95 % interval {100 * low:.2f} to {100 * high:.2f}")
    record.table("accuracy in %, mean and half the width of its 95 % interval, by bits per descriptor",
                 ["code", *map(str, BITS)], accuracy_lines(found, BITS))  # fmt: skip
    record.table(
        "the paper's claims", ["claim", "measured difference, points", "95 % interval", "held"], judged_claims(found)
    )
    record.note(
        f"{y.max() + 1} classes: nine of Caltech-101, the people of INRIA and the fifteen scenes of Scenes-15, "
        f"{len(y) // (y.max() + 1)} images each; {per_class} of a class for training and as many for testing, "
        f"{n_splits} splits, {n_draws} draws of projections. Descriptors, codes and machines are those of `wire-rates`."
    )
