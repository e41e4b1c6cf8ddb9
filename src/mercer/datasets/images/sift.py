"""SIFT descriptors of the TEXMEX corpus, in its fvecs and ivecs files."""

__all__ = ["load_sift"]

from mercer._base.errors import InputError
from mercer._base.tables.formats.vectors import parse_vectors
from mercer.datasets.files import verified_bytes

ORIGIN = "http://corpus-texmex.irisa.fr (siftsmall.tar.gz; sift.tar.gz for the files of the larger set)"
# part -> file, rows, numbers per row, sha256 of the unpacked file
PARTS = {
    "base": ("siftsmall_base.fvecs", 10_000, 128, "1e90414a3254361aba48a0d58e461f7661fb135dabb3da985290e94de8f60fe0"),
    "learn": ("siftsmall_learn.fvecs", 25_000, 128, "8e232080ad8b4b07024c51b9b1933346d62e70fa2560ad184e697d40277a9a15"),
    "query": ("siftsmall_query.fvecs", 100, 128, "095af38bda2741be721447ba97e9286fa918ece946be92a9ae133276eddc1a10"),
    "neighbors": (
        "siftsmall_groundtruth.ivecs", 100, 100, "b0717bf276111a166f14dcc2653fd04465b2afd6d34c72be641b622cf99f95ae",
    ),
    "more-base": (
        "sift_base_10000_19999.fvecs", 10_000, 128, "0ed6ff39e118d84e186ff714a00c6abd9836b1b871f88be1d30e30755daa83cc",
    ),
    "more-query": ("sift_query.fvecs", 10_000, 128, "f7fc9be140accdfd64116c2fa2365ecdb69b8f084970c6b0532db5ff79ac8fdc"),
}  # fmt: skip


def load_sift(part="base", *, root=None):
    """SIFT descriptors: integers from 0 to 216 in 128 dimensions.

    Parameters
    ----------
    part : str
        ``"base"`` (10,000 rows), ``"learn"`` (25,000), ``"query"`` (100) and ``"neighbors"``, the rows of the base
        nearest to each query, are the files of siftsmall. ``"more-base"`` are rows 10,000 to 19,999 of the base of
        SIFT1M, whose first 10,000 are those of siftsmall, and ``"more-query"`` its 10,000 queries. The learning set
        contains queries: never search it for them.
    root : path or None
        Directory of the data sets, with a folder ``sift``; None for the one that ``MERCER_DATA`` names.

    Returns
    -------
    ndarray of float32, or for the neighbors int32, one row per descriptor
    """
    part = "neighbors" if part == "neighbours" else part  # its name in earlier versions
    if part not in PARTS:
        raise InputError(f"load_sift has no part {part!r}. Parts: {', '.join(PARTS)}.")
    name, n_rows, width, sha256 = PARTS[part]
    rows = parse_vectors(verified_bytes("sift", name, sha256, ORIGIN, root), name, name.rpartition(".")[2])
    if rows.shape != (n_rows, width):
        raise InputError(f"{name} must contain {n_rows} rows of {width} numbers, but contains {rows.shape}.")
    return rows
