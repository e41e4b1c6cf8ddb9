"""Models of pictures as the service sees them: a classifier, which also says why, and a detector."""

__all__ = ["ServedDetector", "ServedImages"]

import base64
import io

import numpy as np

import mercer
from mercer._base.errors import InputError, require_extra
from mercer.serving.http.faults import Fault
from mercer.serving.http.replies import plain
from mercer.vision import read_image

_FOR, _AGAINST = (0, 114, 178), (213, 94, 0)  # blue and vermilion of Okabe and Ito
_STRONG = 99.5  # percentile of the heat that has the full color
_OVERLAY = 400  # pixels of the longer side of an overlay, which is smooth
_WARM_UP = (160, 320, 640)  # sides of squares; a detector refuses pictures smaller than its objects


class _ServedPictures:
    """What the faces of models of pictures share.

    Attributes
    ----------
    as of `ServedModel`
    """

    rates, takes_missing, columns, other_columns = (), False, None, ()
    n_features = None

    def __init__(self, model, sha256=None):
        require_extra("PIL", extra="vision", purpose="Serving an image model")
        self._model, self.sha256, self.name = model, sha256, type(model).__name__
        self.classes = plain(getattr(model, "classes_", None))

    def card(self):
        """What ``/v1/model`` tells of the model itself."""
        return {
            "name": self.name,
            "version": mercer.__version__,
            "sha256": self.sha256,
            "task": self.task,
            "classes": self.classes,
            "input": {"type": "picture"},
            "rates": [],
        }

    def knows(self, bits, fingerprint):
        """Whether codes are of this model: there are none."""
        return False

    def warm_up(self):
        """Answer about pictures of noise, so that code is compiled, and a model that cannot answer is found out."""
        for side in _WARM_UP:
            noise = np.random.RandomState(0).randint(256, size=(side, side, 3)).astype(np.uint8)
            try:
                self.look(noise)
                return
            except InputError as error:
                refusal = error
        raise InputError(f"{self.name} answers no picture of up to {_WARM_UP[-1]} x {_WARM_UP[-1]} pixels: {refusal}")


class ServedImages(_ServedPictures):
    """A classifier of pictures."""

    task = "images"

    def answer(self, body, explained=False, label=None):
        """What ``/v1/classify`` answers to the bytes of a picture."""
        return self.look(_pixels(body), explained, label)

    def look(self, pixels, explained=False, label=None):
        """Label and scores of a picture, and on request where it shows what speaks for a class."""
        scores = np.asarray(self._model.decision_function([pixels]), dtype=np.float64)
        if scores.ndim == 1:
            scores = np.multiply.outer(scores, [-1.0, 1.0])
        answer = {"labels": [self.classes[int(scores[0].argmax())]], "classes": self.classes, "scores": scores.tolist()}
        answer |= {"bits": None, "model": self.sha256}
        if explained:
            found = self._model.explain(pixels, answer["labels"][0] if label is None else label)
            answer["explanation"] = {
                "label": plain(found.label),
                "measure": found.measure,
                "overlay": f"data:image/png;base64,{base64.b64encode(_overlay(found.heat())).decode()}",
            }
        return answer


class ServedDetector(_ServedPictures):
    """A detector of objects."""

    task = "detection"

    def card(self):
        """The same with the threshold of the detector."""
        return {**super().card(), "threshold": float(self._model.threshold_)}

    def answer(self, body, threshold=None, most=100):
        """What ``/v1/detect`` answers to the bytes of a picture."""
        return self.look(_pixels(body), threshold, most)

    def look(self, pixels, threshold=None, most=100):
        """Boxes of the objects in a picture, best first."""
        used = float(self._model.threshold_) if threshold is None else threshold
        found = self._model.detect(pixels, used, most)
        return {
            "boxes": np.asarray(found.boxes, dtype=np.float64).round(2).tolist(),
            "scores": np.asarray(found.scores, dtype=np.float64).tolist(),
            "parts": np.asarray(found.parts, dtype=np.float64).round(2).tolist(),
            "threshold": used,
            "width": int(pixels.shape[1]),
            "height": int(pixels.shape[0]),
            "model": self.sha256,
        }


def _pixels(body):
    try:
        return read_image(body)
    except InputError as error:
        raise Fault(422, "picture", str(error).replace(f"the image of {len(body)} bytes", "The picture")) from None


def _overlay(heat):
    """A PNG to lay over the picture: blue where it speaks for the class, orange where it speaks against it."""
    image = require_extra("PIL.Image", extra="vision", purpose="Explaining a picture")
    top = float(np.percentile(np.abs(heat), _STRONG)) or 1.0
    strength = np.clip(np.abs(heat) / top, 0, 1)
    pixels = np.empty((*heat.shape, 4), dtype=np.uint8)
    pixels[..., :3] = np.where((heat >= 0)[..., None], np.uint8(_FOR), np.uint8(_AGAINST))
    pixels[..., 3] = (210 * np.sqrt(strength)).astype(np.uint8)
    drawn = image.fromarray(pixels)
    drawn.thumbnail((_OVERLAY, _OVERLAY))
    written = io.BytesIO()
    drawn.save(written, "PNG")
    return written.getvalue()
