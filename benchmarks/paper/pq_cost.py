"""A pass over product-quantised rows as a fraction of a dense one: predicted and measured. [vedaldi12sparse] (16)"""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

SIZES = (4, 8, 16)
WORDS = 256
N_FEATURES, N_CLASSES = 4096, 20
DELAYED, IMMEDIATE, DENSE, BLAS = "delayed", "immediate", "dense", "dense, plain BLAS"
FRACTION = "A pass over codes as a fraction of a dense pass, G = {}, 50,000 rows"


@benchmark(
    "pq-cost",
    "one pass over product-quantised rows: the fraction of a dense pass that is predicted, and measured",
    bars=[Bar(FRACTION.format(8), "<= 0.5"), Bar(FRACTION.format(16), "<= 0.25")],
    paper="vedaldi12sparse",
)
def pq_cost(record):
    numbers = (500, 1000, 2000) if record.quick else (2000, 5000, 10_000, 20_000, 50_000)
    lines = [line for n in numbers for line in _measured(record, n)]
    columns = ["G", "rows", "predicted", "measured", "measured / predicted", "delayed / immediate"]
    title = f"scores and accumulate, {N_FEATURES} dimensions, {N_CLASSES} classes, {WORDS} words"
    record.table(title, columns, lines)
    for size, n, predicted, measured, *_ in lines:
        if n == numbers[-1] and size > SIZES[0]:
            record.measured(FRACTION.format(size), measured, f"{predicted:.3g} predicted, {n} rows")
    record.figure(
        "fraction",
        _figure(numbers, lines),
        "The time of a pass over codes as a fraction of a dense pass (dots), and the fraction of the operations that "
        "equation (16) predicts (lines), by rows and block size.",
    )
    record.note(
        "Predicted is 1/G + 256/n, the paper's count of operations. Measured is the time of scores and accumulate on "
        "random codes over that on dense float32 rows, the better of Mercer's dense rows and plain BLAS calls, best "
        "of several, taken alternately. BLAS does several operations in the time of one table look-up, so a time "
        "cannot be expected to reach the count."
    )


def _measured(record, n):
    """A line of the table for each block size, all against the same dense rows."""
    import numpy as np

    from benchmarks.paper._learning import PlainBlas
    from benchmarks.runner import compare
    from mercer.spaces import Design, Identity

    rng = np.random.default_rng(0)
    u = rng.standard_normal((N_FEATURES, N_CLASSES)).astype(np.float32)
    slopes = rng.standard_normal((n, N_CLASSES)).astype(np.float32)
    X = rng.standard_normal((n, N_FEATURES), dtype=np.float32)
    designs = {DENSE: Design(X, Identity(N_FEATURES)), BLAS: PlainBlas(X)}
    for size in SIZES:
        designs |= {(kind, size): design for kind, design in _coded(n, size, rng).items()}

    def one_pass(design):
        design.scores(u)
        design.accumulate(slopes)

    jobs = {name: (lambda design=design: one_pass(design)) for name, design in designs.items()}
    slow = {(IMMEDIATE, size): 2 for size in SIZES}
    found = compare(jobs, repeats=2 if record.quick else 5, slow=slow, threads=record.threads)
    dense = min(found.best(DENSE), found.best(BLAS))
    for size in SIZES:
        predicted = 1 / size + WORDS / n
        measured = found.best((DELAYED, size)) / dense
        immediate = found.best((DELAYED, size)) / found.best((IMMEDIATE, size))
        yield [size, n, predicted, measured, measured / predicted, immediate]


def _coded(n, size, rng):
    """Designs of random codes: learned with a delayed and with an immediate expansion."""
    import numpy as np

    from mercer.spaces import BlockFactor, CodeRows, Design, Identity
    from mercer.spaces.decoded_rows import DecodedRows

    blocks = N_FEATURES // size
    codes = rng.integers(0, WORDS, (n, blocks), dtype=np.uint8)
    words = rng.standard_normal((blocks, WORDS, size), dtype=np.float32)
    delayed = Design(CodeRows(codes, WORDS), BlockFactor(words.transpose(0, 2, 1)))
    return {DELAYED: delayed, IMMEDIATE: Design(DecodedRows(codes, words), Identity(N_FEATURES))}


def _figure(numbers, lines):
    import numpy as np

    from benchmarks.plotting import COLOURS, new_figure

    figure, axes = new_figure()
    fine = np.geomspace(numbers[0], numbers[-1], 100)
    for size, colour in zip(SIZES, COLOURS, strict=False):
        axes.plot(fine, 1 / size + WORDS / fine, color=colour, linewidth=1, label=f"G = {size}, predicted")
        measured = [line[3] for line in lines if line[0] == size]
        axes.plot(numbers, measured, "o--", color=colour, linewidth=0.8, label=f"G = {size}, measured")
    axes.axhline(1, color="black", linewidth=0.8)
    axes.text(numbers[-1], 1.04, "a dense pass", ha="right", va="bottom", fontsize="small")
    axes.set(xscale="log", yscale="log", xlabel="rows", ylabel="fraction of a dense pass")
    axes.set_xticks(numbers, [f"{n:,}" for n in numbers])
    axes.minorticks_off()
    ticks = [0.05, 0.1, 0.2, 0.5, 1]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.legend(frameon=False, fontsize="small", ncols=3, loc="upper center", bbox_to_anchor=(0.5, 1.22))
    return figure
