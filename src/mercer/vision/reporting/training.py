"""What a training of an ImageClassifier came to: what was learned, how good it is, and how long it took."""

__all__ = ["TrainingReport"]

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class TrainingReport:
    """A fitted image classifier, evaluated by cross-validation.

    Attributes
    ----------
    model : ImageClassifier
    images, labels : those it was fitted to
    encoding : Encoding
        Rows of the images that could be read.
    predicted, scores : ndarray or None
        Class and scores of each image that could be read, by classifiers trained without it; None if a class has a
        single image.
    figures : dict
        Accuracy, mAP and other measures of these predictions; empty if there are none.
    seconds : dict
        Time of each step.
    """

    model: Any
    images: Any
    labels: np.ndarray
    encoding: Any
    predicted: Any
    scores: Any
    figures: dict[str, Any]
    seconds: dict[str, float]

    @property
    def truth(self) -> np.ndarray:
        """Classes of the images that could be read."""
        return self.labels[self.encoding.kept]

    @property
    def kept_images(self) -> list[Any]:
        """The images that could be read."""
        return [image for image, kept in zip(self.images, self.encoding.kept, strict=True) if kept]

    @property
    def n_folds(self) -> int:
        """Parts of the cross-validation."""
        return self.model.n_folds(self.truth)

    def mistakes(self) -> np.ndarray:
        """Positions of misclassified images among the kept ones, the most confident mistakes first."""
        truth = self.truth
        wrong = np.flatnonzero(truth != self.predicted)
        of_truth = self.scores[wrong, np.searchsorted(self.model.classes_, truth[wrong])]
        return wrong[np.argsort(of_truth - self.scores[wrong].max(axis=1), kind="stable")]

    def surest(self, n: int) -> list[int]:
        """Positions of n correctly classified images of different classes among the kept ones."""
        truth = self.truth
        right = np.flatnonzero(truth == self.predicted)
        best = np.partition(self.scores[right], -2, axis=1)[:, -2:]
        order = right[np.argsort(best[:, 0] - best[:, 1], kind="stable")]
        first: dict[Any, int] = {}
        for i in order.tolist():
            first.setdefault(truth[i], i)
        return list(first.values())[:n]

    def confused_with(self, name) -> tuple[Any, int]:
        """The class with which this one is most often confused, and how often."""
        place = self.model.classes_.tolist().index(name)
        counts = np.array(self.figures["confusion"][place])
        counts[place] = 0
        return self.model.classes_[counts.argmax()], int(counts.max())

    def write_page(self, file, *, folder, command, model_bytes, peak_bytes=0):
        """Write the report as one HTML page with figures. Images must be paths, and matplotlib must be installed.

        Parameters
        ----------
        file : path
        folder, command : str
            Where the images come from, and the command line or code that led to the model.
        model_bytes, peak_bytes : int
            Size of the model file, and peak memory; 0 if unknown.
        """
        from mercer.vision.reporting.page import Circumstances, write_page

        write_page(self, file, Circumstances(folder, command, model_bytes, peak_bytes))
