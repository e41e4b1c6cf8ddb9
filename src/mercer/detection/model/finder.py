"""A part model at work: objects in images and in pyramids of cells, after suppression."""

__all__ = ["LOWEST", "MOST_DETECTIONS", "Finder"]

import numpy as np

from mercer._base.errors import InputError
from mercer._base.progress import track
from mercer._base.threads import run_blocks, single_threaded
from mercer.detection.boxes import suppress
from mercer.detection.cells.pyramid import build_pyramid
from mercer.detection.detections import Detections
from mercer.detection.evaluation import evaluate_detections
from mercer.detection.model.inference import part_windows, windows_of
from mercer.detection.sources import check_inside, name_of, read
from mercer.detection.training.initial import PART_SIZE

LOWEST = -1.5  # scores from which detections count when a detector is judged
MOST_PLACEMENTS, MOST_DETECTIONS = 5000, 200  # of one image, before and after suppression
BATCH = 8  # images between two reports of progress


class Finder:
    """Finds objects by components and what they are looked for in.

    Parameters
    ----------
    scorer : Scorer, of all components, those that mirror others included
    storage : how cells are kept
    shape : PyramidShape
    margin : int, cells around the object that belong to the root
    suppression : float, share of the smaller of two detections from which the better one alone stays
    """

    def __init__(self, scorer, storage, shape, margin, suppression):
        self.scorer, self.storage, self.shape = scorer, storage, shape
        self.margin, self.suppression = margin, suppression

    def detect(self, image, name, threshold, most, n_jobs):
        """The `Detections` of an image, which errors call by its name."""
        try:
            pyramid = build_pyramid(image, self.shape, self.storage, n_jobs)
        except InputError as error:
            raise InputError(f"PartDetector cannot use {name}. {error}") from error
        boxes, scores, found = self.found(pyramid, threshold, most, n_jobs)
        return Detections(boxes, scores, found.where[:, 0], part_windows(found, pyramid, PART_SIZE))

    def found(self, pyramid, threshold=LOWEST, most=MOST_DETECTIONS, n_jobs=1):
        """Boxes, scores and placements in a pyramid, after suppression."""
        found = self.scorer.best(pyramid, threshold, MOST_PLACEMENTS, n_jobs=n_jobs)
        height, width = pyramid.image_shape
        windows = windows_of(found, pyramid, self.scorer.components, self.margin)
        boxes = np.clip(windows, 0, [width, height, width, height])
        kept = suppress(boxes, found.scores, self.suppression, most)
        found = found.take(kept)
        return boxes[kept], found.scores, found

    def judged(self, images, boxes, n_jobs):
        """The `DetectionReport` of annotated images."""

        def find(i):
            image, name = read(images[i], i), name_of(images[i], i)
            check_inside(boxes[i], image.shape, name)
            found = self.detect(image, name, LOWEST, MOST_DETECTIONS, 1)
            return found.boxes, found.scores

        found = []
        with single_threaded():
            for start in track(range(0, len(images), BATCH), "Detecting"):
                found += run_blocks(find, range(start, min(start + BATCH, len(images))), n_jobs)
        return evaluate_detections(found, boxes)

    def judged_pyramids(self, pyramids, boxes, n_jobs):
        """The `DetectionReport` of pyramids that are there."""
        with single_threaded():
            found = run_blocks(self.found, pyramids, n_jobs)
        return evaluate_detections([one[:2] for one in found], boxes)
