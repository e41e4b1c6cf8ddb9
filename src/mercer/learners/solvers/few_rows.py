"""Few rows as plain dense ones of the same inner products, on which coordinate descent is quickest.

Codes and bits save memory where rows are many. Up to some thousands, decoding all of them takes a few megabytes and a
step of coordinate descent is then one short product. Where factors are more than rows, the Gram matrix K = Z Z' says
all: its eigenvectors U and values s give rows Z = U sqrt(s) of at most n columns, and weights w on these are the
weights F Phi' U w / sqrt(s) on factors, of the same norm.
"""

__all__ = ["are_few", "few_rows"]

from dataclasses import dataclass

import numpy as np

from mercer._base.linalg import positive_eigenpairs
from mercer._base.threads import single_threaded
from mercer.spaces import DecodedRows, Design, Identity

MOST_NUMBERS = 2**22  # in the dense rows: 32 MiB
MOST_FEATURES = 2**24  # numbers of rows with all their features, from which others are computed
MOST_PLAIN = 2**26  # the same of dense rows, whose products need no copy of all of them
MOST_IN_GRAM = 2048  # rows whose Gram matrix is decomposed, which takes a few seconds
GRAM_COLUMNS = 4096  # that are in float64 at a time
WIDER, PLAIN_WIDER = 2, 8  # times as many factors as rows, from which that pays; of plain rows, which need no decoding


@dataclass(frozen=True)
class FewRows:
    """A design of plain rows that stands for another one.

    Parameters
    ----------
    design : Design with the usual inner product
    source : Design
    back : None, or matrix that turns weights of the design into dual variables of the source
    """

    design: Design
    source: Design
    back: np.ndarray | None

    def weights(self, w):
        """Weights on the factors of the source, float64 (r, P)."""
        if self.back is None:
            return w
        return self.source.accumulate(self.back @ w).astype(np.float64)


def are_few(rows, inner):
    """Whether rows, or rows of a RowShape, are so few that they are decoded, and not quicker as they are."""
    n, r = rows.shape[0], inner.n_factors
    if n == 0 or r == 0 or rows.kind == "csr" or inner.is_cumulative:
        return False  # sparse rows and tables of levels have quick steps of their own
    is_plain = rows.kind == "dense" and inner.is_identity
    if n * (r if inner.decodes(rows) else rows.shape[1]) > (MOST_PLAIN if is_plain else MOST_FEATURES):
        return False
    if r >= (PLAIN_WIDER if is_plain else WIDER) * n:
        return n <= MOST_IN_GRAM
    return n * r <= MOST_NUMBERS and not (inner.is_identity and rows.kind in ("bits", "dense"))


def few_rows(design):
    """The FewRows of a design, made once; None where its rows are many, or quicker as they are."""
    return design.once(_made)


def _made(design):
    if not are_few(design.rows, design.inner):
        return None
    n, r = design.shape
    if r < WIDER * n:
        return FewRows(Design(_dense(design.rows, design.inner), Identity(r), design.n_jobs), design, None)
    with single_threaded():
        values, vectors = positive_eigenpairs(_gram(design.rows, design.inner))
    roots = np.sqrt(values)
    return FewRows(Design(vectors * roots, Identity(len(roots)), design.n_jobs), design, vectors / roots)


def _gram(rows, inner):
    """K = Z Z', float64 (n, n)."""
    if not (rows.kind == "dense" and inner.is_identity):
        Z = _dense(rows, inner)
        return Z @ Z.T
    K = np.zeros((len(rows), len(rows)))
    for start in range(0, rows.shape[1], GRAM_COLUMNS):
        part = rows.X[:, start : start + GRAM_COLUMNS].astype(np.float64)
        K += part @ part.T
    return K


def _dense(rows, inner):
    """Rows in factor space, float64 (n, r)."""
    if inner.decodes(rows):
        return DecodedRows(rows, inner).toarray().astype(np.float64)
    features = np.asarray(rows.toarray(), dtype=np.float64)
    return features if inner.is_identity else np.ascontiguousarray(inner.project(features.T).T)
