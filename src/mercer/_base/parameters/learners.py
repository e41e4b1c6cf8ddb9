"""Parameters of the learners of rows, with the defaults of ``KernelClassifier`` and ``KernelRegressor``."""

__all__ = ["ICD", "LEARNER", "MOST_BINS"]

from mercer._base.parameters.language import choice, flag, integer, named, number, text

MOST_BINS = 65_535  # that a level of two bytes can number
LEARNER = named((
    text("kernel", "chi2", "Kernel, by the names of mercer kernel; with --solver icd also auto, the better of linear "
        "and intersection.", "NAME", "-k"),
    text("loss", "hinge", "To classify: hinge, squared_hinge, logistic, huber_hinge, crammer_singer, multinomial; "
        "to regress: epsilon_insensitive, squared, absolute."),
    number("C", 1.0, "Weight of the losses against the regulariser; auto cross-validates.", "NUMBER|auto", above=0,
        words=("auto",)),
    number("epsilon", 0.1, "Errors that epsilon_insensitive forgives.", least=0),
    choice("multi_class", "auto ovr ovo crammer_singer", "auto", "ovr sets each class against the rest, ovo against "
        "each other one; auto takes ovo for few classes; icd also has crammer_singer, all classes at once.", "WAY"),
    choice("class_weight", "balanced", None, "Let every class count the same, however frequent.", "balanced"),
    flag("probability", "Calibrate, so that mercer predict --proba works."),
    choice("expansion", "delayed immediate dense", "delayed", "How codes are learned on: delayed, immediate or dense.",
        "WHEN"),
    choice("solver", "auto bundle dual newton projected icd", "auto", "auto, bundle, dual, newton or projected; or "
        "icd, which needs no map and no tuning: values become levels, and what is learned is a table for each column."),
    number("tol", 1e-3, "Relative duality gap at which to stop.", above=0),
    integer("max_iter", 1000, "Most passes over the rows.", least=1),
    choice("storage", "auto memory disk", "auto", "Where encoded rows are kept: auto, memory or disk.", "WHERE"),
))  # fmt: skip
# of IntersectionSVC and IntersectionSVR alone; the word none stands for None
ICD = named((
    integer("bins", "auto", "For icd: how many bins values are put into; none takes whole numbers as they are, auto "
        "where they are small.", "auto|N|none", least=1, most=MOST_BINS, words=("auto", "none")),
    choice("binning", "auto global column adaptive", "auto", "For icd: one scale for all columns (global), one for "
        "each (column), or quantiles (adaptive).", "HOW"),
))  # fmt: skip
