"""What the service needs of a model, whatever class it is: one small face for all that can be served.

| model | takes codes | rates |
|---|---|---|
| `WireClassifier` | yes | its ladder |
| `KernelClassifier` whose map makes bits | yes | one |
| any other classifier or regressor of Mercer, or a pipeline that ends in one | no | none |
| `ImageClassifier`, `PartDetector` (see `mercer.serving.model.pictures`) | no, pictures | none |
"""

__all__ = ["Answers", "ServedIndex", "ServedModel", "face_of", "load_served"]

import os
from dataclasses import dataclass

import numpy as np

import mercer
from mercer._base.errors import InputError, ModelFileError
from mercer._base.files.models import describe
from mercer._base.files.steps import last_step, takes_missing, takes_molecules, without_names, word_columns
from mercer._base.tables import features_of
from mercer.serving.bodies.columns import filled, named_columns, other_columns, shown_names
from mercer.serving.http.replies import plain
from mercer.serving.model.pictures import ServedDetector, ServedImages
from mercer.serving.wire.ladder import CodeScorer, WireClassifier
from mercer.spaces import FEW_ROWS

_READS = 3  # while another process replaces the file
_QUICK_PRODUCTS = 2**18  # of codes with weights: a fraction of a millisecond


@dataclass(frozen=True)
class Answers:
    """What a model says of rows.

    Parameters
    ----------
    labels : array with an entry for each row: a class, a number, or a row of 0 and 1 for a model of labels
    scores : float64 array of shape (rows, classes), or None for a model of numbers
    """

    labels: np.ndarray
    scores: np.ndarray | None

    def part(self, rows):
        """The answers to a slice of the rows."""
        return Answers(self.labels[rows], None if self.scores is None else self.scores[rows])


class ServedModel:
    """A fitted model as the service sees it.

    Parameters
    ----------
    model : fitted classifier or regressor
    sha256 : checksum of its file, as ``mercer inspect`` shows it; None for a model that comes from no file

    Attributes
    ----------
    name, task : class of the model; "classification", "labels" or "regression"
    classes : list for JSON, or None
    n_features : numbers of a raw row
    columns : names of these, in the order of the model, or None
    takes_missing : whether a raw row may lack values, which the model or the means of its training table fill
    other_columns : names of further columns of its training table, which may come with the rows
    rates : bits of the codes that it takes, ascending; empty if it takes raw rows only
    """

    def __init__(self, model, sha256=None):
        has_scores = not hasattr(model, "classes_") or hasattr(model, "decision_function")
        if not hasattr(model, "predict") or not hasattr(model, "n_features_in_") or not has_scores:
            raise InputError(
                f"The service needs a fitted classifier, regressor or detector, not {type(model).__name__}. "
                "Fit one with mercer fit."
            )
        if takes_molecules(model):
            raise InputError("A model of molecules cannot be served; use mercer predict.")
        words = word_columns(model)
        if words:
            raise InputError(
                f"{type(model).__name__} encodes text (column {shown_names(words)}), but the service accepts numbers "
                f"only. Use the model from Python, with a data frame."
            )
        self._model, self.sha256 = without_names(model), sha256
        self._means = features_of(model).means
        self.takes_missing = takes_missing(model) or self._means is not None
        self.name, self.n_features = type(model).__name__, int(model.n_features_in_)
        self.columns, self.other_columns = named_columns(model), other_columns(model)
        classes = getattr(model, "classes_", None)
        self._classes = None if classes is None else np.asarray(classes)
        self.classes = plain(classes)
        self.task = "regression" if classes is None else "classification"
        if getattr(last_step(model), "multi_class_", None) == "labels":
            self.task = "labels"
        classifiers = classifiers_of_bits(model)
        self._scorers = {bits: CodeScorer(one) for bits, one in classifiers.items()}
        self._specifications = {bits: one.map_.specification_ for bits, one in classifiers.items()}
        self._fingerprints = {bits: one.fingerprint for bits, one in self._specifications.items()}
        self.rates = tuple(classifiers)

    def card(self):
        """What ``/v1/model`` tells of the model itself."""
        return {
            "name": self.name,
            "version": mercer.__version__,
            "sha256": self.sha256,
            "task": self.task,
            "classes": self.classes,
            "n_features": self.n_features,
            "columns": None if self.columns is None else list(self.columns),
            "other_columns": list(self.other_columns),
            "input": plain(getattr(self._model, "input_", None)),
            "rates": list(self.rates),
            "curve": plain(getattr(self._model, "curve_", None)),
        }

    def embedding(self, bits=None):
        """What ``/v1/embedding`` tells: how rows become bits, and of which columns; the longest code without a rate."""
        bits = self.rates[-1] if bits is None else bits
        return {
            "specification": self._specifications[bits].to_dict(),
            "fingerprint": self._fingerprints[bits],
            "columns": None if self.columns is None else list(self.columns),
            "other_columns": list(self.other_columns),
            "model": self.sha256,
        }

    def knows(self, bits, fingerprint):
        """Whether codes of so many bits, by an embedding whose fingerprint begins so, are of this model."""
        return self._fingerprints.get(bits, "").startswith(fingerprint)

    def encode(self, X, bits=None):
        """Codes of raw rows at a rate, of the longest without one."""
        return self._scorers[bits or self.rates[-1]].encode(X)

    def answer(self, kind, rows, bits=None):
        """Answers to raw rows (kind "rows") or to codes of a rate (kind "codes")."""
        # scores that overflow are refused where they are found; here they need no warning as well
        with np.errstate(over="ignore", invalid="ignore"):
            if kind == "rows":
                rows = filled(rows, self._means)
            if kind == "rows" and bits is not None:
                kind, rows = "codes", self.encode(rows, bits)
            if self.task == "regression":
                return Answers(np.asarray(self._model.predict(rows)), None)
            if kind == "codes":
                return self._chosen(self._scorers[bits](rows))
            return self._chosen(np.asarray(self._model.decision_function(rows), dtype=np.float64))

    def is_quick(self, kind, n_rows, bits):
        """Whether rows are answered in less time than it takes to have another thread do it."""
        return kind == "codes" and n_rows * self._scorers[bits].n_weights <= _QUICK_PRODUCTS

    def _chosen(self, scores):
        """Answers by scores: the class of the largest, and of two classes the one on whose side a score is."""
        if self.task == "labels":
            return Answers((scores > 0).astype(np.int64), scores)
        if scores.ndim == 1 or scores.shape[1] == 1:
            scores = np.multiply.outer(scores.ravel(), [-1.0, 1.0])
        return Answers(self._classes[scores.argmax(axis=1)], scores)

    def warm_up(self):
        """Answer about one row of each kind, so that code is compiled, and a model that cannot answer is found out."""
        for row in (np.zeros((1, self.n_features)), np.ones((1, self.n_features))):
            try:
                self.answer("rows", row)
                break
            except (TypeError, ValueError) as error:  # a row that the kernel refuses says nothing against the model
                refusal = error
        else:
            raise InputError(
                f"{self.name} rejects rows of zeros and rows of ones, so the service cannot use it: {refusal}"
            )
        for bits in self.rates:
            for n_rows in (1, FEW_ROWS + 1):  # few rows and many go through different loops
                self.answer("codes", np.zeros((n_rows, -(-bits // 8)), dtype=np.uint8), bits)


class ServedIndex:
    """The face of a service that has an index and no model: it takes raw rows as the index does, and classifies none.

    Attributes
    ----------
    as of `ServedModel`
    """

    sha256 = classes = None
    task, rates, takes_missing = "search", (), False

    def __init__(self, index):
        self.name, self.n_features = type(index).__name__, int(index.n_features_in_)
        self.columns, self.other_columns = named_columns(index), other_columns(index)

    def card(self):
        """What ``/v1/model`` tells, in the same words as of a model."""
        return {
            "name": self.name,
            "version": mercer.__version__,
            "sha256": None,
            "task": self.task,
            "classes": None,
            "n_features": self.n_features,
            "columns": None if self.columns is None else list(self.columns),
            "other_columns": list(self.other_columns),
            "input": None,
            "rates": [],
            "curve": None,
        }

    def knows(self, bits, fingerprint):
        """Whether codes are of this model: there are none."""
        return False


def classifiers_of_bits(model):
    """The classifier that decides on codes, by their bits, ascending; none for a model that takes raw rows only."""
    if isinstance(model, WireClassifier):
        return dict(zip(map(int, model.rates_), model.classifiers_, strict=True))
    specification = getattr(getattr(model, "map_", None), "specification_", None)
    if specification is None or not hasattr(model, "classes_"):
        return {}
    return {int(specification.n_bits): model}


def face_of(model, sha256=None):
    """What the service sees of a model: the face of its kind."""
    if isinstance(model, mercer.ImageClassifier):
        return ServedImages(model, sha256)
    if isinstance(model, mercer.PartDetector):
        return ServedDetector(model, sha256)
    return ServedModel(model, sha256)


# --------------------------------------------------------------------------------------------------------- from a file


def load_served(path, mmap=False):
    """The model in a file, with the checksum of the very file that was read."""
    before = describe(path)["sha256"]
    for _ in range(_READS):
        model = mercer.load(path, mmap=mmap)
        after = describe(path)["sha256"]
        if after == before:
            return face_of(model, after)
        before = after
    raise ModelFileError(f"{os.fsdecode(path)} was replaced {_READS} times while it was being read. Reload it later.")
