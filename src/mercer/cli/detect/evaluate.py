"""``mercer detect evaluate``: how good a detector is on annotated images."""

__all__ = ["EXAMPLES", "evaluate"]

from typing import Any

from mercer._base.errors import InputError
from mercer._base.parameters import pathname
from mercer.cli.detect.files import annotated, load_detector
from mercer.cli.framework.checks import check_plot
from mercer.cli.framework.options import COMMON, Settings, options
from mercer.cli.framework.output import answer_json, note_plot, print_table, progress, took, write_plot
from mercer.cli.framework.shared import BOX_LABEL, BOXES, DETECTOR, PHOTOS

EXAMPLES = """
  mercer detect evaluate person.mercer --images test --boxes test.csv
  mercer detect evaluate person.mercer --images test --boxes test.csv --plot curve.png --json
"""


@options((
    DETECTOR, PHOTOS, BOXES, BOX_LABEL,
    pathname("plot", None, "Plot precision against recall.", "PNG"),
), examples=EXAMPLES, settings=COMMON)  # fmt: skip
def evaluate(model, images, boxes, label, plot, settings: Settings) -> None:
    """Measure a detector on unseen images with boxes.

    AP is the area under the precision-recall curve; by the older rule of PASCAL VOC 2007 it is the mean precision at
    eleven recalls. The miss rate is the geometric mean at nine rates of false positives per image, from 0.01 to 1. The
    best threshold gives the largest F1; pass it to mercer detect run with --threshold.
    """
    check_plot(plot, model, str(boxes))
    detector = load_detector(model)
    paths, found = annotated(images, boxes, label)
    if not any(map(len, found)):
        raise InputError(
            f"{boxes} has no box for the {len(paths)} images of {images}, so there is nothing to evaluate."
        )
    with progress(settings) as watch:
        report = detector.evaluate(paths, found)
    write_plot(plot, report.plot)
    document: dict[str, Any] = {
        "model": model,
        "images": report.n_images,
        "objects": report.n_objects,
        "ap": report.ap,
        "ap_11_point": report.ap_11_point,
        "log_average_miss_rate": report.log_average_miss_rate,
        "recall": float(report.recall[-1]) if len(report.recall) else 0.0,
        "thresholds": [_at(report, threshold) for threshold in (detector.threshold_, report.best_threshold)],
        "seconds": watch.seconds,
    }
    if answer_json(settings, document):
        return
    usual, best = document["thresholds"]
    rows = [
        ["objects", f"{report.n_objects} in {report.n_images} images"],
        ["AP", f"{100 * report.ap:.1f} %"],
        ["AP, 11 points", f"{100 * report.ap_11_point:.1f} %"],
        ["log-average miss rate", f"{100 * report.log_average_miss_rate:.1f} %"],
        [f"scores above {usual['threshold']:.2g}, the detector's own", _precision_recall(usual)],
        [f"scores above {best['threshold']:.2g}, the best", _precision_recall(best)],
        ["time", took(watch.seconds)],
    ]
    print_table(settings, f"{model} on {images}", ["", ""], rows, text_columns=1)
    note_plot(settings, plot)


def _at(report, threshold: float) -> dict[str, float]:
    precision, recall = report.at(threshold)
    return {"threshold": threshold, "precision": precision, "recall": recall}


def _precision_recall(one: dict[str, float]) -> str:
    return f"precision {100 * one['precision']:.1f} %, recall {100 * one['recall']:.1f} %"
