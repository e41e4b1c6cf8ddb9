"""Parameters of the learners of rows; ``LEARNER`` and ``ICD`` are those of the command line."""

__all__ = ["CLASSIFIER", "CLASSIFIER_CV", "ICD", "INTERSECTION_SVC", "INTERSECTION_SVR", "LEARNER", "REGRESSOR"]

from mercer._base.parameters.codes import EXPANSION, LEVELS
from mercer._base.parameters.common import KERNEL, N_JOBS, RANDOM_STATE, VERBOSE
from mercer._base.parameters.language import anything, choice, flag, integer, named, number, pick, text

CLASSIFIER = (
    KERNEL.but(default=None, help="What rows are compared by; None tries kernels, widths and scalings of the columns "
        "and takes the best.", what="a kernel or its name, or None"),
    anything("map", None, "Used instead of the kernel's default map.", "a map or a quantizer, or None"),
    choice("loss", "hinge squared_hinge logistic huber_hinge crammer_singer multinomial", None,
        "What wrong scores cost; the last two look at all classes at once. None: of a named kernel squared_hinge, or "
        "hinge where its values are computed exactly."),
    number("C", None, "Weight of the losses against the regularizer. None: 1 for a named kernel, else chosen by "
        "trials; auto: by trials.", above=0, words=("auto",)),
    choice("scaling", "none unit standard ranks rows", None, "How columns are scaled; None: by trials if kernel is "
        "None, else not at all."),
    number("budget", None, "Seconds that an automatic fit may take. None: a number of operations that follows from "
        "the rows, whatever the clock says.", above=0),
    choice("multi_class", "auto ovr ovo", "auto", "ovr sets each class against the rest, ovo against each other one; "
        "auto takes ovo for few classes."),
    EXPANSION,
    choice("solver", "auto bundle dual falkon newton projected", "auto", "The solver; auto takes the likely quickest "
        "one."),
    number("tol", 1e-3, "Relative duality gap at which to stop.", above=0),
    integer("max_iter", 1000, "Most passes over the rows.", least=1),
    flag("fit_intercept", "Whether scores have an intercept.", default=True),
    number("intercept_scaling", 1.0, "Size of the feature whose weight is the intercept; None leaves the intercept "
        "unregularized.", above=0, optional=True),
    anything("class_weight", None, "Factors of the losses of each class.", "a dict, 'balanced', or None"),
    flag("probability", "Calibrate, so that predict_proba works."),
    choice("storage", "auto memory disk", "auto", "Where encoded rows are kept: auto, memory or disk.", "WHERE"),
    RANDOM_STATE, N_JOBS, VERBOSE,
)  # fmt: skip
REGRESSOR = (
    *pick(CLASSIFIER, "kernel map"),
    choice("loss", "epsilon_insensitive absolute squared", None, "Support vector, median or ridge regression. None: "
        "epsilon_insensitive of a named kernel."),
    number("epsilon", 0.1, "Errors that epsilon_insensitive forgives, in standard deviations of the targets.",
        least=0),
    *pick(CLASSIFIER, "C scaling budget expansion solver tol max_iter fit_intercept intercept_scaling storage"),
    RANDOM_STATE, N_JOBS, VERBOSE,
)  # fmt: skip
CLASSIFIER_CV = (
    KERNEL,
    *CLASSIFIER[1:2],
    anything("Cs", 10, "Values of C to try, or how many.", "an integer >= 1, or numbers > 0"),
    anything("cv", 5, "Folds, or how many.", "an integer, a splitter, or pairs (train, test)"),
    anything("scoring", None, "What to maximize; None means accuracy.", "the name of a scorer, a callable, or None"),
    *(each for each in CLASSIFIER[2:] if each.name not in ("C", "scaling", "budget")),
)
_LEVEL_C = number("C", None, "Weight of the losses against the regularizer; None takes 3 over the mean of K(x, x).",
    above=0, optional=True)  # fmt: skip
_LEVEL_KERNEL = text("kernel", "intersection", "An additive kernel of levels; auto compares intersection and linear.",
    what="a kernel or its name, or 'auto'")  # fmt: skip
_ICD_SOLVER = choice("solver", "auto icd primal", "auto", "Coordinate descent in the dual, or cutting planes in the "
    "primal.")  # fmt: skip
INTERSECTION_SVC = (
    _LEVEL_C,
    choice("loss", "squared_hinge hinge", "squared_hinge", "L2 or L1 loss."),
    *LEVELS,
    _LEVEL_KERNEL,
    choice("multi_class", "auto ovr ovo crammer_singer", "auto", "As of KernelClassifier; crammer_singer looks at all "
        "classes at once."),
    _ICD_SOLVER,
    *pick(CLASSIFIER, "tol max_iter fit_intercept intercept_scaling class_weight probability", fit_intercept=False),
    RANDOM_STATE, N_JOBS, VERBOSE,
)  # fmt: skip
INTERSECTION_SVR = (
    _LEVEL_C,
    *pick(REGRESSOR, "loss epsilon", loss="epsilon_insensitive"),
    *LEVELS,
    _LEVEL_KERNEL,
    _ICD_SOLVER,
    *pick(CLASSIFIER, "tol max_iter fit_intercept intercept_scaling"),
    RANDOM_STATE, N_JOBS, VERBOSE,
)  # fmt: skip

# ------------------------------------------------------------------------------------------------- the command line

LEARNER = named((
    text("kernel", None, "Kernel, by the names of mercer kernel; with --solver icd also auto, the better of linear "
        "and intersection.", "NAME", "-k"),
    text("loss", None, "To classify: squared_hinge, hinge, logistic, huber_hinge, crammer_singer, "
        "multinomial; to regress: epsilon_insensitive, squared, absolute."),
    number("C", None, "Weight of the losses against the regularizer; auto: by trials, or of a named kernel by "
        "cross-validation.", "NUMBER|auto", above=0, words=("auto",)),
    choice("multi_class", "auto ovr ovo crammer_singer", "auto", "ovr sets each class against the rest, ovo against "
        "each other one; auto takes ovo for few classes; icd also has crammer_singer, all classes at once.", "WAY"),
    choice("class_weight", "balanced", None, "Let every class count the same, however frequent.", "balanced"),
    flag("probability", "Calibrate, so that mercer predict --proba works."),
    choice("solver", "auto bundle dual falkon newton projected icd", "auto", "auto, bundle, dual, falkon, newton or "
        "projected; or icd, which needs no map and no tuning: values become levels, and what is learned is a table for "
        "each column."),
    *pick(REGRESSOR, "scaling budget epsilon expansion tol max_iter storage"),
))  # fmt: skip
# of IntersectionSVC and IntersectionSVR alone; the word none stands for None
ICD = named((
    LEVELS[0].but(help="For icd: how many bins values are put into; none takes whole numbers as they are, auto where "
        "they are small.", metavar="auto|N|none", words=("auto", "none"), optional=False),
    LEVELS[1].but(help="For icd: one scale for all columns (global), one for each (column), or quantiles (adaptive)."),
))  # fmt: skip
