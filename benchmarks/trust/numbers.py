"""Kernel values over the whole range of floats against extended precision: right to what is promised, or refused."""

from benchmarks.registry import Bar, benchmark

BAR = "kernel values outside the tolerance and not refused"
WANTED, QUICK = 100_000, 3_000
ROWS = 6


@benchmark(
    "trust-numbers",
    "kernel values of rows from 1e-320 to 1e307 against longdouble: dense, CSR and mixed, float32 and float64",
    bars=[Bar(BAR, "<= 0")],
)
def trust_numbers(record):
    import numpy as np

    from tests.reference.longdouble import KERNELS, STORAGES

    wanted = QUICK if record.quick else WANTED
    found = {(name, storage): _Tally() for name in KERNELS for storage in STORAGES}
    rng = np.random.default_rng(0)
    while sum(tally.values for tally in found.values()) < wanted:
        for name, kernel in KERNELS.items():
            _draw(rng, name, kernel, found)
    record.measured(BAR, sum(tally.wrong for tally in found.values()))
    columns = ["kernel", "storage", "values", "blocks refused", "largest error, share of the tolerance"]
    rows = [
        [name, storage, tally.values, tally.refused, round(tally.worst, 4)] for (name, storage), tally in found.items()
    ]
    record.table("largest errors", columns, rows)
    record.note(
        "The tolerance is 1e-12 sqrt(columns) in float64 and 1e-4 in float32, relative to the value (to the sum of the "
        "magnitudes where terms have signs), absolute for exponential kernels. Rows are of one size, of sizes far "
        "apart, near each other and far from zero, or shared by both sides; every gamma is tried as 1 and as what "
        "makes exponents near 1."
    )


class _Tally:
    def __init__(self):
        self.values = self.wrong = self.refused = 0
        self.worst = 0.0


def _draw(rng, name, kernel, found):
    """One block of rows of a random kind, size and type, in every storage and through every door."""
    from tests.reference.longdouble import KINDS, STORAGES, compared, draw_rows, takes_signs, with_gamma

    dtype, kind = rng.choice(["d", "d", "f"]), rng.choice(KINDS)
    scale = 10.0 ** (rng.uniform(-320, 307) if dtype == "d" else rng.uniform(-44, 37))
    signs = bool(takes_signs(kernel) and kind != "near" and rng.random() < 0.5)
    X, Y = draw_rows(rng, kind, scale, dtype, n=ROWS, d=int(rng.integers(1, 60)), signs=signs)
    kernel = with_gamma(kernel, X, Y) if rng.random() < 0.7 else kernel
    for storage in STORAGES:
        for door in ("gram", "self", "pairs"):
            _count(found[name, storage], compared(kernel, X, Y, storage, door))


def _count(tally, comparison):
    import numpy as np

    if comparison is None:
        tally.refused += 1
        return
    got, expected, allowed = comparison
    share = abs(got.astype(np.longdouble) - expected) / allowed
    tally.values += got.size
    tally.wrong += int(np.count_nonzero(~(share <= 1)))
    tally.worst = max(tally.worst, float(np.max(share, initial=0.0)))
