"""``mercer evaluate``: how good the predictions of a fitted model are on rows whose labels are known."""

__all__ = ["EXAMPLES", "evaluate", "give_figures", "judged", "picture_of_classes"]

from pathlib import Path
from typing import Any

from mercer._base.errors import InputError
from mercer._base.evaluation.figures import class_figures, scores_by_class, value_figures
from mercer._base.files.steps import last_step
from mercer._base.parameters import pathname
from mercer._base.tables import ArgumentError, RowSource, open_for_writing
from mercer.cli.framework.checks import check_folder
from mercer.cli.framework.labels import labels_of
from mercer.cli.framework.options import COMMON, INPUT, Settings, options
from mercer.cli.framework.output import answer_json, note, note_plot, print_table, progress
from mercer.cli.framework.rates import bits_of
from mercer.cli.framework.shared import BITS, DATA, LABELS, LEARNER_MODEL
from mercer.cli.models.learning import answers, load_learner, missing_facts, open_data

EXAMPLES = """
  mercer evaluate iris.mercer test.csv --label species
  mercer evaluate digits.mercer X.npy --labels y.npy --plot confusion.png
  mercer evaluate digits.mercer test.npz --json
  mercer evaluate wire.mercer test.npz --bits 64
"""
_CONFUSION_UP_TO = 12  # classes; a wider table does not fit a terminal
_LABELS_SHOWN = 5


@options((
    LEARNER_MODEL, DATA, LABELS,
    pathname("plot", None, "Plot the confusion matrix, or predicted against true values.", "PNG"),
    BITS,
), examples=EXAMPLES, settings=COMMON, rules=INPUT)  # fmt: skip
def evaluate(model, x, labels, plot, bits, rules, settings: Settings) -> None:
    """Measure a fitted model on unseen labeled rows.

    For classes: accuracy, balanced accuracy (the mean recall of the classes) and mAP (the mean average precision); and
    for each class, precision, recall and the average precision (AP) of its scores against all other classes. For
    numbers: R2, mean absolute error (MAE) and root mean squared error (RMSE).
    """
    check_folder(plot)
    learner, columns = load_learner(model, bits)
    last = last_step(learner)
    if getattr(last, "multi_class_", None) == "labels" or getattr(last, "n_targets_", 0):
        raise ArgumentError(f"{model} predicts several values per row, but mercer evaluate supports only one.")
    data = open_data(settings, x, rules | {"needs_labels": labels is None}, columns)
    truth = labels_of(data, labels, rules)
    with progress(settings) as watch:
        judge = _judge_classes if hasattr(learner, "classes_") else _judge_values
        found, picture = judge(learner, data, truth)
    head = {"model": model, "learner": type(learner).__name__, "data": data.name, "rows": data.shape[0]}
    head |= missing_facts(data)
    rate = bits_of(learner)
    document = head | rate | found | {"seconds": watch.seconds}
    at = f" at {rate['bits']} bits" if rate else ""
    title = f"{model}{at} on {data.shape[0]} rows of {data.name}"
    give_figures(settings, title, document, plot, picture)


def give_figures(settings: Settings, title: str, document: dict[str, Any], plot: Path | None, picture) -> None:
    """Figures of merit as a picture and as JSON or tables; ``picture(title, stream)`` draws."""
    if plot is not None:
        with open_for_writing(plot) as stream:
            picture(title, stream)
        document["plot"] = str(plot)
    if answer_json(settings, document):
        return
    _print(settings, title, document)
    note_plot(settings, plot)


def picture_of_classes(figures: dict[str, Any]):
    """What draws the confusion matrix, by ``picture(title, stream)``."""
    import numpy as np

    from mercer._base.evaluation.plots import draw_confusion

    names = [str(one["label"]) for one in figures["classes"]]
    accuracy = f"accuracy {100 * figures['accuracy']:.1f} %"
    return lambda title, stream: draw_confusion(np.array(figures["confusion"]), names, f"{title}\n{accuracy}", stream)


# ---- classes


def _judge_classes(learner, data: RowSource, truth):
    import numpy as np

    classes = learner.classes_
    if _are_words(truth) != _are_words(classes):  # a file may hold only those words that look like numbers
        truth, classes = truth.astype(str), classes.astype(str)
    if not np.isin(truth, classes).any():
        raise InputError(
            f"No label of {data.name} ({_some(np.unique(truth))}) is a class of the model ({_some(classes)})."
        )
    numbers = {name: i for i, name in enumerate(learner.classes_.tolist())}

    def ask(block):
        predicted = [numbers[name] for name in learner.predict(block).tolist()]
        return np.column_stack([predicted, scores_by_class(learner.decision_function(block))])

    found = np.concatenate(list(answers(data, ask, bytes_per_row=16 * len(classes))))
    predicted, scores = classes[found[:, 0].astype(np.intp)], found[:, 1:]
    figures = judged(truth, predicted, scores, classes)
    return figures, picture_of_classes(figures)


def judged(truth, predicted, scores, classes) -> dict[str, Any]:
    """Figures of merit, and the labels that are no classes of the model, with how many rows have them."""
    import numpy as np

    unknown = truth[~np.isin(truth, classes)]
    found = {"unknown_rows": len(unknown), "unknown_labels": np.unique(unknown).tolist()} if len(unknown) else {}
    return class_figures(truth, predicted, scores, classes) | found


def _are_words(labels) -> bool:
    return labels.dtype.kind not in "iufb"


def _some(labels) -> str:
    shown = ", ".join(map(str, labels[:_LABELS_SHOWN]))
    return shown if len(labels) <= _LABELS_SHOWN else f"{shown} and {len(labels) - _LABELS_SHOWN} more"


# ---- numbers


def _judge_values(learner, data: RowSource, truth):
    import numpy as np

    if _are_words(truth):
        raise InputError(f"The model predicts numbers, but the labels of {data.name} are not numbers.")
    truth = truth.astype(np.float64)
    if not np.isfinite(truth).all():
        raise InputError(
            f"The labels of {data.name} must be finite, but label {int(np.argmin(np.isfinite(truth)))} is not."
        )
    predicted = np.concatenate(list(answers(data, learner.predict, bytes_per_row=8)))
    figures = value_figures(truth, predicted)

    def picture(title, stream):
        from mercer._base.evaluation.plots import draw_values

        draw_values(truth, predicted, f"{title}\nRMSE {figures['rmse']:.4g}", stream)

    return figures, picture


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
        print_table(settings, "True classes (rows) and predicted classes (columns)", ["", *names], lines)
    else:
        note(settings, "Use --json to print the confusion matrix, or --plot to draw it.")
    if "unknown_rows" in document:
        n = document["unknown_rows"]
        have = "row has a label" if n == 1 else "rows have labels"
        unknown = _some(document["unknown_labels"])
        note(settings, f"{n:,} {have} that the model does not know: {unknown}. Such rows count as errors.")


def _number(value: float | None, text: str = "{:.4f}") -> str:
    return "-" if value is None else text.format(value)
