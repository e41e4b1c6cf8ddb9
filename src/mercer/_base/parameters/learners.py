"""Parameters of the learners of rows; ``LEARNER`` and ``ICD`` are those of the command line."""

__all__ = ["CLASSIFIER", "CLASSIFIER_CV", "ICD", "INTERSECTION_SVC", "INTERSECTION_SVR", "LEARNER", "REGRESSOR"]

from mercer._base.parameters.codes import EXPANSION, LEVELS
from mercer._base.parameters.common import KERNEL, N_JOBS, RANDOM_STATE, VERBOSE
from mercer._base.parameters.language import anything, choice, flag, integer, named, number, pick, text

CLASSIFIER = (
    KERNEL.but(default=None, help="Kernel that compares rows; None tries several kernels, widths and scalings of the "
        "columns and keeps the best.", what="a kernel or its name, or None"),
    anything("map", None, "Feature map to use instead of the kernel's default.", "a map or a quantizer, or None"),
    choice("loss", "hinge squared_hinge logistic huber_hinge crammer_singer multinomial", None,
        "Loss function; crammer_singer and multinomial train all classes jointly. None uses squared_hinge for a named "
        "kernel, or hinge if the kernel is computed exactly."),
    number("C", None, "Weight of the losses against the regularizer; a larger C fits the training rows more closely. "
        "None uses 1 for a named kernel; otherwise, and with auto, trials choose C.", above=0, words=("auto",)),
    choice("scaling", "none unit standard ranks rows", None, "How columns are scaled. None lets trials choose if "
        "kernel is None, and does not scale otherwise."),
    number("budget", None, "Time limit in seconds for automatic fitting. None limits the number of operations "
        "instead, so that the result does not depend on the speed of the machine.", above=0),
    choice("multi_class", "auto ovr ovo", "auto", "Strategy for several classes: one-vs-rest (ovr) or one-vs-one (ovo);"
        " auto uses ovo for few classes."),
    EXPANSION,
    choice("solver", "auto bundle dual falkon newton projected", "auto", "Optimization algorithm; auto picks the one "
        "that is likely to be fastest."),
    number("tol", 1e-3, "Relative duality gap at which the solver stops; a smaller gap is more exact and takes longer.",
        above=0),
    integer("max_iter", 1000, "Maximum number of passes over the rows.", least=1),
    flag("fit_intercept", "Add an intercept to the scores.", default=True),
    number("intercept_scaling", 1.0, "Value of the constant feature whose weight is the intercept; a larger value "
        "regularizes the intercept less, and None not at all.", above=0, optional=True),
    anything("class_weight", None, "Factor for the losses of each class.", "a dict, 'balanced', or None"),
    flag("probability", "Calibrate the scores, which enables predict_proba."),
    choice("storage", "auto memory disk", "auto", "Where encoded rows are stored; auto uses the disk if memory is "
        "short.", "WHERE"),
    RANDOM_STATE, N_JOBS, VERBOSE,
)  # fmt: skip
REGRESSOR = (
    *pick(CLASSIFIER, "kernel map"),
    choice("loss", "epsilon_insensitive absolute squared", None, "Loss function: epsilon_insensitive gives support "
        "vector, absolute median, and squared ridge regression. None uses epsilon_insensitive for a named kernel."),
    number("epsilon", 0.1, "Largest error that epsilon_insensitive ignores, in standard deviations of the targets.",
        least=0),
    *pick(CLASSIFIER, "C scaling budget expansion solver tol max_iter fit_intercept intercept_scaling storage"),
    RANDOM_STATE, N_JOBS, VERBOSE,
)  # fmt: skip
CLASSIFIER_CV = (
    KERNEL,
    *CLASSIFIER[1:2],
    anything("Cs", 10, "Values of C to try, or the number of values.", "an integer >= 1, or numbers > 0"),
    anything("cv", 5, "Number of folds, or the folds.", "an integer, a splitter, or pairs (train, test)"),
    anything("scoring", None, "Score to maximize; None uses accuracy.", "the name of a scorer, a callable, or None"),
    *(each for each in CLASSIFIER[2:] if each.name not in ("C", "scaling", "budget")),
)
_LEVEL_C = number("C", None, "Weight of the losses against the regularizer; a larger C fits the training rows more "
    "closely. None uses 3 divided by the mean of K(x, x).", above=0, optional=True)  # fmt: skip
_LEVEL_KERNEL = text("kernel", "intersection", "Additive kernel on levels; auto compares intersection and linear.",
    what="a kernel or its name, or 'auto'")  # fmt: skip
_ICD_SOLVER = choice("solver", "auto icd primal", "auto", "Optimization algorithm: coordinate descent in the dual "
    "(icd), or cutting planes in the primal.")  # fmt: skip
INTERSECTION_SVC = (
    _LEVEL_C,
    choice("loss", "squared_hinge hinge", "squared_hinge", "Loss function."),
    *LEVELS,
    _LEVEL_KERNEL,
    choice("multi_class", "auto ovr ovo crammer_singer", "auto", "Strategy for several classes, as in "
        "KernelClassifier; crammer_singer trains all classes jointly."),
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
    text("kernel", None, "Kernel, by a name that `mercer kernel` lists; with --solver icd also auto, the better of "
        "linear and intersection.", "NAME", "-k"),
    text("loss", None, "Loss function. Classification: squared_hinge, hinge, logistic, huber_hinge, crammer_singer, "
        "multinomial. Regression: epsilon_insensitive, squared, absolute."),
    number("C", None, "Weight of the losses against the regularizer; a larger C fits the training rows more closely. "
        "auto chooses C by trials, or by cross-validation for a named kernel.", "NUMBER|auto", above=0,
        words=("auto",)),
    choice("multi_class", "auto ovr ovo crammer_singer", "auto", "Strategy for several classes: one-vs-rest (ovr) or "
        "one-vs-one (ovo); auto uses ovo for few classes. With --solver icd, crammer_singer trains all classes "
        "jointly.", "WAY"),
    choice("class_weight", "balanced", None, "Give every class the same total weight, however frequent it is.",
        "balanced"),
    flag("probability", "Calibrate the scores, which enables mercer predict --proba."),
    choice("solver", "auto bundle dual falkon newton projected icd", "auto", "Optimization algorithm; auto picks the "
        "one that is likely to be fastest. icd bins the values and learns one table per column; it needs no map and no "
        "tuning."),
    named(REGRESSOR)["scaling"].but(help="How columns are scaled in an automatic fit."),
    named(REGRESSOR)["budget"].but(help="Time limit in seconds for an automatic fit. By default the number of "
        "operations is limited, so that the result does not depend on the speed of the machine."),
    *pick(REGRESSOR, "epsilon expansion tol max_iter storage"),
))  # fmt: skip
# of IntersectionSVC and IntersectionSVR alone; the word none stands for None
ICD = named((
    LEVELS[0].but(help="With --solver icd: number of bins per column. none uses integer values as levels; auto does so "
        "if they are small.", metavar="auto|N|none", words=("auto", "none"), optional=False),
    LEVELS[1].but(help="With --solver icd: how bins are placed: one scale for all columns (global), one scale per "
        "column (column), or quantiles of each column (adaptive)."),
))  # fmt: skip
