"""Product quantisation of the Fisher vectors of Scenes-15: mAP, memory and learning time. [vedaldi12sparse] Fig. 2"""

from __future__ import annotations

from functools import partial

from benchmarks.registry import Bar, benchmark

AT_32, AT_40 = "codes of a 32nd of the memory: points of mAP lost", "codes of a 40th of the memory: points of mAP lost"
FASTER = "learning by delayed against immediate expansion, G = 8, to a relative gap of 1e-3"
FASTER_THAN_DENSE = "learning by delayed expansion against dense rows in BLAS, G = 8, to a relative gap of 1e-3"
SIZES = (4, 8, 10, 16)
ROTATIONS = (None, "permutation")
TOL, C = 1e-3, 3.0
SOLVER = "projected"  # the one that "auto" takes for codes of more factors than rows
DENSE, BLAS = "dense", "dense, plain BLAS"


@benchmark(
    "scenes-pq",
    "product quantisation of the Fisher vectors of Scenes-15: mAP, memory, and time to learn on codes",
    bars=[
        Bar(AT_32, "<= 1", "points"), Bar(AT_40, "<= 1", "points", published="1"),
        Bar(FASTER, ">= 5", "x", published="5 to 10x"), Bar(FASTER_THAN_DENSE, ">= 1", "x", published="not faster"),
    ],
    paper="vedaldi12sparse",
    needs=["scenes15"],
)  # fmt: skip
def scenes_pq(record):
    from benchmarks.runner import limited_threads
    from benchmarks.vision._scenes15 import judged_rows, split
    from benchmarks.vision.scenes_fisher import fisher_rows

    with limited_threads(record.threads):
        train, y, test, y_test = split(record.quick)
        X, X_test = fisher_rows(train, test, record.quick)
        size = X.shape[1] // 8
        X, X_test = (part[:, :size].copy() * 8**0.5 for part in (X, X_test))  # the whole image, norm 1
        plain = judged_rows(X, y, X_test, y_test)
        found = {}
        for G in SIZES:
            for rotation in ROTATIONS:
                quantizer = _quantizer(G, rotation).fit(X)
                codes = [quantizer.transform(part) for part in (X, X_test)]
                decoded = [quantizer.inverse_transform(part) for part in codes]
                found[G, rotation] = (quantizer, codes[0], judged_rows(decoded[0], y, decoded[1], y_test))
    chosen = {G: max((found[G, rotation] for rotation in ROTATIONS), key=lambda one: one[2]["held out"]) for G in SIZES}
    for claim, G in ((AT_32, 8), (AT_40, 10)):
        one = chosen[G]
        detail = f"{one[2]['mAP']:.4f} against {plain['mAP']:.4f}; rotation {one[0].rotation}, by held-out mAP"
        record.measured(claim, 100 * (plain["mAP"] - one[2]["mAP"]), detail)
    times = _times(record, X, y, {G: one[:2] for G, one in chosen.items()})
    lines = [["float32", None, X.nbytes / 1e6, 1, plain["held out"], plain["mAP"], plain["accuracy"]]]
    for (G, rotation), (_, codes, judged) in found.items():
        lines.append([f"G = {G}", rotation or "as they are", codes.nbytes / 1e6, X.nbytes / codes.nbytes,
                      judged["held out"], judged["mAP"], judged["accuracy"]])  # fmt: skip
    columns = ["rows", "columns", "training rows, MB", "ratio", "mAP, held out", "mAP, test", "accuracy, test"]
    record.table("what codes cost; training and test rows are decoded from their codes", columns, lines)
    record.figure("costs", _figure(plain, chosen, times, X.nbytes), "mAP, memory and learning time (Fig. 2)")
    record.note(
        f"{len(train):,} training and {len(test):,} test images; Fisher vectors of the whole image, {X.shape[1]:,} "
        "numbers, one byte for each block of G. Of columns as they are and permuted, those are taken that are better "
        f"on 30 held-out training images per class. Times: hinge loss, one-vs-rest, C = {C:g}, solver alone."
    )


def _quantizer(G, rotation):
    from mercer import ProductQuantizer

    return ProductQuantizer(block_size=G, rotation=rotation, random_state=0)


def _times(record, X, y, coded):
    """{side: seconds} of learning, alternately; records the bars of speed."""
    from benchmarks.paper._learning import PlainBlas, one_vs_rest
    from benchmarks.runner import compare
    from mercer.learners.solvers.run import solve
    from mercer.spaces import Design, Identity

    designs = {DENSE: lambda: Design(X, Identity(X.shape[1])), BLAS: lambda: PlainBlas(X)}
    for G, (quantizer, codes) in coded.items():
        for expansion in ("delayed", "immediate"):
            designs[f"{expansion}, G = {G}"] = partial(_design, quantizer, codes, expansion)
    sides = {
        name: lambda design=design: solve(one_vs_rest(design(), y, C), SOLVER, tol=TOL)
        for name, design in designs.items()
    }
    slow = {name: 2 for name in sides if name.startswith("immediate")}
    found = compare(sides, 1 if record.quick else 5, slow=slow, threads=record.threads)
    delayed, immediate = "delayed, G = 8", "immediate, G = 8"
    record.comparison(f"{X.shape[0]:,} x {X.shape[1]:,}, 15 classes, gap {TOL:g}", found, delayed)
    record.measured(FASTER, found.ratio(immediate, delayed),
                    f"{found.best(delayed):.3g} s against {found.best(immediate):.3g} s")  # fmt: skip
    best = min((DENSE, BLAS), key=found.best)
    record.measured(FASTER_THAN_DENSE, found.ratio(best, delayed),
                    f"{found.best(delayed):.3g} s against {found.best(best):.3g} s")  # fmt: skip
    return {name: found.best(name) for name in sides}


def _design(quantizer, codes, expansion):
    from mercer.spaces import Design

    return Design(*quantizer.expanded_rows(codes, expansion))


def _figure(plain, chosen, times, n_bytes):
    from benchmarks.plotting import new_figure

    figure, _ = new_figure(9, 3)
    figure.clear()
    quality, memory, seconds = figure.subplots(1, 3)
    quality.axhline(100 * plain["mAP"], color="black", linewidth=1.5)
    quality.plot(SIZES, [100 * chosen[G][2]["mAP"] for G in SIZES], "o-", color="#0072B2", markersize=4)
    quality.set_ylabel("mAP, %")
    memory.axhline(n_bytes / 1e6, color="black", linewidth=1.5, label="float32 rows")
    memory.plot(SIZES, [chosen[G][1].nbytes / 1e6 for G in SIZES], "o-", color="#0072B2", markersize=4, label="codes")
    memory.set_yscale("log")
    memory.set_ylabel("training rows, MB")
    seconds.axhline(min(times[DENSE], times[BLAS]), color="black", linewidth=1.5, label="float32 rows, BLAS")
    for expansion, style in (("immediate", "s-"), ("delayed", "o--")):
        seconds.plot(SIZES, [times[f"{expansion}, G = {G}"] for G in SIZES], style, markersize=4, label=expansion)
    seconds.set_yscale("log")
    seconds.set_ylim(top=10 * max(times[f"immediate, G = {G}"] for G in SIZES))  # room for the legend
    seconds.set_ylabel("learning, s")
    for axes in (quality, memory, seconds):
        axes.set_xticks(SIZES, map(str, SIZES))
        axes.set_xlabel("G, numbers per byte")
        axes.spines[["top", "right"]].set_visible(False)
    memory.legend(frameon=False, fontsize=8)
    seconds.legend(frameon=False, fontsize=8, loc="upper right")
    return figure
