"""Inner products H = F'F between encoded rows, kept as their factor F.

    project(a) = F a       features (D,) or (D, C) -> factors (r,) or (r, C)
    lift(u)    = F' u      factors -> features

Solvers keep weights as u in the factor space: norm(u)^2 is the regularizer, v = lift(u) scores rows, and no inverse of
H is ever needed. Nothing here forms a D x D matrix, but :meth:`InnerProduct.matrix`, which is there for tests. Results
have the type of the argument (float32 stays, the rest is float64); sums run in float64.
"""

__all__ = ["BlockDiagonal", "Identity", "InnerProduct", "block_diag", "inner_class"]

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from mercer._base.errors import InputError
from mercer._base.memory import row_chunks
from mercer.kernels.engine import mirror
from mercer.spaces.blocks import width_of
from mercer.spaces.rows import CSRRows, StackedRows, as_rows

inner_class = dataclass(eq=False, repr=False)


class InnerProduct:
    """phi(x)' H phi(y) on D features, with H = F'F and F of shape (r, D)."""

    is_identity: ClassVar[bool] = False  # whether H = I
    is_cumulative: ClassVar[bool] = False  # whether H = min(z, z') of points in blocks
    nbytes = 0  # memory that is taken when F is first used, and that no plan sees otherwise
    block_widths = None  # features of each block, where H is made of blocks
    n_block_products = None  # entries of the blocks of H, where these are small enough to be written out

    @property
    def n_features(self) -> int:
        """D, the number of features."""
        raise NotImplementedError

    @property
    def n_factors(self) -> int:
        """r, the dimension of the factor space."""
        return self.n_features

    def is_of_words(self, rows):
        """Whether rows, or rows of a RowShape, hold one word of each block."""
        widths = self.block_widths
        return rows.n_words is not None and widths is not None and np.array_equal(rows.n_words, widths)

    def decodes(self, rows):
        """Whether words of the rows stand for columns of one factor per block, as those of a product quantizer."""
        return False

    def project(self, a):
        """F a, for features a of shape (D,) or (D, C)."""
        return self._apply(self.project_checked, a, self.n_features, "project")

    def lift(self, u):
        """F' u, for factors u of shape (r,) or (r, C)."""
        return self._apply(self.lift_checked, u, self.n_factors, "lift")

    def add_row(self, v, rows, i, delta):
        """v += delta * H phi_i in place, v of shape (D,), or (D, C) with delta a number or of shape (C,)."""
        rows = self._checked_rows(rows)
        if v.ndim not in (1, 2) or v.shape[0] != self.n_features:
            raise InputError(
                f"{type(self).__name__}.add_row needs v of shape ({self.n_features},) or ({self.n_features}, classes), "
                f"got {v.shape}."
            )
        columns, values = rows.entries(i)
        delta = np.array(np.broadcast_to(np.asarray(delta, dtype=np.float64), (width_of(v),)))
        # (D,) as (D, 1) is a view, so that v itself changes
        v = v[:, None] if v.ndim == 1 else v
        self.add_entries(v, columns.astype(np.int64, copy=False), values.astype(np.float64, copy=False), delta)

    def row_norms(self, rows, n_jobs=None):
        """phi' H phi of each row, float64."""
        rows = self._checked_rows(rows)
        out = np.empty(len(rows))
        for block, part in rows.blocks():
            sparse_block = block.to_csr()
            if sparse_block is None:
                out[part] = self._dense_norms(block)
            else:
                self._sparse_norms(sparse_block, out[part], n_jobs)
        return out

    def gram(self, rows, other=None, n_jobs=None):
        """Phi H Phi_other', shape (n, m), float32 if both sides are float32; without ``other``, of the rows themselves.

        H Phi_other' is formed for a few columns at a time, which the rows then score.
        """
        rows = self._checked_rows(rows)
        other = rows if other is None else self._checked_rows(other)
        common = np.result_type(rows.dtype, other.dtype)
        out = np.empty((len(rows), len(other)), dtype=np.float32 if common == np.float32 else np.float64)
        for part in row_chunks(len(other), 8 * (3 * self.n_features + self.n_factors + len(rows))):
            out[:, part] = rows.scores(self._weights_of(other.take(part)), n_jobs)
        if other is rows:
            mirror(out)
        return out

    def matrix(self):
        """H as a dense D x D array: for small spaces and tests."""
        return self.lift(self.project(np.eye(self.n_features)))

    # ------------------------------------------------------------------------------------ what a structure defines

    def project_checked(self, a):
        """F a for a (D, C), both float64."""
        raise NotImplementedError

    def lift_checked(self, u):
        """F' u for u (r, C), both float64."""
        raise NotImplementedError

    def add_entries(self, v, columns, values, delta):
        """v += outer(H phi, delta) for a sparse vector phi, v (D, C)."""
        raise NotImplementedError

    def _sparse_norms(self, X, out, n_jobs):
        """Write phi' H phi of the rows of a CSR matrix into ``out``."""
        raise NotImplementedError

    def _dense_norms(self, rows):
        out = np.empty(len(rows))
        for part in row_chunks(len(rows), 16 * (self.n_features + self.n_factors)):
            projected = self.project_checked(_transposed(rows.take(part)))
            np.einsum("rn,rn->n", projected, projected, out=out[part])
        return out

    def _weights_of(self, rows):
        """H Phi', shape (D, n)."""
        return self.lift_checked(self.project_checked(_transposed(rows)))

    # ---------------------------------------------------------------------------------------------------- helpers

    def _apply(self, function, a, length, method):
        a = np.asarray(a)
        if a.ndim not in (1, 2) or a.shape[0] != length:
            raise InputError(
                f"{type(self).__name__}.{method} needs an array of shape ({length},) or ({length}, classes), got "
                f"{a.shape}."
            )
        result = function(np.ascontiguousarray(a, dtype=np.float64).reshape(length, width_of(a)))
        result = result.astype(np.float32 if a.dtype == np.float32 else np.float64, copy=False)
        return result[:, 0] if a.ndim == 1 else result

    def _checked_rows(self, rows):
        rows = as_rows(rows)
        if rows.shape[1] != self.n_features:
            raise InputError(
                f"{type(self).__name__} works on rows of {self.n_features} features, got rows of shape {rows.shape}."
            )
        return rows

    def __reduce__(self):
        return type(self), tuple(self.get_params().values())  # the rest is derived from the arguments

    def get_params(self, deep=True):
        """Constructor arguments by name, which is what a model file keeps."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __repr__(self):
        return f"{type(self).__name__}({self.n_features} features, {self.n_factors} factors)"


@inner_class
class Identity(InnerProduct):
    """H = I, the usual inner product.

    Parameters
    ----------
    size : number of features

    Examples
    --------
    >>> inner = Identity(2)
    >>> inner.project([1.0, 2.0]).tolist()
    [1.0, 2.0]
    """

    size: int
    is_identity: ClassVar[bool] = True

    def __post_init__(self):
        if not isinstance(self.size, (int, np.integer)) or self.size < 0:
            raise InputError(f"Identity needs a number of features >= 0, got {self.size!r}.")
        self.size = int(self.size)

    @property
    def n_features(self):
        return self.size

    def row_norms(self, rows, n_jobs=None):
        """phi' phi of each row, float64."""
        return self._checked_rows(rows).squared_norms(n_jobs)

    def project_checked(self, a):
        return a.copy()

    def lift_checked(self, u):
        return u.copy()

    def add_entries(self, v, columns, values, delta):
        v[columns] += np.multiply.outer(values, delta)

    def _weights_of(self, rows):
        return rows.toarray().T


@inner_class
class BlockDiagonal(InnerProduct):
    """H = diag(H_1, H_2, ...), the inner product of rows side by side. Made by :func:`block_diag`.

    Parameters
    ----------
    parts : sequence of inner products

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Factor, Identity
    >>> F = BlockDiagonal([Identity(1), Factor([[2.0]])]).project(np.eye(2))
    >>> (F.T @ F).tolist()
    [[1.0, 0.0], [0.0, 4.0]]
    """

    parts: Any

    def __post_init__(self):
        self.parts = tuple(self.parts)
        if not self.parts or not all(isinstance(part, InnerProduct) for part in self.parts):
            raise InputError(f"block_diag needs one or more inner products, got {self.parts!r}.")
        self._features = _consecutive([part.n_features for part in self.parts])
        self._factors = _consecutive([part.n_factors for part in self.parts])

    @property
    def slices(self):
        """The features of each part."""
        return self._features

    @property
    def n_features(self):
        return self._features[-1].stop

    @property
    def factor_slices(self):
        """Where the factors of each part stand among all."""
        return self._factors

    @property
    def n_factors(self):
        return self._factors[-1].stop

    def row_norms(self, rows, n_jobs=None):
        """phi' H phi of each row, float64."""
        rows = self._checked_rows(rows)
        if isinstance(rows, StackedRows) and rows.slices == self.slices:
            norms = [part.row_norms(own, n_jobs) for part, own in zip(self.parts, rows.parts, strict=True)]
            return np.sum(norms, axis=0)
        return super().row_norms(rows, n_jobs)

    def project_checked(self, a):
        return np.concatenate(
            [part.project_checked(a[own]) for part, own in zip(self.parts, self._features, strict=True)]
        )

    def lift_checked(self, u):
        return np.concatenate([part.lift_checked(u[own]) for part, own in zip(self.parts, self._factors, strict=True)])

    def add_entries(self, v, columns, values, delta):
        for part, own in zip(self.parts, self._features, strict=True):
            first, last = np.searchsorted(columns, [own.start, own.stop])
            part.add_entries(v[own], columns[first:last] - own.start, values[first:last], delta)

    def _sparse_norms(self, X, out, n_jobs):
        out[...] = 0.0
        for part, own in zip(self.parts, self._features, strict=True):
            out += part.row_norms(CSRRows(X[:, own]), n_jobs)


def block_diag(*parts):
    """The inner product of rows side by side; nested block diagonals are flattened.

    >>> block_diag(Identity(2), block_diag(Identity(3), Identity(1))).slices
    (slice(0, 2, None), slice(2, 5, None), slice(5, 6, None))
    """
    flat = []
    for part in parts:
        flat += part.parts if isinstance(part, BlockDiagonal) else (part,)
    return flat[0] if len(flat) == 1 else BlockDiagonal(flat)


# ---------------------------------------------------------------------------------------------------------- helpers


def _transposed(rows):
    """Phi' of a few rows, float64 and C-contiguous."""
    return np.ascontiguousarray(rows.toarray().T, dtype=np.float64)


def _consecutive(sizes):
    ends = np.cumsum(sizes).tolist()
    return tuple(slice(end - size, end) for size, end in zip(sizes, ends, strict=True))
