"""Which patches and words of an image speak for a class.

With an additive kernel the score of a class is a sum over the columns j of the row x of an image,

    score(x) = b + sum_j f_j(x_j),    f_j(0) = 0

and for columns that a reduction has merged, over groups g of columns: f_g depends on the sum of the x_j of the group,
and each column has a share of it in proportion to its part of that sum. A column of a bag of words counts the votes of
patches, and each patch has a share of f_j in proportion to its votes for it: f_j over the number of patches with the
word, if every patch votes once. So the contributions of all patches and b add up to the score.

A Fisher vector, and a kernel that is not additive, is no sum over patches. There the image is cut into a grid of parts,
and a part contributes what the score loses when its patches are left out (occlusion), each of its patches an equal
share. These do not add up to the score. The columns of a Fisher vector still belong to words, and with an additive
kernel the contributions of words are sums over their columns; otherwise they are what the score loses when the columns
are set to 0.

The score of a class is that of its column. If classes were learned in pairs it is the mean of its scores against each
other class, which is linear in those, unlike the votes that decide.
"""

__all__ = ["Explanation", "explain"]

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.ndimage import gaussian_filter

from mercer._base.errors import InputError
from mercer.vision.descriptors.base import Descriptors
from mercer.vision.reading.batches import Picture, as_pictures
from mercer.vision.words.bag_of_words import BagOfWords
from mercer.vision.words.pyramid import SpatialPyramid

PARTS = 8  # along the longer side of an image, for occlusion


@dataclass(frozen=True, eq=False)
class Explanation:
    """Contributions of the patches and words of an image to the score of a class.

    Attributes
    ----------
    label : the class
    predicted : the class that the classifier gives
    classes, scores : arrays
        All classes and their scores.
    score, intercept : float
        The score of the class, and the score of a row of zeros.
    measure : {"additive", "occlusion"}
        How contributions are measured. With "additive", ``patches.sum() + intercept`` is the score.
    patches : ndarray of shape (n,)
        Contribution of each patch to the score.
    words : ndarray of shape (n_words,)
        Contribution of each word.
    word_of_patch : ndarray of shape (n,), int64
        The word of each patch; the first one if there are several.
    frames : ndarray of shape (n, 3)
        x, y and size of each patch, in pixels of the image.
    pixels : ndarray of shape (H, W) or (H, W, 3)
        The image.
    name : str
    """

    label: Any
    predicted: Any
    classes: np.ndarray
    scores: np.ndarray
    score: float
    intercept: float
    measure: str
    patches: np.ndarray
    words: np.ndarray
    word_of_patch: np.ndarray
    frames: np.ndarray
    pixels: np.ndarray
    name: str

    def heat(self):
        """Spread the contributions of patches around their centers, as an image (H, W) with the same sum."""
        height, width = self.pixels.shape[:2]
        heat = np.zeros((height, width))
        x, y = np.rint(self.frames[:, :2]).astype(np.int64).T
        np.add.at(heat, (np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)), self.patches)
        return gaussian_filter(heat, sigma=float(self.frames[:, 2].mean()), mode="reflect")

    def telling_words(self, n=6, against=False):
        """Numbers of the words with the largest positive or negative contributions, largest first.

        Words without a patch are ignored; in Fisher vectors they may have small contributions, too.
        """
        worth = -self.words if against else self.words
        occurring = np.unique(self.word_of_patch)
        order = occurring[np.argsort(-worth[occurring], kind="stable")]
        return [int(word) for word in order[worth[order] > 0][:n]]

    def plot(self, path=None):
        """Draw the image, the contributions of its patches, the scores, and patches of the most important words.

        Parameters
        ----------
        path : None, or the file to write, whose suffix selects the format

        Returns
        -------
        matplotlib.figure.Figure
        """
        from mercer.vision.explaining.explanation_plot import draw_explanation

        figure = draw_explanation(self)
        if path is not None:
            figure.savefig(path)
        return figure


def explain(model, image, label=None):
    """The :class:`Explanation` of a class of an image by a fitted ImageClassifier."""
    encoder, classifier = model.encoder_, model.classifier_
    picture = as_pictures([image], "explain")[0]
    picture = Picture(picture.source, picture.position)
    pixels = picture.pixels()
    descriptors = encoder.described(picture)
    view = _View(model)
    row = view.row(descriptors)
    predicted = classifier.predict(view.reduced(row))[0]
    which = _position(model.classes_, predicted if label is None else label)
    scores, zero = view.scores(sparse.csr_array(row))[0], view.scores(sparse.csr_array(row.shape, dtype=row.dtype))[0]
    is_additive = getattr(classifier, "map_", classifier).kernel_.additive
    columns = view.columns(row)[:, which] if is_additive else None
    if is_additive and isinstance(encoder, BagOfWords):
        measure, patches = "additive", _shared_out(encoder, descriptors, columns)
    else:
        measure, patches = "occlusion", _occluded(view, descriptors, scores, zero, which)
    return Explanation(
        label=model.classes_[which],
        predicted=predicted,
        classes=model.classes_,
        scores=scores,
        score=float(scores[which]),
        intercept=float(zero[which]),
        measure=measure,
        patches=patches,
        words=_by_word(view, row, columns, scores, which),
        word_of_patch=encoder.nearest_words(descriptors),
        frames=descriptors.frames,
        pixels=pixels,
        name=picture.name,
    )


class _View:
    """A fitted classifier of images, seen as functions of the rows of its encoder."""

    def __init__(self, model):
        self.encoder, self.reduction, self.classifier = model.encoder_, model.reduction_, model.classifier_
        self.prepared = self.encoder.prepared()

    def row(self, descriptors):
        """The row of an image, (1, columns); zeros if there are no descriptors."""
        if not len(descriptors.values):
            return np.zeros((1, self.encoder._n_features_out), dtype=np.float32)
        return self.encoder.encode_image(descriptors, self.prepared)[None]

    def reduced(self, rows):
        return rows if self.reduction is None else self.reduction.transform(rows)

    def scores(self, rows):
        """Scores of the classes, (n, classes); of two classes the first has the negative of the other."""
        classifier = self.classifier
        found = classifier.columns_.by_class(classifier.predictor_(self.reduced(rows)) + classifier.intercept_)
        return np.hstack([-found, found]) if found.shape[1] == 1 else found

    def columns(self, row):
        """The part of each column in the scores, (columns, classes), of an additive kernel."""
        row = row[0].astype(np.float64)
        width = len(row)
        groups = np.arange(width) if self.reduction is None else self.reduction.groups_
        used = np.flatnonzero((groups >= 0) & (row != 0))
        # a row for each group, with its columns alone
        numbers, group_of = np.unique(groups[used], return_inverse=True)
        shape = (len(numbers), width)
        alone = sparse.csr_array(sparse.coo_array((row[used], (group_of, used)), shape=shape))
        zero = self.scores(sparse.csr_array((1, width), dtype=np.float64))
        parts = self.scores(alone) - zero if len(numbers) else np.zeros((0, zero.shape[1]))
        sums = np.bincount(group_of, row[used], minlength=len(numbers))
        out = np.zeros((width, zero.shape[1]))
        out[used] = parts[group_of] * (row[used] / sums[group_of])[:, None]
        return out


def _shared_out(encoder, descriptors, columns):
    """What each patch has of the columns that it votes for, by its share of their votes."""
    words, shares = encoder.words_of(descriptors)
    n_words = len(encoder.vocabulary_.words_)
    patches = np.zeros(len(words))
    for cell_of_patch in SpatialPyramid(encoder.pyramid).cells_of(descriptors.frames, descriptors.shape).T:
        places = cell_of_patch[:, None] * n_words + words
        votes = np.bincount(places.ravel(), shares.ravel(), minlength=len(columns))
        patches += (columns[places] * shares / np.where(votes > 0, votes, 1)[places]).sum(axis=1)
    return patches


def _occluded(view, descriptors, scores, zero, which):
    """What the score loses without the patches of each part of a grid, shared out evenly among them."""
    height, width = descriptors.shape
    side = max(height, width) / PARTS
    x, y = (descriptors.frames[:, :2] + 0.5).T
    parts = (y // side).astype(np.int64) * PARTS + (x // side).astype(np.int64)
    patches = np.zeros(len(parts))
    for part in np.unique(parts):
        inside = parts == part
        if inside.all():
            loss = scores[which] - zero[which]
        else:
            rest = Descriptors(descriptors.values[~inside], descriptors.frames[~inside], descriptors.shape)
            loss = scores[which] - view.scores(view.row(rest))[0, which]
        patches[inside] = loss / inside.sum()
    return patches


def _by_word(view, row, columns, scores, which):
    """What each word contributes."""
    word_of_column, n_words = _word_of_column(view.encoder)
    if columns is not None:
        return np.bincount(word_of_column, columns, minlength=n_words)
    occurring = np.unique(word_of_column[row[0] != 0])
    without = np.repeat(row, len(occurring), axis=0)
    without[word_of_column[None] == occurring[:, None]] = 0
    words = np.zeros(n_words)
    words[occurring] = scores[which] - view.scores(without)[:, which]
    return words


def _word_of_column(encoder):
    """(word that each column of a row belongs to, number of words)."""
    columns = np.arange(encoder._n_features_out)
    if isinstance(encoder, BagOfWords):
        n_words = len(encoder.vocabulary_.words_)
        return columns % n_words, n_words
    n_words, n_values = encoder.means_.shape
    return columns // n_values % n_words, n_words


def _position(classes, label):
    """Where a class stands; numbers and words that are written alike count as the same."""
    found = [i for i, name in enumerate(classes.tolist()) if name == label or str(name) == str(label)]
    if not found:
        shown = ", ".join(map(str, classes[:10].tolist())) + (" ..." if len(classes) > 10 else "")
        raise InputError(f"There is no class {label!s} to explain. Classes: {shown}.")
    return found[0]
