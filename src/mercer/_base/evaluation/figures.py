"""Figures of merit of predicted classes and numbers.

The command line imports this file for its help, so numpy is loaded where it is used.
"""

__all__ = ["class_figures", "scores_by_class", "value_figures"]

from typing import Any


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


def scores_by_class(scores):
    """One column for each class; two classes have one score, positive for the second."""
    import numpy as np

    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


def _ratio(part, whole) -> float | None:
    return float(part / whole) if whole else None


def _mean(values) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
