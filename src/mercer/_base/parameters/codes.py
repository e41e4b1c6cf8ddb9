"""Parameters of rows as codes."""

__all__ = ["COMPACT_EMBEDDING", "EXPANSION", "KLSH", "LEVELS", "LEVEL_QUANTIZER", "MOST_LEVELS", "PRODUCT_QUANTIZER",
           "QUANTIZED_JL", "RMMH", "SIGN_HASH", "UNIVERSAL_EMBEDDING", "K"]  # fmt: skip

from mercer._base.parameters.common import KERNEL, N_JOBS, RANDOM_STATE
from mercer._base.parameters.language import anything, choice, flag, integer, number

MOST_LEVELS = 65_535  # what an unsigned integer of 16 bits holds
# how values become levels: of LevelQuantizer, and of the learners that have one
LEVELS = (
    integer("bins", "auto", "Bins that values are put into; None takes whole numbers as they are, auto where they are "
        "small.", least=1, most=MOST_LEVELS, words=("auto",), optional=True),
    choice("binning", "auto global column adaptive", "auto", "One scale for all columns (global), one for each "
        "(column), or quantiles (adaptive).", "HOW"),
)  # fmt: skip
LEVEL_QUANTIZER = (*LEVELS, KERNEL.but(default="intersection"), N_JOBS)
PRODUCT_QUANTIZER = (
    integer("block_size", 8, "Columns per block.", least=1),
    integer("n_blocks", None, "Blocks, instead of block_size.", least=1),
    integer("bits", 8, "Bits of a word; a block has 2**bits words. Words of 4 bits lie two to a byte.",
        least=1, most=16),
    KERNEL.but(default="linear"),
    choice("rotation", "permutation random opq allocation", None, "What happens to the columns before they are cut."),
    integer("max_samples", None, "Training rows; None takes 256 per word.", least=1),
    integer("n_iter", 25, "Passes of k-means.", least=1),
    RANDOM_STATE, N_JOBS,
)  # fmt: skip
EXPANSION = choice("expansion", "delayed immediate dense", "delayed", "How codes are learned on: delayed, immediate or "
    "dense.", "WHEN")  # fmt: skip

# -------------------------------------------------------------------------------------------------------------- hashing

K = integer("k", 10, "Nearest codes.", least=1)
N_BITS = integer("n_bits", 64, "Bits of a code.", least=1)
_LANDMARK_HASH = (
    KERNEL,
    N_BITS,
    integer("n_landmarks", 1024, "Rows that every row is compared with.", least=2),
    integer("n_sampled", None, "Landmarks that one bit looks at.", least=1),
    RANDOM_STATE, N_JOBS,
)  # fmt: skip
KLSH = (*_LANDMARK_HASH, flag("center", "Center the kernel at the mean of the landmarks.", default=True))
RMMH = (*_LANDMARK_HASH, number("C", 100.0, "Weight of the losses of the machine of a bit.", above=0))
SIGN_HASH = (
    anything("map", None, "The map whose features are projected; None takes rows as they are.", "a map, or None"),
    N_BITS,
    flag("orthogonal", "Draw directions that are orthogonal to each other.", default=True),
    RANDOM_STATE, N_JOBS,
)  # fmt: skip

# ------------------------------------------------------------------------------------------------------------- the wire

COMPACT_EMBEDDING = (
    N_BITS,
    integer("block_size", None, "Columns of the local descriptors that a row is made of.", least=1),
    flag("standardize", "Subtract the mean and divide by the standard deviation of each column."),
    RANDOM_STATE, N_JOBS,
)  # fmt: skip
_DRAWN = (*COMPACT_EMBEDDING[1:], choice("matrix", "dense structured", "dense", "How projections are drawn."))
UNIVERSAL_EMBEDDING = (
    N_BITS.but(default=256),
    number("delta", "auto", "Step of the quantizer: small distances are kept, larger ones all look alike.", above=0,
        words=("auto",)),
    *_DRAWN,
)  # fmt: skip
QUANTIZED_JL = (
    integer("n_projections", 256, "Projections of each block.", least=1),
    integer("bits", 1, "Bits per projection.", least=1, most=8),
    number("saturation", "auto", "Projections beyond it are cut off.", above=0, words=("auto",)),
    choice("variant", "plain dithered sigma-delta", "plain", "What is added to a projection before it is rounded."),
    flag("center", "Subtract from each projection its mean over the training rows.", default=True),
    *_DRAWN,
)
