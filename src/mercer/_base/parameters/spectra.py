"""Parameters of mass spectra: how they are cleaned, compared and searched."""

__all__ = ["CLEANING", "MATCHING", "SEARCH", "SPECTRUM_INDEX"]

from mercer._base.parameters.common import N_JOBS
from mercer._base.parameters.language import choice, integer, number

UNIT = choice("unit", "Da ppm", "Da", "Unit of the tolerance and of the distance of merging.")
CLEANING = (
    number("precursor_window", 1.6, "Peaks above the precursor less this many Da are left out; none: no peak is.",
        "DA|none", least=0, words=("none",)),
    number("merge", "auto", "Peaks nearer than this are merged, 0 none; auto: twice the tolerance, at least 0.05 Da.",
        "NUMBER|auto", least=0, most=1000, words=("auto",)),
    number("noise", 0.01, "Peaks below this share of the strongest are left out.", "SHARE", least=0, below=1),
    integer("max_peaks", 0, "So many of the strongest peaks are kept; 0: all.", least=0),
    number("power", 1.0, "Power of the intensities; 0.5 is the square root.", above=0, most=10),
)  # fmt: skip
MATCHING = (
    choice("similarity", "entropy unweighted cosine", "entropy", "Spectral entropy similarity, of intensities that "
        "are weighted by their entropy or not, or the cosine."),
    number("tolerance", 0.02, "How far two peaks may be apart to match.", above=0, most=1000),
    UNIT,
)  # fmt: skip
SPECTRUM_INDEX = (*MATCHING, *CLEANING, N_JOBS)
SEARCH = (
    choice("mode", "identity open loss hybrid", "open", "identity: precursors alike; open: any; loss: neutral losses; "
        "hybrid: peaks, then losses, and with the cosine the modified cosine."),
    number("min_score", 0.0, "Score of a hit at least.", "S", least=0, most=1),
    integer("min_matched_peaks", 1, "Matched peaks of a hit at least.", least=1),
    number("precursor_tolerance", 0.01, "How far precursors may be apart in an identity search, in Da.", "DA", least=0),
)  # fmt: skip
