"""Weighted minwise hashing: the min-max kernel as the chance that two hashes agree."""

__all__ = ["WeightedMinHash"]


import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from mercer._base.files.loaded import check_kind, check_whole
from mercer._base.memory import row_chunks
from mercer._base.parameters import keep_arguments
from mercer._base.parameters.maps import MOST_HASHES, WEIGHTED_MIN_HASH
from mercer._base.threads import run_blocks
from mercer._base.validation import index_type
from mercer._native.maps.minhash import fill_variates, pick_columns, reduce_to_words
from mercer.kernels import MinMax
from mercer.maps.base import FeatureMap
from mercer.spaces import CodeRows
from mercer.spaces.signed import SignedWords

HASHES_AT_ONCE = 128  # the inner loop runs over these; below 64 it loses speed, above 256 it gains none
TABLE_BYTES = 2**26  # variates of (columns present) x (hashes at once); with fewer hashes where columns are many
ROWS_PER_TASK = 512
COLUMNS_PER_TASK = 1024


class WeightedMinHash(FeatureMap):
    """Hashes of non-negative rows that agree with probability K(x, y) = sum min(x, y) / sum max(x, y).

    Consistent weighted sampling ([ioffe10improved]) picks for every hash one column of a row and a level of its value;
    two rows pick the same pair with a probability of exactly the min-max kernel. A random hash function turns the pair
    into one of ``2**bits`` words, so a row is stored in ``n_hashes`` bytes (two each above 8 bits), and ``transform``
    gives the words one-hot.

    Different picks may meet in one word, which alone would add (1 - K) / 2**bits to the agreement ([li10bbit]). Here a
    word is a bucket and a sign: among chance meetings of buckets the signs agree and disagree equally often, and
    ``inner_`` counts a disagreement as -1. So ``approximate_kernel`` is unbiased for any number of bits, with variance
    (K (1 - K) + (1 - K) / (2**(bits - 1) - 1)) / n_hashes. All-zero rows have a bucket of their own: their
    similarity is 1 with each other and 0 with all other rows.

    Parameters
    ----------
    n_hashes : int
        Number of hashes per row; the standard error of the kernel falls with its square root.
    bits : int from 2 to 16
        Bits per hash.
    random_state : int, RandomState or None
        Seed of the hash functions.
    n_jobs : int or None
        Number of threads.

    Attributes
    ----------
    kernel_ : MinMax
    inner_ : SignedWords
        The inner product of one-hot words.
    seed_ : int
        Seed of all random numbers. They are computed from (seed, hash, column) instead of being stored, so columns take
        no memory.

    Examples
    --------
    >>> X = [[2.0, 0.0, 4.0], [1.0, 1.0, 4.0]]
    >>> hashes = WeightedMinHash(4096, random_state=0).fit(X)
    >>> hashes.codes(X).shape
    (2, 4096)
    >>> abs(hashes.approximate_kernel(X) - hashes.kernel_(X)).max() < 0.03
    np.True_
    """

    _any_range = True

    _table = WEIGHTED_MIN_HASH

    def __init__(self, n_hashes=256, *, bits=8, random_state=None, n_jobs=None):
        keep_arguments(self, locals())

    def fit(self, X, y=None):
        """Draw the seed. Only the width of X is used."""
        self._checked(X, reset=True)
        self.kernel_ = self.resolved_kernel()
        self.seed_ = int(check_random_state(self.random_state).randint(2**31))
        self.inner_ = SignedWords(int(self.n_hashes), 2 ** int(self.bits))
        return self

    def codes(self, X):
        """The words, shape (n, n_hashes), uint8 or above 8 bits uint16. Equal rows have equal words."""
        return self._words(self._checked(X, reset=False))

    def as_rows(self, X):
        """The words as `mercer.spaces` rows."""
        return CodeRows(self._words(X), self.inner_.n_words)

    def encode_rows(self, X):
        words = self._words(X)
        n, M = words.shape
        index = index_type(self._n_features_out, n * M).type
        columns = words.astype(index) + np.arange(M, dtype=index) * index(self.inner_.n_words)
        pointers = np.arange(n + 1, dtype=index) * index(M)
        ones = np.ones(n * M, dtype=X.dtype)
        return sparse.csr_array((ones, columns.ravel(), pointers), shape=(n, self._n_features_out))

    @property
    def _n_features_out(self):
        return self.inner_.n_features

    def resolved_kernel(self):
        return MinMax()

    def _words(self, X):
        dtype = np.uint8 if self.inner_.n_words <= 256 else np.uint16
        words = np.empty((X.shape[0], self.inner_.n_blocks), dtype=dtype)
        per_row = X.nnz / X.shape[0] if sparse.issparse(X) else X.shape[1]
        for rows in row_chunks(X.shape[0], bytes_per_row=24 * per_row):
            self._fill_words(sparse.csr_array(X[rows]), words[rows])
        return words

    def _fill_words(self, X, words):
        indptr = X.indptr.astype(np.int64)
        columns, places = _columns_present(X)
        with np.errstate(divide="ignore"):
            # in float64 whatever the input, so that float32 rows and their float64 copies have the same words
            logs = np.log(X.data, dtype=np.float64).astype(np.float32)
        key, n_buckets = np.uint64(self.seed_), self.inner_.n_words // 2 - 1
        affordable = TABLE_BYTES // (12 * max(1, len(columns))) // 16 * 16
        step = min(HASHES_AT_ONCE, max(16, affordable))
        for first in range(0, words.shape[1], step):
            H = min(step, words.shape[1] - first)
            tables = np.empty((len(columns), 3, H), dtype=np.float32)

            def fill(part):
                fill_variates(key, columns[part], first, tables[part])

            def pick(part):
                pointers = indptr[part.start : part.stop + 1]
                best = np.empty((part.stop - part.start, H), dtype=np.int32)
                scratch = np.empty((2, H), dtype=np.float32), np.empty((2, H), dtype=np.int32)
                pick_columns(pointers, places, logs, tables, *scratch, best)
                block = np.empty(best.shape, dtype=words.dtype)
                reduce_to_words(key, first, pointers, places, logs, columns, tables, best, n_buckets, block)
                words[part, first : first + H] = block

            run_blocks(fill, _parts(len(columns), COLUMNS_PER_TASK), self.n_jobs)
            run_blocks(pick, _parts(len(words), ROWS_PER_TASK), self.n_jobs)

    def _check_loaded(self):
        if not hasattr(self, "inner_"):
            return  # not fitted
        inner = check_kind(self, "inner_", SignedWords)
        check_whole(self, "seed_", 0, 2**31 - 1)
        if inner.n_words not in [2**bits for bits in range(2, 17)]:
            raise ValueError(f"inner_.n_words must be a power of two from 4 to 65536, not {inner.n_words}.")
        if inner.n_blocks > MOST_HASHES:
            raise ValueError(f"inner_.n_blocks must be at most {MOST_HASHES}, not {inner.n_blocks}.")


def _columns_present(X):
    """(columns that hold a non-zero, ascending; the position of each non-zero among them)."""
    present = np.zeros(X.shape[1], dtype=bool)
    present[X.indices] = True
    columns = np.flatnonzero(present)
    position = np.empty(X.shape[1], dtype=np.int32)
    position[columns] = np.arange(len(columns), dtype=np.int32)
    return columns, position[X.indices]


def _parts(count, step):
    return [slice(start, min(start + step, count)) for start in range(0, count, step)]
