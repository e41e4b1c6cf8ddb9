"""Which patches of an image belong to which words, or columns that a reduction has left. [gavves12convex] Fig. 4

The paper draws the patches of the ten selected words with the largest weights c. Deviation: of the words, those count
that occur in the image, and where columns have one weight (merged ones have, unless they are refitted) those with most
patches come first.
"""

__all__ = ["LocatedWords", "locate_words"]

from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base.errors import InputError
from mercer._base.parameters.vision import N_SHOWN
from mercer.maps import ConvexReduction
from mercer.vision.reading.batches import Picture, as_pictures
from mercer.vision.words.bag_of_words import BagOfWords
from mercer.vision.words.encoder import ImageEncoder
from mercer.vision.words.pyramid import SpatialPyramid

MOST = 10  # columns that are told apart by their colors


@dataclass(frozen=True, eq=False)
class LocatedWords:
    """Positions of words in an image, or of groups of words that a reduction merged.

    Attributes
    ----------
    columns : ndarray of shape (m,), int64
        The columns that are shown, largest weight first: columns of the reduced rows, or words without a reduction.
    weights : ndarray of shape (m,)
        Their weights in the reduced kernel; 1 without a reduction.
    words : list of m arrays
        The words of each column: a selected word, or all merged words.
    counts : ndarray of shape (m,), int64
        Number of patches of each column.
    place : ndarray of shape (n,), int64
        The index in ``columns`` of each patch, or -1.
    kept : ndarray of shape (n,), bool
        Whether each patch belongs to a column that the reduction kept, shown or not.
    frames : ndarray of shape (n, 3)
        x, y and size of each patch, in pixels of the image.
    pixels : ndarray of shape (H, W) or (H, W, 3)
        The image.
    name : str
    """

    columns: np.ndarray
    weights: np.ndarray
    words: list
    place: np.ndarray
    kept: np.ndarray
    frames: np.ndarray
    pixels: np.ndarray
    name: str

    @property
    def counts(self):
        return np.bincount(self.place[self.place >= 0], minlength=len(self.columns))

    @property
    def is_weighted(self):
        """Whether the columns have weights of their own."""
        return len(np.unique(self.weights)) > 1

    def plot(self, path=None):
        """Draw the image, the patches of each column in a color, and some of these patches larger.

        Parameters
        ----------
        path : None, or the file to write, whose suffix selects the format

        Returns
        -------
        matplotlib.figure.Figure
        """
        from mercer.vision.explaining.located_words_plot import draw_located

        figure = draw_located(self)
        if path is not None:
            figure.savefig(path)
        return figure


def locate_words(image, encoder, reduction=None, n=MOST):
    """Find the patches of the words to which a reduction gives most weight ([gavves12convex] Fig. 4).

    Parameters
    ----------
    image : path, bytes of a file, or array
    encoder : fitted BagOfWords or FisherVectors
    reduction : ConvexReduction fitted to rows of a BagOfWords, or None for the words themselves
    n : int
        Number of columns to show, at most 10: those of largest weight that occur in the image; ties go to the columns
        with most patches.

    Returns
    -------
    LocatedWords

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ConvexReduction
    >>> from mercer.vision import DenseSIFT
    >>> images = np.random.default_rng(0).integers(256, size=(6, 48, 64), dtype=np.uint8)
    >>> encoder = BagOfWords(DenseSIFT(sizes=(4,)), n_words=10, random_state=0)
    >>> reduction = ConvexReduction(n_dims=3, method="convex").fit(encoder.fit_transform(images))
    >>> found = locate_words(images[0], encoder, reduction)
    >>> np.array_equal(found.words, reduction.selected_[found.columns][:, None])
    True
    """
    _check(encoder, reduction, n)
    picture = as_pictures([image], "locate_words")[0]
    descriptors = encoder.described(Picture(picture.source, picture.position))
    word_of_patch = encoder.nearest_words(descriptors)
    if reduction is None:
        columns = word_of_patch[:, None]
        word_of_column = groups = np.arange(columns.max() + 1)
        weights = np.ones(len(groups))
    else:
        n_words = len(encoder.vocabulary_.words_)
        cells = SpatialPyramid(encoder.pyramid).cells_of(descriptors.frames, descriptors.shape)
        groups, weights = reduction.groups_, reduction.weights_
        columns = groups[cells * n_words + word_of_patch[:, None]]
        word_of_column = np.arange(len(groups)) % n_words
    kept = columns >= 0
    counts = np.bincount(columns[kept], minlength=len(weights))
    shown = np.lexsort((-counts, -weights))
    shown = shown[counts[shown] > 0][:n]
    # of the columns that a patch has at several levels of a pyramid, the first counts
    rank = np.full(len(weights) + 1, len(shown))
    rank[shown] = np.arange(len(shown))
    place = rank[columns].min(axis=1)  # column -1 finds the last entry
    return LocatedWords(
        columns=shown,
        weights=weights[shown],
        words=[np.unique(word_of_column[groups == column]) for column in shown],
        place=np.where(place < len(shown), place, -1),
        kept=kept.any(axis=1),
        frames=descriptors.frames,
        pixels=picture.pixels(),
        name=picture.name,
    )


def _check(encoder, reduction, n):
    who = "locate_words"
    if not isinstance(encoder, ImageEncoder):
        raise InputError(f"{who} needs an image encoder, such as BagOfWords(); got {encoder!r}.")
    check_is_fitted(encoder)
    N_SHOWN.check(n, who)
    if reduction is None:
        return
    if not isinstance(reduction, ConvexReduction) or not isinstance(encoder, BagOfWords):
        raise InputError(
            f"{who} needs a ConvexReduction of the rows of a BagOfWords, got {reduction!r} and a "
            f"{type(encoder).__name__}."
        )
    check_is_fitted(reduction)
    if reduction.n_features_in_ != encoder._n_features_out:
        raise InputError(
            f"{who} needs a reduction fitted to the rows of this encoder, which have {encoder._n_features_out} "
            f"columns; got one with {reduction.n_features_in_}."
        )
