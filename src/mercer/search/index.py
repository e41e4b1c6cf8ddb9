"""KernelIndex: nearest neighbors under a Mercer kernel. [bourrier15explicit]

Steps ([bourrier15explicit] Sec. 4.3)
    fit      an embedding psi with K(x, y) ~ <psi(x), psi(y)>, and a code of its rows
    add      psi(x) of every row, kept as ``bytes_per_item`` bytes; the row itself, for the last step
    search   psi(q), not quantized; a scan of all codes; the best ``oversample * k`` ranked again by the exact kernel
"""

__all__ = ["KernelIndex"]

from numbers import Integral

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError
from mercer._base.files.models import save
from mercer._base.parameters.language import keep_arguments
from mercer._base.parameters.search import CONFIDENCE, KERNEL_INDEX
from mercer._base.progress import told
from mercer._base.threads import thread_limit
from mercer.kernels import get_kernel, needs_non_negative
from mercer.maps.dask import is_dask, rows_to_fit
from mercer.search.answering import as_frame_of, find_nearest, find_within, in_lists
from mercer.search.by_codes import final_scores
from mercer.search.columns.frames import as_data_frame, check_frame
from mercer.search.databases.pushing import connect, push
from mercer.search.model.fitting import fitted_model
from mercer.search.model.parameters import check_index
from mercer.search.rows.chunks import add_chunks
from mercer.search.rows.collection import Collection
from mercer.search.rows.ids import listed_ids
from mercer.search.rows.packing import format_of
from mercer.search.rows.place import Placed
from mercer.search.rows.plan import IndexPlan
from mercer.search.rows.statistics import statistics
from mercer.search.rows.vectors import type_for


class KernelIndex(Placed):
    """Search for the nearest rows under any Mercer kernel, with a few bytes per row, or exactly.

    Parameters
    ----------
    kernel : str or Kernel
        Kernel that compares rows: chi2, intersection, Jensen-Shannon, RBF, any other kernel of Mercer, or a sum or
        product of kernels.
    embedding : {"auto", "kpca", "map"} or FeatureMap
        ``"kpca"`` uses kernel principal components, for any kernel. ``"map"`` uses the feature map of an additive
        kernel, projected at random. ``"auto"`` measures which one finds more on a sample of the rows.
    store : {"auto", "codes", "lists", "graph"}
        Search structure. ``"codes"`` scans the codes of embedded rows. ``"lists"`` uses inverted lists of sparse rows,
        for kernels that are functions of sums over shared columns; every result is exact, and no embedding is needed.
        ``"graph"`` uses a navigable graph of embedded rows, whose candidates are ranked by the exact kernel. ``"auto"``
        uses lists for sparse rows if the kernel allows it, a graph for at least 32,768 dense rows, and codes for fewer
        rows or if another parameter requires codes.
    code : {"pq", "opq", "lsh", "universal", "flat"}
        Code type: product quantization; the same after a learned rotation; signs of projections; universal bits; or the
        embedded rows as float32.
    bits : int from 4 to 8
        Bits per codeword of product quantization. Two 4-bit codewords share a byte, so a code has twice as many of
        them; faiss scans them faster, and they are slightly less accurate.
    bytes_per_item : int or None
        Bytes per code; longer codes are more accurate and take more memory. None uses 16, or no codes with lists or a
        graph.
    oversample : float
        Compute the exact kernel for the best ``oversample * k`` rows of a scan of codes; a larger value finds more true
        neighbors and is slower.
    normalize : bool
        Compare rows by K(x, y) / sqrt(K(x, x) K(y, y)). For histogram kernels, rows that sum to 1 do not change.
    measure : {"similarity", "distance"}
        Rank rows by, and return, kernel values or the distance sqrt(K(x, x) + K(y, y) - 2 K(x, y)).
    effort : {"low", "default", "high"}
        How many settings `fit` tries: ``"low"`` uses defaults, and ``"high"`` also tries learned rotations and trains
        longer.
    vectors : {"auto", "float32", "float16", "uint8", None}
        Number type in which rows are stored for exact values. ``"auto"`` uses uint8 if the rows of `fit` are integers
        up to 255, and float32 otherwise. None stores codes only, so that scores are estimates.
    n_components, n_landmarks : int
        Number of components and landmarks of the embedding. ``n_components=None`` measures how many suit the code; a
        graph uses a quarter or half of the landmarks if these find as much.
    n_lists : int or "auto"
        Number of inverted lists of the codes, 0 for none. ``"auto"`` uses none below four million rows.
    random_state : int, RandomState or None
    n_jobs : int or None
    verbose : int
        If greater than 0, show the progress of `fit`, `add`, `refit` and exact searches on standard error: a bar on a
        terminal, otherwise a line every few seconds.

    Attributes
    ----------
    model_ : SearchModel
        Embedding and code.
    plan_ : IndexPlan
        The settings that were chosen, and why: a dictionary with a ``summary``; ``str(plan_)`` is a small table.
    certificate_ : Certificate
        Certificate of the last exact search.

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

    Columns beside the rows, and a condition on them:

    >>> index = index.update(X[:2], [0, 1], data={"mode": ["positive", "negative"]})
    >>> index.search(X[:1], k=2, where="mode = 'negative'")[0].tolist()
    [[1, -1]]
    """

    _table = KERNEL_INDEX

    def __init__(self, kernel="chi2", *, embedding="auto", store="auto", code="pq", bits=8, bytes_per_item=None,
                 oversample=10, normalize=True, measure="similarity", effort="default", vectors="auto",
                 n_components=None, n_landmarks=1024, n_lists="auto", random_state=None, n_jobs=None,
                 verbose=0):  # fmt: skip
        keep_arguments(self, locals())

    # ------------------------------------------------------------------------------------------------ fit and rows

    def check_parameters(self):
        """Refuse invalid parameters before any row is read."""
        check_index(self)

    def fit(self, X, y=None):
        """Learn embedding and code from rows, without adding them. A Dask collection is sampled.

        ``y`` is ignored.
        """
        self.check_parameters()
        self._refuse_directory("fit")
        X = rows_to_fit(self, X)
        with told(self.verbose):
            model = fitted_model(self, X)
        name = type_for(X) if self.vectors == "auto" else self.vectors
        kept = format_of(name, sparse.issparse(X) or model.store == "lists", model.n_features_in_)
        self._collection = Collection(model, kept, self.n_lists, self.n_jobs)
        return self

    def add(self, X, ids=None, data=None):
        """Add rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or a Dask array or data frame, whose chunks are added in turn
        ids : sequence of n integers or texts, or None
            Unique ids. None assigns consecutive integers after the largest one.
        data : dict of sequences, data frame, Arrow table or None
            Columns to store with the rows, one value per row: integers, floats, strings, booleans, dates and
            timestamps; None, NaN and NaT are missing values. The first call with ``data`` defines the columns;
            earlier rows have missing values. Later calls may omit columns, but not add any.
        """
        if is_dask(X):
            return add_chunks(self, X, ids, data)
        rows, who = self.rows_, "KernelIndex.add"
        X = rows.as_kept(rows.model.validated(X))
        ids = rows.new_ids(ids, X.shape[0], who)
        rows.check_new(ids, who)
        data = rows.new_data(data, X.shape[0], who)
        with told(self.verbose):
            rows.append(X, ids, np.empty(0, dtype=np.int64), who, data)
        return self

    def update(self, X, ids, data=None):
        """Replace the rows of existing ids, in one step. Columns that ``data`` omits keep their values."""
        rows, who = self.rows_, "KernelIndex.update"
        X = rows.as_kept(rows.model.validated(X))
        ids = rows.new_ids(() if ids is None else ids, X.shape[0], who)
        replaced = rows.known(ids, who)
        rows.append(X, ids, replaced, who, rows.new_data(data, X.shape[0], who, replaced))
        return self

    def remove(self, ids):
        """Remove rows by id. Other rows keep their ids."""
        rows, who = self.rows_, "KernelIndex.remove"
        rows.remove(np.unique(rows.known(listed_ids(ids, who), who)), who)
        return self

    def refit(self):
        """Learn embedding and code again from the stored rows, and encode the rows again."""
        rows = self.rows_
        rows.check_kept("KernelIndex.refit")
        if not len(rows):
            raise InputError("KernelIndex.refit needs rows in the index.")
        with told(self.verbose):
            model = fitted_model(self, rows.take(rows.alive), rows.model)
            rows.rewrite("KernelIndex.refit", model, lambda path: save(model, path))
        return self

    def compact(self):
        """Free the space of removed rows."""
        self.rows_.rewrite("KernelIndex.compact")
        return self

    def __len__(self):
        return len(self.rows_) if hasattr(self, "_collection") else 0

    def __contains__(self, id):
        """Whether a row with this id is in the index."""
        return len(self) > 0 and self.rows_.ids.positions(listed_ids([id], "KernelIndex"))[0] >= 0

    # ------------------------------------------------------------------------------------------------------ search

    def search(self, Q, k=10, *, filter=None, where=None, exact=False, confidence=CONFIDENCE.default, rerank=True,
               recall=None, as_frame=False):  # fmt: skip
        """Find the k nearest rows of each query.

        Parameters
        ----------
        Q : array-like or sparse matrix of shape (m, d)
        k : int, at most the number of rows
        filter : sequence of ids, function of an id, or None
            Ids of the rows to search among.
        where : str, mapping or None
            Condition on the columns of ``data``; only rows that meet it, and ``filter``, are found: ``"precursor > 300
            and mode = 'positive'"``, or ``{"precursor": (300, 400), "mode": ["positive"]}``.
        exact : {False, True, "stored", "probable"}
            True guarantees the result of brute force, see ``certificate_``. ``"stored"`` does the same for rows that
            are stored rounded. ``"probable"`` uses relaxed bounds.
        confidence : float between 0 and 1
            For ``exact="probable"``: the expected share of the nearest rows that is found; a lower share is faster. The
            certificate states the share measured on stored rows.
        rerank : bool
            Compute the exact kernel for the best candidates; otherwise, estimates of the codes or the graph rank
            them.
        recall : float or None
            Target share of the true nearest rows, such as 0.95, 0.99 or 0.999. The number of candidates is the number
            that rows of the index needed for this share, when searched among the others; ``plan_["recall"]`` has the
            measurements. If candidates cannot reach the share, or for 1, the search is exact. None uses 0.99 with a
            graph, and ``oversample`` candidates with codes.
        as_frame : {False, True, "pandas", "polars", "pyarrow"}
            Return a data frame (True: pandas) with one line per result: query, rank, id, similarity or distance, and
            the columns of ``data``.

        Returns
        -------
        ids : array of shape (m, k), nearest first, ties by id; -1 (None for string ids) if fewer were found
        values : float64 array of shape (m, k), similarities or distances
        """
        rows, Q = self._asked(Q, "KernelIndex.search")
        if not isinstance(k, Integral) or isinstance(k, bool) or not 1 <= k <= len(rows):
            needed = f"k from 1 to {len(rows)}, the number of rows in the index"
            raise InputError(f"KernelIndex.search needs {needed}; got k={k!r:.80}.")
        allowed = rows.allowed(filter, "KernelIndex.search", where)
        check_frame(as_frame, "KernelIndex.search")
        with thread_limit(self.n_jobs), told(self.verbose):
            found, certificate = find_nearest(self, rows, Q, int(k), allowed, exact, confidence, rerank, recall)
        self._certify(certificate)
        positions, scores = found
        values = rows.measure.reported(scores)
        if as_frame:
            there = np.nonzero(positions >= 0)
            return as_frame_of(as_frame, self.measure, rows, there[0], positions[there], values[there])
        return rows.ids.at(positions), values

    def data(self, ids, as_frame=False):
        """Return the columns of some rows, as a dictionary of lists in the order of ``ids``, or as a data frame with
        the ids.

        Missing values are None in the lists.
        """
        rows, who = self.rows_, "KernelIndex.data"
        check_frame(as_frame, who)
        positions = rows.known(listed_ids(ids, who), who)
        values = rows.values(positions)
        return as_data_frame(as_frame, {"id": rows.ids.at(positions)}, rows.data, values) if as_frame else values

    @property
    def columns_(self):
        """Names and types of the columns stored with the rows: integer, float, text, boolean, date or timestamp."""
        return {column.name: column.type for column in self.rows_.data}

    def kneighbors(self, X, n_neighbors=5, return_distance=True):
        """Return (distances or similarities, ids), or the ids alone, as scikit-learn does."""
        ids, values = self.search(X, n_neighbors)
        return (values, ids) if return_distance else ids

    def range_search(self, Q, *, min_similarity=None, max_distance=None, filter=None, where=None, exact=False,
                     confidence=CONFIDENCE.default, as_frame=False):  # fmt: skip
        """Find all rows within a limit, for each query.

        Without ``exact``, a row may be missed if its code underestimates it by more than in 999 of 1,000 cases of the
        sample; every returned row is within the limit. See `search` for the other parameters.

        Returns
        -------
        ids, values : lists with an array per query, nearest first; or a data frame
        """
        rows, Q = self._asked(Q, "KernelIndex.range_search")
        measure = rows.measure
        limit = measure.threshold("KernelIndex.range_search", min_similarity, max_distance)
        allowed = rows.allowed(filter, "KernelIndex.range_search", where)
        check_frame(as_frame, "KernelIndex.range_search")
        with thread_limit(self.n_jobs), told(self.verbose):
            found, certificate = find_within(self, rows, Q, limit, allowed, exact, confidence)
        self._certify(certificate)
        queries, positions, scores = found
        values = measure.reported(scores)
        if as_frame:
            return as_frame_of(as_frame, self.measure, rows, queries, positions, values)
        return in_lists(Q.shape[0], queries, rows.ids.at(positions), values)

    def exact_values(self, Q, positions):
        """Return similarities or distances of rows at positions of ``rows_``, equal to those of an exact search in
        every bit.

        ``positions`` has one row per query; the value of position -1 is NaN.
        """
        rows, Q = self._asked(Q, "KernelIndex.exact_values")
        rows.check_kept("KernelIndex.exact_values")
        values = np.full(positions.shape, np.nan)
        queries, places = np.nonzero(positions >= 0)
        scores = final_scores(rows, Q, queries, positions[queries, places])
        values[queries, places] = rows.measure.reported(scores)
        return values

    def _asked(self, Q, who):
        """(rows, validated queries)."""
        rows = self.rows_
        if not len(rows):
            raise InputError(f"{who} needs rows in the index. Use add.")
        return rows, rows.as_kept(rows.model.validated(Q, name="Q"))

    def _certify(self, certificate):
        if certificate is not None:
            self.certificate_ = certificate

    # ---------------------------------------------------------------------------------------------- what was fitted

    @property
    def model_(self):
        """Embedding and code."""
        return self.rows_.model

    @property
    def kernel_(self):
        """The kernel that compares rows, with its measured width."""
        return self.rows_.model.kernel_

    @property
    def n_features_in_(self):
        """Columns of the rows."""
        return self.rows_.model.n_features_in_

    @property
    def feature_names_in_(self):
        """Names of the columns on which the model was fitted; raises AttributeError if there are none."""
        return self.model_.feature_names_in_

    @property
    def plan_(self):
        """The settings that were chosen, and why; ``recall`` holds the measured curves of `search`."""
        rows = self.rows_
        curves = [curve.document for curve in rows.derived.known.curves]
        chosen = {**rows.model.plan_, "recall": curves} if curves else rows.model.plan_
        return IndexPlan(chosen, self, len(rows))

    def stats(self):
        """Return size, memory, and the share of rows that differ from the training sample, as a dictionary."""
        return statistics(self, self.rows_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = needs_non_negative(lambda: get_kernel(self.kernel))
        return tags

    push = push
    connect = staticmethod(connect)
