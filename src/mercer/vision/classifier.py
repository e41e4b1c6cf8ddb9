"""ImageClassifier: images in, a classifier out.

images --encoder_--> histograms of words, or Fisher vectors --reduction_--> fewer columns --classifier_--> classes
"""

__all__ = ["ImageClassifier"]

import time
import warnings
from dataclasses import replace
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import cross_val_predict
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from mercer._base.errors import InputError
from mercer._base.evaluation.figures import class_figures, scores_by_class
from mercer._base.files.loaded import check_kind
from mercer._base.parameters import check_parameters, named
from mercer._base.parameters.vision import IMAGE_CLASSIFIER
from mercer.kernels import Linear, get_kernel
from mercer.learners import KernelClassifier, KernelClassifierCV
from mercer.maps import ConvexReduction
from mercer.vision.descriptors.downscaled import Downscaled
from mercer.vision.descriptors.sift import DenseSIFT
from mercer.vision.explaining.explanation import explain
from mercer.vision.explaining.located_words import MOST, locate_words
from mercer.vision.reading.batches import SkippedImagesWarning, warn_skipped
from mercer.vision.reporting.training import TrainingReport
from mercer.vision.words.bag_of_words import BagOfWords
from mercer.vision.words.encoder import ImageEncoder
from mercer.vision.words.fisher import FisherVectors
from mercer.vision.words.pyramid import Pyramid

ENCODERS: dict[str, type[ImageEncoder]] = {"bow": BagOfWords, "fisher": FisherVectors}
STEP, SIZES = 4, (4, 8)  # of the descriptors of an encoder that is given by its name
# Values of C that are tried, in units of 1 / mean K(x, x). Rows have many columns: with larger values pairs of classes
# are separated already, so that the classifier hardly changes, but takes several times as long to be found.
Cs = np.geomspace(0.1, 100, 7)
NAMED = 5  # images that an error names


def _has_probabilities(self):
    if self.probability:
        return True
    raise AttributeError(f"{type(self).__name__} gives probabilities with probability=True.")


class ImageClassifier(ClassifierMixin, BaseEstimator):
    """Classify images by their visual words: encoder, kernel and linear learner in one estimator.

    Images are paths, the bytes of files, arrays of any sizes, or a stack.

    Parameters
    ----------
    encoder : {"bow", "fisher"} or encoder
        ``"bow"``: a :class:`BagOfWords` of 1,000 words; ``"fisher"``: :class:`FisherVectors` of 64. Both describe
        patches by ``DenseSIFT(step=4, sizes=(4, 8))``, images with sides above 640 pixels being made smaller first
        (:class:`Downscaled`). An encoder of your own is cloned; where it has no ``random_state``, ``n_jobs`` or
        ``cache``, it gets those of the classifier.
    kernel : str, Kernel or None
        What rows are compared by. None: chi2 between histograms, linear between Fisher vectors. Additive kernels of
        Fisher vectors, which have values of both signs, are taken in their signed form.
    C : float or "auto"
        Weight of the losses against the regulariser; "auto" chooses it by cross-validation.
    reduce : int or None
        With histograms, the columns that are left of them when words that rise and fall together are merged
        (:class:`~mercer.ConvexReduction`), which needs an additive kernel. With Fisher vectors, the words that are
        left, selected by the convex reduction of [gavves12convex].
    reduce_method : {"merge", "supervised", "convex", "energy", "random"} or None
        How words are found that are left, see :class:`~mercer.ConvexReduction`. None: "merge" for histograms, "convex"
        for Fisher vectors, which cannot be merged.
    multi_class : {"auto", "ovr", "ovo"}
        One-vs-rest, by scores, or one-vs-one, by votes, as in :class:`~mercer.KernelClassifier`: "auto" takes pairs up
        to 20 classes.
    cv : int
        Parts of the cross-validation, as many as the smallest class has images at most.
    class_weight : dict, "balanced" or None
        As in :class:`~mercer.KernelClassifier`.
    probability : bool
        Offer ``predict_proba``, for five more fits of the learner.
    strict : bool
        Whether an image that cannot be read makes ``fit`` raise an error. Otherwise nothing is learnt from it, and a
        ``SkippedImagesWarning`` names it. ``predict`` always raises: there is no answer without an image.
    cache : path or None
        A folder where the rows of images are kept, see the encoders.
    random_state : int, RandomState or None
    n_jobs : int or None
        Threads. They do not change the model.

    Attributes
    ----------
    encoder_ : BagOfWords or FisherVectors
        The latter with the selected words only, if there is a selection.
    reduction_ : ConvexReduction or None
        Of histograms.
    classifier_ : KernelClassifier or KernelClassifierCV
        On the rows that :meth:`encode` gives.
    classes_ : ndarray
    skipped_ : dict
        Position of an image -> its name and why nothing was learnt from it.

    See Also
    --------
    image_folder : paths and labels of a folder with one folder per class.

    Examples
    --------
    Stripes against noise:

    >>> import numpy as np
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
        self.encoder = encoder
        self.kernel = kernel
        self.C = C
        self.reduce = reduce
        self.reduce_method = reduce_method
        self.multi_class = multi_class
        self.cv = cv
        self.class_weight = class_weight
        self.probability = probability
        self.strict = strict
        self.cache = cache
        self.random_state = random_state
        self.n_jobs = n_jobs

    # -------------------------------------------------------------------------------------------------- the public door

    def fit(self, images, y):
        """Learn the words, encode the images and learn to tell their classes apart.

        Parameters
        ----------
        images : sequence of paths, bytes of files or arrays; or a stack of images
        y : class of each image
        """
        encoding, y = self._fit_encoder(images, y)
        self._fit_classifier(encoding.features, y)
        if self.skipped_:
            who, consequence = type(self).__name__, "nothing was learnt from them"
            warn_skipped(self.skipped_, len(encoding.kept), who, consequence, stacklevel=2)
        return self

    def encode(self, images):
        """The rows that ``classifier_`` takes, of the images that can be read, and which these are.

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
        """How much each class speaks for itself: (n,) for two classes, positive for the second, else (n, classes)."""
        rows = self._rows(images)
        return self.classifier_.decision_function(rows)

    def predict(self, images):
        """The class of each image."""
        rows = self._rows(images)
        return self.classifier_.predict(rows)

    @available_if(_has_probabilities)
    def predict_proba(self, images):
        """Probabilities of the classes, (n, classes)."""
        rows = self._rows(images)
        return self.classifier_.predict_proba(rows)

    def explain(self, image, label=None):
        """Which patches and words of an image speak for a class.

        Parameters
        ----------
        image : path, bytes of a file, or array
        label : a class, or None for the one that is predicted

        Returns
        -------
        Explanation
            With ``patches``, ``words`` and a method ``plot``.
        """
        check_is_fitted(self)
        return explain(self, image, label)

    def locate_words(self, image, n=MOST):
        """Which patches of an image belong to which words, or groups of words that the reduction has merged.

        Parameters
        ----------
        image : path, bytes of a file, or array
        n : int
            Words or groups to show, at most 10; see :func:`mercer.vision.locate_words`.

        Returns
        -------
        LocatedWords
            With ``place``, ``words`` and a method ``plot``.
        """
        check_is_fitted(self)
        return locate_words(image, self.encoder_, self.reduction_, n)

    def fit_report(self, images, y):
        """Fit, and judge the classifier by cross-validation: what ``mercer images train`` shows.

        Images that could not be read are named in ``skipped_``, without a warning.

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
        """Classify rows by classifiers that were learnt without them: those of the fit, with the C it has chosen.

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
        """Parts of a cross-validation: ``cv``, and as many as the smallest class has images at most."""
        return min(int(self.cv), int(np.unique(y, return_counts=True)[1].min()))

    # ------------------------------------------------------------------------------------------------------- fitting

    def _fit_encoder(self, images, y):
        """Set ``encoder_`` and ``reduction_``; (encoding of the images that can be read, their classes)."""
        self.check_parameters()
        given = self.random_state
        is_seed = given is None or isinstance(given, Integral)
        self._seed = given if is_seed else int(check_random_state(given).randint(2**31 - 1))
        self.encoder_ = self._new_encoder(self._seed)
        self._check_reduction()
        y = self._checked_labels(images, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SkippedImagesWarning)  # one warning at the end says it
            self.encoder_.fit(images)
            if self.reduce is not None and isinstance(self.encoder_, FisherVectors):
                self.encoder_ = self._selected(self.encoder_, images)
        encoding = self.encoder_.encode(images)
        if self.strict:
            _refuse_skipped(encoding.skipped, type(self).__name__)
        self.skipped_ = dict(encoding.skipped)
        kept = y[encoding.kept]
        lost = np.setdiff1d(y, kept)
        if len(lost):
            raise InputError(
                f"{type(self).__name__}: none of the images of class {lost[0]!s} can be read. "
                f"{_some(encoding.skipped)} Replace them, or leave the class out."
            )
        self.reduction_ = None
        if self.reduce is not None and isinstance(self.encoder_, BagOfWords):
            self.reduction_ = self._reduction(self._kernel(), "merge").fit(encoding.features, kept)
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
        self.classifier_ = self._classifier(rows, y).fit(rows, y)
        self.classes_ = self.classifier_.classes_

    def _classifier(self, rows, y):
        """The learner for these rows, not fitted."""
        options = {
            "multi_class": self.multi_class,
            "class_weight": self.class_weight,
            "probability": self.probability,
            "random_state": self._seed,
            "n_jobs": self.n_jobs,
        }
        if self.C != "auto":
            return KernelClassifier(self._kernel(), C=self.C, **options)
        classes, counts = np.unique(y, return_counts=True)
        smallest = int(counts.min())
        if smallest < 2:
            raise InputError(
                f"{type(self).__name__} chooses C by cross-validation, for which every class needs two images or more; "
                f"class {classes[counts.argmin()]!s} has a single one. Give it more, or pass a number as C."
            )
        scale = float(np.mean(get_kernel(self._kernel()).diag(rows))) or 1.0
        return KernelClassifierCV(self._kernel(), Cs=Cs / scale, cv=self.n_folds(y), **options)

    def _kernel(self):
        """The kernel between rows, in its signed form if they have values of both signs."""
        is_signed = isinstance(self.encoder, FisherVectors) or self.encoder == "fisher"
        if self.kernel is None:
            return "linear" if is_signed else "chi2"
        kernel = get_kernel(self.kernel)
        if is_signed and kernel.additive and not isinstance(kernel, Linear):
            return kernel.signed_form()
        return self.kernel

    def _new_encoder(self, seed):
        if isinstance(self.encoder, str):
            made = ENCODERS[self.encoder](Downscaled(DenseSIFT(STEP, SIZES)))
        else:
            made = clone(self.encoder)
        mine = {"random_state": seed, "n_jobs": self.n_jobs, "cache": self.cache}
        unset = {name: value for name, value in mine.items() if getattr(made, name) is None}
        return made.set_params(strict=bool(self.strict), **unset)

    # ------------------------------------------------------------------------------------------------------- rows

    def _rows(self, images):
        """Rows of all images; the first that cannot be read are named in an error."""
        encoding = self.encode(images)
        _refuse_skipped(encoding.skipped, type(self).__name__)
        return encoding.features

    def _reduced(self, encoding):
        if self.reduction_ is None or not encoding.features.shape[0]:
            return encoding
        return replace(encoding, features=self.reduction_.transform(encoding.features))

    # ------------------------------------------------------------------------------------------------------- checks

    def check_parameters(self):
        """Refuse parameters that cannot be used, before any image is read."""
        who = type(self).__name__
        check_parameters(self, self._table)
        if not (isinstance(self.encoder, ImageEncoder) or self.encoder in tuple(ENCODERS)):
            named(self._table)["encoder"].refuse(self.encoder, who)
        is_fisher = self.encoder == "fisher" or isinstance(self.encoder, FisherVectors)
        if is_fisher and self.reduce_method in ("merge", "supervised"):
            raise InputError(
                f"{who}: words of Fisher vectors are selected, not merged; got reduce_method={self.reduce_method!r}. "
                "Use 'convex', 'energy' or 'random'."
            )
        get_kernel(self._kernel())

    def _check_reduction(self):
        if self.reduce is None:
            return
        who, encoder = type(self).__name__, self.encoder_
        is_bag = isinstance(encoder, BagOfWords)
        most = encoder.n_words * (len(Pyramid(encoder.pyramid, who).cells) if is_bag else 1)
        if self.reduce > most:
            raise InputError(f"{who} has {most} {'columns' if is_bag else 'words'}, got reduce={self.reduce}.")
        if is_bag and not get_kernel(self._kernel()).additive:
            raise InputError(
                f"{who} reduces the columns of additive kernels, such as 'chi2'; got reduce={self.reduce} with "
                f"{get_kernel(self._kernel())!r}."
            )

    def _checked_labels(self, images, y):
        who = type(self).__name__
        if y is None:
            raise InputError(f"{who} requires y to be passed, but the target y is None: the class of each image.")
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        if len(y) != len(images):
            raise InputError(f"{who} needs a class for each image, got {len(images)} images and {len(y)} classes.")
        if not len(y):
            raise InputError(f"{who} needs images of two classes or more, got none.")
        classes = np.unique(y)
        if len(classes) < 2:
            raise InputError(
                f"{who}: the number of classes has to be greater than one, but all {len(y)} images are of one class, "
                f"{classes[0]!s}. Give it images of a second one."
            )
        return y

    def _check_loaded(self):
        encoder = check_kind(self, "encoder_", ImageEncoder)
        classifier = check_kind(self, "classifier_", KernelClassifier)
        width = encoder._n_features_out
        reduction = check_kind(self, "reduction_", ConvexReduction, optional=True)
        if reduction is not None:
            if reduction.n_features_in_ != width:
                raise ValueError("reduction_ does not belong to encoder_.")
            width = reduction.n_dims_
        if classifier.n_features_in_ != width:
            raise ValueError(f"classifier_ takes rows of {classifier.n_features_in_} columns, not of {width}.")
        if not np.array_equal(self.classes_, classifier.classes_):
            raise ValueError("classes_ must be those of classifier_.")
        self.cache = None  # a folder of another machine has no meaning here

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.string = True
        return tags


def _refuse_skipped(skipped, who):
    if skipped:
        raise InputError(f"{who} cannot read {len(skipped)} of the images. {_some(skipped)}")


def _some(skipped):
    shown = " ".join(list(skipped.values())[:NAMED])
    return f"{shown} And {len(skipped) - NAMED} more." if len(skipped) > NAMED else shown
