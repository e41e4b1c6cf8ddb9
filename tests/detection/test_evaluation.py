"""Average precision and miss rates against counting by hand, and boxes that overlap."""

import numpy as np
import pytest

from mercer.detection import evaluate_detections
from mercer.detection.boxes import overlaps, suppress

TRUTH = [np.array([[0, 0, 10, 10], [20, 0, 30, 10.0]]), np.array([[5, 5, 15, 15.0]]), np.empty((0, 4))]
FOUND = [
    (np.array([[0, 0, 10, 10], [1, 0, 11, 10], [20, 0, 30, 4.0]]), np.array([0.9, 0.8, 0.2])),
    (np.array([[5, 5, 15, 14.0]]), np.array([0.5])),
    (np.array([[0, 0, 9, 9.0]]), np.array([0.7])),
]


def test_precision_and_recall_are_those_of_counting():
    report = evaluate_detections(FOUND, TRUTH)
    # best first: right, the same object again, wrong image, right, too small
    np.testing.assert_allclose(report.recall, np.array([1, 1, 1, 2, 2]) / 3)
    np.testing.assert_allclose(report.precision, [1, 1 / 2, 1 / 3, 2 / 4, 2 / 5])
    np.testing.assert_allclose(report.false_positives_per_image, np.array([0, 1, 2, 2, 3]) / 3)
    assert report.ap == pytest.approx(1 / 3 + 1 / 3 * 0.5)
    assert report.ap_11_point == pytest.approx((4 * 1 + 3 * 0.5) / 11)
    # the miss rate is 2/3 up to 2/3 false positives per image, and 1/3 behind
    assert report.log_average_miss_rate == pytest.approx((2 / 3) ** (8 / 9) * (1 / 3) ** (1 / 9))


def test_the_best_threshold_has_the_largest_f1():
    report = evaluate_detections(FOUND, TRUTH)
    assert report.best_threshold == pytest.approx((0.5 + 0.2) / 2)  # F1 of 1/2, 2/6, 2/6, 4/7, 1/2 in turn
    assert report.at(report.best_threshold) == pytest.approx((2 / 4, 2 / 3))
    assert report.at(0.85) == pytest.approx((1, 1 / 3))
    assert report.at(0.9) == (0, 0)  # detections score more than the threshold


def test_nothing_found_is_a_result_too():
    none = [(np.empty((0, 4)), np.empty(0))] * 3
    report = evaluate_detections(none, TRUTH)
    assert (report.ap, report.ap_11_point, report.log_average_miss_rate) == (0.0, 0.0, 1.0)
    assert len(report.recall) == 0
    assert report.best_threshold == 0
    assert report.at(0) == (0, 0)


def test_perfect_detections_have_perfect_figures():
    report = evaluate_detections([(own, np.ones(len(own))) for own in TRUTH], TRUTH)
    assert report.ap == report.ap_11_point == 1.0


def test_overlaps_and_suppression(rng):
    corner = rng.uniform(0, 50, (40, 2))
    boxes = np.hstack([corner, corner + rng.uniform(5, 30, (40, 2))])
    found = overlaps(boxes, boxes)
    np.testing.assert_allclose(np.diag(found), 1)
    np.testing.assert_allclose(found, found.T)
    scores = rng.random(40)
    kept = suppress(boxes, scores, 0.5)
    assert (np.diff(scores[kept]) <= 0).all()
    assert kept[0] == np.argmax(scores)
    from mercer.detection.boxes import areas, intersections

    share = intersections(boxes, boxes) / np.minimum.outer(areas(boxes), areas(boxes))
    assert (share[np.ix_(kept, kept)] - np.eye(len(kept)) <= 0.5).all()
    for i in np.setdiff1d(np.arange(40), kept):  # each has a better one that stays
        assert ((share[i, kept] > 0.5) & (scores[kept] >= scores[i])).any()


def test_an_object_is_found_once():
    box = np.array([[0, 0, 10, 10.0]])
    report = evaluate_detections([(np.repeat(box, 2, axis=0), np.array([0.9, 0.8]))], [box])
    assert report.recall.tolist() == [1, 1]
    assert report.precision.tolist() == [1, 0.5]
