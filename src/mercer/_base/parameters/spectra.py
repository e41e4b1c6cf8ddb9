"""Parameters of mass spectra: how they are cleaned, compared and searched."""

__all__ = ["CLEANING", "MATCHING", "SEARCH", "SPECTRUM_INDEX"]

from mercer._base.parameters.common import N_JOBS
from mercer._base.parameters.language import choice, integer, number

UNIT = choice("unit", "Da ppm", "Da", "Unit of the tolerance and of the merging distance.")
CLEANING = (
    number("precursor_window", 1.6, "Drop peaks above the precursor m/z minus this many Da; none keeps all peaks.",
        "DA|none", least=0, words=("none",)),
    number("merge", "auto", "Merge peaks closer than this; 0 merges none, and auto uses twice the tolerance, at least "
        "0.05 Da.", "NUMBER|auto", least=0, most=1000, words=("auto",)),
    number("noise", 0.01, "Drop peaks below this share of the strongest peak.", "SHARE", least=0, below=1),
    integer("max_peaks", 0, "Keep only this many of the strongest peaks; 0 keeps all.", least=0),
    number("power", 1.0, "Exponent of the intensities; 0.5 takes square roots.", above=0, most=10),
)  # fmt: skip
MATCHING = (
    choice("similarity", "entropy unweighted cosine", "entropy", "Similarity of two spectra: spectral entropy "
        "similarity with weighted (entropy) or unweighted intensities, or the cosine."),
    number("tolerance", 0.02, "Maximum distance of two matching peaks.", above=0, most=1000),
    UNIT,
)  # fmt: skip
SPECTRUM_INDEX = (*MATCHING, *CLEANING, N_JOBS)
SEARCH = (
    choice("mode", "identity open loss hybrid", "open", "What to compare: peaks of spectra with the same precursor "
        "(identity), peaks of all spectra (open), neutral losses (loss), or peaks and then losses (hybrid). With the "
        "cosine, hybrid is the modified cosine."),
    number("min_score", 0.0, "Minimum score of a hit.", "S", least=0, most=1),
    integer("min_matched_peaks", 1, "Minimum number of matched peaks of a hit.", least=1),
    number("precursor_tolerance", 0.01, "Maximum precursor difference in an identity search, in Da.", "DA",
        least=0),
)  # fmt: skip
