"""Parameters of an index; ``INDEX`` are those of the command line, where the word none stands for None."""

__all__ = [
    "CONFIDENCE",
    "EF",
    "EXACT",
    "INDEX",
    "KERNEL_INDEX",
    "KERNEL_NEIGHBORS",
    "LAYOUT",
    "RECALL",
    "SEARCH_MODEL",
    "VECTORS",
    "K",
]

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
    text("kernel", "chi2", "Kernel, by a name that `mercer kernel` lists."),
    choice("store", "auto codes lists graph", "auto", "Search structure: codes of embedded rows (codes), inverted "
        "lists of sparse rows, which are exact (lists), or a graph of embedded rows (graph). auto uses lists for "
        "sparse rows "
        "if the kernel allows it, and a graph for many dense rows."),
    integer("bytes_per_item", None, "Bytes per code; longer codes are more accurate and take more memory.", "N",
        "--bytes", shown="16; none with lists or a graph", least=1),
    choice("code", "pq opq lsh universal flat", "pq", "Code type: product quantization (pq), the same after a learned "
        "rotation (opq), bits (lsh, universal), or uncompressed embedded rows (flat)."),
    integer("bits", 8, "Bits per codeword for pq and opq; two 4-bit codewords share a byte and are scanned faster.",
        least=4, most=8),
    choice("embedding", "auto kpca map", "auto", "Embedding of the rows: kernel principal components, for any kernel "
        "(kpca), or the feature map of an additive kernel (map); auto measures which is better."),
    choice("effort", "low default high", "default", "How many settings are tried; high takes longer and finds more.",
        "LEVEL"),
    choice("measure", "similarity distance", "similarity", "Rank rows by similarity, or by the kernel's distance."),
    flag("normalize", "Divide the kernel by sqrt(K(x, x) K(y, y)); histograms that sum to 1 do not change.",
        "--normalize/--no-normalize", True),
    number("oversample", 10.0, "Compute the exact kernel for the best FACTOR * k candidates; a larger factor finds "
        "more true neighbors and is slower.", "FACTOR", least=1.0),
    choice("vectors", "auto float32 float16 uint8 none", "auto", "Number type in which rows are kept for exact values; "
        "none keeps codes only.", "TYPE"),
    integer("n_landmarks", 1024, "Number of landmarks of the embedding; a graph uses fewer if these find as much.", "N",
        "--landmarks", least=1),
    integer("n_components", None, "Number of components of the embedding.", "N", "--components", shown="measured",
        least=1),
    integer("n_lists", "auto", "Number of inverted lists of the codes; auto uses none below four million rows.",
        "N|auto", "--lists", least=0, words=("auto",)),
)  # fmt: skip
SEARCH_MODEL = (
    KERNEL,
    choice("store", "codes lists graph", "codes", "Search structure."),
    named(INDEX)["bytes_per_item"].but(default=16, shown=None, optional=True),
    *pick(INDEX, "code bits effort measure normalize n_landmarks n_components"),
    anything("embedding", "auto", "Embedding of the rows; 'auto' measures which is better.",
        "'auto', 'kpca', 'map', or a map"),
    RANDOM_STATE, N_JOBS,
)  # fmt: skip
KERNEL_INDEX = (
    *(each for each in SEARCH_MODEL if each.name not in ("store", "bytes_per_item")),
    *pick(INDEX, "store bytes_per_item oversample n_lists"),
    choice("vectors", "auto float32 float16 uint8", "auto", "Number type in which rows are kept for exact values; "
        "None keeps codes only.")
    .but(optional=True),
    VERBOSE,
)  # fmt: skip
K = integer("k", 10, "Number of nearest rows to return.", least=1)
CONFIDENCE = number(
    "confidence",
    0.999,
    "Expected share of the nearest rows that relaxed bounds find; a lower share is faster.",
    "SHARE",
    above=0,
    below=1,
)
EF = integer(
    "ef",
    None,
    "Number of candidates kept during an HNSW search; more candidates find more true neighbors and are slower.",
    least=1,
)
RECALL = number("recall", None, "Target share of the true nearest rows, such as 0.99; 1 searches exactly.", "SHARE",
    shown="0.99 with a graph", above=0.0, most=1.0)  # fmt: skip
EXACT = flag("exact", "Compare all rows instead of candidates only.")
KERNEL_NEIGHBORS = (
    KERNEL,
    integer("n_neighbors", 15, "Number of neighbors of each row.", least=1),
    choice("mode", "distance connectivity", "distance", "Entries of the graph: distances, or ones (connectivity)."),
    EXACT,
    *pick(INDEX, "normalize"),
    RANDOM_STATE, N_JOBS, VERBOSE,
)  # fmt: skip

# --------------------------------------------------------------------------------------------------- rows in a database

LAYOUT = (
    choice("ids", "numbers texts", None, "Type of the ids."),
    choice("dtype", "float32 float16", "float32", "Type of the embedded rows."),
    choice("method", "hnsw exact", "hnsw", "Search method of the store."),
    Parameter("metric", str, "inner product", "Measure that ranks embedded rows.", words=("inner product", "distance")),
    integer("width", REQUIRED, "Number of components of an embedded row.", least=1),
    integer("n_features", REQUIRED, "Number of columns of a row.", least=1),
    integer("m", 16, "Number of links per row of an HNSW graph.", least=2, most=100),
    integer("ef_construction", 128, "Number of candidates kept while an HNSW graph is built.", least=2, most=1000),
    flag("sparse", "Whether rows are sparse."),
    flag("own", "Whether the table was made for the index.", default=True),
    *pick(INDEX, "oversample"),
)
VECTORS = choice(
    "vectors", "float32 float16 uint8", None, "Number type in which rows are kept for exact values; None keeps none."
)
