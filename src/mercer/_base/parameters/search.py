"""Parameters of an index; ``INDEX`` are those of the command line, where the word none stands for None."""

__all__ = ["EF", "EXACT", "INDEX", "KERNEL_INDEX", "KERNEL_NEIGHBORS", "LAYOUT", "SEARCH_MODEL", "VECTORS", "K"]

from mercer._base.parameters.common import KERNEL, N_JOBS, RANDOM_STATE, VERBOSE
from mercer._base.parameters.language import (
    REQUIRED,
    Parameter,
    anything,
    choice,
    flag,
    integer,
    named,
    number,
    pick,
    text,
)

INDEX = (
    text("kernel", "chi2", "By the names of mercer kernel."),
    choice("store", "auto codes lists", "auto", "What finds rows: codes of embedded rows, or inverted lists of sparse "
        "rows, which are exact; auto: lists for sparse rows under a kernel that allows it."),
    integer("bytes_per_item", None, "Length of a code.", "N", "--bytes", shown="16; none with lists", least=1),
    choice("code", "pq opq lsh universal flat", "pq", "pq: product quantisation; opq: after a learnt rotation; lsh, "
        "universal: bits; flat: embedded rows."),
    integer("bits", 8, "Bits of a word of pq and opq; words of 4 bits lie two to a byte and are scanned faster.",
        least=4, most=8),
    choice("embedding", "auto kpca map", "auto", "kpca: components through landmarks, any kernel; map: of an additive "
        "kernel; auto measures."),
    choice("effort", "low default high", "default", "How much is tried: low, default or high.", "LEVEL"),
    choice("measure", "similarity distance", "similarity", "What rows are ranked by: similarity, or the kernel's "
        "distance."),
    flag("normalize", "Divide by sqrt(K(x, x) K(y, y)), which changes nothing for histograms that sum to 1.",
        "--normalize/--no-normalize", True),
    number("oversample", 10.0, "The best FACTOR * k rows of a scan get their exact kernel value.", "FACTOR", least=1.0),
    choice("vectors", "auto float32 float16 uint8 none", "auto", "How rows are kept for exact values: auto, float32, "
        "float16, uint8, or none: codes only.", "TYPE"),
    integer("n_landmarks", 1024, "Landmarks of the embedding.", "N", "--landmarks", least=1),
    integer("n_components", None, "Components of the embedding.", "N", "--components", shown="measured", least=1),
    integer("n_lists", "auto", "Inverted lists of the codes; auto: none below four million rows.", "N|auto", "--lists",
        least=0, words=("auto",)),
)  # fmt: skip
SEARCH_MODEL = (
    KERNEL,
    choice("store", "codes lists", "codes", "What finds rows."),
    named(INDEX)["bytes_per_item"].but(default=16, shown=None, optional=True),
    *pick(INDEX, "code bits effort measure normalize n_landmarks n_components"),
    anything("embedding", "auto", "How rows are embedded: through landmarks, by a map, or what measures better.",
        "'auto', 'kpca', 'map', or a map"),
    RANDOM_STATE, N_JOBS,
)  # fmt: skip
KERNEL_INDEX = (
    *(each for each in SEARCH_MODEL if each.name not in ("store", "bytes_per_item")),
    *pick(INDEX, "store bytes_per_item oversample n_lists"),
    choice("vectors", "auto float32 float16 uint8", "auto", "How rows are kept for exact values; None: codes only.")
    .but(optional=True),
    VERBOSE,
)  # fmt: skip
K = integer("k", 10, "Nearest rows.", least=1)
EF = integer("ef", None, "Candidates that an HNSW graph keeps while it is searched.", least=1)
EXACT = flag("exact", "Whether all rows are compared, and not only candidates.")
KERNEL_NEIGHBORS = (
    KERNEL,
    integer("n_neighbors", 15, "Neighbors of each row.", least=1),
    choice("mode", "distance connectivity", "distance", "Whether the graph holds distances or ones."),
    EXACT,
    *pick(INDEX, "normalize"),
    RANDOM_STATE, N_JOBS, VERBOSE,
)  # fmt: skip

# --------------------------------------------------------------------------------------------------- rows in a database

LAYOUT = (
    choice("ids", "numbers texts", None, "What ids are."),
    choice("dtype", "float32 float16", "float32", "Type of the embedded rows."),
    choice("method", "hnsw exact", "hnsw", "How the store searches."),
    Parameter("metric", str, "inner product", "What ranks embedded rows.", words=("inner product", "distance")),
    integer("width", REQUIRED, "Components of an embedded row.", least=1),
    integer("n_features", REQUIRED, "Columns of a row.", least=1),
    integer("m", 16, "Neighbors of a row in an HNSW graph.", least=2, most=100),
    integer("ef_construction", 128, "Candidates while an HNSW graph is built.", least=2, most=1000),
    flag("sparse", "Whether rows are sparse."),
    flag("own", "Whether the table was made for the index.", default=True),
    *pick(INDEX, "oversample"),
)
VECTORS = choice("vectors", "float32 float16 uint8", None, "How rows are kept for exact values; None: not at all.")
