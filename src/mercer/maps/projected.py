"""A map followed by a random projection: short dense rows from features of any width."""

__all__ = ["ProjectedMap"]


import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement

from mercer._base.errors import InputError
from mercer._base.files.loaded import check_kind, check_whole, checked_array
from mercer._base.memory import row_chunks
from mercer._base.parameters import keep_arguments
from mercer._base.parameters.maps import PROJECTED
from mercer._base.threads import run_blocks
from mercer._base.validation import canonical
from mercer._native.maps.signs import BIT_MASKS, GROUP, add_signed_csr, fill_signs, parity_tables
from mercer.maps.base import FeatureMap
from mercer.spaces import Identity
from mercer.spaces.signed import SignedWords

CHUNK_ROWS = 8192  # rows whose wide features exist at once, if the working memory allows as many
ROWS_PER_TASK = 256
FEATURES_PER_TASK = 4096
PROJECTION_BYTES = 2**26  # columns of the projection matrix that exist at once, where it has to be formed


class ProjectedMap(FeatureMap):
    """The features of a map, projected at random to ``n_components`` numbers.

    With K(x, y) ~ phi(x)' H phi(y) and H = F'F, the new features are R F phi(x). R is a sample of n_components rows of
    a Hadamard matrix of size D (the next power of two of the width of F phi, at least 32) with a random sign for every
    column, over sqrt(n_components) ([tropp11improved]). Inner products keep their mean; their variance is at most

        (K(x, x) K(y, y) + K(x, y)^2) / n_components * (D - n_components) / (D - 1):

    that of independent signs for wide features, and none for n_components = D. It does not depend on the data: a way
    to short dense rows from sparse, high-dimensional histograms (spectra, words) that treats rows unlike any seen
    before as well as others, which maps with landmarks do not.

    Neither the wide features of all rows nor R is ever stored: entries of R are functions of seed, feature and
    component. More than D components are several such samples, each with signs of its own.

    Parameters
    ----------
    map : FeatureMap
        Any map of Mercer; ``fit`` clones and fits it.
    n_components : int
        Number of features after the projection.
    random_state : int, RandomState or None
        Seed of the projection. The map has its own seed.
    n_jobs : int or None
        Number of threads.

    Attributes
    ----------
    map_ : the fitted map
    kernel_ : the kernel it approximates
    inner_ : Identity
    seed_ : int
        Seed of the random signs.
    hadamard_rows_ : ndarray of shape (n_components,), int64
        The row of the Hadamard matrix that each component uses.

    Examples
    --------
    >>> from mercer import WeightedMinHash
    >>> projected = ProjectedMap(WeightedMinHash(64, random_state=0), n_components=100, random_state=0)
    >>> projected.fit_transform([[1.0, 2.0], [2.0, 0.0]]).shape
    (2, 100)
    """

    _table = PROJECTED

    def __init__(self, map, n_components=256, *, random_state=None, n_jobs=None):
        keep_arguments(self, locals())

    def fit(self, X, y=None):
        """Fit the map and draw the seed of the projection."""
        X = self._checked(X, reset=True)
        self.map_ = clone(self.map).fit(X, y)
        self.kernel_ = self.map_.kernel_
        random_state = check_random_state(self.random_state)
        self.seed_ = int(random_state.randint(2**31))
        self.hadamard_rows_ = self._sample_rows(int(self.n_components), random_state)
        self.inner_ = Identity(int(self.n_components))
        return self

    def _sample_rows(self, n_components, random_state):
        """Row numbers without repetition; whole matrices one after the other if there are more components than rows."""
        size = self._hadamard_size()
        sizes = [min(size, n_components - first) for first in range(0, n_components, size)]
        parts = [sample_without_replacement(size, count, random_state=random_state) for count in sizes]
        return np.concatenate(parts).astype(np.int64)

    def _hadamard_size(self):
        return max(GROUP, 1 << (self.map_.inner_.n_factors - 1).bit_length())

    def fold(self, v):
        """The predictor x -> phi(x)' v on raw input, for weights v of shape (features,) or (features, classes).

        The weights absorb the projection, so prediction costs as much as with the map alone.
        """
        v = np.asarray(v)
        if v.ndim not in (1, 2) or len(v) != self._n_features_out:
            raise InputError(
                f"ProjectedMap.fold needs weights of shape ({self._n_features_out},) or ({self._n_features_out}, "
                f"classes), got {v.shape}."
            )
        dtype = np.float32 if v.dtype == np.float32 else np.float64
        v = v.astype(dtype, copy=False)
        factors = np.zeros((self.map_.inner_.n_factors, *v.shape[1:]))
        for part in self._component_parts():
            factors += self._signs(part, np.float64) @ v[part]
        return self.map_.fold(self.map_.inner_.lift(self._scale() * factors).astype(dtype, copy=False))

    def encode_rows(self, X):
        out = np.empty((X.shape[0], self._n_features_out), dtype=X.dtype)
        for rows in row_chunks(X.shape[0], self._wide_bytes(X), most=CHUNK_ROWS):
            self._project(self.map_.as_rows(canonical(X[rows])), out[rows])
        out *= out.dtype.type(self._scale())
        return out

    def _project(self, wide, out):
        """out = (R F phi)' without the scale of R, for rows phi stored in any way."""
        inner = self.map_.inner_
        factors = _sparse_factors(inner, wide)
        if factors is not None:
            self._add_signs(factors, out)
        elif isinstance(inner, Identity) or len(wide) > self._n_features_out:
            # R F phi = (F' R')' phi: a few columns of F' R' at a time score all rows
            for part in self._component_parts():
                out[:, part] = wide.scores(inner.lift(self._signs(part, out.dtype)), self.n_jobs)
        else:  # F phi of a few rows costs less than F' R', and has few non-zeros where F is made of blocks
            for rows in row_chunks(len(wide), 16 * (inner.n_features + inner.n_factors)):
                self._add_signs(sparse.csr_array(inner.project(wide.take(rows).toarray().T).T), out[rows])

    def _add_signs(self, factors, out):
        """out = factors @ R' without the scale of R: signs on the fly, for the columns that a row has."""
        factors = factors.astype(out.dtype, copy=False)
        key, block, tables = self._sign_source()

        def project(rows):
            sums = np.zeros((rows.stop - rows.start, _in_groups(out.shape[1])), dtype=out.dtype)
            pointers = factors.indptr[rows.start : rows.stop + 1]
            add_signed_csr(key, pointers, factors.indices, factors.data, block, tables, BIT_MASKS, sums)
            out[rows] = sums[:, : out.shape[1]]

        tasks = [slice(i, min(i + ROWS_PER_TASK, len(out))) for i in range(0, len(out), ROWS_PER_TASK)]
        run_blocks(project, tasks, self.n_jobs)

    def _component_parts(self):
        """Slices of components whose columns of R' and F' R' may exist at once, beginning at multiples of GROUP."""
        inner = self.map_.inner_
        affordable = PROJECTION_BYTES // (8 * (inner.n_features + inner.n_factors)) // GROUP * GROUP
        step = max(GROUP, affordable)
        return [slice(m, min(m + step, self._n_features_out)) for m in range(0, self._n_features_out, step)]

    def _signs(self, part, dtype):
        """Columns ``part`` of R' without its scale."""
        signs = np.empty((self.map_.inner_.n_factors, _in_groups(part.stop - part.start)), dtype=dtype)
        tasks = [slice(j, min(j + FEATURES_PER_TASK, len(signs))) for j in range(0, len(signs), FEATURES_PER_TASK)]
        key, block, tables = self._sign_source()

        def fill(rows):
            fill_signs(key, rows.start, part.start // GROUP, block, tables, BIT_MASKS, signs[rows])

        run_blocks(fill, tasks, self.n_jobs)
        return signs[:, : part.stop - part.start]

    def _sign_source(self):
        """(key of the random signs, groups of components that share one, tables of parities)."""
        size = self._hadamard_size()
        n_bytes = -(-(size - 1).bit_length() // 8)
        tables = np.empty((n_bytes, 256, _in_groups(self._n_features_out) // GROUP), dtype=np.int32)
        parity_tables(self.hadamard_rows_, tables)
        return np.uint64(self.seed_), size // GROUP, tables

    def _scale(self):
        return 1 / np.sqrt(self._n_features_out)

    def _wide_bytes(self, X):
        """Memory of the map's features per row: of a sparse X each non-zero is taken to give its share of them."""
        share = X.nnz / max(1, X.shape[0] * X.shape[1]) if sparse.issparse(X) else 1.0
        return 16 * share * self.map_.inner_.n_features

    @property
    def _n_features_out(self):
        return self.inner_.n_features

    def resolved_kernel(self):
        if not isinstance(self.map, FeatureMap):
            raise InputError(f"ProjectedMap needs a map of Mercer, such as HomogeneousMap('chi2'), got {self.map!r}.")
        return self.map.resolved_kernel()

    def _check_loaded(self):
        if not hasattr(self, "inner_"):
            return  # not fitted
        fitted, inner = check_kind(self, "map_", FeatureMap), check_kind(self, "inner_", Identity)
        check_whole(self, "seed_", 0, 2**31 - 1)
        if inner.size < 1:
            raise ValueError("inner_ must have at least one feature.")
        checked_array(self, "hadamard_rows_", "int64", shape=(inner.size,), lowest=0, highest=self._hadamard_size() - 1)
        if fitted.n_features_in_ != self.n_features_in_:
            raise ValueError("map_ was fitted on rows of a different width.")


def _sparse_factors(inner, wide):
    """F phi of the rows as CSR where it is as sparse as they are, else None."""
    if isinstance(inner, Identity):
        return wide.to_csr()
    return inner.factor_rows(wide) if isinstance(inner, SignedWords) else None


def _in_groups(n_components):
    """The next multiple of GROUP."""
    return -(-n_components // GROUP) * GROUP
