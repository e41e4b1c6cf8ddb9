"""Bundle solver against stochastic gradient descent on sparse features. [vedaldi12sparse] Sec. 4, equation (18)"""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

SETS = ("pendigits", "20newsgroups")
LEVEL = 1e-2
AHEAD = "{}: excess of the best PEGASOS when the bundle solver is at an excess of 0.01"
BATCHES = (32, 512)
FIRST_STEPS = (1.0, 8.0, 64.0, 512.0, 4096.0)  # that are tried; K(x, x) is 1
BUNDLE, SGD, PUBLISHED = "bundle", "PEGASOS, batches of {}, tuned", "PEGASOS, batches of {}, as published"


@benchmark(
    "sgd-baseline",
    "the bundle solver against PEGASOS with mini-batches on sparse features of the intersection kernel",
    bars=[Bar(AHEAD.format(name), ">= 0.01") for name in SETS],
    paper="vedaldi12sparse",
    needs=list(SETS),
)
def sgd_baseline(record):
    from mercer import thread_limit

    for name in SETS:
        with thread_limit(record.threads):
            curves, title = _curves(name, record.quick)
        _report(record, name, curves, title)
    record.note(
        "The objective is 1/2 |u|^2 + C times the sum of the hinge losses, added over the one-vs-rest problems, with "
        "no intercept; the optimum is bounded from below by the dual value that the bundle solver reaches. "
        "Evaluations of the objective of PEGASOS and the search of its first step are not in its time. Its step is "
        "that of (18) measured in the norm of K_ZZ (benchmarks/paper/_pegasos.py), where a rate is known."
    )


def _curves(name, quick):
    """(solver -> list of (passes, seconds, excess of the objective over the optimum), title)"""
    import numpy as np

    from benchmarks.paper._learning import one_vs_rest
    from mercer.learners.solvers.bundle.solver import solve_bundle
    from mercer.spaces import Design

    X, y, C, feature_map = _data(name, quick)
    rows, inner = feature_map.fit(X).rows(X), feature_map.inner_
    problem = one_vs_rest(Design(rows, inner), y, C)
    problem.intercept = "none"
    solve_bundle(problem, max_iter=2)  # compiles
    solution = solve_bundle(problem, tol=1e-2 if quick else 1e-3, max_iter=2000)
    lower = solution.dual_objectives.sum()
    excess = np.array(solution.history["objective"]) / lower - 1
    curves = {BUNDLE: list(zip(range(1, len(excess) + 1), solution.history["seconds"], excess, strict=True))}
    least = (2, 0.0) if quick else (20, _seconds_to(curves[BUNDLE], LEVEL) or 0.0)
    for batch in BATCHES:
        curves[SGD.format(batch)] = _sgd_curve(problem, lower, batch, least, _best_delay(problem, lower, batch))
    curves[PUBLISHED.format(BATCHES[-1])] = _sgd_curve(problem, lower, BATCHES[-1], least)
    n, D = rows.shape
    per_row = len(rows.X.data) / n
    return curves, f"{name}: {n:,} rows, {per_row:.0f} of {D:,} features per row, {len(np.unique(y))} classes"


def _sgd_curve(problem, lower, batch, least, delay=0.0):
    """Points of PEGASOS over at least so many (passes, seconds)."""
    import numpy as np

    from benchmarks.paper._pegasos import pegasos

    design, targets, C = problem.design, problem.targets, problem.C
    line = []
    for passes, seconds, u in pegasos(design.rows, design.inner, targets, 1 / (C * len(targets)), batch, delay):
        losses = np.maximum(0, 1 - targets * design.scores(u)).sum()
        line.append((passes, seconds, (0.5 * (u**2).sum() + C * losses) / lower - 1))
        if passes >= least[0] and seconds >= least[1]:
            return line


def _best_delay(problem, lower, batch):
    """The delay whose first passes end lowest; the search is not counted."""
    delays = [0.0, *(problem.C * len(problem.targets) / step for step in FIRST_STEPS)]
    return min(delays, key=lambda delay: _sgd_curve(problem, lower, batch, (4, 0.0), delay)[-1][2])


def _seconds_to(points, level):
    """When a curve is at most so far above the optimum, or None."""
    return next((seconds for _, seconds, excess in points if excess <= level), None)


def _data(name, quick):
    """Rows that sum to 1, classes, C and the map: few features or very many."""
    import numpy as np

    from benchmarks.maps._sets import unit_rows
    from mercer import SparseAdditiveMap
    from mercer.datasets import load_20newsgroups, load_pendigits

    if name == "pendigits":
        X, y = load_pendigits()
        n, C = 1000 if quick else len(y), 100.0
    else:
        X, y = load_20newsgroups()
        n, C = 500 if quick else len(y), 10.0
        X = X[:, np.argsort(-X.sum(axis=0))[: 200 if quick else 1000]]  # the most frequent words
    step = len(y) // n  # posts are in the order of their groups
    X, y = X[::step][:n], y[::step][:n]
    kept = np.asarray(X.sum(axis=1)).ravel() > 0
    return unit_rows(X[kept]), y[kept], C, SparseAdditiveMap("intersection", n_points=16, random_state=0)


def _report(record, name, curves, title):
    levels = (1e-1, LEVEL, 1e-3)
    lines = []
    for solver, points in curves.items():
        reached = [_seconds_to(points, level) for level in levels]
        lines.append([solver, *points[-1], *reached])
    columns = ["solver", "passes", "seconds", "excess at the end", *(f"s to {level:g}" for level in levels)]
    record.table(f"{title}; excess over the optimum", columns, lines)
    when = _seconds_to(curves[BUNDLE], LEVEL)
    if when is not None:
        best = min(excess for solver in curves if solver != BUNDLE for _, s, excess in curves[solver] if s <= when)
        record.measured(AHEAD.format(name), best, f"after {when:.3g} s")
    caption = f"How far the objective is above the optimum, against passes over the rows and against time. {title}."
    record.figure(name, _figure(curves, title), caption)


def _figure(curves, title):
    from benchmarks.plotting import COLOURS, new_figure

    figure, axes = new_figure(8, 3.6)
    figure.delaxes(axes)
    left, right = figure.subplots(1, 2, sharey=True)
    for (solver, points), colour in zip(curves.items(), COLOURS, strict=False):
        passes, seconds, excess = zip(*points, strict=True)
        left.plot(passes, excess, color=colour, label=solver)
        right.plot(seconds, excess, color=colour)
    for axes, label in ((left, "passes over the rows"), (right, "seconds")):
        axes.set(xscale="log", yscale="log", xlabel=label)
        axes.spines[["top", "right"]].set_visible(False)
    left.set_ylabel("objective / optimum - 1")
    left.legend(frameon=False, fontsize="small", loc="lower left")
    figure.suptitle(title, fontsize="small")
    return figure
