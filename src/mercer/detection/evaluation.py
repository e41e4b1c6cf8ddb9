"""How good detections are: precision against recall, and misses against false alarms.

A detection is right if it overlaps an object that no better detection has taken by half or more (intersection over
union); of several objects the one that it overlaps most counts. [everingham10pascal]
"""

__all__ = ["DetectionReport", "average_precision", "evaluate_detections"]

from dataclasses import dataclass

import numpy as np

from mercer.detection.boxes import overlaps

REFERENCE_RATES = np.logspace(-2, 0, 9)  # false positives per image of the log-average miss rate [dollar12pedestrian]


@dataclass
class DetectionReport:
    """Measures of detections on annotated images.

    Attributes
    ----------
    ap : average precision, the area under the monotone precision-recall curve (VOC 2010 on)
    ap_11_point : mean of the precision at recalls 0, 0.1, ..., 1 (VOC 2007)
    log_average_miss_rate : geometric mean of the miss rate at nine rates of false positives per image from 0.01 to 1
    recall, precision : after each detection, best first
    miss_rate, false_positives_per_image : after each detection
    scores : of the detections, best first
    n_objects, n_images : number of annotated objects and of images
    """

    ap: float
    ap_11_point: float
    log_average_miss_rate: float
    recall: np.ndarray
    precision: np.ndarray
    miss_rate: np.ndarray
    false_positives_per_image: np.ndarray
    scores: np.ndarray
    n_objects: int
    n_images: int

    def at(self, threshold):
        """Return (precision, recall) of the detections above a threshold, (0, 0) if there are none."""
        n = int((self.scores > threshold).sum())
        return (float(self.precision[n - 1]), float(self.recall[n - 1])) if n else (0.0, 0.0)

    @property
    def best_threshold(self):
        """The threshold with the largest F1; 0 if no detection is correct."""
        f1 = self.recall * self.precision / np.maximum(self.recall + self.precision, 1e-12)
        if not f1.any():
            return 0.0
        best = int(np.argmax(f1))
        return float(self.scores[best : best + 2].mean())

    def plot(self, ax=None):
        """Precision against recall; needs matplotlib."""
        from mercer.detection.plots import plot_report

        return plot_report(self, ax)


def average_precision(recall, precision, rule="area"):
    """Average precision of a curve, by the area under it or at 11 points.

    Parameters
    ----------
    recall, precision : arrays, after each detection
    rule : ``"area"`` or ``"11-point"``

    Examples
    --------
    A correct detection before a wrong one, for two objects:

    >>> average_precision(np.array([0.5, 0.5]), np.array([1.0, 0.5]))
    0.5
    >>> round(average_precision(np.array([0.5, 0.5]), np.array([1.0, 0.5]), "11-point"), 4)
    0.5455
    """
    highest = np.maximum.accumulate(precision[::-1])[::-1]  # the best precision at this recall or more
    if rule == "area":
        return float((np.diff(recall, prepend=0.0) * highest).sum())
    points = np.searchsorted(recall, np.linspace(0, 1, 11) - 1e-12)
    return float(np.append(highest, 0.0)[points].mean())


def evaluate_detections(found, truth, least=0.5):
    """Compare detections with annotated boxes.

    Parameters
    ----------
    found : list of pairs (boxes (n, 4), scores (n,)), one per image
    truth : list of boxes (m, 4), one per image
    least : minimum intersection over union of a correct detection

    Returns
    -------
    DetectionReport

    Examples
    --------
    An image with two objects: one is found, and one detection is wrong:

    >>> import numpy as np
    >>> truth = [np.array([[0.0, 0.0, 10.0, 10.0], [50.0, 50.0, 60.0, 60.0]])]
    >>> found = [(np.array([[1.0, 0.0, 10.0, 10.0], [80.0, 80.0, 90.0, 90.0]]), np.array([0.9, 0.3]))]
    >>> report = evaluate_detections(found, truth)
    >>> report.ap, report.recall.tolist(), report.precision.tolist()
    (0.5, [0.5, 0.5], [1.0, 0.5])
    """
    scores = np.concatenate([np.asarray(own, dtype=np.float64) for _, own in found] or [np.empty(0)])
    right = np.concatenate([_matches(*one, own, least) for one, own in zip(found, truth, strict=True)] or [[]])
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(right[order].astype(np.float64))
    wrong = np.arange(1, len(order) + 1) - hits
    n_objects, n_images = sum(map(len, truth)), len(truth)
    recall = hits / max(n_objects, 1)
    precision = hits / np.arange(1, len(order) + 1)
    rates = wrong / max(n_images, 1)
    return DetectionReport(
        ap=average_precision(recall, precision),
        ap_11_point=average_precision(recall, precision, "11-point"),
        log_average_miss_rate=_log_average(1 - recall, rates),
        recall=recall,
        precision=precision,
        miss_rate=1 - recall,
        false_positives_per_image=rates,
        scores=scores[order],
        n_objects=n_objects,
        n_images=n_images,
    )


def _matches(boxes, scores, objects, least):
    """Which detections of one image are right."""
    right = np.zeros(len(boxes), dtype=bool)
    if not len(objects) or not len(boxes):
        return right
    common = overlaps(np.asarray(boxes, dtype=np.float64), np.asarray(objects, dtype=np.float64))
    taken = np.zeros(len(objects), dtype=bool)
    for i in np.argsort(-np.asarray(scores), kind="stable"):
        best = int(np.argmax(np.where(taken, -1.0, common[i])))
        if not taken[best] and common[i, best] >= least:
            right[i] = taken[best] = True
    return right


def _log_average(miss_rate, rates):
    """The geometric mean of the miss rate at the reference rates; 1 where there is no detection yet."""
    last = np.searchsorted(rates, REFERENCE_RATES, side="right") - 1
    at = np.where(last >= 0, np.append(miss_rate, 1.0)[last], 1.0)
    return float(np.exp(np.log(np.maximum(at, 1e-10)).mean()))
