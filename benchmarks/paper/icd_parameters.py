"""How much the parameters of IntersectionSVC matter: C, and the number of bins. [wu10fast] Fig. 1 and Sec. 3.5"""

from __future__ import annotations

from functools import partial

from benchmarks.registry import Bar, benchmark

MERCER, LINEAR = "IntersectionSVC", "LinearSVC"
POWERS = range(-7, 4)  # C = 10^-7 to 10^3, as in Fig. 1b
STEADY = range(-3, 3)  # over which the accuracy should stay
DEFAULTS = {MERCER: -3, LINEAR: 0}
STEADY_WITHIN = {"shuttle": 1.0, "ijcnn1": 1.5}  # points
STEADINESS = "{}: largest difference of the accuracy from that of the default, C from 1e-3 to 1e2"
BINS, DEFAULT_BINS = (25, 50, 100, 200, 400), 100
BINNED = {"ijcnn1": None, "covtype": 50_000}  # set -> training rows


@benchmark(
    "icd-parameters",
    "accuracy of IntersectionSVC and LinearSVC by C; accuracy, time and tables of IntersectionSVC by bins",
    bars=[Bar(STEADINESS.format(name), f"<= {most:g}", "points") for name, most in STEADY_WITHIN.items()],
    paper="wu10fast",
    needs=["shuttle", "ijcnn1", "covtype"],
)
def icd_parameters(record):
    _penalties(record)
    _bins(record)
    record.note(
        "LinearSVC(dual=True) sees columns scaled to [-1, 1], IntersectionSVC the rows as they are; both stop after "
        "1,000 iterations at the latest. Gap is the largest relative duality gap of IntersectionSVC, whose tolerance "
        "is 1e-3: where it is larger, the iterations ended the work. Times by C are of one fit, for information; "
        "times by bins are the best of several, taken alternately."
    )


# ---------------------------------------------------------------------------------------------------------------- C


def _penalties(record):
    from benchmarks.runner import limited_threads

    accuracies = {}
    for name in STEADY_WITHIN:
        with limited_threads(record.threads):
            accuracies[name], lines = _by_penalty(name, record.quick)
        columns = ["side", "C", "accuracy %", "seconds", "iterations", "gap"]
        record.table(f"{name}: accuracy by C", columns, lines)
        default = accuracies[name][MERCER][DEFAULTS[MERCER]]
        steady = [accuracies[name][MERCER][power] for power in STEADY]
        furthest = max(steady, key=lambda accuracy: abs(accuracy - default))
        detail = f"{default:.4g} % with the default, {furthest:.4g} %; {min(steady):.4g} to {max(steady):.4g} %"
        record.measured(STEADINESS.format(name), abs(furthest - default), detail)
    caption = "Accuracy on test rows by C; a ring is around the default of each classifier."
    record.figure("C", _penalty_figure(accuracies), caption)


def _by_penalty(name, quick):
    """(side -> power of ten -> accuracy in percent, lines of the table)"""
    from benchmarks.paper._icd_sets import load, scaled

    split = load(name, quick=quick)
    splits = {MERCER: split, LINEAR: scaled(split)}
    found, lines = {}, []
    for side, rows in splits.items():
        found[side] = {}
        for power in POWERS:
            model, seconds = _timed(_model(side, C=10.0**power), rows)
            found[side][power] = 100 * model.score(rows.X_test, rows.y_test)
            gap = getattr(model, "gap_", None)
            lines.append([side, f"1e{power}", found[side][power], seconds, int(model.n_iter_), gap])
    return found, lines


def _penalty_figure(accuracies):
    figure, panels = _panels(len(accuracies))
    for axes, (name, sides) in zip(panels, accuracies.items(), strict=True):
        for side, marker in ((MERCER, "o"), (LINEAR, "s")):
            values = list(sides[side].values())
            (line,) = axes.plot([10.0**power for power in POWERS], values, marker=marker, markersize=4, label=side)
            default = DEFAULTS[side]
            ring = {"markersize": 11, "markerfacecolor": "none", "color": line.get_color()}
            axes.plot(10.0**default, sides[side][default], "o", **ring)
        axes.axvspan(10.0 ** STEADY[0], 10.0 ** STEADY[-1], color="black", alpha=0.05, linewidth=0)
        axes.set(xscale="log", xlabel="C", title=name)
        axes.set_xticks([10.0**power for power in POWERS if power % 2])
        axes.minorticks_off()
    panels[0].set_ylabel("accuracy %")
    panels[0].legend(frameon=False, fontsize="small", loc="lower right")
    return figure


# ------------------------------------------------------------------------------------------------------------- bins


def _bins(record):
    lines = []
    for name, most in BINNED.items():
        lines += _by_bins(record, name, most)
    columns = ["set", "bins", "accuracy %", "seconds", "iterations", "gap", "tables, kB"]
    record.table("IntersectionSVC by number of bins", columns, lines)
    caption = "Accuracy on test rows, time of a fit and size of the tables by number of bins; 100 is the default."
    record.figure("bins", _bins_figure(lines), caption)


def _by_bins(record, name, most):
    """Lines of the table for one set, fitted alternately."""
    from benchmarks.paper._icd_sets import load
    from benchmarks.runner import compare, limited_threads

    split, models = load(name, most, record.quick), {}

    def fitted(bins):
        models[bins] = _timed(_model(MERCER, bins=bins), split)[0]

    jobs = {f"{bins} bins": partial(fitted, bins) for bins in BINS}
    found = compare(jobs, 1 if record.quick else 3, threads=record.threads)
    record.comparison(f"{name}, {len(split.y):,} rows: fit", found, f"{DEFAULT_BINS} bins")
    with limited_threads(record.threads):
        for bins, model in models.items():
            accuracy = 100 * model.score(split.X_test, split.y_test)
            kilobytes = model.plan_.tables_bytes / 1e3
            seconds = found.best(f"{bins} bins")
            yield [name, bins, accuracy, seconds, model.n_iter_, model.gap_, kilobytes]


def _bins_figure(lines):
    figure, panels = _panels(3)
    for name, marker in zip(BINNED, "os", strict=True):
        own = {line[1]: line for line in sorted(lines) if line[0] == name}
        default = own[DEFAULT_BINS][2]
        values = (
            [line[2] - default for line in own.values()],
            [line[3] for line in own.values()],
            [line[6] for line in own.values()],
        )
        for axes, ys in zip(panels, values, strict=True):
            axes.plot(list(own), ys, marker=marker, markersize=4, label=name)
    titles = (f"accuracy - that of {DEFAULT_BINS} bins, points", "time of a fit, s", "tables, kB")
    for axes, title in zip(panels, titles, strict=True):
        axes.set_title(title, fontsize="medium")
        axes.set(xscale="log", xlabel="bins")
        axes.set_xticks(BINS, [str(bins) for bins in BINS])
        axes.minorticks_off()
    for axes in panels[1:]:
        axes.set_yscale("log")
    panels[0].axhline(0, color="black", linewidth=0.8)
    panels[0].legend(frameon=False, fontsize="small")
    return figure


# ---------------------------------------------------------------------------------------------------------- helpers


def _panels(count):
    """A figure with several axes side by side, in the style of benchmarks.plotting."""
    from benchmarks.plotting import COLOURS, new_figure

    figure, axes = new_figure(8, 3.4)
    figure.delaxes(axes)
    panels = figure.subplots(1, count)
    for axes in panels:
        axes.set_prop_cycle(color=COLOURS)
        axes.spines[["top", "right"]].set_visible(False)
    return figure, panels


def _model(side, **parameters):
    from sklearn.svm import LinearSVC

    from mercer import IntersectionSVC

    if side == MERCER:
        return IntersectionSVC(**{"C": 1e-3} | parameters, random_state=0)
    return LinearSVC(dual=True, max_iter=1000, random_state=0, **parameters)


def _timed(model, split):
    """(fitted model, seconds)"""
    import time
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # iterations and gap are told
        model.fit(split.X, split.y)
    return model, time.perf_counter() - start
