"""Parameters of detectors; ``DETECTOR`` are those of the command line."""

__all__ = ["DETECTOR", "MOST", "PART_DETECTOR", "THRESHOLD"]

from mercer._base.parameters.common import N_JOBS, RANDOM_STATE
from mercer._base.parameters.language import anything, choice, flag, integer, number, pathname, pick

_TRAINING = "Training"
DETECTOR = (
    integer("n_components", 2, "Views of the object, in mirrored pairs.", "N", "--components", least=1),
    integer("n_parts", 6, "Parts of each view.", "N", "--parts", least=0),
    integer("codewords", 256, "Words for cells of gradients; 0 keeps them as bytes.", "WORDS", "--pq", least=0),
    number("C", 0.008, "Weight of the losses.", above=0),
    integer("part_rounds", 4, "Times that objects are placed.", "N", "--rounds", least=1, panel=_TRAINING),
    integer("interval", 6, "Sizes per octave.", least=1, panel=_TRAINING),
    integer("margin", 2, "Cells around objects that count.", least=0, panel=_TRAINING),
    choice("kernel", "rbf linear", "rbf", "Of words: rbf or linear.", panel=_TRAINING),
    integer("cache_size", 20_000, "Hard negatives kept.", least=1, panel=_TRAINING),
    number("threshold", "auto", "Score above which objects are reported; auto chooses it on images held out, which "
        "takes a second training.", "SCORE", words=("auto",), panel=_TRAINING),
    pathname("cache", None, "Keep cells in a file, not in memory.", "FOLDER", panel=_TRAINING),
    pathname("checkpoint", None, "Keep the state, and go on from it.", panel=_TRAINING),
)  # fmt: skip
PART_DETECTOR = (
    *pick(DETECTOR, "n_components n_parts C part_rounds margin kernel cache_size threshold cache checkpoint"),
    # pyramids take memory for every level of an octave, and for the cells around the image
    *(each.but(most=20) for each in pick(DETECTOR, "interval")),
    integer("padding", 3, "Cells around an image.", least=0, most=12),
    integer("codewords", 256, "Words for cells of gradients, an even number; None keeps them as they are.", least=4,
        most=2**16, optional=True),
    flag("mirrored", "Whether components come with their mirror images.", default=True),
    choice("storage", "dense bytes", "dense", "How cells without words are kept."),
    number("overlap", 0.7, "Overlap with a box from which a placement counts.", above=0, most=1),
    integer("per_image", 100, "Hard negatives of an image, at most.", least=1),
    integer("root_rounds", 2, "Times that objects are placed before there are parts.", least=1),
    integer("minings", 4, "Times that hard negatives are looked for in a round.", least=1),
    number("suppression", 0.5, "Overlap from which the weaker of two detections is dropped.", above=0, most=1),
    RANDOM_STATE, N_JOBS,
)  # fmt: skip
THRESHOLD = anything(
    "threshold", None, "Detections score more than this.", "a number, or None for that of the detector"
)
MOST = integer("most", 200, "Detections at most.", least=1)
