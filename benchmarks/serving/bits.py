"""Bits as features: what encoding, scoring and training on them cost, and how near their kernel is to 1/2 - g."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

ENCODING = "encoding, {}, {} -> {} bits, {}: share of the speed of the bare BLAS product"
WIDTHS, BITS = (512, 784), 1024
THREADS = {1: "1 thread", 2: "2 threads"}
CODES = ("universal", "QJL, 1 bit")
SCORING = "scoring packed bits, {} classes, {}: times faster than unpacking and multiplying"
CLASSES = 10
MEMORY = "training on bits: memory over that of float32 features"
LARGEST = "{}: largest error of K from codes, times sqrt(M)"
MEAN = "{}: mean error of K from codes, times sqrt(M)"
WRONG = "{}: mean error against a delta that is wrong by 3 %, times sqrt(M)"
MATRICES = ("dense", "structured")
PAIRS, LONG = 10_000, 16_384
DELTA = 1.3

# of the machine whose memory is measured; a child process builds the same
TRAINING, QUICK_TRAINING, FEATURES, N_CLASSES = 400_000, 10_000, 64, 2


@benchmark(
    "bits-speed",
    "packed bits against float32 numbers: encoding, scoring, memory of training",
    bars=[
        *(
            Bar(ENCODING.format(code, width, BITS, THREADS[n]), ">= 50", "%")
            for width in WIDTHS
            for code in CODES
            for n in THREADS
        ),
        *(Bar(SCORING.format(CLASSES, THREADS[n]), ">= 8", "x") for n in THREADS),
        Bar(MEMORY, "<= 0.0625"),
    ],
)
def bits_speed(record):
    _encoding(record)
    _scoring(record)
    _memory(record)


@benchmark(
    "wire-kernel",
    f"the kernel that universal codes stand for against 1/2 - g(d): {LONG:,} bits, {PAIRS:,} pairs of rows",
    bars=[
        bar
        for matrix in MATRICES
        for bar in (
            Bar(LARGEST.format(matrix), "<= 2.5"),
            Bar(MEAN.format(matrix), "<= 0.45"),
            Bar(WRONG.format(matrix), "> 0.45"),
        )
    ],
    paper="boufounos15universal",
)
def wire_kernel(record):
    import numpy as np

    from mercer import UniversalEmbedding

    n_pairs = PAIRS // 20 if record.quick else PAIRS
    left, right, d = _pairs(n_pairs)
    lines = []
    for matrix in MATRICES:
        made = UniversalEmbedding(LONG, delta=DELTA, matrix=matrix, random_state=0).fit(np.concatenate([left, right]))
        differing = np.bitwise_count(made.transform(left) ^ made.transform(right)).sum(axis=1)
        kernel = 0.5 - differing / LONG
        error = np.abs(kernel - (0.5 - made.expected_distance(d))) * np.sqrt(LONG)
        wrong = np.abs(kernel - _exact(1.03 * DELTA, d)) * np.sqrt(LONG)
        record.measured(LARGEST.format(matrix), float(error.max()), f"{n_pairs:,} pairs")
        record.measured(MEAN.format(matrix), float(error.mean()))
        record.measured(WRONG.format(matrix), float(wrong.mean()), "must not pass for right")
        lines += [[matrix, *(float(part) for part in line)] for line in _by_distance(d / DELTA, error)]
    columns = ["matrix", "d / delta, from", "to", "mean error x sqrt(M)", "largest x sqrt(M)"]
    record.table("error of K from codes", columns, lines)
    record.note(
        f"Rows of 20 normal numbers, each with another at a distance that is uniform up to {2 / DELTA:.3g} deltas. A "
        "share of M bits has a standard deviation of at most 0.5 / sqrt(M)."
    )


# ------------------------------------------------------------------------------------------------------------ encoding


def _encoding(record):
    import numpy as np

    from benchmarks.runner import compare
    from mercer import QuantizedJL, UniversalEmbedding

    n = 1000 if record.quick else 20_000
    for width in WIDTHS:
        X = np.random.default_rng(width).standard_normal((n, width)).astype(np.float32)
        made = {
            CODES[0]: UniversalEmbedding(BITS, random_state=0).fit(X[:2000]),
            CODES[1]: QuantizedJL(BITS, random_state=0).fit(X[:2000]),
        }
        A = made[CODES[0]]._projector.matrix
        out = np.empty((n, len(A)), dtype=np.float32)  # memory that is there already: the product and nothing else
        for threads in THREADS:
            sides = {"float32 X @ A'": lambda X=X, A=A, out=out: np.matmul(X, A.T, out=out)}
            sides |= {code: lambda one=one, X=X: one.transform(X) for code, one in made.items()}
            found = compare(sides, repeats=2 if record.quick else 9, threads=threads)
            record.comparison(f"encoding {n:,} x {width} numbers, {THREADS[threads]}", found, baseline="float32 X @ A'")
            for code in CODES:
                share = 100 * found.ratio("float32 X @ A'", code)
                record.measured(ENCODING.format(code, width, BITS, THREADS[threads]), share, f"{n:,} rows")


# ------------------------------------------------------------------------------------------------------------- scoring


def _scoring(record):
    import numpy as np

    from benchmarks.checks import Matches
    from benchmarks.runner import compare
    from mercer.spaces import BitRows

    n = 5000 if record.quick else 100_000
    rng = np.random.default_rng(0)
    packed = rng.integers(0, 256, (n, BITS // 8)).astype(np.uint8)
    rows = BitRows(packed, BITS)
    wide = rng.standard_normal((BITS, CLASSES))
    v = wide.astype(np.float32)
    some = slice(0, 100)
    expected = rows.take(some).toarray() @ wide

    def unpacked():
        signs = np.unpackbits(packed, axis=1, bitorder="little").astype(np.float32)
        signs *= 2
        signs -= 1
        return signs @ v

    def unpacked_by_blocks():
        """As good as numpy gets: what is unpacked stays in the cache."""
        out = np.empty((n, CLASSES), dtype=np.float32)
        for start in range(0, n, 512):
            signs = np.unpackbits(packed[start : start + 512], axis=1, bitorder="little").astype(np.float32)
            signs *= 2
            signs -= 1
            np.matmul(signs, v, out=out[start : start + 512])
        return out

    sides = {"bits": lambda: rows.scores(v), "unpacked": unpacked, "unpacked, 512 rows at a time": unpacked_by_blocks}
    sides["bits, float64 weights"] = lambda: rows.scores(wide)
    right = Matches(expected, some, 2e-3)  # sums of 1,024 numbers of size 1 in float32
    for threads in THREADS:
        found = compare(sides, repeats=2 if record.quick else 9, checks=dict.fromkeys(sides, right), threads=threads)
        record.comparison(f"scores of {n:,} x {BITS} bits, {THREADS[threads]}", found, baseline="unpacked")
        record.measured(
            SCORING.format(CLASSES, THREADS[threads]), found.ratio("unpacked", "bits"), f"{n:,} x {BITS} bits"
        )


# -------------------------------------------------------------------------------------------------------------- memory


def _memory(record):
    """The peak of a fit above the raw rows, in a process of its own."""
    from functools import partial

    from benchmarks.memory import peak_memory

    n = QUICK_TRAINING if record.quick else TRAINING
    taken = peak_memory(fit_on_bits, partial(training_rows, n))
    features = 4 * n * BITS
    detail = f"{taken / 1e6:.3g} MB against {features / 1e6:.4g} MB of {n:,} x {BITS} float32 numbers"
    record.measured(MEMORY, taken / features, detail)
    columns = ["rows", "bits", "peak of the fit, MB", "packed bits, MB", "float32 features, MB"]
    record.table("memory of training", columns, [[n, BITS, taken / 1e6, n * BITS / 8e6, features / 1e6]])
    record.note(
        f"Training: KernelClassifier(map=UniversalEmbedding({BITS})) on {n:,} rows of {FEATURES} float32 numbers of "
        f"{N_CLASSES} classes; the peak is what the process needs beyond the rows, encoding included. What the solver "
        "keeps besides grows with rows times classes."
    )


def training_rows(n):
    """Rows around centres, and their classes."""
    import numpy as np

    rng = np.random.default_rng(0)
    y = rng.integers(0, N_CLASSES, n)
    X = rng.standard_normal((n, FEATURES), dtype=np.float32)
    X += rng.standard_normal((N_CLASSES, FEATURES), dtype=np.float32)[y] / 2
    return X, y


def fit_on_bits(X, y):
    """The fit that is measured."""
    from mercer import KernelClassifier, UniversalEmbedding

    return KernelClassifier(map=UniversalEmbedding(BITS, random_state=0)).fit(X, y)


# -------------------------------------------------------------------------------------------------------------- kernel


def _pairs(n, width=20):
    """Rows, others, and their distances."""
    import numpy as np

    rng = np.random.default_rng(0)
    d = rng.uniform(0, 2.0, n)
    left, step = rng.standard_normal((2, n, width))
    return left, left + step / np.linalg.norm(step, axis=1, keepdims=True) * d[:, None], d


def _exact(delta, d):
    """1/2 - g(d) for another delta."""
    import numpy as np

    from mercer import UniversalRBF

    return UniversalRBF(delta)(np.zeros((1, 1)), d[:, None])[0]


def _by_distance(ratio, error):
    """(from, to, mean, largest) of the errors in ranges of d / delta."""
    from itertools import pairwise

    import numpy as np

    for low, high in pairwise(np.linspace(0, 1.6, 9)):
        inside = error[(ratio >= low) & (ratio < high)]
        if len(inside):
            yield low, high, inside.mean(), inside.max()
