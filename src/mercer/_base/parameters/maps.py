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
    integer(
        "order",
        1,
        "Number of frequencies besides zero; each value becomes 2 * order + 1 features. A higher order is closer to "
        "the kernel and slower.",
        least=1,
    ),
    choice("window", "rectangular uniform least-squares", "rectangular", "Smoothing of the sampled spectrum."),
    # values that differ by 5 % would already look alike at 0.1
    number("period", None, "Length of a period; None uses the best one for order and window.", least=0.1),
    flag("signed", "Accept negative values, by the signed form of the kernel."),
    N_JOBS,
)
FOURIER = (
    KERNEL.but(default="rbf"),
    integer("n_components", 256, "Number of features; more features are closer to the kernel and slower.", least=1),
    flag("orthogonal", "Draw orthogonal frequencies, which usually lowers the error.", default=True),
    integer("map_order", 2, "Order of the HomogeneousMap inside exponentials of additive kernels.", least=1),
    *_SEEDED,
)
LANDMARKS = (
    integer("n_components", None, "Number of features to keep.", least=1),
    integer("n_landmarks", 1024, "Number of landmarks that every row is compared with; more landmarks are closer to "
        "the kernel and slower.", least=1),
    anything("landmarks", "rpcholesky", "How landmarks are chosen, or the landmarks themselves.",
        "'uniform', 'kmeans++', 'rpcholesky', an array of row numbers, or rows"),
    integer("max_candidates", None, "Maximum number of rows to choose landmarks from.", least=1),
)  # fmt: skip
_MAX_CANDIDATES = LANDMARKS[-1]
NYSTROEM = (
    KERNEL,
    *pick(LANDMARKS, "n_components n_landmarks landmarks", n_landmarks=None),
    flag("per_dimension", "Compute the features of each column on its own, by tables; for additive kernels only."),
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
    integer("n_nonzero", 8, "Maximum number of landmarks per row.", least=1),
    choice("method", "omp mp nearest lasso", "omp", "How the landmarks of each row are selected."),
    number("alpha", ALPHA, "Smallest penalty that the lasso tries, relative to the largest.", above=0, below=1),
    _MAX_CANDIDATES, *_SEEDED,
)  # fmt: skip
SPARSE_ADDITIVE = (
    KERNEL,
    integer("n_points", POINTS, "Number of grid points; more points are closer to the kernel and take more memory.",
        least=1),
    anything("grid", "auto", "How grid points are placed, or the points themselves.",
        "'auto', 'uniform', 'quantile', 'geometric', 'optimal', or an array of points"),
    flag("signed", "Accept negative values, by the signed form of the kernel."),
    integer("n_neighbors", 2, "Number of grid points that represent a value, an even number.", least=1, most=64),
    *_SEEDED,
)  # fmt: skip
PROJECTED = (
    anything("map", REQUIRED, "Map whose features are projected.", "a map"),
    integer("n_components", 256, "Number of features after the projection.", least=1),
    *_SEEDED,
)
WEIGHTED_MIN_HASH = (
    integer("n_hashes", 256, "Number of hashes per row.", least=1, most=MOST_HASHES),
    integer("bits", 8, "Bits per hash.", least=2, most=16),
    *_SEEDED,
)
N_PAIRS = integer("n_pairs", 50_000, "Number of pairs of rows whose kernel values are compared.", least=1)
REDUCTION = (
    KERNEL.but(default="linear"),
    integer("n_dims", None, "Number of columns to keep.", least=1),
    number("alpha", None, "Penalty per column for method='convex'; a larger penalty keeps fewer columns.", least=0),
    number("tolerance", None, "Largest relative error of the kernel; a larger tolerance keeps fewer columns.", least=0),
    anything("map", None, "Map to apply to the reduced rows.", "a map, or None"),
    choice("method", "auto merge supervised convex energy random", "auto", "How columns are merged or selected; auto "
        "decides by a trial."),
    flag("refit", "Fit the weights of the remaining columns again; None does so where it helps.", default=None),
    choice("pairs", "auto all uniform informative", "auto", "Pairs of rows to compare for method='convex'."),
    N_PAIRS, *_SEEDED,
)  # fmt: skip
