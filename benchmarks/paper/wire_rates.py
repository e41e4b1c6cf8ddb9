"""Classification by quantised HOG descriptors, against bits. [boufounos15universal] Fig. 1(c), 3(a)-(c)"""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

BITS = (6, 9, 12, 18, 24, 36, 72)
SIZE = 36  # numbers of a descriptor
PER_CLASS = 15
SPLITS, DRAWS, QUICK_SPLITS = 50, 2, 3
DELTAS = (0.5, 1.0, 1.45, 2.0, 2.8, 4.0)  # [boufounos15universal] found 1.4507 to be best
DELTA_BITS = (9, 18, 36)
FLOAT = "unquantised"
RAW_MEAN, RAW_MEDIAN = "raw, threshold at the mean", "raw, threshold at the median"
SIGNS, CENTRED = "QJL, 1 bit", "QJL, 1 bit, centred"
UNIVERSAL, COMPACT, WORDS = "universal, delta by cross-validation", "compact", "product quantisation"
AT_18 = "CompactEmbedding at 18 bits per descriptor: points of accuracy lost against unquantised descriptors"
AT_9 = "CompactEmbedding at 9 bits per descriptor: points of accuracy lost against unquantised descriptors"


@benchmark(
    "wire-rates",
    "accuracy against bits per HOG descriptor: raw bits, quantised and universal embeddings, learned codes",
    bars=[Bar(AT_18, "<= 1", "points"), Bar(AT_9, "<= 3", "points")],
    paper="boufounos15universal",
    needs=["caltech101", "inria_person"],
)
def wire_rates(record):
    from benchmarks.paper._caltech import load_descriptors
    from benchmarks.runner import limited_threads

    n_splits, n_draws = (QUICK_SPLITS, 1) if record.quick else (SPLITS, DRAWS)
    with limited_threads(record.threads):
        X, y = load_descriptors()
    size = PER_CLASS * (y.max() + 1)
    common = {"n_splits": n_splits, "n_draws": n_draws, "train_size": size, "test_size": size}
    found = judged(X, y, BITS, codes_by_name, codes_by_name(), record.threads, common)
    by_delta = judged(X, y, DELTA_BITS, fixed_deltas, fixed_deltas(), record.threads, common)
    float_ = found.at(FLOAT)
    for claim, bits in ((AT_18, 18), (AT_9, 9)):
        mean, low, high = found.difference(float_, found.at(COMPACT, bits))
        record.measured(claim, 100 * mean, f"95 % interval {100 * low:.2f} to {100 * high:.2f}")
    record.table("accuracy in %, mean and half the width of its 95 % interval, by bits per descriptor",
                 ["code", *map(str, BITS)], accuracy_lines(found))  # fmt: skip
    record.table(
        "the paper's claims", ["claim", "measured difference, points", "95 % interval", "held"], judged_claims(found)
    )
    record.table("universal bits: accuracy in % by delta and bits per descriptor",
                 ["delta", *map(str, DELTA_BITS)], _delta_lines(by_delta))  # fmt: skip
    record.figure("g", _figure_g(), "share of bits that differ against distance: universal bits and signs (Fig. 1(c))")
    record.figure("qjl", _figure(found, [SIGNS, *(f"QJL, {b} bits" for b in (2, 3, 4)), CENTRED, RAW_MEAN, RAW_MEDIAN]),
                  "quantised JL embeddings (Fig. 3(a))")  # fmt: skip
    record.figure("universal", _figure(found, [UNIVERSAL, SIGNS, CENTRED, COMPACT, WORDS, RAW_MEAN, RAW_MEDIAN]),
                  "universal embeddings and learned codes (Fig. 3(b))")  # fmt: skip
    record.figure("delta", _figure_delta(by_delta), "universal embeddings by delta (Fig. 3(c))")
    record.note(
        f"Seven classes of Caltech-101 and the people of INRIA (the tallest of a photograph, in a square 1.2 times as "
        f"high), {len(y) // (y.max() + 1)} images each, resized to 128 x 128; 16 x 16 descriptors of 36. {PER_CLASS} "
        f"images per class for training and as many for testing, {n_splits} splits, {n_draws} draws of projections; "
        "differences are paired by split. One-vs-rest linear SVM (libsvm, C = 10 in units of the mean square of "
        "centred rows) on the features of every code. Thresholds, means, words, projections of the compact code and "
        "delta (5 folds) come from the training images."
    )


def judged(X, y, bits, codes, names, processes, common):
    """`rate_accuracy` of the codes with these names, each in a process: whichever codes it has, splits are the same."""
    from concurrent.futures import ProcessPoolExecutor
    from dataclasses import replace
    from multiprocessing import get_context

    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        waiting = [pool.submit(_of_a_code, codes, name, X, y, bits, common) for name in names]
        found = [one.result() for one in waiting]
    return replace(found[0], points=[point for one in found for point in one.points])


def _of_a_code(codes, name, X, y, bits, common):
    from benchmarks.paper._gram_svc import GramSVC
    from benchmarks.runner import limited_threads
    from mercer.serving import rate_accuracy

    with limited_threads(1):
        return rate_accuracy(X, y, bits, codes={name: codes()[name]}, block_size=SIZE, classifier=GramSVC(),
                             random_state=0, **common)  # fmt: skip


def codes_by_name():
    """Names of the table, and what stands for them."""
    from mercer import QuantizedJL

    def signs(bits):
        return QuantizedJL(bits, center=False, block_size=SIZE)

    def levels(b):
        return lambda bits: QuantizedJL(bits // b, bits=b, center=False, block_size=SIZE) if bits % b == 0 else None

    return {
        FLOAT: FLOAT, RAW_MEAN: "raw-mean", RAW_MEDIAN: "raw", SIGNS: signs,
        **{f"QJL, {b} bits": levels(b) for b in (2, 3, 4)},
        CENTRED: "qjl-1", UNIVERSAL: "universal", COMPACT: "compact", WORDS: "pq",
    }  # fmt: skip


def fixed_deltas():
    from mercer import UniversalEmbedding

    def at(delta):
        return lambda bits: UniversalEmbedding(bits, delta=delta, block_size=SIZE)

    return {str(delta): at(delta) for delta in DELTAS}


def accuracy_lines(found, all_bits=BITS):
    lines = []
    for code in dict.fromkeys(point.code for point in found.points):
        points = {point.bits: point for point in found.points if point.code == code}
        if None in points:
            lines.append([code, *[_shown(points[None])] * len(all_bits)])
        else:
            lines.append([code, *(_shown(points[bits]) if bits in points else "" for bits in all_bits)])
    return lines


def _shown(point):
    return f"{100 * point.accuracy:.1f} ± {50 * (point.high - point.low):.1f}"


def judged_claims(found):
    """Each claim with its difference, and whether the whole interval speaks for it."""
    rows = []

    def judge(claim, point, reference, least):
        mean, low, high = (100 * number for number in found.difference(point, reference))
        held = "held" if low >= least else "not held" if high < least else "open: the interval has both"
        rows.append([claim, f"{mean:+.2f}", f"{low:+.2f} to {high:+.2f}", held])

    signs, universal = found.at(SIGNS, 18), found.at(UNIVERSAL, 18)
    judge("QJL at 18 bits is as good as raw bits at 36 (mean as threshold), to half a point", signs,
          found.at(RAW_MEAN, 36), -0.5)  # fmt: skip
    judge("QJL at 18 bits is as good as raw bits at 36 (median as threshold), to half a point", signs,
          found.at(RAW_MEDIAN, 36), -0.5)  # fmt: skip
    for threshold, raw in (("mean", RAW_MEAN), ("median", RAW_MEDIAN)):
        judge(f"QJL at 36 bits is better than raw bits at 36 ({threshold} as threshold)", found.at(SIGNS, 36),
              found.at(raw, 36), 0)  # fmt: skip
    for bits in (9, 18, 36):
        judge(f"universal bits are better than QJL, {bits} bits", found.at(UNIVERSAL, bits), found.at(SIGNS, bits), 0)
    judge("universal bits at 18 bits are as good as unquantised descriptors, to half a point", universal,
          found.at(FLOAT), -0.5)  # fmt: skip
    for bits in (2, 3, 4):
        judge(
            f"1 bit per projection is better than {bits}, 36 bits",
            found.at(SIGNS, 36),
            found.at(f"QJL, {bits} bits", 36),
            0,
        )
    return rows


def _delta_lines(found):
    return [[float(code), *(_shown(found.at(code, bits)) for bits in DELTA_BITS)]
            for code in dict.fromkeys(point.code for point in found.points)]  # fmt: skip


def _figure(found, codes):
    from benchmarks.plotting import new_figure

    figure, axes = new_figure(7.2, 4.2)
    float_ = found.at(FLOAT)
    axes.axhspan(100 * float_.low, 100 * float_.high, color="#dddddd", linewidth=0)
    axes.axhline(100 * float_.accuracy, color="#777777", linestyle=":", label=FLOAT)
    for code in codes:
        points = [point for point in found.points if point.code == code]
        half = [50 * (point.high - point.low) for point in points]
        axes.errorbar([point.bits for point in points], [100 * point.accuracy for point in points], half,
                      marker="s" if len(points) == 1 else "o", markersize=4, capsize=2, label=code)  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_xticks(BITS, map(str, BITS))
    axes.minorticks_off()
    axes.set_xlabel("bits per descriptor")
    axes.set_ylabel("accuracy, %")
    axes.legend(frameon=False, fontsize=8, loc="lower right")
    return figure


def _figure_delta(found):
    from benchmarks.plotting import new_figure

    figure, axes = new_figure()
    for bits in DELTA_BITS:
        points = [found.at(str(delta), bits) for delta in DELTAS]
        half = [50 * (point.high - point.low) for point in points]
        axes.errorbar(DELTAS, [100 * point.accuracy for point in points], half, marker="o", markersize=4, capsize=2,
                      label=f"{bits} bits per descriptor")  # fmt: skip
    axes.axvline(1.4507, color="#777777", linestyle=":", label="the paper's delta")
    axes.set_xlabel("delta, in the units of descriptors")
    axes.set_ylabel("accuracy, %")
    axes.legend(frameon=False, fontsize=8)
    return figure


def _figure_g():
    """Measured on pairs of random directions at given distances, with the curves of (9) and of angles."""
    import numpy as np

    from benchmarks.plotting import new_figure
    from mercer import QuantizedJL, UniversalEmbedding

    rng, d, M = np.random.default_rng(0), 36, 4096
    distances = np.linspace(0.02, 1.4, 24)
    left = rng.standard_normal((len(distances), d))
    left /= np.linalg.norm(left, axis=1, keepdims=True)
    across = rng.standard_normal((len(distances), d))
    across -= (across * left).sum(axis=1, keepdims=True) * left
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    angle = 2 * np.arcsin(distances / 2)[:, None]
    right = np.cos(angle) * left + np.sin(angle) * across  # both of norm 1, at these distances
    figure, axes = new_figure()
    rows = np.concatenate([left, right])
    for delta in (0.5, 1.0, 2.0):
        embedding = UniversalEmbedding(M, delta=delta, random_state=0).fit(rows)
        (line,) = axes.plot(distances, embedding.expected_distance(distances), label=f"universal, delta = {delta}")
        axes.plot(distances, _differing(embedding, left, right), ".", color=line.get_color())
    signs = QuantizedJL(M, center=False, random_state=0).fit(rows)
    (line,) = axes.plot(distances, angle[:, 0] / np.pi, "--", label="signs of projections: angle / pi")
    axes.plot(distances, _differing(signs, left, right), ".", color=line.get_color())
    axes.set_xlabel("distance of two rows of norm 1")
    axes.set_ylabel("share of bits that differ")
    axes.legend(frameon=False, fontsize=8)
    return figure


def _differing(embedding, left, right):
    import numpy as np

    return (
        np.bitwise_count(embedding.transform(left) ^ embedding.transform(right)).sum(axis=1)
        / embedding.specification_.n_bits
    )
