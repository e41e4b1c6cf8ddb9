"""The fitted part of an index: rows to embedded rows to codes, and what was measured on the way."""

__all__ = ["SearchModel", "features"]

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._base.errors import InputError
from mercer._base.files.loaded import check_kind, check_number
from mercer._base.parameters.search import SEARCH_MODEL
from mercer._base.threads import thread_limit
from mercer._base.validation import LARGEST, canonical, require_range
from mercer.codes import ProductQuantizer, SignHash, UniversalEmbedding
from mercer.kernels import Linear, closed, get_kernel, needs_non_negative, resolve_kernel
from mercer.maps.base import FeatureMap
from mercer.search.model.coders import BitCoder, FlatCoder, WordCoder
from mercer.search.model.measure import Measure
from mercer.search.model.parameters import check_model
from mercer.spaces import Identity

CHUNK_ROWS = 8192
WIDE_NUMBERS = [np.dtype(name) for name in ("int32", "uint32", "int64", "uint64")]


class SearchModel(BaseEstimator):
    """Embedding and code of a :class:`KernelIndex`, without rows. Its parameters are described there.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel, with widths that were left open measured.
    embedding_ : FeatureMap, or None of lists without codes
        Of the kernel, normalized or not. Features of a map of the plain kernel are divided by sqrt(K(x, x)) where
        rows are compared by the normalized one.
    quantizer_ : ProductQuantizer, SignHash, UniversalEmbedding or None
    scale_ : float
        The s of the scan: see `mercer.search.model.coders`.
    slope_, intercept_ : floats
        The objective is estimated as slope * score + intercept, plus the terms of the query.
    slack_ : float
        The measured maximum by which a neighbor is underestimated.
    residual_limit_ : float
        Share of K(x, x) that the embedding loses, above which a row differs from the training sample.
    highest_energy_ : float
        Largest K(x, x) seen.
    plan_ : dict
        The settings that were chosen, and why.

    Examples
    --------
    The model of an index, without its rows:

    >>> import numpy as np
    >>> from mercer import KernelIndex
    >>> X = np.random.default_rng(0).dirichlet(np.ones(16), size=300)
    >>> index = KernelIndex("chi2", bytes_per_item=4, effort="low", n_landmarks=32, random_state=0).fit(X)
    >>> type(index.model_).__name__, len(index)
    ('SearchModel', 0)
    """

    _table = SEARCH_MODEL

    def __init__(
        self,
        kernel="chi2",
        *,
        embedding="auto",
        code="pq",
        bits=8,
        bytes_per_item=16,
        store="codes",
        normalize=True,
        measure="similarity",
        effort="default",
        n_components=None,
        n_landmarks=1024,
        random_state=None,
        n_jobs=None,
    ):
        self.kernel = kernel
        self.embedding = embedding
        self.code = code
        self.bits = bits
        self.bytes_per_item = bytes_per_item
        self.store = store
        self.normalize = normalize
        self.measure = measure
        self.effort = effort
        self.n_components = n_components
        self.n_landmarks = n_landmarks
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y=None):
        """Choose and learn embedding and code from rows. ``y`` is ignored."""
        from mercer.search.model.planning import fit_plan

        check_model(self)
        X = self._validated(X, reset=True)
        with thread_limit(self.n_jobs):
            if self.embeds:
                fit_plan(self, X, check_random_state(self.random_state))
            else:
                self._fit_lists(X)
        self._coder = None  # of a fit before this one
        return self

    @property
    def keeps_codes(self):
        """Whether rows are coded, which lists and graphs do without."""
        return self.store == "codes" or self.bytes_per_item is not None

    @property
    def embeds(self):
        """Whether rows are embedded, which lists do without."""
        return self.keeps_codes or self.store == "graph"

    @property
    def embedded_width(self):
        """Components of an embedded row."""
        return self.embedding_._n_features_out + Measure.of(self).levels_norms

    def _fit_lists(self, X):
        """What lists need: the kernel with its width."""
        self.kernel_ = resolve_kernel(self.kernel, X, self.n_jobs)
        self.embedding_ = self.quantizer_ = None
        self.plan_ = {}

    # --------------------------------------------------------------------------------------------- rows to codes

    def embed(self, X):
        """(embedded rows in float32, share of K(x, x) that is lost) of validated rows."""
        out, lost = None, np.empty(X.shape[0])
        with thread_limit(self.n_jobs):
            for start in range(0, X.shape[0], CHUNK_ROWS):
                part = slice(start, start + CHUNK_ROWS)
                Z, lost[part] = self._embedded(X[part].astype(np.float32, copy=False))
                Z = self.levelled(Z)
                out = np.empty((X.shape[0], Z.shape[1]), dtype=np.float32) if out is None else out
                out[part] = Z
        return out, lost

    def embed_queries(self, Q):
        """Embedded queries, float32: as rows, but what makes norms equal is zero."""
        with thread_limit(self.n_jobs):
            Z = features(self.embedding_, Measure.of(self), Q.astype(np.float32, copy=False))
        return self.levelled_queries(Z)

    def _embedded(self, rows):
        measure = Measure.of(self)
        Z = features(self.embedding_, measure, rows)
        energy = measure.energy(rows)
        kept = np.einsum("ij,ij->i", Z, Z, dtype=np.float64)
        return Z, 1 - np.divide(kept, energy, out=np.ones_like(kept), where=energy > 0)

    def levelled(self, Z):
        """Embedded rows as they are coded: with one more number where norms are made equal."""
        if not Measure.of(self).levels_norms:
            return Z
        kept = np.einsum("ij,ij->i", Z, Z, dtype=np.float64)
        extra = np.sqrt(np.maximum(self.highest_energy_ - kept, 0.0))
        return np.concatenate([Z, extra[:, None].astype(np.float32)], axis=1)

    def levelled_queries(self, Z):
        """Embedded queries as codes are compared with them."""
        return np.pad(Z, ((0, 0), (0, 1))) if Measure.of(self).levels_norms else Z

    @property
    def coder_(self):
        """What encodes embedded rows."""
        check_is_fitted(self)
        if getattr(self, "_coder", None) is None:
            self._coder = self._make_coder()
        return self._coder

    def _make_coder(self):
        if isinstance(self.quantizer_, ProductQuantizer):
            return WordCoder(self.quantizer_, self.scale_)
        if self.quantizer_ is None:
            return FlatCoder(self.embedded_width, self.scale_)
        return BitCoder(self.quantizer_, asymmetric=isinstance(self.quantizer_, SignHash))

    def estimates(self, scores):
        """The objectives that scores of a scan stand for, as far as codes tell."""
        return self.slope_ * scores + self.intercept_

    # ------------------------------------------------------------------------------------------------------ helpers

    def validated(self, X, name="X"):
        """Rows or queries for the fitted model: float32 or float64, C-contiguous or canonical CSR, in its domain."""
        if not self._is_plain(X):
            check_is_fitted(self)
            return self._validated(X, reset=False, name=name)
        self.kernel_.check_values(X, name)
        return X

    def _is_plain(self, X):
        """Whether rows are what validation would make of them, which takes longer than a search may."""
        if hasattr(self, "feature_names_in_") or not hasattr(self, "n_features_in_"):
            return False
        if type(X) is sparse.csr_array:
            values = X.data
            narrow = X.ndim == 2 and X.indices.dtype == X.indptr.dtype == np.int32 and X.has_canonical_format
            plain = narrow and X.nnz == len(values)
        else:
            values = X
            plain = type(X) is np.ndarray and X.ndim == 2 and X.flags.c_contiguous
        if not plain or values.dtype not in (np.float32, np.float64) or X.shape[1] != self.n_features_in_:
            return False
        if X.shape[0] == 0 or not values.size:
            return False
        return bool(values.min() >= -LARGEST and values.max() <= LARGEST)  # which NaN is not

    def _validated(self, X, reset, name="X"):
        # float32 holds integers of 16 bits; wider ones must not be rounded before anybody has looked
        wide = getattr(X, "dtype", None) in WIDE_NUMBERS
        dtypes = [np.float64, np.float32] if wide else [np.float32, np.float64]
        X = validate_data(_as_index(self), X, reset=reset, accept_sparse="csr", dtype=dtypes, order="C")
        X = canonical(X)
        require_range(X, "KernelIndex", fitting=reset, name=name)
        (get_kernel(self.kernel) if reset else self.kernel_).check_values(X, name)
        return X

    def _check_loaded(self):
        check_model(self)
        kernel = get_kernel(self.kernel)
        if not hasattr(self, "kernel_"):  # written when the default of every width was 1
            self.kernel_ = closed(kernel)
        if type(self.kernel_) is not type(kernel):
            raise ValueError("kernel_ does not match the parameters.")
        check_kind(self, "plan_", dict)
        if not self.embeds:
            return
        check_kind(self, "embedding_", FeatureMap)
        if self.embedding_.kernel_ not in (self.kernel_, Measure.of(self).kernel):
            raise ValueError("embedding_ is a map of a different kernel.")
        if self.embedding_.n_features_in_ != self.n_features_in_:
            raise ValueError("embedding_ was fitted on rows of a different width.")
        self._check_loaded_code()
        for name in ("scale_", "slope_"):
            check_number(self, name, above=0)
        for name in ("slack_", "highest_energy_"):
            check_number(self, name, lowest=0)
        for name in ("intercept_", "residual_limit_"):
            check_number(self, name)

    def _check_loaded_code(self):
        expected = {"pq": ProductQuantizer, "opq": ProductQuantizer, "lsh": SignHash, "universal": UniversalEmbedding}
        code = self.quantizer_
        if not isinstance(code, expected.get(self.code, type(None)) if self.keeps_codes else type(None)):
            raise ValueError(f"quantizer_ does not match code={self.code!r}.")
        if isinstance(code, ProductQuantizer) and code.bits != self.bits:
            raise ValueError("the bits of quantizer_ do not match the parameters.")
        if code is not None and code.n_features_in_ != self.embedded_width:
            raise ValueError("the widths of quantizer_ and embedding_ do not match.")
        other_kernel = isinstance(code, ProductQuantizer) and code.kernel_ != Linear()
        if other_kernel or getattr(code, "map_", None) is not None:
            raise ValueError("quantizer_ must not transform embedded rows.")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = needs_non_negative(lambda: get_kernel(self.kernel))
        return tags


def _as_index(model):
    """The model under the name of the index that it belongs to, which scikit-learn's messages take from the class."""
    index = object.__new__(_OF_INDEX)
    index.__dict__ = model.__dict__
    return index


_OF_INDEX = type("KernelIndex", (SearchModel,), {})


def features(embedding, measure, X):
    """Features of validated rows under the kernel of the measure, float32."""
    Z = embedding.encode_rows(canonical(X))
    if not isinstance(Z, np.ndarray) or Z.dtype.kind != "f" or not isinstance(embedding.inner_, Identity):
        raise InputError(
            f"KernelIndex needs an embedding with dense features, which {type(embedding).__name__} does not produce "
            "here. Wrap it in a ProjectedMap."
        )
    Z = np.ascontiguousarray(Z, dtype=np.float32)
    if measure.normalize and embedding.kernel_ != measure.kernel:
        Z = Z / measure.roots(X)[:, None].astype(np.float32)
    return Z
