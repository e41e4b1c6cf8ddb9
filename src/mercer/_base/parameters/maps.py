"""Parameters of the maps."""

__all__ = [
           "ALPHA",
           "FOURIER",
           "HOMOGENEOUS",
           "KERNEL_PCA",
           "LANDMARKS",
           "MOST_HASHES",
           "NYSTROEM",
           "N_PAIRS",
           "POINTS",
           "PROJECTED",
           "REDUCTION",
           "SPARSE",
           "SPARSE_ADDITIVE",
           "WEIGHTED_MIN_HASH",
]  # fmt: skip

from mercer._base.parameters.common import KERNEL, N_JOBS, RANDOM_STATE
from mercer._base.parameters.language import REQUIRED, anything, choice, flag, integer, number, pick

ALPHA = 1e-3  # of the lasso, unless it is said
POINTS = 32  # of a grid, unless n_points says otherwise
MOST_HASHES = 2**16
_SEEDED = (RANDOM_STATE, N_JOBS)
HOMOGENEOUS = (
    KERNEL,
    integer("order", 1, "Frequencies beside zero; a value becomes 2 order + 1 features.", least=1),
    choice("window", "rectangular uniform least-squares", "rectangular", "How the sampled spectrum is smoothed."),
    # values that differ by 5 % would already look alike at 0.1
    number("period", None, "Length of a period; None takes the best for order and window.", least=0.1),
    flag("signed", "Take values of both signs, by the signed form of the kernel."),
    N_JOBS,
)
FOURIER = (
    KERNEL.but(default="rbf"),
    integer("n_components", 256, "Features.", least=1),
    flag("orthogonal", "Draw frequencies that are orthogonal to each other.", default=True),
    integer("map_order", 2, "Order of the HomogeneousMap below exponentials of additive kernels.", least=1),
    *_SEEDED,
)
LANDMARKS = (
    integer("n_components", None, "Features to keep.", least=1),
    integer("n_landmarks", 1024, "Rows that every row is compared with.", least=1),
    anything("landmarks", "rpcholesky", "How landmarks are found, or the landmarks themselves.",
        "'uniform', 'kmeans++', 'rpcholesky', an array of row numbers, or rows"),
    integer("max_candidates", None, "Rows among which landmarks are looked for.", least=1),
)  # fmt: skip
_MAX_CANDIDATES = LANDMARKS[-1]
NYSTROEM = (
    KERNEL,
    *pick(LANDMARKS, "n_components n_landmarks landmarks", n_landmarks=None),
    flag("per_dimension", "Additive kernels only: features of single columns, by tables."),
    _MAX_CANDIDATES, *_SEEDED,
)  # fmt: skip
KERNEL_PCA = (
    KERNEL,
    LANDMARKS[0].but(default=64, optional=True),
    *LANDMARKS[1:3],
    flag("center", "Subtract the mean in feature space."),
    _MAX_CANDIDATES, *_SEEDED,
)  # fmt: skip
SPARSE = (
    KERNEL,
    *pick(LANDMARKS, "n_landmarks landmarks", n_landmarks=512),
    integer("n_nonzero", 8, "Landmarks per row, at most.", least=1),
    choice("method", "omp mp nearest lasso", "omp", "How the landmarks of a row are found."),
    number("alpha", ALPHA, "For the lasso: the smallest penalty tried, relative to the largest.", above=0, below=1),
    _MAX_CANDIDATES, *_SEEDED,
)  # fmt: skip
SPARSE_ADDITIVE = (
    KERNEL,
    integer("n_points", POINTS, "Points of the grid.", least=1),
    anything("grid", "auto", "Where the points lie.",
        "'auto', 'uniform', 'quantile', 'geometric', 'optimal', or an array of points"),
    flag("signed", "Take values of both signs, by the signed form of the kernel."),
    integer("n_neighbors", 2, "Points around a value that it is written on, an even number.", least=1, most=64),
    *_SEEDED,
)  # fmt: skip
PROJECTED = (
    anything("map", REQUIRED, "The map whose features are projected.", "a map"),
    integer("n_components", 256, "Features after the projection.", least=1),
    *_SEEDED,
)
WEIGHTED_MIN_HASH = (
    integer("n_hashes", 256, "Hashes of a row.", least=1, most=MOST_HASHES),
    integer("bits", 8, "Bits of a hash.", least=2, most=16),
    *_SEEDED,
)
N_PAIRS = integer("n_pairs", 50_000, "Pairs of rows whose kernel values are compared.", least=1)
REDUCTION = (
    KERNEL.but(default="linear"),
    integer("n_dims", None, "Columns that are left.", least=1),
    number("alpha", None, "Penalty of the columns, for method='convex'.", least=0),
    number("tolerance", None, "Largest relative error of the kernel.", least=0),
    anything("map", None, "The map that reduced rows are given to.", "a map, or None"),
    choice("method", "auto merge supervised convex energy random", "auto", "How columns are found that are left."),
    flag("refit", "Whether weights are fitted again to the columns that are left; None: where it helps.", default=None),
    choice("pairs", "auto all uniform informative", "auto", "Which pairs of rows are compared, for method='convex'."),
    N_PAIRS, *_SEEDED,
)  # fmt: skip
