"""``mercer evaluate``: how good the predictions of a fitted model are on rows whose labels are known."""

__all__ = ["EXAMPLES", "evaluate"]

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from mercer._base.errors import InputError
from mercer._base.files.steps import last_step
from mercer._base.tables import ArgumentError, RowSource, open_for_writing
from mercer.cli.framework.labels import LabelsOption, labels_of
from mercer.cli.framework.options import Settings, common_options, input_options, option_groups
from mercer.cli.framework.output import note, print_json, print_table, progress
from mercer.cli.framework.rates import BitsOption, bits_of
from mercer.cli.models.learning import answers, check_folder, load_learner, missing_facts, open_data

EXAMPLES = """
[bold]Examples[/bold]

  mercer evaluate iris.mercer test.csv --label species
  mercer evaluate digits.mercer X.npy --labels y.npy --plot confusion.png
  mercer evaluate digits.mercer test.npz --json
  mercer evaluate wire.mercer test.npz --bits 64
"""
_CONFUSION_UP_TO = 12  # classes; a wider table does not fit a terminal
_LABELS_SHOWN = 5


@option_groups(settings=common_options, rules=input_options)
def evaluate(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A file written by mercer fit or mercer wire fit.")],
    x: Annotated[str, typer.Argument(metavar="DATA", help="Rows: a file, FILE.npz::NAME, or - for the input.")],
    labels: Annotated[str | None, LabelsOption] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="PNG", help="Draw the confusion matrix, or predicted against true values."),
    ] = None,
    bits: Annotated[int | None, BitsOption] = None,
    *,
    rules: dict[str, Any],
    settings: Settings,
) -> None:
    """How good the predictions of a fitted model are, on labelled rows that it has not seen.

    For classes: accuracy, balanced accuracy (the mean recall of the classes), mAP (the mean average precision), and for
    each class precision, recall and the average precision (AP) of its scores against all other classes. For numbers:
    R2, mean absolute error (MAE) and root mean squared error (RMSE).
    """
    if plot is not None:
        check_folder(plot)
    learner, columns = load_learner(model, bits)
    last = last_step(learner)
    if getattr(last, "multi_class_", None) == "labels" or getattr(last, "n_targets_", 0):
        raise ArgumentError(f"{model} gives several answers for each row, and mercer evaluate judges one.")
    data = open_data(settings, x, rules | {"needs_labels": labels is None}, columns)
    truth = labels_of(data, labels, rules)
    started = time.perf_counter()
    with progress(settings):
        judge = _judge_classes if hasattr(learner, "classes_") else _judge_values
        found, picture = judge(learner, data, truth)
    head = {"model": model, "learner": type(learner).__name__, "data": data.name, "rows": data.shape[0]}
    head |= missing_facts(data)
    rate = bits_of(learner)
    document = head | rate | found | {"seconds": time.perf_counter() - started}
    at = f" at {rate['bits']} bits" if rate else ""
    title = f"{model}{at} on {data.shape[0]} rows of {data.name}"
    if plot is not None:
        with open_for_writing(plot) as stream:
            picture(title, stream)
        document["plot"] = str(plot)
    if settings.json:
        print_json(document)
        return
    _print(settings, title, document)
    if plot is not None:
        note(settings, f"Plot: {plot}")


# ---- classes


def _judge_classes(learner, data: RowSource, truth):
    import numpy as np

    classes = learner.classes_
    if _are_words(truth) != _are_words(classes):  # a file may hold only those words that look like numbers
        truth, classes = truth.astype(str), classes.astype(str)
    known = np.isin(truth, classes)
    if not known.any():
        raise InputError(
            f"No label of {data.name} ({_some(np.unique(truth))}) is a class of the model ({_some(classes)})."
        )
    numbers = {name: i for i, name in enumerate(learner.classes_.tolist())}

    def ask(block):
        predicted = [numbers[name] for name in learner.predict(block).tolist()]
        return np.column_stack([predicted, _one_vs_rest(learner.decision_function(block))])

    found = np.concatenate(list(answers(data, ask, bytes_per_row=16 * len(classes))))
    predicted, scores = classes[found[:, 0].astype(np.intp)], found[:, 1:]
    figures = class_figures(truth, predicted, scores, classes)
    if not known.all():
        figures["unknown_rows"] = int((~known).sum())

    def picture(title, stream):
        from mercer.cli.models.evaluate_plot import draw_confusion

        names = [str(one["label"]) for one in figures["classes"]]
        caption = f"{title}\naccuracy {100 * figures['accuracy']:.1f} %"
        draw_confusion(np.array(figures["confusion"]), names, caption, stream)

    return figures, picture


def class_figures(truth, predicted, scores, classes) -> dict[str, Any]:
    """Figures of merit of predicted labels, and of scores with one column for each of ``classes``.

    What is not defined is None: the precision of a class that is never predicted, recall and AP of one that never
    occurs. Labels that are no class of the model have a line of their own and count as mistakes.
    """
    import numpy as np
    from sklearn.metrics import average_precision_score, confusion_matrix

    names = np.unique(np.concatenate([classes, truth]))
    confusion = confusion_matrix(truth, predicted, labels=names)
    column = {name: i for i, name in enumerate(classes.tolist())}
    lines = []
    for i, name in enumerate(names.tolist()):
        n_true, n_predicted, n_right = confusion[i].sum(), confusion[:, i].sum(), confusion[i, i]
        line = {
            "label": name,
            "rows": n_true,
            "precision": _ratio(n_right, n_predicted),
            "recall": _ratio(n_right, n_true),
        }
        has_scores = n_true > 0 and name in column
        line["ap"] = float(average_precision_score(truth == name, scores[:, column[name]])) if has_scores else None
        lines.append(line)
    return {
        "accuracy": float((truth == predicted).mean()),
        "balanced_accuracy": _mean(line["recall"] for line in lines),
        "map": _mean(line["ap"] for line in lines),
        "classes": lines,
        "confusion": confusion,
    }


def _one_vs_rest(scores):
    """One column for each class; two classes have one score, positive for the second."""
    import numpy as np

    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


def _are_words(labels) -> bool:
    return labels.dtype.kind not in "iufb"


def _some(labels) -> str:
    shown = ", ".join(map(str, labels[:_LABELS_SHOWN].tolist()))
    return shown if len(labels) <= _LABELS_SHOWN else f"{shown} and {len(labels) - _LABELS_SHOWN} more"


def _ratio(part, whole) -> float | None:
    return float(part / whole) if whole else None


def _mean(values) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


# ---- numbers


def _judge_values(learner, data: RowSource, truth):
    import numpy as np

    if _are_words(truth):
        raise InputError(f"The model predicts numbers, but the labels of {data.name} are words.")
    truth = truth.astype(np.float64)
    if not np.isfinite(truth).all():
        raise InputError(
            f"The labels of {data.name} must be finite, but label {int(np.argmin(np.isfinite(truth)))} is not."
        )
    predicted = np.concatenate(list(answers(data, learner.predict, bytes_per_row=8)))
    figures = value_figures(truth, predicted)

    def picture(title, stream):
        from mercer.cli.models.evaluate_plot import draw_values

        draw_values(truth, predicted, f"{title}\nRMSE {figures['rmse']:.4g}", stream)

    return figures, picture


def value_figures(truth, predicted) -> dict[str, Any]:
    """R2, MAE and RMSE of predicted numbers; R2 is None where all true numbers are equal."""
    import numpy as np

    errors = predicted - truth
    spread = float(((truth - truth.mean()) ** 2).sum())
    return {
        "r2": 1 - float((errors**2).sum()) / spread if spread > 0 else None,
        "mae": float(np.abs(errors).mean()),
        "rmse": float(np.sqrt((errors**2).mean())),
    }


# ---- printing


_TITLES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "map": "mAP",
    "r2": "R2",
    "mae": "MAE",
    "rmse": "RMSE",
}


def _print(settings: Settings, title: str, document: dict[str, Any]) -> None:
    rows = [
        [title, _number(document[key], "{:.4g}" if key in ("mae", "rmse") else "{:.4f}")]
        for key, title in _TITLES.items()
        if key in document
    ]
    print_table(settings, title, ["", "value"], rows)
    if "classes" not in document:
        return
    columns = ["class", "rows", "precision", "recall", "AP"]
    lines = [
        [one["label"], one["rows"], *(_number(one[key]) for key in ("precision", "recall", "ap"))]
        for one in document["classes"]
    ]
    print_table(settings, "Classes", columns, lines)
    names = [str(one["label"]) for one in document["classes"]]
    if len(names) <= _CONFUSION_UP_TO:
        lines = [[name, *counts] for name, counts in zip(names, document["confusion"].tolist(), strict=True)]
        print_table(settings, "True classes (down) against predicted ones (across)", ["", *names], lines)
    else:
        note(settings, "The confusion matrix: --json gives it, --plot draws it.")
    if "unknown_rows" in document:
        n = document["unknown_rows"]
        note(settings, f"{n} rows have labels that are no class of the model; they count as mistakes.")


def _number(value: float | None, text: str = "{:.4f}") -> str:
    return "-" if value is None else text.format(value)
