"""Steps of scikit-learn pipelines that turn images of any size, or their files, into rows."""

__all__ = ["ImageRows", "grid_edges"]

import os
from abc import ABC, abstractmethod
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._base.errors import InputError
from mercer.vision.reading.batches import as_pictures, over_images
from mercer.vision.reading.checks import check_image_shape, check_values


class ImageRows(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """What transformers share that describe each image by itself, whatever its size.

    A subclass has the parameters ``image_shape`` and ``n_jobs``, and writes ``_grid_shape`` and ``_fill``.

    Attributes
    ----------
    grid_shape_ : tuple
        (rows, columns, numbers per place) of the features of an image.
    """

    def fit(self, X, y=None):
        """Check the parameters. Nothing else is learned, and files are not read. ``y`` is ignored.

        Parameters
        ----------
        X : images
            A stack of shape (n, H, W) or (n, H, W, 3), a list of images of any sizes, a list of paths, or rows of
            ``image_shape``.
        """
        self.grid_shape_ = self._grid_shape()
        self._pictures(X, reset=True)
        return self

    def transform(self, X):
        """The features of the images, one row each.

        Parameters
        ----------
        X : images
            A stack of shape (n, H, W) or (n, H, W, 3), a list of images of any sizes, a list of paths, or rows of
            ``image_shape``.

        Returns
        -------
        ndarray of shape (n, rows * columns * numbers per place), float32
        """
        check_is_fitted(self)
        name = type(self).__name__
        if self.grid_shape_ != self._grid_shape():
            raise InputError(f"{name} has different parameters than it was fitted with. Call fit again.")
        pictures = self._pictures(X, reset=False)
        features = np.empty((len(pictures), *self.grid_shape_), dtype=np.float32)

        def describe(picture):
            self._fill(picture.pixels(), features[picture.position], f"{name} ({picture.name})")

        for _ in over_images(describe, pictures, None, self.n_jobs, "describing images"):
            pass  # written in place
        return features.reshape(len(pictures), self._n_features_out)

    @abstractmethod
    def _grid_shape(self):
        """(rows, columns, numbers per place); raises for parameters that do not go together."""

    @abstractmethod
    def _fill(self, image, features, who):
        """Write the features of a checked image into an array of shape ``grid_shape_``."""

    @property
    def _n_features_out(self):
        return int(np.prod(self.grid_shape_))

    def _pictures(self, X, reset):
        """Images, each to be read when it is needed."""
        name = type(self).__name__
        if not _is_sequence(X):
            X = validate_data(self, X, reset=reset, dtype="numeric", order="C")
            check_values(X, name)
            X = X.reshape(len(X), *self._shape_of_rows(X.shape[1]))
        return as_pictures(X, name)

    def _shape_of_rows(self, n_values):
        """The shape of images that come as rows of ``n_values`` numbers."""
        name = type(self).__name__
        if self.image_shape is None:
            raise InputError(
                f"{name} cannot infer the shape of images from rows of {n_values} values. Pass image_shape=(height, "
                "width) or (height, width, 3), or a list or stack of images."
            )
        shape = tuple(self.image_shape) if isinstance(self.image_shape, tuple | list) else ()
        if not all(isinstance(side, Integral) for side in shape):
            shape = ()
        check_image_shape(shape, f"{name} with image_shape={self.image_shape!r}")
        if n_values != np.prod(shape):
            raise InputError(
                f"{name} needs rows of {np.prod(shape)} values for images of shape {shape}, got {n_values}."
            )
        return shape

    def _check_loaded(self):
        if self.grid_shape_ != self._grid_shape():
            raise ValueError("grid_shape_ does not belong to these parameters.")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def _is_sequence(X):
    """Whether X is a stack or a sequence of images; the rest are rows, which scikit-learn checks."""
    if isinstance(X, np.ndarray) and X.dtype != object:
        return X.ndim > 2 or X.dtype.kind == "U"
    if isinstance(X, np.ndarray) and X.ndim == 1:
        X = X.tolist()
    if not isinstance(X, list | tuple):
        return isinstance(X, str | bytes | os.PathLike)  # not a sequence, which as_pictures says in words
    return not X or any(isinstance(item, str | bytes | os.PathLike) or np.ndim(item) > 1 for item in X)


def grid_edges(n_pixels, n_parts):
    """Where the parts of a side begin, and where the last one ends; their lengths differ by at most one."""
    return np.arange(n_parts + 1) * n_pixels // n_parts
