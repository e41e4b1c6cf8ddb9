"""Parameters of rows as codes."""

__all__ = ["COMPACT_EMBEDDING", "EXPANSION", "KLSH", "LEVELS", "LEVEL_QUANTIZER", "MOST_LEVELS", "PRODUCT_QUANTIZER",
           "QUANTIZED_JL", "RMMH", "SIGN_HASH", "UNIVERSAL_EMBEDDING", "K"]  # fmt: skip

from mercer._base.parameters.common import KERNEL, N_JOBS, RANDOM_STATE
from mercer._base.parameters.language import anything, choice, flag, integer, number

MOST_LEVELS = 65_535  # what an unsigned integer of 16 bits holds
# how values become levels: of LevelQuantizer, and of the learners that have one
LEVELS = (
    integer("bins", "auto", "Number of bins per column; more bins follow the values more closely and take more memory. "
        "None uses integer values as levels; auto does so if they are small.", least=1, most=MOST_LEVELS,
        words=("auto",), optional=True),
    choice("binning", "auto global column adaptive", "auto", "How bins are placed: one scale for all columns (global), "
        "one scale per column (column), or quantiles of each column (adaptive).", "HOW"),
)  # fmt: skip
LEVEL_QUANTIZER = (*LEVELS, KERNEL.but(default="intersection"), N_JOBS)
PRODUCT_QUANTIZER = (
    integer("block_size", 8, "Number of columns per block; larger blocks give shorter and coarser codes.", least=1),
    integer("n_blocks", None, "Number of blocks, an alternative to block_size.", least=1),
    integer("bits", 8, "Bits per codeword; each block has 2**bits codewords. Two 4-bit codewords share a byte.",
        least=1, most=16),
    KERNEL.but(default="linear"),
    choice("rotation", "permutation random opq allocation", None, "Transformation of the columns before they are split "
        "into blocks."),
    integer("max_samples", None, "Maximum number of training rows; None uses 256 per codeword.", least=1),
    integer("n_iter", 25, "Number of k-means iterations.", least=1),
    RANDOM_STATE, N_JOBS,
)  # fmt: skip
EXPANSION = choice("expansion", "delayed immediate dense", "delayed", "How the solver reads the codes: through tables "
    "(delayed), decoded one row at a time (immediate), or decoded all at once (dense), which takes the most memory.",
    "WHEN")  # fmt: skip

# -------------------------------------------------------------------------------------------------------------- hashing

K = integer("k", 10, "Number of nearest codes to return.", least=1)
N_BITS = integer("n_bits", 64, "Bits per code; longer codes are more accurate and take more memory.", least=1)
_LANDMARK_HASH = (
    KERNEL,
    N_BITS,
    integer("n_landmarks", 1024, "Number of landmarks that every row is compared with.", least=2),
    integer("n_sampled", None, "Number of landmarks used by each bit.", least=1),
    RANDOM_STATE, N_JOBS,
)  # fmt: skip
KLSH = (*_LANDMARK_HASH, flag("center", "Center the kernel at the mean of the landmarks.", default=True))
RMMH = (*_LANDMARK_HASH, number("C", 100.0, "Weight of the losses in the training of each bit.", above=0))
SIGN_HASH = (
    anything("map", None, "Map whose features are projected; None projects the rows themselves.", "a map, or None"),
    N_BITS,
    flag("orthogonal", "Draw orthogonal directions.", default=True),
    RANDOM_STATE, N_JOBS,
)  # fmt: skip

# ------------------------------------------------------------------------------------------------------------- the wire

COMPACT_EMBEDDING = (
    N_BITS,
    integer("block_size", None, "Number of columns of each local descriptor in a row.", least=1),
    flag("standardize", "Subtract the mean of each column and divide by its standard deviation."),
    RANDOM_STATE, N_JOBS,
)  # fmt: skip
_DRAWN = (*COMPACT_EMBEDDING[1:], choice("matrix", "dense structured", "dense", "Kind of random projection: dense, or "
    "structured, which is faster for many columns."))  # fmt: skip
UNIVERSAL_EMBEDDING = (
    N_BITS.but(default=256),
    number("delta", "auto", "Step of the quantizer. Codes preserve distances up to about this size; a larger step "
        "preserves larger distances, less precisely.", above=0, words=("auto",)),
    *_DRAWN,
)  # fmt: skip
QUANTIZED_JL = (
    integer("n_projections", 256, "Number of projections per block.", least=1),
    integer("bits", 1, "Bits per projection.", least=1, most=8),
    number(
        "saturation", "auto", "Largest magnitude of a projection; larger values are clipped.", above=0, words=("auto",)
    ),
    choice(
        "variant",
        "plain dithered sigma-delta",
        "plain",
        "How projections are rounded: as they are (plain), with "
        "added noise (dithered), or with the error passed on to the next projection (sigma-delta).",
    ),
    flag("center", "Subtract the mean over the training rows from each projection.", default=True),
    *_DRAWN,
)
