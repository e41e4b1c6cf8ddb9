"""What encoders of images share: a pass that samples descriptors and learns from them, and a pass that encodes."""

__all__ = ["Encoding", "ImageEncoder"]

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._base.errors import InputError
from mercer._base.files.loaded import MOST_COLUMNS, check_whole
from mercer.vision.reading.batches import as_pictures, checked_descriptor, described, over_images, warn_skipped
from mercer.vision.reading.cache import ArrayCache, fingerprint
from mercer.vision.reading.sampling import sample_descriptors


@dataclass(frozen=True)
class Encoding:
    """The rows of the images that could be read, and the reasons why others were skipped.

    Attributes
    ----------
    features : ndarray or csr_array of shape (n_kept, n_features)
    kept : ndarray of shape (n_images,), bool
        Which images have a row: ``labels[encoding.kept]`` are theirs.
    skipped : dict
        Position of an image -> its name and why it was skipped.
    """

    features: object
    kept: np.ndarray
    skipped: dict


class ImageEncoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Images to rows by way of local descriptors.

    A subclass has the parameters ``descriptor``, ``root``, ``n_samples``, ``strict``, ``cache``, ``random_state`` and
    ``n_jobs``, and defines

    - ``check_parameters()``,
    - ``default_samples()``, how many descriptors it learns from if ``n_samples`` is None,
    - ``_learn(values, random_state)``, which sets its fitted attributes from a sample of descriptors,
    - ``prepared()``, what all images need, computed once per call of transform,
    - ``_row_state()``, all that the row of an image depends on besides the image and its descriptors,
    - ``encode_image(descriptors, prepared)``, the row of an image, float32,
    - ``nearest_words(descriptors)``, the word of each descriptor, for pictures.
    """

    def fit(self, images, y=None):
        """Learn from a sample of the descriptors of the images. ``y`` is ignored.

        Parameters
        ----------
        images : sequence of paths, bytes of files or arrays; or a stack of images (n, H, W) or (n, H, W, 3)
        """
        who = type(self).__name__
        self.check_parameters()
        pictures = self._pictures(images, reset=True)
        self.descriptor_ = clone(checked_descriptor(self.descriptor, who), safe=False)
        random_state = check_random_state(self.random_state)
        skipped = {}
        values = sample_descriptors(
            pictures,
            self.descriptor_,
            self.default_samples() if self.n_samples is None else int(self.n_samples),
            random_state.randint(2**31 - 1),
            who=who,
            skipped=None if self.strict else skipped,
            cache=self._cache(),
            n_jobs=self.n_jobs,
        )
        self.n_descriptor_values_ = values.shape[1]
        self._learn(values, random_state)
        self.skipped_ = skipped
        if skipped:
            warn_skipped(skipped, len(pictures), who, "they were not used for training", stacklevel=2)
        return self

    def transform(self, images):
        """The features of the images, one row each.

        With ``strict=False``, an image that cannot be read or described has a row of zeros, and a warning,
        ``SkippedImagesWarning``, names it. :meth:`encode` leaves such images out instead.

        Parameters
        ----------
        images : sequence of paths, bytes of files or arrays; or a stack of images

        Returns
        -------
        ndarray or csr_array of shape (n, n_features), float32
        """
        check_is_fitted(self)
        pictures = self._pictures(images, reset=False)
        skipped = None if self.strict else {}
        features = self._rows(pictures, skipped)
        if skipped:
            warn_skipped(skipped, len(pictures), type(self).__name__, "their rows are zero", stacklevel=2)
        return features

    def encode(self, images):
        """The features of the images that can be read, and which these are; nothing is raised for the others.

        Parameters
        ----------
        images : sequence of paths, bytes of files or arrays; or a stack of images

        Returns
        -------
        Encoding
            With ``features``, ``kept`` and ``skipped``.
        """
        check_is_fitted(self)
        pictures = self._pictures(images, reset=False)
        skipped = {}
        features = self._rows(pictures, skipped)
        kept = np.ones(len(pictures), dtype=bool)
        kept[list(skipped)] = False
        return Encoding(features if not skipped else features[kept], kept, skipped)

    # ------------------------------------------------------------------------------------------------------ helpers

    def _rows(self, pictures, skipped):
        """Rows of all pictures; those of skipped ones are zero."""
        cache, prepared = self._cache(), self.prepared()
        kind = fingerprint("row", type(self).__name__, self.descriptor_, self._row_state()) if cache else None
        width = self._n_features_out
        as_sparse = getattr(self, "sparse_output", False)

        def encode(picture):
            key = fingerprint(kind, picture.digest) if cache else None
            row = cache.get(key) if cache else None
            if row is None or row.shape != (width,) or row.dtype != np.float32:
                row = self.encode_image(self.described(picture), prepared)
                if cache:
                    cache.put(key, row)
            return sparse.csr_array(row[None]) if as_sparse else row

        results = over_images(encode, pictures, skipped, self.n_jobs, "encoding images")
        if as_sparse:
            found = dict(results)
            empty = sparse.csr_array((1, width), dtype=np.float32)
            return sparse.csr_array(sparse.vstack([found.get(p.position, empty) for p in pictures], format="csr"))
        features = np.zeros((len(pictures), width), dtype=np.float32)
        for position, row in results:
            features[position] = row
        return features

    def described(self, picture):
        descriptors = described(picture, self.descriptor_)
        if descriptors.values.shape[1] != self.n_descriptor_values_:
            raise InputError(
                f"{type(self).__name__} was fitted to descriptors of {self.n_descriptor_values_} values, but those of "
                f"{picture.name} have {descriptors.values.shape[1]}."
            )
        return descriptors

    def _values(self, values):
        """Descriptors as float32; with ``root``, the roots of their shares in the sum of their row."""
        values = np.asarray(values, dtype=np.float32)
        if not self.root:
            return values
        if values.min() < 0:
            who = type(self).__name__
            raise InputError(f"{who}(root=True) needs descriptors >= 0, got {values.min():.6g}. Pass root=False.")
        total = values.sum(axis=1, keepdims=True)
        return np.sqrt(values / np.where(total > 0, total, 1))

    def _pictures(self, images, reset):
        return as_pictures(images, type(self).__name__)

    def _cache(self):
        return None if self.cache is None else ArrayCache(self.cache, type(self).__name__)

    def _check_loaded(self):
        """Subclasses check what they have learned. A folder of another machine has no meaning here."""
        if not callable(getattr(self.descriptor_, "describe", None)):
            raise ValueError("descriptor_ must be a descriptor.")
        n_values = check_whole(self, "n_descriptor_values_", 1, MOST_COLUMNS)
        if n_values != getattr(self.descriptor_, "n_values", n_values):
            raise ValueError("n_descriptor_values_ does not match descriptor_.")
        self.check_parameters()
        self.cache = None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags
