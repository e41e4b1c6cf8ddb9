"""What an ImageClassifier is made of: its encoder, its kernel and its learner, not fitted yet."""

__all__ = ["ENCODERS", "kernel_of", "new_encoder", "new_learner"]

import numpy as np
from sklearn.base import clone

from mercer._base.errors import InputError
from mercer.kernels import Linear, get_kernel
from mercer.learners import KernelClassifier, KernelClassifierCV
from mercer.vision.descriptors.downscaled import Downscaled
from mercer.vision.descriptors.sift import DenseSIFT
from mercer.vision.words.bag_of_words import BagOfWords
from mercer.vision.words.encoder import ImageEncoder
from mercer.vision.words.fisher import FisherVectors

ENCODERS: dict[str, type[ImageEncoder]] = {"bow": BagOfWords, "fisher": FisherVectors}
STEP, SIZES = 4, (4, 8)  # of the descriptors of an encoder that is given by its name
# Values of C that are tried, in units of 1 / mean K(x, x). Rows have many columns: with larger values pairs of classes
# are separated already, so that the classifier hardly changes, but takes several times as long to be found.
Cs = np.geomspace(0.1, 100, 7)


def new_learner(model, rows, y, seed):
    """The learner of an ImageClassifier for these rows, not fitted."""
    options = {
        "multi_class": model.multi_class,
        "class_weight": model.class_weight,
        "probability": model.probability,
        "random_state": seed,
        "n_jobs": model.n_jobs,
    }
    kernel = kernel_of(model)
    if model.C != "auto":
        return KernelClassifier(kernel, C=model.C, **options)
    classes, counts = np.unique(y, return_counts=True)
    smallest = int(counts.min())
    if smallest < 2:
        raise InputError(
            f"{type(model).__name__} chooses C by cross-validation, which needs at least two images per class; class "
            f"{classes[counts.argmin()]!s} has only one. Add images, or set C to a number."
        )
    scale = float(np.mean(get_kernel(kernel).diag(rows))) or 1.0
    return KernelClassifierCV(kernel, Cs=Cs / scale, cv=model.n_folds(y), **options)


def kernel_of(model):
    """The kernel between rows, in its signed form if they have values of both signs."""
    is_signed = isinstance(model.encoder, FisherVectors) or model.encoder == "fisher"
    if model.kernel is None:
        return "linear" if is_signed else "chi2"
    kernel = get_kernel(model.kernel)
    if is_signed and kernel.additive and not isinstance(kernel, Linear):
        return kernel.signed_form()
    return model.kernel


def new_encoder(model, seed):
    """The encoder of an ImageClassifier, not fitted."""
    if isinstance(model.encoder, str):
        made = ENCODERS[model.encoder](Downscaled(DenseSIFT(STEP, SIZES)))
    else:
        made = clone(model.encoder)
    mine = {"random_state": seed, "n_jobs": model.n_jobs, "cache": model.cache}
    unset = {name: value for name, value in mine.items() if getattr(made, name) is None}
    return made.set_params(strict=bool(model.strict), **unset)
