"""KernelClassifier() and KernelRegressor() as they come, against what else one would take: scores, times, memory."""

from __future__ import annotations

from pathlib import Path

from benchmarks.registry import Bar, benchmark

LEVEL = 0.3  # points that count as nothing
LEVEL_SETS = "sets on which Mercer's default is level with the best rival of the set, of all sets"
WORST = "histograms, counts, shares and spectra: score of the best rival - that of Mercer's default, at most"
RANK = "mean rank of Mercer's default by score - the best mean rank of a rival"
TIME = "from {:,} rows: its fit / GridSearchCV(SVC) of 12 points and 3 folds, at most"
TIMEOUT = 5400  # seconds that a side may take for all splits of a set
TIME_BARS = {5_000: "<= 0.5", 10_000: "<= 0.25"}


@benchmark(
    "tables",
    "KernelClassifier() against linear and kernel machines, boosting, forests and neighbors on tables and histograms",
    bars=[
        Bar(LEVEL_SETS, ">= 0.64", ""),
        Bar(WORST, "<= 1.5", "points"),
        Bar(RANK, "<= 0", ""),
        *(Bar(TIME.format(rows), target, "x") for rows, target in TIME_BARS.items()),
    ],
    needs=[
        "tables",
        "dna",
        "pendigits",
        "covtype",
        "ijcnn1",
        "shuttle",
        "adult_a9a",
        "20newsgroups",
        "sector",
        "molecules",
        "massbank",
        "microbiome",
        "fashion_mnist",
    ],
    threads=1,
)
def tables(record):
    import numpy as np

    from benchmarks.compare._table_rivals import GRID, OURS
    from benchmarks.compare._table_sets import HISTOGRAMS, LARGE, SMALL

    known, names = Known(record.quick), (*SMALL, *LARGE)
    found = {name: sides for name in names if (sides := _judged(record, name, known))}
    lost = {name: max(_mean(one) for side, one in sides.items() if side != OURS) - _mean(sides[OURS])
            for name, sides in found.items()}  # fmt: skip
    is_level = {name: lost[name] <= max(LEVEL, _error(found[name][OURS])) for name in found}
    share = float(np.mean(list(is_level.values())))
    record.measured(LEVEL_SETS, share, f"{sum(is_level.values())} of {len(is_level)}")
    worst = max(lost.keys() & set(HISTOGRAMS), key=lost.get)
    record.measured(WORST, lost[worst], worst)
    ranks = _ranks(found)
    rival = min((side for side in ranks if side != OURS), key=ranks.get)
    record.measured(RANK, ranks[OURS] - ranks[rival], f"{ranks[OURS]:.3g} - {ranks[rival]:.3g} ({rival})")
    for rows in TIME_BARS:
        times = {name: sides[OURS][0]["fit"] / sides[GRID][0]["fit"] for name, sides in found.items()
                 if sides[OURS][0]["rows"] >= rows and GRID in sides}  # fmt: skip
        if times:  # a quick run has no large set
            slowest = max(times, key=times.get)
            record.measured(TIME.format(rows), times[slowest], slowest)
    lines = [_line(name, side, one) for name, sides in found.items() for side, one in sides.items()]
    columns = ["set", "rows", "side", "score", "std. error", "log loss", "fit, s", "predict, s", "MB", "chosen"]
    record.table("scores and times", columns, lines)
    record.note(
        "The score is the accuracy in percent; of molecules 100 times the ROC-AUC, of concrete and meats, where "
        "numbers are predicted, 100 times R^2. Sets below 5,000 rows: means over 20 seeded splits of 70 and 30 %; "
        "larger ones: their published split, at most 10,000 training rows drawn with a fixed seed. Rivals but trees "
        "get columns scaled to [0, 1] (sparse rows: divided by the largest); Mercer gets raw values. Each side has a "
        "process of its own for a set, on one thread; times are processor times of the first split. Spectra of one "
        "compound are on one side of the split. Where numbers are predicted, rivals are the regressors of the same "
        "names, with ridge regression in place of LinearSVC and targets scaled to standard deviation 1."
    )
    if len(found) < len(names):
        record.note(f"Not at hand, and left out: {', '.join(name for name in names if name not in found)}.")


def _judged(record, name, known):
    """side -> a list with a dict of figures for each split; nothing of a set that is not at hand"""
    from scipy import sparse

    from benchmarks.compare._peers import measure
    from benchmarks.compare._table_rivals import DENSE_ONLY, MAKERS, PACKAGES, judge
    from benchmarks.compare._table_sets import splits
    from mercer import InputError

    found: dict[str, list] = {}
    try:
        is_sparse = sparse.issparse(splits(name, record.quick)[0].X)
    except InputError:
        return found
    for side in MAKERS:
        if side in DENSE_ONLY and is_sparse:
            continue
        one = known.get(name, side)
        if one is None:
            package = PACKAGES.get(side, "scikit-learn")
            ran = measure(judge, package, side, name, record.quick, threads=record.threads, timeout=TIMEOUT)
            one = [] if ran.problem is not None else [one | ran.seconds | {"MB": ran.megabytes} for one in ran.answers]
            known.keep(name, side, one)
        if one:
            found[side] = one
    return found


class Known:
    """What was measured so far: the whole takes hours, and goes on where it was stopped, on another day too.

    Figures of Mercer hold for a commit and stay in ``build``; those of rivals hold for their versions, the sets and the
    processor, and are results. Nothing is kept of a quick run, nor of code that is not committed.
    """

    def __init__(self, quick):
        from benchmarks.environment import committed_code
        from benchmarks.registry import RESULTS

        commit = None if quick else committed_code()
        self.is_kept = commit is not None
        self.ours, self.rivals = Path("build/tables") / str(commit), RESULTS / "rivals" / _digest_of_rivals()

    def get(self, name, side):
        """The figures of a set and a side, or None."""
        return self._read(self._file(name, side)).get(side) if self.is_kept else None

    def keep(self, name, side, figures):
        """Remember figures."""
        import json

        if self.is_kept:
            path = self._file(name, side)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(self._read(path) | {side: figures}, indent=1) + "\n")

    def _file(self, name, side):
        from benchmarks.compare._table_rivals import OURS

        return (self.ours if side == OURS else self.rivals) / f"{name}.json"

    @staticmethod
    def _read(path):
        import json

        return json.loads(path.read_text()) if path.exists() else {}


def _digest_of_rivals():
    """Of all that the figures of a rival depend on."""
    import hashlib

    from benchmarks.compare import _table_rivals, _table_sets
    from benchmarks.compare._peers import version_of
    from benchmarks.environment import processor

    digest = hashlib.sha256(processor().partition(" (")[0].encode())
    for module in (_table_rivals, _table_sets):
        digest.update(Path(module.__file__).read_bytes())
    for package in ("scikit-learn", "lightgbm", "numpy", "scipy"):
        digest.update(f"{package} {version_of(package)} ".encode())
    return digest.hexdigest()[:12]


def _mean(figures):
    return sum(one["score"] for one in figures) / len(figures)


def _error(figures):
    """Standard error of the mean accuracy over splits; 0 for one split."""
    import numpy as np

    values = [one["score"] for one in figures]
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def _ranks(found):
    """Mean rank by accuracy of the sides that were run on every set."""
    import numpy as np
    from scipy.stats import rankdata

    sides = [side for side in next(iter(found.values())) if all(side in one for one in found.values())]
    ranks = [rankdata([-_mean(one[side]) for side in sides]) for one in found.values()]
    return dict(zip(sides, np.mean(ranks, axis=0).tolist(), strict=True))


def _line(name, side, figures):
    first = figures[0]
    losses = [one["log loss"] for one in figures if one["log loss"] is not None]
    log_loss = sum(losses) / len(losses) if losses else None
    times = [first["fit"], first["predict"], first["MB"], first["chosen"]]
    return [name, first["rows"], side, _mean(figures), _error(figures), log_loss, *times]
