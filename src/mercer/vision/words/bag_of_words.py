"""Bags of visual words: an image as the histogram of the words of its descriptors."""

__all__ = ["BagOfWords"]


import numpy as np

from mercer._base.errors import InputError
from mercer._base.files.loaded import check_kind, check_number
from mercer._base.parameters import check_parameters, keep_arguments
from mercer._base.parameters.vision import BAG_OF_WORDS
from mercer.vision.words.encoder import ImageEncoder
from mercer.vision.words.pyramid import SpatialPyramid, check_weights
from mercer.vision.words.vocabulary import SAMPLES_PER_WORD, Vocabulary


class BagOfWords(ImageEncoder):
    """Convert images to histograms of visual words, over the cells of a spatial pyramid.

    Every descriptor votes for its nearest word, or with ``n_nearest`` > 1 for several by shares that add up to 1
    (kernel codebook, [vangemert10visual]):

        share of word i  ~  exp(-(d_i^2 - d_1^2) / (2 sigma^2)),    d_1 <= d_2 <= ... the distances to the words

    With ``normalize`` a level of the pyramid is divided by its norm and multiplied by its weight w (``"l1"``) or by the
    root of its weight (``"l2"``), the weights adding up to 1. So every row has norm 1, and a kernel of homogeneity 1
    (or 2) on rows is the mean of the kernels on the levels by these weights. [lazebnik06beyond] has the weights 1/4,
    1/4, 1/2 for 1x1, 2x2, 4x4.

    Parameters
    ----------
    descriptor : object with a method ``describe(image)``, or None
        None uses ``DenseSIFT()``.
    n_words : int
    root : bool
        Divide each descriptor by its sum and take square roots, which needs values >= 0. Euclidean distances then equal
        those of Hellinger's kernel [arandjelovic12three].
    method : {"kmeans", "intersection"}
        How words are found, see :class:`Vocabulary`.
    assignment : {"exact", "hnsw", "ivf"}
        How the words of a descriptor are found, see :class:`Vocabulary`.
    n_nearest : int
        Number of nearest words that share each descriptor; 1 assigns it to a single word.
    bandwidth : float or None
        sigma, in units of descriptor distance; a larger bandwidth spreads votes more evenly. None uses the root of the
        mean of d_k^2 - d_1^2 over the training descriptors, with k = ``n_nearest``, so that the last word typically
        gets e^-1/2 times the share of the first.
    pyramid : sequence of (rows, columns)
        Grids of cells, for example ``((1, 1), (2, 2), (3, 1))``. A row holds level after level, and cell after cell.
    level_weights : sequence of float or None
        One weight per level; None weights all levels equally.
    normalize : {"l1", "l2"} or None
        Norm to which the histograms of a level are scaled; None keeps the counts.
    sparse_output : bool
        Return a CSR array, which is smaller if fewer than half of the words occur in a cell.
    n_samples : int or None
        Maximum number of descriptors to learn the words from, drawn evenly from all images; None uses 100 per word.
    n_iter : int
        Maximum number of k-means iterations.
    strict : bool
        Raise an error if an image cannot be read; see :meth:`fit` and :meth:`transform`.
    cache : path or None
        Folder that stores the sample and the row of every image, by the checksum of its content and of all relevant
        parameters. Processes may share it, and it may be emptied at any time. Model files do not keep it.
    random_state : int, RandomState or None
    n_jobs : int or None
        Number of threads. It does not affect the rows.

    Attributes
    ----------
    vocabulary_ : Vocabulary
    descriptor_ : the descriptor in use
    bandwidth_ : float or None
        sigma, None if ``n_nearest`` is 1.
    n_descriptor_values_ : int
    skipped_ : dict
        Position of each image that was not used for training -> the reason.

    See Also
    --------
    FisherVectors : more numbers per word, for fewer words and linear learners.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.vision import DenseSIFT
    >>> images = np.random.default_rng(0).integers(256, size=(6, 48, 64), dtype=np.uint8)
    >>> encoder = BagOfWords(DenseSIFT(sizes=(4,)), n_words=10, pyramid=((1, 1), (2, 2)), random_state=0)
    >>> rows = encoder.fit_transform(images)
    >>> rows.shape
    (6, 50)
    >>> np.allclose(rows.sum(axis=1), 1)
    True
    """

    _table = BAG_OF_WORDS

    def __init__(
        self,
        descriptor=None,
        n_words=1000,
        *,
        root=False,
        method="kmeans",
        assignment="exact",
        n_nearest=1,
        bandwidth=None,
        pyramid=((1, 1),),
        level_weights=None,
        normalize="l1",
        sparse_output=False,
        n_samples=None,
        n_iter=20,
        strict=True,
        cache=None,
        random_state=None,
        n_jobs=None,
    ):
        keep_arguments(self, locals())

    def words_of(self, descriptors):
        """Return the words that descriptors vote for, and their shares.

        Parameters
        ----------
        descriptors : Descriptors, as ``descriptor_.describe(image)`` gives them

        Returns
        -------
        words : ndarray of shape (n, n_nearest), int64
        shares : ndarray of shape (n, n_nearest), float64
        """
        values = np.ascontiguousarray(self._values(descriptors.values))
        words, distances = self.vocabulary_.nearest_words_of(values, int(self.n_nearest))
        return words, _shares(distances, self.bandwidth_)

    # ------------------------------------------------------------------------------------------------------ helpers

    def nearest_words(self, descriptors):
        """The word of each descriptor, the nearest if it votes for several."""
        return self.words_of(descriptors)[0][:, 0]

    def default_samples(self):
        return SAMPLES_PER_WORD * self.n_words

    def _learn(self, values, random_state):
        values = self._values(values)
        self.vocabulary_ = Vocabulary(
            self.n_words,
            method=self.method,
            assignment=self.assignment,
            n_samples=len(values),
            n_iter=self.n_iter,
            random_state=random_state.randint(2**31 - 1),
            n_jobs=self.n_jobs,
        ).fit(values)
        self.bandwidth_ = None
        if self.n_nearest > 1:
            self.bandwidth_ = float(self.bandwidth or self._typical_bandwidth(values))

    def _typical_bandwidth(self, values):
        distances = self.vocabulary_.nearest_words_of(values, int(self.n_nearest))[1].astype(np.float64)
        typical = np.mean(distances[:, -1] - distances[:, 0])
        return np.sqrt(typical) if typical > 0 else 1.0

    def prepared(self):
        self._check_fits()
        pyramid = SpatialPyramid(self.pyramid)
        self.vocabulary_.built_index()  # before threads ask for it
        return pyramid, check_weights(self.level_weights, len(pyramid.levels), "BagOfWords")

    def encode_image(self, descriptors, prepared):
        pyramid, weights = prepared
        n_words = len(self.vocabulary_.words_)
        words, shares = self.words_of(descriptors)
        places = pyramid.atoms(descriptors.frames, descriptors.shape)[:, None] * n_words + words
        votes = np.bincount(places.ravel(), shares.ravel(), minlength=pyramid.n_atoms * n_words)
        cells = pyramid.cells @ votes.reshape(pyramid.n_atoms, n_words)
        if self.normalize is not None:
            _normalise(cells, pyramid.level_of_cell, weights, self.normalize)
        return cells.ravel().astype(np.float32)

    def _row_state(self):
        words = self.vocabulary_
        return (
            *(words.words_, words.map_, bool(self.root), self.assignment, int(self.n_nearest), self.bandwidth_),
            *(SpatialPyramid(self.pyramid).levels, self.level_weights, self.normalize),
        )

    @property
    def _n_features_out(self):
        return len(self.vocabulary_.words_) * len(SpatialPyramid(self.pyramid).cells)

    def check_parameters(self):
        """Refuse invalid parameters before any image is read."""
        who = "BagOfWords"
        check_parameters(self, self._table)
        if self.n_nearest > self.n_words:
            raise InputError(
                f"{who} has n_words={self.n_words}, got n_nearest={self.n_nearest}. Use at most {self.n_words}."
            )
        n_levels = len(SpatialPyramid(self.pyramid, who).levels)
        check_weights(self.level_weights, n_levels, who)
        if self.normalize is None and self.level_weights is not None:
            raise InputError(f"{who} uses level_weights only with a norm; got level_weights with normalize=None.")

    def _check_fits(self):
        """Raise if parameters that words were learned with have changed since."""
        self.check_parameters()
        mine, theirs = self.vocabulary_, ("n_words", "method", "assignment")
        if any(getattr(self, name) != getattr(mine, name) for name in theirs) or (
            (self.bandwidth_ is None) != (self.n_nearest == 1)
        ):
            raise InputError("BagOfWords has different parameters than it was fitted with. Call fit again.")

    def _check_loaded(self):
        super()._check_loaded()
        if check_kind(self, "vocabulary_", Vocabulary).n_features_in_ != self.n_descriptor_values_:
            raise ValueError("vocabulary_ does not match the descriptors.")
        if self.bandwidth_ is not None:
            check_number(self, "bandwidth_", above=0)
        self._check_fits()


def _shares(distances, bandwidth):
    """exp(-(d_i^2 - d_1^2) / (2 sigma^2)) over their sum, from squared distances in ascending order."""
    if bandwidth is None:
        return np.ones(distances.shape)
    distances = distances.astype(np.float64)
    shares = np.exp((distances[:, :1] - distances) / (2 * bandwidth**2))
    return shares / shares.sum(axis=1, keepdims=True)


def _normalise(cells, level_of_cell, weights, norm):
    """Divide the cells of each level by their common norm and weigh them, in place."""
    for level, weight in enumerate(weights):
        part = level_of_cell == level
        votes = cells[part]
        factor = weight / votes.sum() if norm == "l1" else np.sqrt(weight / (votes**2).sum())
        cells[part] = votes * factor
