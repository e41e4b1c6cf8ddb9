"""How single columns enter the scores of an additive model: small multiples of f_j, one line per class.

With K(x, y) = sum_j k(x_j, y_j) and k(0, y) = 0 the score is f(x) = sum_j f_j(x_j) + b, and f_j(t) is the score, less
b, of the row that has t in column j and 0 elsewhere. Every folded map can say that.
"""

__all__ = ["draw_functions"]

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError, require_extra
from mercer.learners.fitting.encode import is_quantizer
from mercer.maps import SparseMap

# Okabe and Ito's colors, told apart under every common form of color blindness; further classes have other lines
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000")
STYLES = ("-", "--", ":", "-.")
MOST_PANELS = 12
COLUMNS = 4
POINTS, FEW_POINTS = 129, 17
TOGETHER = 1024  # columns looked at in one go


def draw_functions(model, features=None, path=None):
    """A figure of its own, drawn without a display.

    Parameters
    ----------
    model : fitted KernelClassifier or KernelRegressor
    features : column numbers or names, or None for those that vary most
    path : None, or the file to write
    """
    check_additive(model)
    chosen = _chosen(model, features)
    require_extra("matplotlib", "plot", "plot_functions()")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = min(len(chosen), COLUMNS)
    lines = -(-len(chosen) // columns)
    figure = Figure(figsize=(2.7 * columns + 1.2, 2.2 * lines + 0.6), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(lines, columns, squeeze=False, sharey=True).ravel()
    for axis, j in zip(axes, chosen, strict=False):
        _panel(axis, model, j)
    for axis in axes[len(chosen) :]:
        axis.set_visible(False)
    handles, names = axes[0].get_legend_handles_labels()
    if len(names) > 1:
        figure.legend(handles, names, loc="outside right upper", frameon=False, fontsize=8)
    title = f"{type(model).__name__}: contribution of each column to the scores"
    figure.suptitle(title, x=0.01, ha="left", weight="bold", fontsize=10)
    if path is not None:
        figure.savefig(path)
    return figure


def functions(model, columns, values):
    """f_j of some columns at values of their own, shape (columns, values, classes).

    Parameters
    ----------
    model : fitted KernelClassifier or KernelRegressor
    columns : m column numbers
    values : array of shape (m, k)
    """
    (m, k), d = values.shape, model.n_features_in_
    entries = (values.flatten(), np.repeat(columns, k), np.arange(m * k + 1))
    rows = sparse.csr_array(entries, shape=(m * k, d))
    rows.eliminate_zeros()  # which moves the entries: they are a copy
    scores = model.predictor_(rows) - model.predictor_(sparse.csr_array((1, d), dtype=np.float64))
    return model.columns_.by_class(scores).reshape(m, k, -1)


def check_additive(model):
    """Raise unless the score is a sum of functions of single columns."""
    found = getattr(model, "map_", None)
    if found is None or not found.kernel_.additive or is_quantizer(found) or isinstance(found, SparseMap):
        what = f"{type(found).__name__} of {found.kernel_!r}" if found is not None else repr(model.kernel_)
        raise InputError(
            f"plot_functions() needs a score that is a sum over columns, which {what} does not have. Use an additive "
            "kernel such as 'chi2' with one of its own maps."
        )


def _chosen(model, features):
    """Numbers of the columns to draw."""
    d = model.n_features_in_
    if features is None:
        groups = [np.arange(start, min(start + TOGETHER, d)) for start in range(0, d, TOGETHER)]
        curves = (functions(model, group, _values(model, group, FEW_POINTS)) for group in groups)
        spans = np.concatenate([np.ptp(part, axis=1).max(axis=1) for part in curves])
        return sorted(np.argsort(-spans, kind="stable")[:MOST_PANELS].tolist())
    names = list(getattr(model, "feature_names_in_", []))
    chosen = []
    for feature in np.atleast_1d(np.asarray(features, dtype=object)):
        j = names.index(feature) if feature in names else feature
        if isinstance(j, str) or not 0 <= j < d:
            raise InputError(
                f"plot_functions() needs column numbers from 0 to {d - 1} or column names; got {feature!r}."
            )
        chosen.append(int(j))
    return chosen


def _panel(axis, model, j):
    values = _values(model, [j], POINTS)
    curves = functions(model, [j], values)[0].T
    labels = model.columns_.labels(getattr(model, "classes_", None))
    for c, (curve, label) in enumerate(zip(curves, labels, strict=True)):
        style = {"color": COLOURS[c % len(COLOURS)], "linestyle": STYLES[c // len(COLOURS) % len(STYLES)]}
        axis.plot(values[0], curve, label=label, **style)
    axis.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    names = getattr(model, "feature_names_in_", None)
    axis.set_title(f"column {j}" if names is None else str(names[j]), fontsize=9, loc="left")
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=8)


def _values(model, columns, count):
    """Values over the range that each column had in training, shape (columns, count)."""
    low, high = model.feature_range_[:, columns]
    return np.linspace(low, np.where(high > low, high, low + 1.0), count, axis=1)
