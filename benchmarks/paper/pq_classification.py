"""Learning on product-quantised rows: delayed against immediate expansion and dense BLAS. [vedaldi12sparse] Fig. 2"""

from __future__ import annotations

from functools import partial

from benchmarks.registry import Bar, benchmark

SIZE = 8  # block size of the bars
TOL, C = 1e-3, 1.0
DENSE, BLAS = "dense", "dense, plain BLAS"
DELAYED, IMMEDIATE = "delayed, G = {}", "immediate, G = {}"
SOLVER = "projected"  # the one that "auto" takes for more factors than rows
OTHER_SOLVERS = ((DELAYED.format(SIZE), "bundle"), (DENSE, "bundle"), (DENSE, "dual"))  # for information

FASTER = "Delayed expansion against immediate expansion, G = 8, to a relative gap of 1e-3"
FASTER_THAN_DENSE = "Delayed expansion against the dense rows in BLAS, G = 8, to a relative gap of 1e-3"
CODES = "Data / codes, G = 8"
CODEBOOKS = "Data / (codes + codebooks), G = 8"
MEMORY = "Peak memory of the whole fit, G = 8: delayed / dense"


@benchmark(
    "pq-classification",
    "learning on product-quantised Fisher-like rows: delayed and immediate expansion, dense BLAS",
    bars=[
        Bar(FASTER, ">= 10", "x", published="5 to 10x"),
        Bar(FASTER_THAN_DENSE, ">= 2", "x", published="not faster"),
        Bar(CODES, ">= 30", "x"),
        Bar(CODEBOOKS, ">= 10", "x", published="about 20x"),
        Bar(MEMORY, "<= 0.3333"),
    ],
    paper="vedaldi12sparse",
)
def pq_classification(record):
    from benchmarks.paper._fisher_like import fisher_like
    from mercer import thread_limit

    n_train, n_test, n_gaussians = (600, 200, 16) if record.quick else (5000, 2000, 256)
    X, y = fisher_like(n_train + n_test, n_gaussians)
    X, y, X_test, y_test = X[:n_train], y[:n_train], X[n_train:], y[n_train:]
    with thread_limit(record.threads):
        _Coded(X[:300, :32], SIZE)  # compiles
        coded = {size: _Coded(X, size) for size in (SIZE, 4, 16)}
    solutions = _times(record, X, y, coded)
    _sizes(record, X, coded[SIZE])
    _table(record, X_test, y_test, coded, solutions)
    _memory(record, X, y)
    record.note(
        "The rows are synthetic Fisher vectors (benchmarks/paper/_fisher_like.py): 20 classes, length 1, roots taken "
        f"with the sign kept. One-vs-rest hinge loss, C = {C:g}, all classes in the same passes. Times are those of "
        "the solver; the quantiser's training is stated beside them. The bars compare one solver on three kinds of "
        "rows; other solvers are there for information. Published: 5,000 images of PASCAL VOC 2007, bundle solver."
    )


class _Coded:
    """A trained quantiser, the codes of the training rows, and what they cost."""

    def __init__(self, X, size):
        from time import perf_counter

        from mercer import ProductQuantizer

        start = perf_counter()
        self.quantizer = ProductQuantizer(size, random_state=0).fit(X)
        self.train_seconds = perf_counter() - start
        start = perf_counter()
        self.codes = self.quantizer.transform(X)
        self.encode_seconds = perf_counter() - start
        self.codebook_bytes = sum(words.nbytes for words in self.quantizer.codebooks_)

    def design(self, expansion):
        from mercer.spaces import Design

        return Design(*self.quantizer.expanded_rows(self.codes, expansion))

    def decoded(self):
        """Blocks of decoded rows, for the check."""
        for start in range(0, len(self.codes), 250):
            part = slice(start, min(start + 250, len(self.codes)))
            yield self.quantizer.inverse_transform(self.codes[part]), part


def _times(record, X, y, coded):
    """Solver times of all sides, alternately; returns the last solution of each."""
    from benchmarks.paper._learning import PlainBlas, Solved, one_vs_rest
    from benchmarks.runner import compare
    from mercer.learners.solvers.run import solve
    from mercer.spaces import Design, Identity

    delayed, immediate = DELAYED.format(SIZE), IMMEDIATE.format(SIZE)
    designs = {DELAYED.format(size): partial(one.design, "delayed") for size, one in coded.items()}
    designs[immediate] = partial(coded[SIZE].design, "immediate")
    designs |= {DENSE: lambda: Design(X, Identity(X.shape[1])), BLAS: lambda: PlainBlas(X)}
    rows = {DELAYED.format(size): one.decoded for size, one in coded.items()} | {immediate: coded[SIZE].decoded}
    sides = {name: (name, SOLVER) for name in designs}
    sides |= {f"{name}, {other}": (name, other) for name, other in OTHER_SOLVERS}
    problem, solutions = one_vs_rest(None, y, C), {}

    def solved(side):
        name, solver = sides[side]
        solutions[side] = solve(one_vs_rest(designs[name](), y, C), solver, tol=TOL)
        return solutions[side]

    checks = {side: Solved(rows.get(name, partial(_row_blocks, X)), problem, TOL) for side, (name, _) in sides.items()}
    slow = {side: 1 for side, (_, solver) in sides.items() if solver != SOLVER} | {immediate: 2}
    repeats = 1 if record.quick else 4
    found = compare(
        {side: partial(solved, side) for side in sides}, repeats, slow=slow, checks=checks, threads=record.threads
    )
    record.comparison(f"{X.shape[0]} x {X.shape[1]}, 20 classes, {SOLVER} solver, gap {TOL:g}", found, delayed)
    seconds = f"{found.best(delayed):.3g} s against"
    record.measured(FASTER, found.ratio(immediate, delayed), f"{seconds} {found.best(immediate):.3g} s")
    best = min((DENSE, BLAS), key=found.best)
    detail = f"{seconds} {found.best(best):.3g} s, the better of the two dense sides"
    record.measured(FASTER_THAN_DENSE, found.ratio(best, delayed), detail)
    return solutions


def _row_blocks(X):
    for start in range(0, len(X), 250):
        part = slice(start, min(start + 250, len(X)))
        yield X[part], part


def _sizes(record, X, one):
    both = one.codes.nbytes + one.codebook_bytes
    record.measured(CODES, X.nbytes / one.codes.nbytes, f"{X.nbytes / 1e6:.4g} MB to {one.codes.nbytes / 1e6:.3g} MB")
    record.measured(CODEBOOKS, X.nbytes / both, f"{X.nbytes / 1e6:.4g} MB to {both / 1e6:.3g} MB")


def _table(record, X_test, y_test, coded, solutions):
    """What each block size costs and how well it predicts rows that it has not seen."""
    from benchmarks.paper._learning import accuracy, mean_average_precision
    from mercer.spaces import Design

    plain = solutions[DENSE]
    scores = {DENSE: X_test @ plain.u.astype(X_test.dtype) + plain.intercept}
    for size, one in coded.items():
        name = DELAYED.format(size)
        test = Design(one.quantizer.rows(X_test), one.quantizer.inner_)
        scores[name] = test.scores(solutions[name].u) + solutions[name].intercept
    lines = []
    for name, one in zip(scores, [None, *coded.values()], strict=True):
        costs = [None] * 4
        if one is not None:
            sizes = (one.codes.nbytes / 1e6, (one.codes.nbytes + one.codebook_bytes) / 1e6)
            costs = [*sizes, one.train_seconds, one.encode_seconds]
        quality = mean_average_precision(scores[name], y_test), accuracy(scores[name], y_test)
        lines.append([name, *costs, solutions[name].n_iter, *quality])
    columns = ["rows", "codes, MB", "with codebooks, MB", "training, s", "encoding, s", "passes", "mAP %", "accuracy %"]
    record.table(f"costs, and quality on {len(y_test)} other rows", columns, lines)


def _memory(record, X, y):
    """Peak memory of whole fits from the same file: encoded block by block, or read into memory."""
    import tempfile
    from pathlib import Path

    import numpy as np

    from benchmarks.memory import peak_memory

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        np.save(path, X)
        setup = partial(_compiled, path, y, record.threads)
        fits = (fit_delayed, fit_dense, solve_dense)
        delayed, *dense = (peak_memory(fit, setup, warmup=0, timeout=3600) / 1e6 for fit in fits)
    record.measured(MEMORY, delayed / min(dense), f"{delayed:.4g} MB against {min(dense):.4g} MB")
    lines = [["delayed, G = 8", delayed], ["dense", dense[0]], ["dense, the solver alone", dense[1]]]
    record.table(f"peak memory of a fit to {X.nbytes / 1e6:.4g} MB of rows", ["fit", "MB"], lines)
    record.note(
        "Peak memory is measured in a process of its own, beyond what was there before, training and encoding "
        "included. The delayed fit is given the memory-mapped file; the dense fits read it, and the leaner one counts."
    )


def _compiled(path, y, threads):
    """Arguments of the fits, after both have run on a few rows, so that compiled code is not counted."""
    import numpy as np

    few = np.load(path, mmap_mode="r")[:400, :64].copy()
    _quantized(threads).fit(few, y[:400])
    _plain(threads).fit(few, y[:400])
    return path, y, threads


def fit_delayed(path, y, threads):
    import numpy as np

    return _quantized(threads).fit(np.load(path, mmap_mode="r"), y)


def fit_dense(path, y, threads):
    import numpy as np

    return _plain(threads).fit(np.load(path), y)


def solve_dense(path, y, threads):
    """The leanest dense fit: nothing is validated or copied."""
    import numpy as np

    from benchmarks.paper._learning import one_vs_rest
    from mercer.learners.solvers.run import solve
    from mercer.spaces import Design, Identity

    X = np.load(path)
    return solve(one_vs_rest(Design(X, Identity(X.shape[1]), threads), y, C), SOLVER, tol=TOL)


def _quantized(threads):
    from mercer import KernelClassifier, ProductQuantizer

    quantizer = ProductQuantizer(SIZE, random_state=0)
    return KernelClassifier(map=quantizer, C=C, tol=TOL, multi_class="ovr", solver=SOLVER, n_jobs=threads)


def _plain(threads):
    from mercer import KernelClassifier

    return KernelClassifier("linear", C=C, tol=TOL, multi_class="ovr", solver=SOLVER, n_jobs=threads)
