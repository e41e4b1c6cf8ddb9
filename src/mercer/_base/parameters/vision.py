"""Parameters of images as rows and of their classifiers; ``IMAGE_OPTIONS`` are those of the command line."""

__all__ = ["BAG_OF_WORDS", "CELL_SIZE", "CONTRAST", "FISHER_VECTORS", "IMAGE_CLASSIFIER", "IMAGE_OPTIONS", "MAX_SIDE",
           "N_SHOWN", "STEP", "VARIANT", "VOCABULARY", "WINDOW", "K"]  # fmt: skip

from mercer._base.parameters.common import KERNEL, N_JOBS, RANDOM_STATE
from mercer._base.parameters.language import anything, choice, flag, integer, named, number, pathname, pick, text
from mercer._base.parameters.learners import CLASSIFIER

IMAGE_OPTIONS = (
    choice("encoder", "bow fisher", "bow", "bow, histograms of words, or fisher, Fisher vectors."),
    text("kernel", None, "Kernel, by the names of mercer kernel.", "NAME", "-k", shown="chi2; linear for fisher"),
    integer("reduce", None, "Merge words of bow to N columns, or select N words of fisher.", least=1),
    choice("reduce_method", "auto merge supervised convex energy random", None, "How: merge, supervised (merge by "
        "classes), convex, energy, random, or auto: merge or convex by a trial.", "METHOD", flags="--reduce-by",
        shown="merge; convex for fisher"),
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

# --------------------------------------------------------------------------------------------------------------- words

_N_WORDS = integer("n_words", 1000, "Number of words.", least=1)
_N_SAMPLES = integer("n_samples", None, "Descriptors that words are learned from, at most.", least=1)
_N_ITER = integer("n_iter", 20, "Passes of the clustering.", least=1)
_METHOD = choice("method", "kmeans intersection", "kmeans", "What words are means of.")
_ASSIGNMENT = choice("assignment", "exact hnsw ivf", "exact", "How the nearest word is found.")
VOCABULARY = (_N_WORDS, _METHOD, _ASSIGNMENT, _N_SAMPLES, _N_ITER, RANDOM_STATE, N_JOBS)
_ENCODER = (
    anything("descriptor", None, "What patches are described by.", "a descriptor such as DenseSIFT(), or None"),
    anything("pyramid", ((1, 1),), "Grids of cells, each cell with a part of the row of its own.",
        "a sequence of (rows, columns)"),
    anything("level_weights", None, "Weights of the levels of the pyramid.", "numbers >= 0, one per level, or None"),
    _N_SAMPLES, *pick(IMAGE_CLASSIFIER, "strict cache"), RANDOM_STATE, N_JOBS,
)  # fmt: skip
BAG_OF_WORDS = (
    *_ENCODER, _N_WORDS, _METHOD, _ASSIGNMENT, _N_ITER,
    flag("root", "Take the square roots of descriptors of sum 1."),
    integer("soft", 1, "Words that a descriptor is shared among.", least=1),
    number("bandwidth", None, "How fast shares fall with the distance.", above=0),
    choice("normalize", "l1 l2", "l1", "Norm of the histograms of a level.").but(optional=True),
    flag("sparse_output", "Give CSR rows."),
)  # fmt: skip
FISHER_VECTORS = (
    *_ENCODER, _N_WORDS.but(default=64), _N_ITER.but(default=100),
    integer("n_components", 64, "Principal components of the descriptors; None for all of their values.", least=1,
        optional=True),
    flag("root", "Take the square roots of descriptors of sum 1.", default=True),
    choice("terms", "both mean variance", "both", "Which derivatives are features."),
    choice("assignment", "soft hard", "soft", "Whether a descriptor counts for all words by its posteriors, or for the "
        "most probable one."),
    choice("gmm", "em kmeans", "em", "How the mixture is found: em, or kmeans, the shares, means and variances of "
        "clusters [gavves12convex]."),
    anything("words", None, "Centers of clusters, with gmm='kmeans'.", "an array, or None"),
    number("power", 0.5, "Exponent of the vector, sign kept, before each cell is divided by its norm: 0.5 takes signed "
        "roots, 1 leaves it, for maps with signed=True.", above=0, most=1),
)  # fmt: skip
K = integer("k", 1, "Nearest words.", least=1)
N_SHOWN = integer("n", 10, "Words or groups to show.", least=1, most=10)

# --------------------------------------------------------------------------------------------------------- descriptors

STEP = integer("step", 4, "Pixels between patches.", least=1)
MAX_SIDE = integer("max_side", 640, "Images with a longer side, in pixels, are made smaller first.", least=1)
CELL_SIZE = integer("cell_size", 8, "Side of a cell in pixels.", least=1)
WINDOW = choice("window", "flat gaussian", "flat", "How pixels of a patch are weighed.")
CONTRAST = number("contrast", 0.005, "Patches with less of it are zero.", least=0)
VARIANT = choice("variant", "felzenszwalb dalal-triggs", "felzenszwalb", "Which gradients and norms a cell has.")
