"""The inner product of hashed words that carry a sign."""

__all__ = ["SignedWords"]

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError
from mercer.spaces.inner import InnerProduct, inner_class


@inner_class
class SignedWords(InnerProduct):
    """H = [[I, -I], [-I, I]] / blocks in every block of words: one word per block, half of the words meaning -1.

    Words w and w + n_words / 2 of a block are the same bucket with opposite signs. Two rows that meet in a bucket by
    chance, not by meaning, agree in the sign half of the time only: what such meetings add has mean zero.

    Parameters
    ----------
    n_blocks : number of blocks
    n_words : words per block, an even number

    Examples
    --------
    One block of two buckets; words 0 and 2 are the first bucket with opposite signs:

    >>> import numpy as np
    >>> F = SignedWords(n_blocks=1, n_words=4).project(np.eye(4))
    >>> (F.T @ F).tolist()
    [[1.0, 0.0, -1.0, 0.0], [0.0, 1.0, 0.0, -1.0], [-1.0, 0.0, 1.0, 0.0], [0.0, -1.0, 0.0, 1.0]]
    """

    n_blocks: int
    n_words: int

    def __post_init__(self):
        sizes = (self.n_blocks, self.n_words)
        if not all(isinstance(size, (int, np.integer)) for size in sizes) or min(sizes) < 1 or self.n_words % 2:
            raise InputError(f"SignedWords needs n_blocks >= 1 and an even n_words >= 2, got {sizes}.")
        self.n_blocks, self.n_words = map(int, sizes)

    @property
    def n_features(self):
        """D, the words of all blocks."""
        return self.n_blocks * self.n_words

    @property
    def n_factors(self):
        """r, the buckets of all blocks."""
        return self.n_features // 2

    def factor_rows(self, rows):
        """F phi of each row as a CSR matrix of shape (n, r), or None if the rows are not sparse."""
        X = self._checked_rows(rows).to_csr()
        if X is None:
            return None
        half = self.n_words // 2
        block, word = np.divmod(X.indices, self.n_words)
        values = np.where(word < half, X.data, -X.data) / np.sqrt(self.n_blocks)
        shape = (X.shape[0], self.n_factors)
        factors = sparse.csr_array((values, block * half + word % half, X.indptr.copy()), shape=shape)
        factors.sum_duplicates()  # in place, the row pointers too
        return factors

    def gram(self, rows, other=None, n_jobs=None):
        """Phi H Phi_other' as of every inner product, by a product of sparse matrices where both sides are sparse."""
        rows = self._checked_rows(rows)
        other = rows if other is None else self._checked_rows(other)
        left = self.factor_rows(rows)
        right = left if other is rows else self.factor_rows(other)
        if left is None or right is None:
            return super().gram(rows, other, n_jobs)
        left, right = _narrowed(left, right)
        common = np.result_type(rows.dtype, other.dtype)
        return (left @ right.T).toarray().astype(np.float32 if common == np.float32 else np.float64, copy=False)

    def project_checked(self, a):
        a = a.reshape(self.n_blocks, 2, self.n_words // 2, -1)
        return ((a[:, 0] - a[:, 1]) / np.sqrt(self.n_blocks)).reshape(self.n_factors, -1)

    def lift_checked(self, u):
        u = u.reshape(self.n_blocks, self.n_words // 2, -1) / np.sqrt(self.n_blocks)
        return np.stack([u, -u], axis=1).reshape(self.n_features, -1)

    def add_entries(self, v, columns, values, delta):
        half = self.n_words // 2
        opposite = np.where(columns % self.n_words < half, columns + half, columns - half)
        change = np.multiply.outer(values / self.n_blocks, delta)
        v[columns] += change
        v[opposite] -= change

    def _sparse_norms(self, X, out, n_jobs):
        out[...] = self.factor_rows(X).power(2).sum(axis=1)


def _narrowed(left, right):
    """Both without the columns that are empty in both: a product must not cost memory in proportion to all buckets."""
    both = sparse.vstack([left, right], format="csr")
    columns, places = np.unique(both.indices, return_inverse=True)
    both = sparse.csr_array((both.data, places, both.indptr), shape=(both.shape[0], len(columns)))
    return both[: left.shape[0]], both[left.shape[0] :]
