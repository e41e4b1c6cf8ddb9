"""ImageClassifier: images in, a classifier out.

images --encoder_--> histograms of words, or Fisher vectors --reduction_--> fewer columns --classifier_--> classes
"""

__all__ = ["ImageClassifier"]

import time
import warnings
from dataclasses import replace
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import cross_val_predict
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._base.errors import InputError
from mercer._base.evaluation.figures import class_figures, scores_by_class
from mercer._base.files.loaded import check_kind
from mercer._base.parameters import check_parameters, keep_arguments, named
from mercer._base.parameters.vision import IMAGE_CLASSIFIER
from mercer.kernels import get_kernel
from mercer.learners import KernelClassifier
from mercer.learners.available import available_where
from mercer.maps import ConvexReduction
from mercer.vision.checks import check_reduction, checked_labels, named_skipped, refuse_skipped
from mercer.vision.explaining.explanation import explain
from mercer.vision.explaining.located_words import MOST, locate_words
from mercer.vision.making import ENCODERS, kernel_of, new_encoder, new_learner
from mercer.vision.reading.batches import SkippedImagesWarning, warn_skipped
from mercer.vision.reporting.training import TrainingReport
from mercer.vision.words.bag_of_words import BagOfWords
from mercer.vision.words.encoder import ImageEncoder
from mercer.vision.words.fisher import FisherVectors


def _has_probabilities(self):
    if not self.probability:
        raise AttributeError(f"{type(self).__name__} has probabilities only with probability=True.")


class ImageClassifier(ClassifierMixin, BaseEstimator):
    """Classify images by their visual words: encoder, kernel and linear learner in one estimator.

    Combines an encoder, a kernel and a linear learner. Images are paths, the bytes of files, arrays of any size, or a
    stack.

    Parameters
    ----------
    encoder : {"bow", "fisher"} or encoder
        ``"bow"`` uses a :class:`BagOfWords` of 1,000 words; ``"fisher"`` uses :class:`FisherVectors` of 64 words. Both
        describe patches by ``DenseSIFT(step=4, sizes=(4, 8))`` and scale images with sides above 640 pixels down first
        (:class:`Downscaled`). Your own encoder is cloned; if it has no ``random_state``, ``n_jobs`` or ``cache``, it
        gets those of the classifier.
    kernel : str, Kernel or None
        Kernel that compares rows. None uses chi2 for histograms and linear for Fisher vectors. Additive kernels on
        Fisher vectors, which have negative values, are used in their signed form.
    C : float or "auto"
        Weight of the losses against the regularizer; a larger C fits the training images more closely, and "auto"
        cross-validates.
    reduce : int or None
        For histograms, the number of columns to merge the words into (:class:`~mercer.ConvexReduction`), which needs an
        additive kernel. For Fisher vectors, the number of words to select by the convex reduction of [gavves12convex].
    reduce_method : {"auto", "merge", "supervised", "convex", "energy", "random"} or None
        How words are merged or selected, see :class:`~mercer.ConvexReduction`. None uses "merge" for histograms and
        "convex" for Fisher vectors, which cannot be merged.
    multi_class : {"auto", "ovr", "ovo"}
        One-vs-rest, by scores, or one-vs-one, by votes, as in :class:`~mercer.KernelClassifier`: "auto" uses pairs for
        up to 20 classes.
    cv : int
        Number of cross-validation folds, at most the number of images of the smallest class.
    class_weight : dict, "balanced" or None
        As in :class:`~mercer.KernelClassifier`.
    probability : bool
        Enable ``predict_proba``, which takes five more fits of the learner.
    strict : bool
        Raise an error in ``fit`` if an image cannot be read. Otherwise, ``fit`` skips it and lists it in a
        ``SkippedImagesWarning``. ``predict`` always raises an error.
    cache : path or None
        Folder that stores the rows of images, see the encoders.
    random_state : int, RandomState or None
    n_jobs : int or None
        Number of threads. It does not affect the model.

    Attributes
    ----------
    encoder_ : BagOfWords or FisherVectors
        The fitted encoder, restricted to the selected words if FisherVectors are reduced.
    reduction_ : ConvexReduction or None
        Of histograms.
    classifier_ : KernelClassifier or KernelClassifierCV
        Trained on the rows that :meth:`encode` returns.
    classes_ : ndarray
    skipped_ : dict
        Position of each image that was not used for training -> its name and the reason.

    See Also
    --------
    image_folder : paths and labels of a folder with one folder per class.

    Examples
    --------
    Stripes against noise:

    >>> import numpy as np
    >>> from mercer.vision import BagOfWords, DenseSIFT
    >>> rng = np.random.default_rng(0)
    >>> noise = rng.integers(256, size=(8, 40, 48), dtype=np.uint8)
    >>> stripes = np.broadcast_to(noise[:, :1], noise.shape)
    >>> images, kind = np.concatenate([noise, stripes]), ["noise"] * 8 + ["stripes"] * 8
    >>> encoder = BagOfWords(DenseSIFT(sizes=(4,)), n_words=10)
    >>> model = ImageClassifier(encoder, C=10.0, random_state=0).fit(images[::2], kind[::2])
    >>> model.score(images[1::2], kind[1::2])
    1.0
    """

    _table = IMAGE_CLASSIFIER

    def __init__(
        self,
        encoder="bow",
        kernel=None,
        *,
        C="auto",
        reduce=None,
        reduce_method=None,
        multi_class="auto",
        cv=5,
        class_weight=None,
        probability=False,
        strict=True,
        cache=None,
        random_state=None,
        n_jobs=None,
    ):
        keep_arguments(self, locals())

    # -------------------------------------------------------------------------------------------------- the public door

    def fit(self, images, y):
        """Learn the words, encode the images, and train the classifier.

        Parameters
        ----------
        images : sequence of paths, bytes of files or arrays; or a stack of images
        y : class of each image
        """
        encoding, y = self._fit_encoder(images, y)
        self._fit_classifier(encoding.features, y)
        if self.skipped_:
            who, consequence = type(self).__name__, "they were not used for training"
            warn_skipped(self.skipped_, len(encoding.kept), who, consequence, stacklevel=2)
        return self

    def encode(self, images):
        """Encode the images that can be read as rows for ``classifier_``, and list these images.

        Parameters
        ----------
        images : sequence of paths, bytes of files or arrays; or a stack of images

        Returns
        -------
        Encoding
            With ``features``, ``kept`` and ``skipped``.
        """
        check_is_fitted(self)
        return self._reduced(self.encoder_.encode(images))

    def decision_function(self, images):
        """Decision score of each class: (n,) for two classes, positive for the second, else (n, classes)."""
        rows = self._rows(images)
        return self.classifier_.decision_function(rows)

    def predict(self, images):
        """Predict the class of each image."""
        rows = self._rows(images)
        return self.classifier_.predict(rows)

    @available_where(_has_probabilities)
    def predict_proba(self, images):
        """Predict the probability of each class, (n, classes)."""
        rows = self._rows(images)
        return self.classifier_.predict_proba(rows)

    def explain(self, image, label=None):
        """Compute the contribution of each patch and word of an image to a class.

        Parameters
        ----------
        image : path, bytes of a file, or array
        label : a class, or None for the predicted class

        Returns
        -------
        Explanation
            With ``patches``, ``words`` and a method ``plot``.
        """
        check_is_fitted(self)
        return explain(self, image, label)

    def locate_words(self, image, n=MOST):
        """Find the patches of an image that belong to the most important words, or groups of merged words.

        Parameters
        ----------
        image : path, bytes of a file, or array
        n : int
            Number of words or groups to show, at most 10; see :func:`mercer.vision.locate_words`.

        Returns
        -------
        LocatedWords
            With ``place``, ``words`` and a method ``plot``.
        """
        check_is_fitted(self)
        return locate_words(image, self.encoder_, self.reduction_, n)

    def fit_report(self, images, y):
        """Fit, and evaluate the classifier by cross-validation, as ``mercer images train`` does.

        Images that could not be read are listed in ``skipped_``, without a warning.

        Parameters
        ----------
        images : sequence of paths, bytes of files or arrays; or a stack of images
        y : class of each image

        Returns
        -------
        TrainingReport
            With ``figures``, ``predicted``, ``scores`` and ``seconds``.
        """
        started = time.perf_counter()
        encoding, kept = self._fit_encoder(images, y)
        encoded = time.perf_counter()
        self._fit_classifier(encoding.features, kept)
        learnt = time.perf_counter()
        predicted, scores = self.cross_validate(encoding.features, kept) if self.n_folds(kept) > 1 else (None, None)
        seconds = {
            "words and rows": encoded - started,
            "learning": learnt - encoded,
            "cross-validation": time.perf_counter() - learnt,
        }
        figures = {} if predicted is None else class_figures(kept, predicted, scores, self.classes_)
        return TrainingReport(self, images, np.asarray(y), encoding, predicted, scores, figures, seconds)

    def cross_validate(self, rows, y):
        """Classify each row by a classifier trained without it, with the C of the fit.

        The words are those of the fit.

        Parameters
        ----------
        rows : features of :meth:`encode`
        y : class of each row, each class twice or more

        Returns
        -------
        predicted : ndarray of shape (n,)
        scores : ndarray of shape (n, classes)
        """
        check_is_fitted(self)
        fitted = self.classifier_
        shared = ("kernel", "multi_class", "class_weight", "random_state", "n_jobs")
        options = {name: getattr(fitted, name) for name in shared}
        learner = KernelClassifier(C=getattr(fitted, "C_", None) or fitted.C, **options)
        found = cross_val_predict(learner, rows, y, cv=self.n_folds(y), method="decision_function")
        scores = scores_by_class(found)
        return self.classes_[scores.argmax(axis=1)], scores

    def n_folds(self, y):
        """Number of cross-validation folds: ``cv``, or fewer if the smallest class has fewer images."""
        return min(int(self.cv), int(np.unique(y, return_counts=True)[1].min()))

    # ------------------------------------------------------------------------------------------------------- fitting

    def _fit_encoder(self, images, y):
        """Set ``encoder_`` and ``reduction_``; (encoding of the images that can be read, their classes)."""
        self.check_parameters()
        given = self.random_state
        is_seed = given is None or isinstance(given, Integral)
        self._seed = given if is_seed else int(check_random_state(given).randint(2**31 - 1))
        self.encoder_ = new_encoder(self, self._seed)
        check_reduction(self, self.encoder_)
        y = checked_labels(images, y, type(self).__name__)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SkippedImagesWarning)  # one warning at the end says it
            self.encoder_.fit(images)
            if self.reduce is not None and isinstance(self.encoder_, FisherVectors):
                self.encoder_ = self._selected(self.encoder_, images)
        encoding = self.encoder_.encode(images)
        if self.strict:
            refuse_skipped(encoding.skipped, type(self).__name__)
        self.skipped_ = dict(encoding.skipped)
        kept = y[encoding.kept]
        lost = np.setdiff1d(y, kept)
        if len(lost):
            raise InputError(
                f"{type(self).__name__}: no image of class {lost[0]!s} can be read. {named_skipped(encoding.skipped)} "
                "Replace the images, or remove the class."
            )
        self.reduction_ = None
        if self.reduce is not None and isinstance(self.encoder_, BagOfWords):
            self.reduction_ = self._reduction(kernel_of(self), "merge").fit(encoding.features, kept)
        return self._reduced(encoding), kept

    def _selected(self, encoder, images):
        """An encoder with the words that reproduce the linear kernel between bags of its words."""
        shares = encoder.word_shares(images)
        shares = shares[shares.any(axis=1)]  # without images that cannot be read
        return encoder.restrict(self._reduction("linear", "convex").fit(shares).selected_)

    def _reduction(self, kernel, default):
        options = {"method": self.reduce_method or default, "random_state": self._seed, "n_jobs": self.n_jobs}
        return ConvexReduction(kernel, n_dims=int(self.reduce), **options)

    def _fit_classifier(self, rows, y):
        """Set ``classifier_`` and ``classes_``."""
        self.classifier_ = new_learner(self, rows, y, self._seed).fit(rows, y)
        self.classes_ = self.classifier_.classes_

    # ------------------------------------------------------------------------------------------------------- rows

    def _rows(self, images):
        """Rows of all images; the first that cannot be read are named in an error."""
        encoding = self.encode(images)
        refuse_skipped(encoding.skipped, type(self).__name__)
        return encoding.features

    def _reduced(self, encoding):
        if self.reduction_ is None or not encoding.features.shape[0]:
            return encoding
        return replace(encoding, features=self.reduction_.transform(encoding.features))

    # ------------------------------------------------------------------------------------------------------- checks

    def check_parameters(self):
        """Refuse invalid parameters before any image is read."""
        who = type(self).__name__
        check_parameters(self, self._table)
        if not (isinstance(self.encoder, ImageEncoder) or self.encoder in tuple(ENCODERS)):
            named(self._table)["encoder"].refuse(self.encoder, who)
        is_fisher = self.encoder == "fisher" or isinstance(self.encoder, FisherVectors)
        if is_fisher and self.reduce_method in ("auto", "merge", "supervised"):
            raise InputError(
                f"{who}: words of Fisher vectors cannot be merged; got reduce_method={self.reduce_method!r}. Use "
                "'convex', 'energy' or 'random'."
            )
        get_kernel(kernel_of(self))

    def _check_loaded(self):
        encoder = check_kind(self, "encoder_", ImageEncoder)
        classifier = check_kind(self, "classifier_", KernelClassifier)
        width = encoder._n_features_out
        reduction = check_kind(self, "reduction_", ConvexReduction, optional=True)
        if reduction is not None:
            if reduction.n_features_in_ != width:
                raise ValueError("reduction_ does not match encoder_.")
            width = reduction.n_dims_
        if classifier.n_features_in_ != width:
            raise ValueError(f"classifier_ takes rows of {classifier.n_features_in_} columns, not {width}.")
        if not np.array_equal(self.classes_, classifier.classes_):
            raise ValueError("classes_ must match classifier_.")
        self.cache = None  # a folder of another machine has no meaning here

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.string = True
        return tags
