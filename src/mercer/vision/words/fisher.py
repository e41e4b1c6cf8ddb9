"""Fisher vectors: how the descriptors of an image would change a mixture of Gaussians. [perronnin10improving]

Notation, besides that of :mod:`mercer.vision.words.gmm`
    paper     code        meaning                                                                    shape
    x_t       rows        descriptors, centered and projected on principal components                 (n, D)
    T         n           descriptors of the image, or of a cell of the pyramid
    S^0_i     counts      sum_t gamma_t(i)                                                           (cells, K)
    S^1, S^2  moments     sum_t gamma_t(i) [x_t, x_t^2]                                              (cells, K, 2D)

    G_mu_i    = 1/(T sqrt(w_i))   sum_t gamma_t(i) (x_t - mu_i) / sigma_i
    G_sigma_i = 1/(T sqrt(2 w_i)) sum_t gamma_t(i) ((x_t - mu_i)^2 / sigma_i^2 - 1)

Both follow from counts and moments, which are products of blocks of matrices. They are summed over the atoms of the
pyramid (:mod:`mercer.vision.words.pyramid`), each descriptor once whatever the number of levels.
"""

__all__ = ["FisherVectors"]

from copy import copy

import numpy as np
from sklearn.utils.validation import check_is_fitted

from mercer._base.errors import InputError
from mercer._base.files.loaded import FLOATS, checked_array
from mercer._base.linalg import eigh_descending
from mercer._base.parameters import check_parameters, keep_arguments
from mercer._base.parameters.vision import FISHER_VECTORS
from mercer._base.threads import run_row_blocks
from mercer.vision.reading.batches import over_images
from mercer.vision.words.encoder import ImageEncoder
from mercer.vision.words.gmm import Mixture, fit_em, log_densities, mixture_of_clusters, to_posteriors, with_squares
from mercer.vision.words.kmeans import kmeans, nearest_words, sums_of_words
from mercer.vision.words.pyramid import SpatialPyramid, check_weights

SAMPLES_PER_WORD = 500
FEWEST_SAMPLES, MOST_SAMPLES = 100_000, 500_000
BLOCK_ROWS = 4096
KMEANS_PASSES = 20


class FisherVectors(ImageEncoder):
    """Convert images to Fisher vectors, over the cells of a spatial pyramid.

    Descriptors are projected on their principal components and modeled by a mixture of Gaussians with diagonal
    covariances, the words. The vector of an image is the gradient of its log likelihood by the means and variances of
    the words. Each cell of the pyramid gets its vector z, which becomes sign(z) |z|^power and is divided by its l2 norm
    [perronnin10improving].

    Parameters
    ----------
    descriptor : object with a method ``describe(image)``, or None
        None uses ``DenseSIFT()``.
    n_words : int
        Number of Gaussians; ignored if ``words`` is given.
    n_components : int or None
        Number of principal components of the descriptors; None keeps the descriptors themselves.
    root : bool
        Divide each descriptor by its sum and take square roots, which needs values >= 0. Euclidean distances then equal
        those of Hellinger's kernel [arandjelovic12three].
    terms : {"both", "mean", "variance"}
        Gradients with respect to the means, to the variances, or to the means followed by the variances.
    assignment : {"soft", "hard"}
        Assign each descriptor to all words by posterior (soft), or to the most probable word (hard).
    gmm : {"em", "kmeans"}
        How the mixture is fitted: by expectation maximization, or from the shares, means and variances of the clusters
        of k-means ([gavves12convex] Sec. 4.1).
    words : array of shape (n, d) or None
        Cluster centers to use with ``gmm="kmeans"``, for example ``vocabulary_.words_`` of a :class:`BagOfWords`. They
        are centers of rooted descriptors if ``root`` is set. None finds them by k-means.
    power : float
        Exponent applied to magnitudes: 0.5 takes signed square roots, and 1 changes nothing.
    pyramid : sequence of (rows, columns)
        Grids of cells, for example ``((1, 1), (2, 2), (3, 1))``.
    level_weights : sequence of float or None
        Share of each level in the squared norm of a row, which is 1, distributed evenly over its cells; None gives all
        cells of all levels the same share.
    n_samples : int or None
        Maximum number of descriptors to learn from, drawn evenly from all images; None uses 500 per word, from 100,000
        to 500,000.
    n_iter : int
        Maximum number of iterations of expectation maximization.
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
    mean_ : ndarray of shape (d,), float32
    components_ : ndarray of shape (D, d), float32, or None
        Principal components, by falling variance.
    weights_, means_, variances_ : ndarrays of shapes (K,), (K, D) and (K, D)
        The mixture.
    descriptor_ : the descriptor in use
    n_descriptor_values_ : int
    skipped_ : dict
        Position of each image that was not used for training -> the reason.

    Notes
    -----
    A row has, cell by cell, the terms one after the other; a term has D numbers for each word.

    See Also
    --------
    BagOfWords : one number per word.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.vision import DenseSIFT
    >>> images = np.random.default_rng(0).integers(256, size=(6, 48, 64), dtype=np.uint8)
    >>> encoder = FisherVectors(DenseSIFT(sizes=(4,)), n_words=4, n_components=8, random_state=0)
    >>> rows = encoder.fit_transform(images)
    >>> rows.shape
    (6, 64)
    >>> np.allclose((rows**2).sum(axis=1), 1)
    True
    """

    _table = FISHER_VECTORS

    def __init__(
        self,
        descriptor=None,
        n_words=64,
        *,
        n_components=64,
        root=True,
        terms="both",
        assignment="soft",
        gmm="em",
        words=None,
        power=0.5,
        pyramid=((1, 1),),
        level_weights=None,
        n_samples=None,
        n_iter=100,
        strict=True,
        cache=None,
        random_state=None,
        n_jobs=None,
    ):
        keep_arguments(self, locals())

    def restrict(self, words):
        """Return a fitted encoder with only the given words, in this order; their weights are scaled to add up to 1.

        The mixture then consists of these words, which share every descriptor.

        Parameters
        ----------
        words : array of integers, positions of different words
        """
        check_is_fitted(self)
        chosen = _checked_subset(words, len(self.weights_))
        mixture = self._mixture().restricted(chosen)
        restricted = copy(self)
        restricted.n_words = len(chosen)
        restricted.words = None if self.words is None else np.asarray(self.words)[chosen]
        restricted.keep_mixture(mixture)
        return restricted

    def word_shares(self, images):
        """The share of each word in the descriptors of each image, by their posteriors (or the most probable words).

        These are bags of words of the mixture. A reduction of them selects words for :meth:`restrict`
        ([gavves12convex] Sec. 4.5).

        Parameters
        ----------
        images : sequence of paths, bytes of files or arrays; or a stack of images

        Returns
        -------
        ndarray of shape (n, n_words), float64
            With ``strict=False``, zero for an image that cannot be read.
        """
        check_is_fitted(self)
        pictures, form = self._pictures(images, reset=False), self._mixture().linear_form()

        def shares(picture):
            rows = self.project(self.described(picture).values)
            blocks = (rows[start : start + BLOCK_ROWS] for start in range(0, len(rows), BLOCK_ROWS))
            return sum(self._block_sums(with_squares(block), form, width=0)[0] for block in blocks) / len(rows)

        found = np.zeros((len(pictures), len(self.weights_)))
        for position, row in over_images(shares, pictures, None if self.strict else {}, self.n_jobs, "counting words"):
            found[position] = row
        return found

    def project(self, values):
        """Descriptors as the mixture sees them: rooted, centered and projected, float32 (n, D).

        Parameters
        ----------
        values : array of shape (n, d)
        """
        rows = self._values(values) - self.mean_
        return rows if self.components_ is None else rows @ self.components_.T

    # ------------------------------------------------------------------------------------------------------ learning

    def default_samples(self):
        n_words = self.n_words if self.words is None else len(self.words)
        return int(np.clip(SAMPLES_PER_WORD * n_words, FEWEST_SAMPLES, MOST_SAMPLES))

    def _learn(self, values, random_state):
        d = values.shape[1]
        if self.n_components is not None and self.n_components > d:
            raise InputError(
                f"FisherVectors cannot keep n_components={self.n_components} of descriptors of {d} values. Use at most "
                f"{d}, or None."
            )
        rooted = self._values(values)
        self.mean_, self.components_ = _principal(rooted, self.n_components, self.n_jobs)
        rows = self.project(values)
        words = None if self.words is None else _checked_words(self.words, d)
        n_words = int(self.n_words) if words is None else len(words)
        if len(rows) < n_words:
            raise InputError(
                f"FisherVectors needs at least as many descriptors as words, got {len(rows)} for {n_words} words. Use "
                "more images, a smaller step, or fewer words."
            )
        if self.gmm == "em":
            mixture, _ = fit_em(rows, n_words, random_state, self.n_iter, n_jobs=self.n_jobs)
        else:
            labels = self._clusters(rows, rooted, words, n_words, random_state)
            mixture = mixture_of_clusters(rows, labels, n_words)
        self.keep_mixture(mixture)

    def _clusters(self, rows, rooted, words, n_words, random_state):
        if words is None:
            words, points = kmeans(rows, n_words, random_state, KMEANS_PASSES, self.n_jobs), rows
        else:
            points = np.ascontiguousarray(rooted)
        return nearest_words(points, words, n_jobs=self.n_jobs)[0][:, 0]

    def keep_mixture(self, mixture):
        """Take the words of a mixture."""
        self.weights_, self.means_, self.variances_ = mixture.weights, mixture.means, mixture.variances

    def _mixture(self):
        return Mixture(self.weights_, self.means_, self.variances_)

    # ------------------------------------------------------------------------------------------------------ encoding

    def prepared(self):
        self.check_parameters()
        pyramid = SpatialPyramid(self.pyramid)
        return pyramid, self._cell_factors(pyramid), self._mixture(), self._mixture().linear_form()

    def _cell_factors(self, pyramid):
        """Norms of the cells: their squares add up to 1."""
        if self.level_weights is None:
            return np.full(len(pyramid.cells), len(pyramid.cells) ** -0.5)
        weights = check_weights(self.level_weights, len(pyramid.levels), "FisherVectors")
        return np.sqrt(weights / np.bincount(pyramid.level_of_cell))[pyramid.level_of_cell]

    def encode_image(self, descriptors, prepared):
        pyramid, factors, mixture, form = prepared
        counts, moments, sizes = self._atom_sums(descriptors, pyramid, form)
        cells = pyramid.cells.astype(np.float64)
        parts = [
            _normalised(gradient, self.power) * factor
            for gradient, factor in zip(
                _gradients(cells @ counts, np.tensordot(cells, moments, 1), cells @ sizes, mixture, self.terms),
                factors,
                strict=True,
            )
        ]
        return np.concatenate(parts).astype(np.float32)

    def _atom_sums(self, descriptors, pyramid, form):
        """(counts, moments, descriptors) of each atom of the pyramid, float64."""
        rows = self.project(descriptors.values)
        atoms = pyramid.atoms(descriptors.frames, descriptors.shape)
        order = np.argsort(atoms, kind="stable")
        rows = rows[order]
        sizes = np.bincount(atoms, minlength=pyramid.n_atoms)
        K, D = self.means_.shape
        width = D if self.terms == "mean" else 2 * D
        counts, moments = np.zeros((pyramid.n_atoms, K)), np.zeros((pyramid.n_atoms, K, width))
        for atom, stop in enumerate(np.cumsum(sizes)):
            for start in range(stop - sizes[atom], stop, BLOCK_ROWS):
                block = with_squares(rows[start : min(start + BLOCK_ROWS, stop)])
                count, moment = self._block_sums(block, form, width)
                counts[atom] += count
                moments[atom] += moment
        return counts, moments, sizes.astype(np.float64)

    def _block_sums(self, block, form, width):
        densities = log_densities(block, form)
        if self.assignment == "hard":
            return sums_of_words(densities.argmax(axis=1), block[:, :width], densities.shape[1])
        posteriors, _ = to_posteriors(densities)
        return posteriors.sum(axis=0, dtype=np.float64), posteriors.T @ block[:, :width]

    def nearest_words(self, descriptors):
        """The most probable word of each descriptor."""
        return log_densities(with_squares(self.project(descriptors.values)), self._mixture().linear_form()).argmax(1)

    def _row_state(self):
        return (
            *(self.mean_, self.components_, self.weights_, self.means_, self.variances_, bool(self.root), self.terms),
            *(self.assignment, float(self.power), SpatialPyramid(self.pyramid).levels, self.level_weights),
        )

    @property
    def _n_features_out(self):
        return (2 if self.terms == "both" else 1) * self.means_.size * len(SpatialPyramid(self.pyramid).cells)

    # ------------------------------------------------------------------------------------------------------ checks

    def check_parameters(self):
        """Refuse invalid parameters before any image is read."""
        who = "FisherVectors"
        check_parameters(self, self._table)
        if self.words is not None and self.gmm != "kmeans":
            raise InputError(f"{who} uses words, the cluster centers, only with gmm='kmeans'; got gmm={self.gmm!r}.")
        check_weights(self.level_weights, len(SpatialPyramid(self.pyramid, who).levels), who)

    def _check_loaded(self):
        super()._check_loaded()
        d, (K, D) = self.n_descriptor_values_, checked_array(self, "means_", FLOATS, ndim=2).shape
        wanted = {"mean_": (d,), "weights_": (K,), "means_": (K, D), "variances_": (K, D)}
        if self.components_ is None:
            if d != D:
                raise ValueError("means_ do not match the descriptors.")
        else:
            wanted["components_"] = (D, d)
        for name, shape in wanted.items():
            checked_array(self, name, FLOATS, shape=shape)
        if not ((self.weights_ > 0).all() and (self.variances_ > 0).all()):
            raise ValueError("weights_ and variances_ must be positive.")


def _principal(values, n_components, n_jobs):
    """(mean, leading eigenvectors of the covariance as rows or None), float32."""
    mean = values.mean(axis=0, dtype=np.float64).astype(np.float32)
    if n_components is None:
        return mean, None

    def scatter(block):
        centred = (values[block] - mean).astype(np.float64)
        return centred.T @ centred

    parts = run_row_blocks(scatter, len(values), BLOCK_ROWS, n_jobs)
    vectors = eigh_descending(sum(parts[1:], parts[0]))[1]
    return mean, np.ascontiguousarray(vectors[:, :n_components].T, dtype=np.float32)


def _gradients(counts, moments, sizes, mixture, terms):
    """The vector of each cell, (cells, terms * K * D), by the equations of this file; zero for a cell without any."""
    w, mu, variances = mixture.weights[:, None], mixture.means, mixture.variances
    D = mu.shape[1]
    n = np.maximum(sizes, 1)[:, None, None]
    S0, S1 = counts[:, :, None], moments[:, :, :D]
    parts = []
    if terms != "variance":
        parts.append((S1 - S0 * mu) / (np.sqrt(w * variances) * n))
    if terms != "mean":
        S2 = moments[:, :, D:]
        parts.append(((S2 - 2 * mu * S1 + S0 * mu**2) / variances - S0) / (np.sqrt(2 * w) * n))
    return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)


def _normalised(z, power):
    """sign(z) |z|^power over its l2 norm; zero stays zero."""
    if power != 1:
        z = np.sign(z) * np.abs(z) ** power
    norm = np.linalg.norm(z)
    return z / norm if norm > 0 else z


def _checked_subset(words, n_words):
    chosen = np.asarray(words)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu" or not len(chosen):
        raise InputError(f"FisherVectors.restrict needs a list of word numbers, got {words!r}.")
    if chosen.min() < 0 or chosen.max() >= n_words or len(np.unique(chosen)) < len(chosen):
        raise InputError(f"FisherVectors.restrict needs different words from 0 to {n_words - 1}, got {words!r}.")
    return chosen


def _checked_words(words, d):
    words = np.ascontiguousarray(words, dtype=np.float32)
    if words.ndim != 2 or words.shape[1] != d or not len(words) or not np.isfinite(words).all():
        raise InputError(f"FisherVectors needs words to be finite rows of {d} values, got an array of {words.shape}.")
    return words
