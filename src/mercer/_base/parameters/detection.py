"""Parameters of detectors, with the defaults of ``PartDetector``."""

__all__ = ["DETECTOR"]

from mercer._base.parameters.language import choice, integer, number, pathname

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
    pathname("cache", None, "Keep cells in a file, not in memory.", "FOLDER", panel=_TRAINING),
    pathname("checkpoint", None, "Keep the state, and go on from it.", panel=_TRAINING),
)
