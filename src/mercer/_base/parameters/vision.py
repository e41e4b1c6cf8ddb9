"""Parameters of images as rows and of their classifiers; ``IMAGE_OPTIONS`` are those of the command line."""

__all__ = ["IMAGE_CLASSIFIER", "IMAGE_OPTIONS"]

from mercer._base.parameters.common import KERNEL, N_JOBS, RANDOM_STATE
from mercer._base.parameters.language import choice, flag, integer, named, number, pathname, pick, text
from mercer._base.parameters.learners import CLASSIFIER

IMAGE_OPTIONS = (
    choice("encoder", "bow fisher", "bow", "bow, histograms of words, or fisher, Fisher vectors."),
    text("kernel", None, "Kernel, by the names of mercer kernel.", "NAME", "-k", shown="chi2; linear for fisher"),
    integer("reduce", None, "Merge words of bow to N columns, or select N words of fisher.", least=1),
    choice("reduce_method", "merge supervised convex energy random", None, "How: merge, supervised (merge by classes), "
        "convex, energy or random.", "METHOD", flags="--reduce-by", shown="merge; convex for fisher"),
    number("C", "auto", "Weight of the losses; auto cross-validates.", "NUMBER|auto", above=0, words=("auto",)),
    integer("cv", 5, "Parts of the cross-validation.", "N", "--folds", least=2),
    choice("multi_class", "auto ovr ovo", "auto", "ovr sets each class against the rest, ovo against each other one; "
        "auto takes ovo for few classes.", "WAY"),
    flag("probability", "Calibrate, so that predict --proba works."),
    pathname("cache", None, "Keep the rows of images here for later.", "FOLDER", panel="Words"),
)  # fmt: skip
IMAGE_CLASSIFIER = (
    named(IMAGE_OPTIONS)["encoder"].but(what="'bow', 'fisher', or an encoder such as BagOfWords()"),
    KERNEL.but(default=None, what=f"{KERNEL.what}, or None: chi2, or linear for Fisher vectors"),
    *pick(IMAGE_OPTIONS, "C reduce reduce_method multi_class cv"),
    *pick(CLASSIFIER, "class_weight probability"),
    flag("strict", "Whether an image that cannot be read makes fit raise an error.", default=True),
    *pick(IMAGE_OPTIONS, "cache"),
    RANDOM_STATE, N_JOBS,
)  # fmt: skip
