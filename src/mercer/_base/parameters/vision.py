"""Parameters of images as rows and of their classifiers; ``IMAGE_OPTIONS`` are those of the command line."""

__all__ = ["BAG_OF_WORDS", "CELL_SIZE", "CONTRAST", "FISHER_VECTORS", "IMAGE_CLASSIFIER", "IMAGE_OPTIONS", "MAX_SIDE",
           "N_SHOWN", "STEP", "VARIANT", "VOCABULARY", "WINDOW", "K"]  # fmt: skip

from mercer._base.parameters.common import KERNEL, N_JOBS, RANDOM_STATE
from mercer._base.parameters.language import anything, choice, flag, integer, named, number, pathname, pick, text
from mercer._base.parameters.learners import CLASSIFIER

IMAGE_OPTIONS = (
    choice("encoder", "bow fisher", "bow", "Encoder: histograms of visual words (bow) or Fisher vectors (fisher)."),
    text("kernel", None, "Kernel, by a name that `mercer kernel` lists.", "NAME", "-k",
        shown="chi2; linear for fisher"),
    integer("reduce", None, "Number of columns to merge the words of bow into, or number of words of fisher to select.",
        least=1),
    choice("reduce_method", "auto merge supervised convex energy random", None, "How columns are reduced; auto chooses "
        "merge or convex by a trial.", "METHOD", flags="--reduce-by", shown="merge; convex for fisher"),
    number("C", "auto", "Weight of the losses against the regularizer; auto cross-validates.", "NUMBER|auto", above=0,
        words=("auto",)),
    integer("cv", 5, "Number of cross-validation folds.", "N", "--folds", least=2),
    choice("multi_class", "auto ovr ovo", "auto", "Strategy for several classes: one-vs-rest (ovr) or one-vs-one (ovo);"
        " auto uses ovo for few classes.", "WAY"),
    flag("probability", "Calibrate the scores, which enables predict --proba."),
    pathname("cache", None, "Folder where the rows of images are cached for the next run.", "FOLDER", panel="Words"),
)  # fmt: skip
IMAGE_CLASSIFIER = (
    named(IMAGE_OPTIONS)["encoder"].but(what="'bow', 'fisher', or an encoder such as BagOfWords()"),
    KERNEL.but(default=None, what=f"{KERNEL.what}, or None: chi2, or linear for Fisher vectors"),
    *pick(IMAGE_OPTIONS, "C reduce reduce_method multi_class cv"),
    *pick(CLASSIFIER, "class_weight probability"),
    flag("strict", "Raise an error if an image cannot be read, instead of skipping it.", default=True),
    *pick(IMAGE_OPTIONS, "cache"),
    RANDOM_STATE, N_JOBS,
)  # fmt: skip

# --------------------------------------------------------------------------------------------------------------- words

_N_WORDS = integer(
    "n_words", 1000, "Number of visual words; more words describe images more finely and take longer.", least=1
)
_N_SAMPLES = integer("n_samples", None, "Maximum number of descriptors to learn the words from.", least=1)
_N_ITER = integer("n_iter", 20, "Number of clustering iterations.", least=1)
_METHOD = choice("method", "kmeans intersection", "kmeans", "Clustering method that finds the words.")
_ASSIGNMENT = choice(
    "assignment",
    "exact hnsw ivf",
    "exact",
    "How the nearest word is found: exactly, or faster by an approximate index.",
)
VOCABULARY = (_N_WORDS, _METHOD, _ASSIGNMENT, _N_SAMPLES, _N_ITER, RANDOM_STATE, N_JOBS)
_ENCODER = (
    anything("descriptor", None, "Descriptor of image patches.", "a descriptor such as DenseSIFT(), or None"),
    anything("pyramid", ((1, 1),), "Grids of cells; each cell adds its own columns to the row.",
        "a sequence of (rows, columns)"),
    anything("level_weights", None, "Weight of each level of the pyramid.", "numbers >= 0, one per level, or None"),
    _N_SAMPLES, *pick(IMAGE_CLASSIFIER, "strict cache"), RANDOM_STATE, N_JOBS,
)  # fmt: skip
BAG_OF_WORDS = (
    *_ENCODER, _N_WORDS, _METHOD, _ASSIGNMENT, _N_ITER,
    flag("root", "Scale descriptors to sum 1 and take square roots."),
    integer("n_nearest", 1, "Number of nearest words that share each descriptor; 1 assigns it to a single word.",
        least=1),
    number("bandwidth", None, "Distance scale of the shares; a larger bandwidth spreads them more evenly.", above=0),
    choice("normalize", "l1 l2", "l1", "Norm to which the histograms of a level are scaled.").but(optional=True),
    flag("sparse_output", "Return a CSR matrix."),
)  # fmt: skip
FISHER_VECTORS = (
    *_ENCODER, _N_WORDS.but(default=64), _N_ITER.but(default=100),
    integer("n_components", 64, "Number of principal components of the descriptors; None keeps the descriptors "
        "themselves.", least=1,
        optional=True),
    flag("root", "Scale descriptors to sum 1 and take square roots.", default=True),
    choice("terms", "both mean variance", "both", "Derivatives to use as features."),
    choice("assignment", "soft hard", "soft", "Assign each descriptor to all words by posterior (soft), or to the "
        "most probable word (hard)."),
    choice("gmm", "em kmeans", "em", "How the mixture is fitted: by expectation maximization (em), or from the "
        "clusters of k-means (kmeans) [gavves12convex]."),
    anything("words", None, "Cluster centers to use with gmm='kmeans'.", "an array, or None"),
    number("power", 0.5, "Exponent applied to magnitudes before each cell is normalized: 0.5 takes signed square "
        "roots; 1 changes nothing, for maps with signed=True.", above=0, most=1),
)  # fmt: skip
K = integer("k", 1, "Number of nearest words to return.", least=1)
N_SHOWN = integer("n", 10, "Number of words or groups to show.", least=1, most=10)

# --------------------------------------------------------------------------------------------------------- descriptors

STEP = integer(
    "step", 4, "Distance between patches in pixels; a smaller step gives more descriptors and takes longer.", least=1
)
MAX_SIDE = integer("max_side", 640, "Maximum side of an image in pixels; larger images are scaled down.", least=1)
CELL_SIZE = integer("cell_size", 8, "Side of a cell in pixels.", least=1)
WINDOW = choice("window", "flat gaussian", "flat", "Weighting of the pixels of a patch.")
CONTRAST = number("contrast", 0.005, "Minimum contrast; patches below it get zero descriptors.", least=0)
VARIANT = choice(
    "variant", "felzenszwalb dalal-triggs", "felzenszwalb", "Variant of the gradients and norms of a cell."
)
