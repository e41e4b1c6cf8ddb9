"""Small rows and inner products of every kind, and the full matrices they stand for."""

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from mercer.spaces import (
    BitRows,
    BlockFactor,
    CodeRows,
    CSRRows,
    CumulativeSum,
    DenseRows,
    Factor,
    Identity,
    block_diag,
    hstack,
)

ROW_KINDS = ("dense", "csr", "codes", "bits", "stack")
DTYPES = (np.float32, np.float64)


def make_rows(kind, n, D, dtype=np.float64, seed=0):
    """(rows, full matrix), the matrix made without the library. Codes have about D features, the others D."""
    rng = np.random.default_rng(seed)
    if kind == "dense":
        X = rng.standard_normal((n, D)).astype(dtype)
        return DenseRows(X), X
    if kind == "csr":
        X = np.where(rng.random((n, D)) < 0.4, rng.standard_normal((n, D)), 0).astype(dtype)
        return CSRRows(sparse.csr_matrix(X)), X
    if kind == "codes":
        words = [1 + (D + m) % 5 for m in range(D // 3)]
        codes = (rng.random((n, len(words))) * np.array(words)).astype(np.uint8)
        eyes = [np.eye(count)[codes[:, m]] for m, count in enumerate(words)]
        return CodeRows(codes, words), np.hstack([np.zeros((n, 0)), *eyes])
    if kind == "bits":
        bits = rng.random((n, D)) < 0.5
        packed = np.packbits(bits, axis=1, bitorder="little")
        if D % 8:
            packed[:, -1] |= 128  # padding may hold anything
        return BitRows(packed, D, 0.5), np.where(bits, 0.5, -0.5)
    made = [make_rows(part, n, D, dtype, seed) for part in ("csr", "codes", "bits", "dense")]
    return hstack(*(rows for rows, _ in made)), np.hstack([full for _, full in made])


def make_inners(seed=0):
    """Inner products by name, with their full matrix, made without the library."""
    rng = np.random.default_rng(seed)
    grids = [[0.0, 0.3, 1.0, 1.5], [0.2], [], [0.1, 0.4, 0.9]]
    stack, ragged, wide = (
        rng.random((3, 2, 4)),
        [rng.random((2, 3)), rng.random((2, 3)), rng.random((1, 5))],
        rng.random((2, 6)),
    )
    K = wide.T @ wide
    inners = {
        "identity": (Identity(7), np.eye(7)),
        "grids": (CumulativeSum.of_grids(grids), _blocks([np.minimum.outer(z, z) for z in map(np.array, grids)])),
        "even grid": (
            CumulativeSum([[0.5, 0.25, 1.0]] * 2),
            _blocks([np.minimum.outer(*2 * [np.array([0.5, 0.75, 1.75])])] * 2),
        ),
        "blocks": (BlockFactor(stack), _blocks([F.T @ F for F in stack])),
        "shared block": (BlockFactor(stack[:1], repeat=3), _blocks([stack[0].T @ stack[0]] * 3)),
        "ragged blocks": (BlockFactor(ragged, repeat=2), _blocks([F.T @ F for F in ragged] * 2)),
        "factor": (Factor(wide), K),
        "factor of a singular matrix": (Factor.of_gram(K), K),
    }
    parts = [inners[name] for name in ("grids", "identity", "ragged blocks", "factor")]
    inners["block diagonal"] = (block_diag(*(inner for inner, _ in parts)), _blocks([H for _, H in parts]))
    return inners


def _blocks(matrices):
    size = sum(len(matrix) for matrix in matrices)
    out, start = np.zeros((size, size)), 0
    for matrix in matrices:
        stop = start + len(matrix)
        out[start:stop, start:stop] = matrix
        start = stop
    return out


# (D,) or (D, classes), with no class among them
class_shapes = st.sampled_from([(), (0,), (1,), (2,), (5,), (37,)])
