"""The trials of an automatic fit as a picture: what each kernel reached, against the time that it took."""

__all__ = ["draw_trials"]

from mercer._base.errors import InputError, require_extra
from mercer.learners.auto.report import TrialPlan


def draw_trials(plan, path=None):
    """A figure with a point for each trial; larger points saw more rows, and the chosen machine is a line."""
    if not isinstance(plan, TrialPlan):
        raise InputError(
            "There are no trials to plot, because a kernel or a map was given. Fit with kernel=None, or with C='auto'."
        )
    require_extra("matplotlib", "plot", "plot_trials()")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.subplots()
    largest = max((row[3] for row in plan.trials), default=1)
    for name in sorted({row[1] for row in plan.trials}):
        rows = [row for row in plan.trials if row[1] == name]
        sizes = [20 + 80 * row[3] / largest for row in rows]
        axes.scatter([row[7] for row in rows], [row[6] for row in rows], s=sizes, alpha=0.6, label=name)
    axes.axhline(plan.score, color="black", linewidth=1, linestyle="--", label="machine on all rows")
    axes.set(xscale="log", xlabel="seconds of the trial", ylabel=f"{plan.score_name} on left-out rows")
    axes.set_title(f"{len(plan.trials)} trials; chosen: {plan.kernel}", fontsize=10)
    axes.legend(fontsize=8)
    if path is not None:
        figure.savefig(path)
    return figure
