"""Parameters of detectors; ``DETECTOR`` are those of the command line."""

__all__ = ["DETECTOR", "MAX_DETECTIONS", "PART_DETECTOR", "THRESHOLD"]

from mercer._base.parameters.common import N_JOBS, RANDOM_STATE
from mercer._base.parameters.language import anything, choice, flag, integer, number, pathname, pick

_TRAINING = "Training"
DETECTOR = (
    integer("n_components", 2, "Number of views of the object, in mirrored pairs.", "N", "--components", least=1),
    integer("n_parts", 6, "Number of movable parts per view; more parts fit the shape more closely and take longer.",
        "N", "--parts", least=0),
    integer("codewords", 256, "Number of codewords for cells of gradients; 0 stores the cells as bytes instead.",
        "WORDS", "--pq", least=0),
    number("C", 0.008, "Weight of the losses against the regularizer; a larger C fits the training images more "
        "closely.", above=0),
    integer("n_part_rounds", 4, "Number of training rounds that place the objects anew.", "N", "--rounds", least=1,
        panel=_TRAINING),
    integer("interval", 6, "Number of image sizes per octave; more sizes locate objects more exactly and take longer.",
        least=1, panel=_TRAINING),
    integer("margin", 2, "Number of cells around an object that belong to its view.", least=0, panel=_TRAINING),
    choice("kernel", "rbf linear", "rbf", "Kernel between codewords.", panel=_TRAINING),
    integer("cache_size", 20_000, "Maximum number of hard negatives to keep.", least=1, panel=_TRAINING),
    number("threshold", "auto", "Minimum score of a detection; auto chooses it on held-out images, which takes a "
        "second training.", "SCORE", words=("auto",), panel=_TRAINING),
    pathname("cache", None, "Folder for a file of cells; without it, cells are kept in memory.", "FOLDER",
        panel=_TRAINING),
    pathname("checkpoint", None, "File that stores the state after each round; if it exists, training resumes from it.",
        panel=_TRAINING),
)  # fmt: skip
PART_DETECTOR = (
    *pick(DETECTOR, "n_components n_parts C n_part_rounds margin kernel cache_size threshold cache checkpoint"),
    # pyramids take memory for every level of an octave, and for the cells around the image
    *(each.but(most=20) for each in pick(DETECTOR, "interval")),
    integer("padding", 3, "Number of cells added around an image, so that objects at its border are found.", least=0,
        most=12),
    integer("codewords", 256, "Number of codewords for cells of gradients, an even number; None stores the cells "
        "themselves.", least=4, most=2**16, optional=True),
    flag("mirrored", "Pair each component with its mirror image.", default=True),
    choice("storage", "dense bytes", "dense", "How cells without codewords are stored: as float32 (dense), or one byte "
        "per channel."),
    number("min_overlap", 0.7, "Minimum intersection over union of a placement with its box during training.", above=0,
        most=1),
    integer("max_negatives_per_image", 100, "Maximum number of hard negatives per image and round.",
        least=1),
    integer("n_root_rounds", 2, "Number of training rounds before parts are added.", least=1),
    integer("n_mining_rounds", 4, "Number of searches for hard negatives in each training round.", least=1),
    number("max_overlap", 0.5, "Maximum overlap of two detections; of a pair that overlaps more, the weaker is "
        "dropped.", above=0, most=1),
    RANDOM_STATE, N_JOBS,
)  # fmt: skip
THRESHOLD = anything("threshold", None, "Minimum score of a detection; a lower threshold finds more objects and raises "
    "more false alarms. None uses the threshold of the detector.", "a number or None")  # fmt: skip
MAX_DETECTIONS = integer("max_detections", 200, "Maximum number of detections per image.", least=1)
