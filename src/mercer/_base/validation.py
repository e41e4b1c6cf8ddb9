"""Array checks at the public door of the kernels; below it, functions trust their callers."""

__all__ = [
    "LARGEST",
    "as_rows",
    "canonical",
    "check_same_width",
    "index_type",
    "narrow",
    "refuse_negative",
    "require_range",
]

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError, NegativeValueError

# Largest magnitudes of rows for methods that multiply values several times, partly in float32.
SMALLEST, LARGEST = 1e-32, 1e30


def as_rows(X, who, name="X"):
    """Rows as a C-contiguous float32/float64 array or a canonical CSR matrix. float32 stays, the rest becomes float64.

    NaN and infinity are refused by scikit-learn's ``check_array``, with its usual words.
    """
    from sklearn.utils import check_array

    X = check_array(
        X,
        accept_sparse="csr",
        accept_large_sparse=True,
        dtype=[np.float64, np.float32],
        order="C",
        input_name=name,
        estimator=who,
    )
    return canonical(X)


def canonical(X):
    """A sparse matrix as a CSR array with ascending columns, each once; a dense one as it is."""
    if not sparse.issparse(X):
        return X
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return narrow(sparse.csr_array(X))


def index_type(*sizes):
    """The type for indices up to the largest of the sizes: int32 while it fits, because scikit-learn's trees and
    liblinear take no other.
    """
    return np.dtype(np.int32 if max(sizes) <= np.iinfo(np.int32).max else np.int64)


def narrow(X):
    """A CSR array with indices of the type that `index_type` gives; anything else as it is."""
    if not sparse.issparse(X):
        return X
    wanted = index_type(*X.shape, X.nnz)
    if X.indices.dtype != wanted or X.indptr.dtype != wanted:
        flag = X.has_canonical_format
        X = sparse.csr_array((X.data, X.indices.astype(wanted), X.indptr.astype(wanted)), shape=X.shape)
        X.has_canonical_format = flag
    return X


def require_range(X, who, fitting, name="X"):
    """Refuse rows whose numbers are so large, or all so small, that their products leave the range of floats.

    Rows that are not fitted to may be as small as they like.
    """
    values = X.data if sparse.issparse(X) else X
    if not values.size:
        return
    largest = max(abs(float(values.max())), abs(float(values.min())))
    if largest > LARGEST or (fitting and 0 < largest < SMALLEST):
        raise InputError(
            f"{who} needs rows whose largest absolute value is between {SMALLEST:g} and {LARGEST:g}; the largest of "
            f"{name} is {largest:.6g}. Scale the data, for instance by its largest absolute value."
        )


def check_same_width(X, Y, who):
    """Both sides must have the same number of columns."""
    if X.shape[1] != Y.shape[1]:
        raise InputError(
            f"{who} compares rows of equal length, but X has {X.shape[1]} columns and Y has {Y.shape[1]}. Both must "
            "have the same features."
        )


def refuse_negative(X, position, who, name="X", hint=""):
    """Raise for the value at flat ``position`` (into X, or into X.data of a CSR matrix), naming its row and column."""
    if sparse.issparse(X):
        row = int(np.searchsorted(X.indptr, position, side="right")) - 1
        column, value = int(X.indices[position]), X.data[position]
    else:
        row, column = divmod(int(position), X.shape[1])
        value = X[row, column]
    # scikit-learn's checks look for the first four words
    message = f"Negative values in data: {who} needs values >= 0, but {name}[{row}, {column}] is {value:.6g}."
    raise NegativeValueError(f"{message} {hint}".rstrip(), who, "signed=True" in hint)
