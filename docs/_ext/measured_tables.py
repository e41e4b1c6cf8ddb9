"""Tables of the pages, from stored results: each function takes Results and returns Markdown."""

import measured_scale
from benchmarks.report import markdown_table
from stored_results import MISSING, shown

# tables of the benchmark maps-table, by the beginning of their titles
CHI2, EXP_CHI2 = (f"SIFT descriptors, rows that sum to 1: {kernel}" for kernel in ("chi2", "exp-chi2"))
JS, MIN_MAX = (
    f"MS/MS spectra of MassBank in bins of 0.1 m/z, rows that sum to 1: {kernel}"
    for kernel in ("jensen-shannon", "min-max")
)
INTERSECTION, RBF = (f"Pendigits, coordinates from 0 to 100: {kernel}" for kernel in ("intersection", "rbf"))

# (your case, what to take, measured on, the table of maps-table, its row)
MAP_CHOICES = (
    ("histograms: plain features for any linear method", "[HomogeneousMap](maps/homogeneous.md), order 1",
     "SIFT, chi2", CHI2, "HomogeneousMap, order 1"),
    ("the same, nearly exact", "[HomogeneousMap](maps/homogeneous.md), order 3",
     "SIFT, chi2", CHI2, "HomogeneousMap, order 3"),
    ("any additive kernel, three numbers per value, rows to learn from",
     "[NystroemMap](maps/nystroem.md), per dimension", "SIFT, chi2", CHI2, "NystroemMap, per dimension"),
    ("any additive kernel, a curve per column to look at", "[SparseAdditiveMap](maps/sparse_additive.md), 16 points",
     "SIFT, chi2", CHI2, "SparseAdditiveMap, 16 points"),
    ("wide sparse rows that stay sparse", "[HomogeneousMap](maps/homogeneous.md), order 1",
     "spectra, Jensen-Shannon", JS, "HomogeneousMap, order 1"),
    ("the same, the least that is stored", "[SparseAdditiveMap](maps/sparse_additive.md), 16 points",
     "spectra, Jensen-Shannon", JS, "SparseAdditiveMap, 16 points"),
    ("short dense rows from wide sparse ones", "[ProjectedMap](maps/projected.md), 1,024 components",
     "spectra, Jensen-Shannon", JS, "ProjectedMap(HomogeneousMap, order 2), 1024 components"),
    ("any kernel, dense rows", "[NystroemMap](maps/nystroem.md), 1,024 landmarks",
     "SIFT, chi2", CHI2, "NystroemMap, 1024 landmarks"),
    ("any kernel, few dimensions with a known error", "[KernelPCA](maps/kpca.md), 64 of 1,024 landmarks",
     "SIFT, chi2", CHI2, "KernelPCA, 64 of 1024 landmarks"),
    ("any kernel, the fewest bytes", "[SparseMap](maps/sparse.md), 8 of 256 landmarks",
     "SIFT, chi2", CHI2, "SparseMap, 8 of 256 landmarks"),
    ("RBF with landmarks", "[NystroemMap](maps/nystroem.md), 1,024 landmarks",
     "pendigits, RBF", RBF, "NystroemMap, 1024 landmarks"),
    ("RBF without landmarks", "[FourierMap](maps/fourier.md), 4,096 components",
     "pendigits, RBF", RBF, "FourierMap, 4096 components"),
    ("exponential chi2 without landmarks", "[FourierMap](maps/fourier.md), 4,096 components",
     "SIFT, exp-chi2", EXP_CHI2, "FourierMap, 4096 components"),
    ("min-max of sparse counts", "[WeightedMinHash](maps/minhash.md), 1,024 hashes",
     "spectra, min-max", MIN_MAX, "WeightedMinHash, 1024 hashes"),
)  # fmt: skip
# columns of maps-table, and what pages call them
COSTS = ("dimensions", "relative error", "recall@10", "ms / 1,000 rows", "bytes / row")
SHORT = ("features", "error", "recall@10", "ms", "bytes")

OURS, GRID = "Mercer, KernelClassifier()", "SVC, grid of 12, 3 folds"  # sides of the benchmark tables
SCORES = "scores and times"

TREES = ("HistGradientBoosting", "LightGBM", "random forest")  # sides of the benchmark tables
LEVEL = 0.3  # points of accuracy that are no difference
MS_ENTROPY = (
    "54,791 spectra, Jensen-Shannon, exact: single query over ms_entropy's open search",
    "the same, build over ms_entropy's",
    "the same, memory over that of ms_entropy's index",
)  # bars of the benchmark search-lists
SPECTRA_BARS = (
    ("open search: queries with the first score of ms_entropy",
     "open search: same first score as ms_entropy's, share of queries", "{:.1%}"),
    ("identity search: queries with the first score of ms_entropy",
     "identity search: same first score as ms_entropy's, share of queries", "{:.1%}"),
    ("open search: queries with the first score of matchms' FlashSimilarity",
     "open search: same first score as matchms' FlashSimilarity, share of queries", "{:.1%}"),
    ("largest difference to CosineGreedy of matchms, 10,000 pairs",
     "10,000 real pairs: largest difference to matchms' CosineGreedy", "{:.1g}"),
    ("largest difference to ModifiedCosineGreedy of matchms, 10,000 pairs",
     "10,000 real pairs: largest difference to matchms' ModifiedCosineGreedy", "{:.1g}"),
    ("time of an open query over ms_entropy's",
     "open search: single query over ms_entropy's, cleaning and the choice of ten included", "{:.2f}"),
    ("time of the build over ms_entropy's", "build over ms_entropy's, cleaning included", "{:.2f}"),
    ("memory over ms_entropy's", "memory over that of ms_entropy's index, kept spectra included", "{:.2f}"),
    ("open query among 2,000,000 spectra made from these", "2,000,000 spectra: single open query, median",
     "{:.1f} ms"),
    ("all pairs above 0.7, two threads", "all pairs above 0.7, two cores", "{:.1f} s"),
)  # fmt: skip

DASK_ROWS = "5,000,000 rows"  # the table of dask-fit


def front(results):
    """What Mercer does for the usual way of doing things, a loss included."""
    rows = [*_classified(results), _mapped(results), _coded(results), *_searched(results)]
    return _table(["job", "measured", "the usual way", "Mercer"], rows)


def _classified(results):
    table = "accuracy on test rows"
    for name, what, key, ending in (
        ("accuracy", "Classify pen strokes, 16 columns", "pendigits", ""),
        ("accuracy-text", "Classify web pages, wide and sparse", "sector", ": linear suffices"),
    ):
        linear, exact, ours = (
            results[name].cell(table, (key, "chi2"), side) for side in ("linear %", "exact %", "mercer %")
        )
        usual = shown("linear {:.1f} %, exact kernel {:.1f} %", linear, exact)
        yield [what, "accuracy", usual, shown("chi2 map {:.1f} %" + ending, ours)]


def _mapped(results):
    stored, cells = results["maps-speed"], []
    for name, side in (("scikit-learn ", "scikit-learn, AdditiveChi2Sampler"), ("", "mercer")):
        seconds = stored.best("chi2 features, 45000 x 128 to 384, float32", side)
        error = stored.cell("chi2 on 2000 SIFT rows", (side,), "relative error")
        cells.append(shown(name + "{:.0f} ms, {:.2g} %", _times(1000, seconds), _times(100, error)))
    return ["Chi2 features of 45,000 descriptors", "time, error", *cells]


def _coded(results):
    stored, cells, table = results["scenes-pq"], [], "what codes cost"
    for name, row, side in (
        ("float32", ("float32",), "dense, plain BLAS"),
        ("codes", ("G = 8", "permutation"), "delayed, G = 8"),
    ):
        memory, quality = (stored.cell(table, row, column) for column in ("training rows, MB", "mAP, test"))
        values = memory, stored.best("1,500 x 20,480", side), _times(100, quality)
        cells.append(shown(name + " {:.3g} MB, {:.1f} s, {:.1f} %", *values))
    return ["Learn on Fisher vectors of scenes", "memory, time, mAP", *cells]


def _searched(results):
    stored, key = results["search-exact"], "k = 10, 100 queries"
    brute, bounds = (_times(1000 / 100, stored.best(key, side)) for side in ("brute force", "bounds"))
    yield ["Exact neighbors in a million descriptors", "time of a query",
           shown("brute force {:.1f} ms", brute), shown("{:.1f} ms, the same answers", bounds)]  # fmt: skip
    table = "queries with a spectrum of the same compound"
    cosine, exact, ours = (
        results["search-spectra"].cell(table, (by,), "1")
        for by in ("cosine", "exact Jensen-Shannon", "16 bytes, re-ranked")
    )
    yield ["Find the compound of a mass spectrum", "right at first",
           shown("cosine {:.1f} %, exact kernel {:.1f} %", cosine, exact),
           shown("16 bytes per spectrum {:.1f} %", ours)]  # fmt: skip


def instead_of(results):
    """What one would take otherwise, beside Mercer, a line for each; losses as they are."""
    rows = [*_instead_of_svc(results), _instead_of_trees(results), *_instead_of_faiss(results), _instead_of_ms(results)]
    return _table(["instead of", "measured", "it", "Mercer"], rows)


def _instead_of_svc(results):
    stored, table = results["peers-classification"], "classification"
    for rows, key in (("7,494 pen strokes", "pendigits"), ("10,000 cells of forest", "covtype")):
        cells = []
        for side in ("scikit-learn, SVC, exp-chi2 matrix", "Mercer, KernelClassifier, NystroemMap of exp-chi2, 500"):
            columns = ("accuracy %", "fit, s", "peak memory, MB")
            values = [stored.cell(table, (key, side), column) for column in columns]
            cells.append(shown("{:.1f} %, {:.2g} s, {:.0f} MB", *values))
        yield ["SVC on an exp-chi2 matrix", f"{rows}: accuracy, training, memory", *cells]


def _instead_of_trees(results):
    sets = [
        (sides[OURS]["score"] - max(sides[side]["score"] for side in TREES if side in sides))
        for sides in sides_of_sets(results).values()
        if any(side in sides for side in TREES)
    ]
    ahead, behind = sum(points > LEVEL for points in sets), sum(points < -LEVEL for points in sets)
    counts = [shown("ahead on {} of {} sets", *pair) if sets else MISSING
              for pair in ((behind, len(sets)), (ahead, len(sets)))]  # fmt: skip
    return ["boosting or a forest, the better one", f"accuracy, differences above {LEVEL} points", *counts]


def _instead_of_faiss(results):
    stored = results["peers-search"]

    def cell(side):
        found, micros = (stored.cell("search", (side,), column)
                         for column in ("recall_10@10", "search, microseconds per query"))  # fmt: skip
        return shown("{:.1f} % found, {:.0f} μs", _times(100, found), micros)

    ours = cell("Mercer, KernelIndex, 16 bytes, re-ranked")
    for name, side in (("faiss, a graph on square roots", "faiss, HNSW32, Euclidean of square roots"),
                       ("usearch with a chi2 metric", "usearch, own chi2")):  # fmt: skip
        yield [name, "50,000 descriptors: neighbors under chi2, a query", cell(side), ours]


def _instead_of_ms(results):
    stored = results["search-lists"]
    ratios = [stored.bar(claim) for claim in MS_ENTROPY]
    said = shown("{:.2f}, {:.2f} and {:.2f} of that, the same answers as brute force", *ratios)
    return ["ms_entropy", "54,791 spectra: time of a query, of the build, memory", "1", said]


def map_choices(results):
    """Which map for which case, and what it costs."""
    measured = results["maps-table"]
    rows = [
        [case, take, where, *_costs([measured.cell(table, (row,), column) for column in COSTS])]
        for case, take, where, table, row in MAP_CHOICES
    ]
    return _table(["your case", "take", "measured on", *SHORT], rows)


def all_maps(results):
    """Every map on every set."""
    parts = []
    for title in (CHI2, EXP_CHI2, JS, MIN_MAX, INTERSECTION, RBF):
        stored = results["maps-table"].rows(title)
        rows = [[one["map"], *_costs([one[column] for column in COSTS])] for one in stored]
        parts.append(f"**{title}**\n\n{_table(['map', *SHORT], rows)}")
    return "\n\n".join(parts)


def accuracies(results):
    """What is left of the error of a map in a classifier."""
    rows = []
    for name in ("accuracy", "accuracy-text"):
        for one in results[name].rows("accuracy on test rows"):
            percents = [shown("{:.1f}", one[side]) for side in ("linear %", "mercer %", "exact %")]
            rows.append([one["set"], one["kernel"], *percents, one["plan"]])
    return _table(["set", "kernel", "linear, %", "map, %", "exact kernel, %", "what was chosen"], rows)


def sides_of_sets(results):
    """set -> side -> the row of the benchmark tables."""
    found = {}
    for one in results["tables"].rows(SCORES):
        found.setdefault(one["set"], {})[one["side"]] = one
    return found


def rivals(results):
    """Mercer's default on every set, beside the best rival and the tuned SVC."""
    rows = []
    for name, sides in sides_of_sets(results).items():
        ours, best, grid = sides[OURS], _best_rival(sides), sides.get(GRID)
        rows.append([
            name, f"{ours['rows']:,}", _scored(ours), f"{best['side']}: {_scored(best)}", f"{_scored(grid)}",
            *(shown("{:.2g} s", one and one["fit, s"]) for one in (ours, best, grid)),
        ])  # fmt: skip
    names = ("Mercer", "the best rival", "SVC, 12 points tried")
    return _table(["set", "rows", *names, *(f"{name}, training" for name in names)], rows)


def better_elsewhere(results):
    """The sets on which a rival is ahead by more than chance, and what to take then."""
    rows = []
    for name, sides in sides_of_sets(results).items():
        ours, best = sides[OURS], _best_rival(sides)
        lost = best["score"] - ours["score"]
        if lost > max(0.3, ours["std. error"] or 0.0):
            rows.append([name, best["side"], f"{lost:.1f}", shown("{:.2g} s", best["fit, s"]),
                         shown("{:.2g} s", ours["fit, s"])])  # fmt: skip
    columns = ["set", "take", "points ahead of Mercer", "its training", "Mercer's training"]
    return _table(columns, rows or [["none of these", "–", "–", "–", "–"]]) if results["tables"] else MISSING


def _best_rival(sides):
    return max((one for side, one in sides.items() if side != OURS), key=lambda one: one["score"])


def _scored(one):
    if one is None:
        return "–"
    error = one["std. error"]
    return f"{one['score']:.1f} ± {error:.1f}" if error else f"{one['score']:.1f}"


def block_sizes(results):
    """Codes of Fisher vectors: memory, quality, time."""
    stored, rows = results["scenes-pq"], []
    for one in stored.rows("what codes cost"):
        side = "dense, plain BLAS" if one["rows"] == "float32" else f"delayed, {one['rows']}"
        seconds, quality = stored.best("1,500 x 20,480", side), _times(100, one["mAP, test"])
        rows.append([one["rows"], one["columns"], shown("{:.2f}", one["training rows, MB"]),
                     shown("{:.0f}", one["ratio"]), shown("{:.1f}", quality), shown("{:.1f}", seconds)])  # fmt: skip
    return _table(["rows", "columns", "MB", "times smaller", "mAP of test images, %", "learning, s"], rows)


def workers(results):
    """A fit in one process, on one worker and on two."""
    columns = ("best, s", "microseconds per row and pass")
    stored = results["dask-fit"].rows(DASK_ROWS)
    return _table(["", *columns], [[one["side"], *(shown("{:.3g}", one[name]) for name in columns)] for one in stored])


def worker_memory(results):
    """Rows that are larger than the memory of all workers."""
    larger = results["dask-fit"].bar("rows fitted over the memory that all workers may take together")
    return _table(
        ["", "as a multiple of the memory of all workers"], [["rows fitted as codes", shown("{:.2g}", larger)]]
    )


def spectra_peers(results):
    """Libraries of spectra beside ms_entropy and matchms: the same answers, and what they cost."""
    stored = results["fields-spectra"]
    rows = [[what, shown(form, stored.bar(claim))] for what, claim, form in SPECTRA_BARS]
    return _table(["54,791 spectra of MassBank, one thread", "measured"], rows)


def certainty(results):
    """Wrong first hits among those up to a q-value, of compounds on which nothing was chosen."""
    columns = [f"q <= {level}" for level in (0.05, 0.1, 0.2, 0.3)]
    rows = [[one["search"], *(one[column] for column in columns)]
            for one in results["fields-certainty"].rows("wrong first hits among those up to a q-value")
            if (one["compounds"], one["method"]) == ("confirmed", "library")]  # fmt: skip
    return _table(["search", *columns], rows)


def _costs(cells):
    dimensions, error, recall, milliseconds, size = cells
    return [shown("{:,}", dimensions), shown("{} %", _two_digits(_times(100, error))), shown("{:.2f}", recall),
            shown("{}", _two_digits(milliseconds)), shown("{:,}", size)]  # fmt: skip


def _two_digits(value):
    return value if value is None else f"{value:.0f}" if value >= 100 else f"{value:.2g}"


def _times(factor, value):
    return None if value is None else factor * value


def _table(columns, rows):
    return markdown_table(list(columns), rows) if rows else MISSING


TABLES = {
    "front": front,
    "instead-of": instead_of,
    "map-choices": map_choices,
    "all-maps": all_maps,
    "accuracies": accuracies,
    "rivals": rivals,
    "better-elsewhere": better_elsewhere,
    "block-sizes": block_sizes,
    "workers": workers,
    "worker-memory": worker_memory,
    "spectra-peers": spectra_peers,
    "certainty": certainty,
    **measured_scale.TABLES,
}
