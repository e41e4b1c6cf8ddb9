"""What an ImageClassifier refuses: labels, images that cannot be read, reductions that cannot be."""

__all__ = ["check_reduction", "checked_labels", "named_skipped", "refuse_skipped"]

import numpy as np
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from mercer._base.errors import InputError
from mercer.kernels import get_kernel
from mercer.vision.making import kernel_of
from mercer.vision.words.bag_of_words import BagOfWords
from mercer.vision.words.pyramid import SpatialPyramid

NAMED = 5  # images that an error names


def checked_labels(images, y, who):
    """A class for each image, two classes or more."""
    if y is None:
        raise InputError(f"{who} requires y to be passed, but the target y is None: the class of each image.")
    y = column_or_1d(y, warn=True)
    check_classification_targets(y)
    if len(y) != len(images):
        raise InputError(f"{who} needs one class per image; got {len(images)} images and {len(y)} classes.")
    if not len(y):
        raise InputError(f"{who} needs images of at least two classes; got none.")
    classes = np.unique(y)
    if len(classes) < 2:
        raise InputError(
            f"{who}: the number of classes has to be greater than one, but all {len(y)} images are of one class, "
            f"{classes[0]!s}. Add images of a second class."
        )
    return y


def check_reduction(model, encoder):
    """Refuse a reduction to more words than there are, or one that the kernel does not allow."""
    if model.reduce is None:
        return
    who = type(model).__name__
    is_bag = isinstance(encoder, BagOfWords)
    most = encoder.n_words * (len(SpatialPyramid(encoder.pyramid, who).cells) if is_bag else 1)
    if model.reduce > most:
        raise InputError(f"{who} has {most} {'columns' if is_bag else 'words'}, got reduce={model.reduce}.")
    if is_bag and not get_kernel(kernel_of(model)).additive:
        raise InputError(
            f"{who} can reduce columns only with an additive kernel, such as 'chi2'; got reduce={model.reduce} with "
            f"{get_kernel(kernel_of(model))!r}."
        )


def refuse_skipped(skipped, who):
    """Refuse images that cannot be read, and name some of them."""
    if skipped:
        raise InputError(f"{who} cannot read {len(skipped)} of the images. {named_skipped(skipped)}")


def named_skipped(skipped):
    """Why images were skipped, in the words of the first few."""
    shown = " ".join(list(skipped.values())[:NAMED])
    return f"{shown} And {len(skipped) - NAMED} more." if len(skipped) > NAMED else shown
