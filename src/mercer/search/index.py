"""KernelIndex: nearest neighbours under a Mercer kernel. [bourrier15explicit]

Steps ([bourrier15explicit] Sec. 4.3)
    fit      an embedding psi with K(x, y) ~ <psi(x), psi(y)>, and a code of its rows
    add      psi(x) of every row, kept as ``bytes_per_item`` bytes; the row itself, for the last step
    search   psi(q), not quantised; a scan of all codes; the best ``oversample * k`` ranked again by the exact kernel
"""

__all__ = ["KernelIndex"]

import itertools
import os
from numbers import Integral, Real

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from mercer._base.errors import InputError
from mercer._base.files.models import save
from mercer._base.progress import told
from mercer._base.tables import open_rows
from mercer._base.threads import thread_limit
from mercer.kernels import get_kernel, needs_non_negative
from mercer.maps.dask import is_dask, named, rows_to_fit
from mercer.search.databases.pushing import InStores
from mercer.search.model.model import SearchModel
from mercer.search.on_disk import OnDisk
from mercer.search.rows.collection import Collection, format_of
from mercer.search.rows.vectors import VECTOR_TYPES
from mercer.search.searching import Searches

CHECKED_ROWS = 2**14  # looked at together for whole numbers
MODEL_PARAMETERS = tuple(SearchModel().get_params())


class KernelIndex(OnDisk, InStores, Searches, BaseEstimator):
    """Search for the nearest rows under any Mercer kernel, in a few bytes per row, exactly on request.

    Parameters
    ----------
    kernel : str or Kernel
        chi2, intersection, Jensen-Shannon, RBF, any kernel of Mercer or a sum or product of them.
    embedding : {"auto", "kpca", "map"} or FeatureMap
        ``"kpca"``: kernel principal components through landmarks, for any kernel. ``"map"``: the explicit map of an
        additive kernel, projected at random. ``"auto"`` measures which finds more on a sample of the rows.
    code : {"pq", "opq", "lsh", "universal", "flat"}
        Product quantisation; the same after a learnt rotation; signs of projections; universal bits; the embedded
        rows as float32.
    bytes_per_item : int
        Length of a code.
    oversample : float
        The best ``oversample * k`` rows of the scan get their exact kernel value.
    normalize : bool
        Compare by K(x, y) / sqrt(K(x, x) K(y, y)). Changes nothing for histogram kernels on rows that sum to 1.
    measure : {"similarity", "distance"}
        What is reported and ranked by: kernel values, or the distance sqrt(K(x, x) + K(y, y) - 2 K(x, y)).
    effort : {"low", "default", "high"}
        What `fit` tries: ``"low"`` takes first guesses, ``"high"`` also tries learnt rotations and trains longer.
    vectors : {"auto", "float32", "float16", "uint8", None}
        How rows are kept for exact values. ``"auto"``: uint8 if the rows of `fit` are whole numbers up to 255, else
        float32. None keeps codes only: then scores are estimates.
    n_components, n_landmarks : int
        Of the embedding. ``n_components=None`` measures how many suit the code.
    n_lists : int or "auto"
        Inverted lists of the codes, 0 for none. ``"auto"``: none below four million rows.
    random_state : int, RandomState or None
    n_jobs : int or None
    verbose : int
        Above 0, show the progress of `fit`, `add`, `refit` and exact searches on the standard error: a bar on a
        terminal, elsewhere a line every few seconds.

    Attributes
    ----------
    model_ : SearchModel
        Embedding and code.
    plan_ : dict
        What was chosen and why.
    certificate_ : Certificate
        Of the last exact search.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).dirichlet(np.ones(16), size=500).astype("f4")
    >>> index = KernelIndex("jensen-shannon", bytes_per_item=4, random_state=0).fit(X).add(X)
    >>> ids, similarity = index.search(X[:2], k=3)
    >>> ids[:, 0].tolist(), similarity[:, 0].round(3).tolist()
    ([0, 1], [1.0, 1.0])
    >>> exact, _ = index.search(X[:2], k=3, exact=True)
    >>> index.certificate_.exact
    True
    """

    def __init__(
        self,
        kernel="chi2",
        *,
        embedding="auto",
        code="pq",
        bytes_per_item=16,
        oversample=10,
        normalize=True,
        measure="similarity",
        effort="default",
        vectors="auto",
        n_components=None,
        n_landmarks=1024,
        n_lists="auto",
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.kernel = kernel
        self.embedding = embedding
        self.code = code
        self.bytes_per_item = bytes_per_item
        self.oversample = oversample
        self.normalize = normalize
        self.measure = measure
        self.effort = effort
        self.vectors = vectors
        self.n_components = n_components
        self.n_landmarks = n_landmarks
        self.n_lists = n_lists
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self._check_parameters()

    @property
    def feature_names_in_(self):
        """The names of the columns that the model was fitted on; an AttributeError if it knows none."""
        return self.model_.feature_names_in_

    # ------------------------------------------------------------------------------------------------ fit and rows

    def fit(self, X, y=None):
        """Learn embedding and code from rows, which are not added; of a Dask collection, from a sample of them.

        ``y`` is ignored.
        """
        self._check_parameters()
        self._refuse_directory("fit")
        X = rows_to_fit(self, X)
        with told(self.verbose):
            model = self._new_model().fit(X)
        is_sparse, name = sparse.issparse(X), self.vectors
        if name == "auto":
            name = _vector_type(sparse.csr_array(X).data if is_sparse else np.asarray(X))
        kept = format_of(name, is_sparse, model.n_features_in_)
        self._collection = Collection(model, kept, self.n_lists, self.n_jobs)
        return self

    def add(self, X, ids=None):
        """Add rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or a Dask array or data frame, whose chunks are added in turn
        ids : sequence of n whole numbers or texts, or None
            The caller's own, each once. None: whole numbers after the largest so far.
        """
        if is_dask(X):
            return self._add_chunks(X, ids)
        X, ids = self._new_rows(X, ids, "KernelIndex.add")
        self._check_new(ids)
        with told(self.verbose):
            self._rows.append(X, ids, np.empty(0, dtype=np.int64), "KernelIndex.add")
        return self

    def _check_new(self, ids):
        known = self._rows.ids.positions(ids)
        if (known >= 0).any():
            taken = np.asarray(ids, dtype=object)[int(np.argmax(known >= 0))]
            raise InputError(
                f"KernelIndex.add was given the id {taken!r}, which is in the index; nothing was added. Use update."
            )

    def _add_chunks(self, X, ids):
        rows = open_rows(X)
        if ids is not None:
            ids = self._listed(ids, "KernelIndex.add")
            if len(ids) != len(rows):
                raise InputError(f"KernelIndex.add needs an id for each row, got {len(ids)} ids for {len(rows)} rows.")
            self._check_new(ids)
        for block, part in rows.blocks():
            self.add(named(block, rows.feature_names), None if ids is None else ids[part])
        return self

    def update(self, X, ids):
        """Replace the rows of ids that are in the index, in one step."""
        X, ids = self._new_rows(X, () if ids is None else ids, "KernelIndex.update")
        positions = self._rows.ids.positions(ids)
        self._rows.check_known(positions, ids, "KernelIndex.update")
        self._rows.append(X, ids, positions, "KernelIndex.update")
        return self

    def remove(self, ids):
        """Remove rows by id. Other rows keep their ids."""
        ids = self._listed(ids, "KernelIndex.remove")
        positions = self._rows.ids.positions(ids)
        self._rows.check_known(positions, ids, "KernelIndex.remove")
        self._rows.remove(np.unique(positions), "KernelIndex.remove")
        return self

    def refit(self):
        """Learn embedding and code again from the kept rows, and encode them again."""
        rows = self._kept_rows("KernelIndex.refit")
        alive = np.flatnonzero(~rows.snapshot.removed)
        if not len(alive):
            raise InputError("KernelIndex.refit needs rows in the index.")
        with told(self.verbose):
            model = self._new_model().fit(rows.take(alive))
            rows.rewrite("KernelIndex.refit", model, lambda path: save(model, path))
        return self

    def compact(self):
        """Give back the space of removed rows."""
        self._rows.rewrite("KernelIndex.compact")
        return self

    def __len__(self):
        return len(self._rows) if hasattr(self, "_collection") else 0

    def __contains__(self, id):
        """Whether a row with this id is in the index."""
        return len(self) > 0 and self._rows.ids.positions(self._listed([id], "KernelIndex"))[0] >= 0

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_collection")

    @property
    def model_(self):
        """Embedding and code."""
        return self._fitted("model_").model

    @property
    def n_features_in_(self):
        """Columns of the rows."""
        return self._fitted("n_features_in_").model.n_features_in_

    def _fitted(self, name):
        if not hasattr(self, "_collection"):
            raise AttributeError(f"{type(self).__name__} has no {name!r} before fit.")
        return self._collection.settled()

    @property
    def plan_(self):
        """What was chosen and why."""
        check_is_fitted(self)
        return self.model_.plan_

    # ------------------------------------------------------------------------------------------------------ search

    def search(self, Q, k=10, *, filter=None, exact=False, rerank=True):
        """The k nearest rows of each query.

        Parameters
        ----------
        Q : array-like or sparse matrix of shape (m, d)
        k : int, at most the number of rows
        filter : sequence of ids, function of an id, or None
            Rows that may be found.
        exact : {False, True, "stored", "probable"}
            True: proven to be what brute force finds, see ``certificate_``. ``"stored"``: the same on rows that are
            kept rounded. ``"probable"``: with relaxed bounds, whose confidence the certificate gives.
        rerank : bool
            Whether the best of the scan get their exact value; without, the estimates of the codes rank.

        Returns
        -------
        ids : array of shape (m, k), nearest first, equal ones by id; -1 (None among texts) where fewer were found
        values : float64 array of shape (m, k), similarities or distances
        """
        rows, Q = self._ready(Q, "KernelIndex.search")
        self._check_k(k, "KernelIndex.search")
        allowed = self._allowed(filter)
        with thread_limit(self.n_jobs), told(self.verbose):
            if exact is not False:
                positions, scores = self._search_exact(Q, int(k), allowed, exact)
            else:
                positions, scores = self._search_codes(Q, int(k), allowed, rerank)
        return self._answer(rows, positions, scores)

    def kneighbors(self, X, n_neighbors=5, return_distance=True):
        """As scikit-learn's: (distances or similarities, ids), or the ids alone."""
        ids, values = self.search(X, n_neighbors)
        return (values, ids) if return_distance else ids

    def range_search(self, Q, *, min_similarity=None, max_distance=None, filter=None, exact=False):
        """All rows within a limit, for each query.

        Without ``exact``, rows whose code is underestimated by more than neighbours were in 999 of 1,000 cases of the
        sample may be missed; every row that is returned is within the limit.

        Returns
        -------
        ids, values : lists with an array per query, nearest first
        """
        rows, Q = self._ready(Q, "KernelIndex.range_search")
        limit = self._measure.threshold("KernelIndex.range_search", min_similarity, max_distance)
        allowed = self._allowed(filter)
        with thread_limit(self.n_jobs), told(self.verbose):
            if exact is not False:
                queries, positions, scores = self._range_exact(Q, limit, allowed, exact)
            else:
                queries, positions, scores = self._range_codes(Q, limit, allowed)
        bounds = np.searchsorted(queries, np.arange(Q.shape[0] + 1))
        ids, values = rows.ids.at(positions), self._measure.reported(scores)
        cuts = [slice(start, stop) for start, stop in itertools.pairwise(bounds)]
        return [ids[cut] for cut in cuts], [values[cut] for cut in cuts]

    def stats(self):
        """Size, memory, and how the rows fit the model, as a dictionary."""
        rows = self._rows
        flags = rows.column("flags")[~rows.snapshot.removed] if len(rows) else np.empty(0, dtype=np.uint8)
        far = int(np.count_nonzero(flags & 1))
        n_bytes = rows.model.coder_.n_bytes
        return {
            "rows": len(rows),
            "removed": int(np.count_nonzero(rows.snapshot.removed)),
            "segments": len(rows.snapshot.segments),
            "kernel": repr(get_kernel(self.kernel)),
            "measure": self.measure,
            "normalize": self.normalize,
            "bytes_per_item": n_bytes,
            "code_bytes": n_bytes * rows.snapshot.n_positions,
            "vectors": rows.vectors.name if rows.vectors else None,
            "rounded_rows": int(np.count_nonzero(flags & 2)),
            "drift": {"rows": far, "share": far / max(1, len(flags)), "limit": rows.model.residual_limit_},
            "bounds_bytes": rows.view.bounds.nbytes if rows.view.bounds else 0,
            "lists": rows._lists,
            "path": os.fspath(rows.storage.path) if hasattr(rows.storage, "path") else None,
            "plan": self.plan_,
        }

    # ------------------------------------------------------------------------------------------------------ helpers

    @property
    def _measure(self):
        return self.model_._measure()

    @property
    def _rows(self):
        """Where every method begins: the rows of this moment, also after a change that was interrupted."""
        check_is_fitted(self)
        return self._collection.settled()

    def _kept_rows(self, who):
        if self._rows.vectors is None:
            raise InputError(f"{who} needs the rows, and this index keeps codes only (vectors=None).")
        return self._rows

    def _new_model(self):
        return SearchModel(**{name: getattr(self, name) for name in MODEL_PARAMETERS})

    def _new_rows(self, X, ids, who):
        rows = self._rows
        X = self._as_kept(self.model_._checked(X, reset=False))
        ids = rows.new_ids(ids, X.shape[0], who)
        unique = len(np.unique(ids)) if isinstance(ids, np.ndarray) else len(set(ids))
        if unique < len(ids):
            seen = set()
            twice = next(value for value in np.asarray(ids, dtype=object) if value in seen or seen.add(value))
            raise InputError(f"{who} was given the id {twice!r} more than once; nothing was changed.")
        return X, ids

    def _as_kept(self, X):
        """Dense or sparse as the kept rows are."""
        vectors = self._rows.vectors
        if vectors is None or vectors.is_sparse == sparse.issparse(X):
            return X
        return sparse.csr_array(X) if vectors.is_sparse else X.toarray()

    def _ready(self, Q, who):
        rows = self._rows
        if not len(rows):
            raise InputError(f"{who} needs rows in the index. Use add.")
        return rows, self._as_kept(self.model_._checked(Q, reset=False, name="Q"))

    def _check_k(self, k, who):
        n = len(self._rows)
        if not isinstance(k, Integral) or isinstance(k, bool) or not 1 <= k <= n:
            raise InputError(f"{who} needs k from 1 to {n}, the number of rows in the index, got k={k!r:.80}.")

    def _listed(self, ids, who):
        if isinstance(ids, (str, Integral)):
            ids = [ids]
        from mercer.search.rows.ids import as_ids

        return as_ids(ids, len(ids) if hasattr(ids, "__len__") else -1, who)

    def _allowed(self, filter):
        if filter is None:
            return None
        rows = self._rows
        if callable(filter):
            alive = np.flatnonzero(~rows.snapshot.removed)
            positions = alive[[bool(filter(value)) for value in rows.ids.at(alive).tolist()]]
        else:
            ids = self._listed(filter, "KernelIndex.search(filter=)")
            positions = rows.ids.positions(ids)
            rows.check_known(positions, ids, "KernelIndex.search(filter=)")
        allowed = np.zeros(rows.snapshot.n_positions, dtype=bool)
        allowed[positions] = True
        return allowed

    def _answer(self, rows, positions, scores):
        values = self._measure.reported(scores)
        values[positions < 0] = self._measure.nothing
        return rows.ids.at(positions), values

    def _refuse_directory(self, who):
        storage = self._rows.storage if hasattr(self, "_collection") else None
        if hasattr(storage, "path"):
            raise InputError(f"KernelIndex.{who} is for an index in memory; this one is in {storage.path}.")

    def _check_parameters(self):
        self._new_model()._check_parameters()
        if not isinstance(self.oversample, Real) or not 1 <= self.oversample < np.inf:
            raise InputError(f"KernelIndex needs oversample >= 1, got oversample={self.oversample!r:.80}.")
        if self.vectors not in VECTOR_TYPES:
            raise InputError(
                f"KernelIndex takes vectors from {', '.join(map(repr, VECTOR_TYPES))}, got {self.vectors!r:.80}."
            )
        n_lists = self.n_lists
        if n_lists != "auto" and (not isinstance(n_lists, Integral) or isinstance(n_lists, bool) or n_lists < 0):
            raise InputError(f"KernelIndex needs n_lists='auto' or a whole number >= 0, got {n_lists!r:.80}.")
        if n_lists not in ("auto", 0) and self.code not in ("pq", "opq"):
            raise InputError(f"KernelIndex keeps inverted lists of codes 'pq' and 'opq', not of {self.code!r}.")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = needs_non_negative(lambda: get_kernel(self.kernel))
        return tags


def _vector_type(values):
    """uint8 for whole numbers up to 255, else float32."""
    for start in range(0, len(values), CHECKED_ROWS):
        part = values[start : start + CHECKED_ROWS]
        numbers = part.size and np.issubdtype(part.dtype, np.number)
        if not numbers or part.min() < 0 or part.max() > 255 or not np.array_equal(part, np.round(part)):
            return "float32"
    return "uint8" if len(values) else "float32"
