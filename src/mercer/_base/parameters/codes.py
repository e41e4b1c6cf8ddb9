"""Parameters of rows as codes."""

__all__ = ["LEVELS", "LEVEL_QUANTIZER", "MOST_LEVELS"]

from mercer._base.parameters.common import KERNEL, N_JOBS
from mercer._base.parameters.language import choice, integer

MOST_LEVELS = 65_535  # what an unsigned integer of 16 bits holds
# how values become levels: of LevelQuantizer, and of the learners that have one
LEVELS = (
    integer("bins", "auto", "Bins that values are put into; None takes whole numbers as they are, auto where they are "
        "small.", least=1, most=MOST_LEVELS, words=("auto",), optional=True),
    choice("binning", "auto global column adaptive", "auto", "One scale for all columns (global), one for each "
        "(column), or quantiles (adaptive).", "HOW"),
)  # fmt: skip
LEVEL_QUANTIZER = (*LEVELS, KERNEL.but(default="intersection"), N_JOBS)
