"""Visual words: clusters of descriptors, and which of them a descriptor belongs to."""

__all__ = ["Vocabulary"]

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._base.errors import InputError
from mercer._base.files.loaded import check_kind, checked_array
from mercer._base.parameters import check_parameters, keep_arguments
from mercer._base.parameters.vision import VOCABULARY, K
from mercer.maps import NystroemMap
from mercer.maps.landmarks.choice import sample_rows
from mercer.vision.words.assignment import build_index, nearest_through
from mercer.vision.words.kmeans import kmeans, nearest_words

SAMPLES_PER_WORD = 100
INDEX_CACHE = "_index"
LARGEST = 1e15  # of a value: squared distances of a million of them are numbers of float32, which faiss computes with


class Vocabulary(BaseEstimator):
    """Visual words: clusters of descriptors.

    ``"kmeans"`` minimizes the squared distances of descriptors to the mean of their cluster. ``"intersection"`` does so
    in the feature space of the histogram intersection kernel, K(x, y) = sum_j min(x_j, y_j) [wu09beyond]:

        |phi(x) - m|^2 = K(x, x) - 2/|m| sum_{y in m} K(x, y) + 1/|m|^2 sum_{y, z in m} K(y, z)

    with m a cluster. Deviation from the paper, which tabulates the middle sum for integers: a column is mapped to
    three coordinates whose inner product approximates min, and clusters are means of these, so that values need
    not be integers and every kind of assignment works.

    Parameters
    ----------
    n_words : int
    method : {"kmeans", "intersection"}
        Clustering method. The second needs values >= 0.
    assignment : {"exact", "hnsw", "ivf"}
        How the nearest word of a descriptor is found: by comparing all words, or by faiss with a graph or with lists of
        words, which is faster for thousands of words. :meth:`agreement` measures how often these find the nearest word.
        Training is exact.
    n_samples : int or None
        Maximum number of rows to learn from, drawn without replacement; None uses 100 per word.
    n_iter : int
        Maximum number of k-means iterations.
    random_state : int, RandomState or None
        Seed of the training sample and of the initial words.
    n_jobs : int or None
        Number of threads. It does not affect the words.

    Attributes
    ----------
    words_ : ndarray of shape (n_words, d), float32
        The cluster means. With ``"intersection"``, they are means of coordinates, and d is 3 times the width.
    map_ : None or NystroemMap
        Computes these coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).random((500, 8), dtype="f4")
    >>> vocabulary = Vocabulary(20, random_state=0).fit(X)
    >>> vocabulary.predict(X[:3]).shape, vocabulary.words_.shape
    ((3,), (20, 8))
    >>> vocabulary.set_params(assignment="hnsw").fit(X).agreement(X) > 0.9
    True
    """

    _table = VOCABULARY

    def __init__(
        self,
        n_words=1000,
        *,
        method="kmeans",
        assignment="exact",
        n_samples=None,
        n_iter=20,
        random_state=None,
        n_jobs=None,
    ):
        keep_arguments(self, locals())

    def fit(self, X, y=None):
        """Find the words. ``y`` is ignored.

        Parameters
        ----------
        X : array of shape (n, d), n >= n_words
        """
        check_parameters(self, self._table)
        X = self._validated(X, reset=True)
        random_state = check_random_state(self.random_state)
        most = SAMPLES_PER_WORD * self.n_words if self.n_samples is None else self.n_samples
        if len(X) > most:
            X = X[sample_rows(len(X), most, random_state)]
        if len(X) < self.n_words:
            raise InputError(
                f"Vocabulary needs at least as many descriptors as words, got n_samples={len(X)} for "
                f"n_words={self.n_words}. Use more images, a smaller step, or fewer words."
            )
        self.map_ = None
        if self.method == "intersection":
            seed = random_state.randint(2**31 - 1)
            self.map_ = NystroemMap("intersection", per_dimension=True, random_state=seed, n_jobs=self.n_jobs).fit(X)
        self.words_ = kmeans(self._coordinates(X), self.n_words, random_state, self.n_iter, self.n_jobs)
        self._index = build_index(self.words_, self.assignment)
        return self

    def predict(self, X):
        """Find the nearest word of each row, int64 (n,), exactly or as ``assignment`` approximates it."""
        return self.nearest(X)[0][:, 0]

    def nearest(self, X, k=1):
        """Find the k nearest words of each row, nearest first, exactly or as ``assignment`` approximates it.

        Parameters
        ----------
        X : array of shape (n, d)
        k : int, at most ``n_words``

        Returns
        -------
        words : ndarray of shape (n, k), int64
        distances : ndarray of shape (n, k), float32
            Squared; with ``"intersection"`` those of the coordinates.
        """
        check_is_fitted(self)
        K.check(k, "Vocabulary.nearest")
        if k > len(self.words_):
            raise InputError(f"Vocabulary.nearest has {len(self.words_)} words, got k={k}.")
        return self.nearest_words_of(self._validated(X, reset=False), k)

    def agreement(self, X):
        """Share of the rows with the same word as exact assignment; 1 if ``assignment`` is exact."""
        check_is_fitted(self)
        points = self._coordinates(self._validated(X, reset=False))
        found = nearest_through(self.built_index(), points, self.words_, 1, self.n_jobs)[0]
        return float(np.mean(found == nearest_words(points, self.words_, 1, self.n_jobs)[0]))

    # ------------------------------------------------------------------------------------------------------ helpers

    def nearest_words_of(self, X, k):
        """``nearest`` for validated float32 rows."""
        return nearest_through(self.built_index(), self._coordinates(X), self.words_, k, self.n_jobs)

    def _coordinates(self, X):
        if self.map_ is not None:
            X = np.ascontiguousarray(self.map_.transform(X), dtype=np.float32)
        if len(X) and not (X.min() >= -LARGEST and X.max() <= LARGEST):  # false for NaN too
            raise InputError(
                f"Vocabulary needs values of at most {LARGEST:g} in magnitude, because larger squared distances "
                f"overflow float32; got {np.nanmin(X):.6g} to {np.nanmax(X):.6g}. Scale the descriptors."
            )
        return X

    def built_index(self):
        if not hasattr(self, INDEX_CACHE):  # a loaded or copied vocabulary has none
            self._index = build_index(np.ascontiguousarray(self.words_), self.assignment)
        return self._index

    def _validated(self, X, reset):
        return validate_data(self, X, reset=reset, dtype=np.float32, order="C")

    def _check_loaded(self):
        check_parameters(self, self._table)
        fitted = check_kind(self, "map_", NystroemMap, optional=True)
        if fitted is not None and fitted.n_features_in_ != self.n_features_in_:
            raise ValueError("map_ was fitted on rows of a different width.")
        width = self.n_features_in_ if fitted is None else fitted.inner_.n_features
        checked_array(self, "words_", "float32", shape=(self.n_words, width), lowest=-LARGEST, highest=LARGEST)

    def __getstate__(self):
        """Without the index, which belongs to a library of another kind and is quickly built again."""
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != INDEX_CACHE}
