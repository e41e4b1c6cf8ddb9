"""Histograms of oriented gradients of many images, as a step of a scikit-learn pipeline."""

__all__ = ["HOG"]

from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._base.errors import InputError
from mercer._base.parameters import keep_arguments
from mercer._base.threads import run_blocks
from mercer.vision.descriptors.hog import channels_of, fill_hog, hog_shape
from mercer.vision.reading.checks import check_image_shape, check_values

IMAGES_PER_TASK = 8


class HOG(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Images of one size to rows of histograms of oriented gradients.

    Parameters
    ----------
    cell_size : int
        Side of a cell, in pixels.
    variant : str
        ``"felzenszwalb"``, 31 numbers per cell, or ``"dalal-triggs"``, 36; see :func:`hog`.
    image_shape : tuple or None
        (height, width) or (height, width, 3). Required for images given as flat rows; for a stack of images, fit infers
        it.
    n_jobs : int or None
        Number of threads. It does not affect the features.

    Attributes
    ----------
    image_shape_ : tuple
        Shape of an image.
    grid_shape_ : tuple
        (rows, columns, channels) of the features of an image: ``transform(X).reshape(-1, *grid_shape_)`` are those of
        :func:`hog`.

    Examples
    --------
    >>> import numpy as np
    >>> images = np.random.default_rng(0).integers(256, size=(3, 128, 128), dtype=np.uint8)
    >>> descriptors = HOG(variant="dalal-triggs")
    >>> descriptors.fit_transform(images).shape, descriptors.grid_shape_
    ((3, 9216), (16, 16, 36))
    >>> HOG(variant="dalal-triggs", image_shape=(128, 128)).fit_transform(images.reshape(3, -1)).shape
    (3, 9216)
    """

    def __init__(self, cell_size=8, *, variant="felzenszwalb", image_shape=None, n_jobs=None):
        keep_arguments(self, locals())

    def fit(self, X, y=None):
        """Check the parameters and record the shape of the images. ``y`` is ignored.

        Parameters
        ----------
        X : array of shape (n, H, W), (n, H, W, 3), (n, H * W) or (n, H * W * 3)
        """
        _, self.image_shape_ = self._rows(X, reset=True)
        self.grid_shape_ = self._grid()
        return self

    def transform(self, X):
        """Compute the features of the images, one row each.

        Parameters
        ----------
        X : array of shape (n, H, W), (n, H, W, 3), (n, H * W) or (n, H * W * 3)

        Returns
        -------
        ndarray of shape (n, rows * columns * channels), float32
        """
        check_is_fitted(self)
        if self.grid_shape_ != self._grid():
            raise InputError("HOG has different parameters than it was fitted with. Call fit again.")
        X, _ = self._rows(X, reset=False)
        features = np.empty((len(X), *self.grid_shape_), dtype=np.float32)

        def describe(images):
            for i in images:
                fill_hog(self._image(X[i]), int(self.cell_size), self.variant, features[i])

        starts = range(0, len(X), IMAGES_PER_TASK)
        run_blocks(describe, [range(i, min(i + IMAGES_PER_TASK, len(X))) for i in starts], self.n_jobs)
        return features.reshape(len(X), self._n_features_out)

    @property
    def _n_features_out(self):
        return int(np.prod(self.grid_shape_))

    def _grid(self):
        return *hog_shape(self.image_shape_, self.cell_size), channels_of(self.variant, False, "HOG")

    def _rows(self, X, reset):
        """(flat rows, shape of an image) of a stack or of flat rows."""
        shape = self._given_shape() if reset else self.image_shape_
        X = _as_array(X)
        if getattr(X, "ndim", 2) > 2:
            if shape is not None and tuple(X.shape[1:]) != shape:
                raise InputError(
                    f"HOG needs images of shape {shape}, got a stack of shape {X.shape}. Resize the images."
                )
            shape = tuple(X.shape[1:])
            check_image_shape(shape, "HOG")
            X = X.reshape(len(X), int(np.prod(shape)))
        X = validate_data(self, X, reset=reset, dtype="numeric", order="C")
        check_values(X, "HOG")
        return X, self._shape_of_rows(X.shape[1], shape)

    def _given_shape(self):
        if self.image_shape is None:
            return None
        shape = tuple(self.image_shape) if isinstance(self.image_shape, tuple | list) else ()
        if not all(isinstance(side, Integral) for side in shape):
            shape = ()
        check_image_shape(shape, f"HOG with image_shape={self.image_shape!r}")
        return tuple(map(int, shape))

    def _shape_of_rows(self, n_values, shape):
        """The shape of images that come as rows of ``n_values`` numbers, if ``shape`` is what was given or seen."""
        if shape is None:
            raise InputError(
                f"HOG cannot infer the shape of images from rows of {n_values} values. Pass image_shape=(height, "
                "width) or (height, width, 3), or a stack of images."
            )
        if n_values != np.prod(shape):
            raise InputError(
                f"HOG needs rows of {np.prod(shape)} values for images of shape {shape}, got {n_values} columns."
            )
        return shape

    def _image(self, row):
        row = row if row.dtype == np.uint8 else np.asarray(row, dtype=np.float64)
        return row.reshape(self.image_shape_)

    def _check_loaded(self):
        shape = self.image_shape_
        if not isinstance(shape, tuple) or any(type(side) is not int for side in shape):
            raise ValueError("image_shape_ must be a tuple of integers.")
        check_image_shape(shape, "image_shape_")
        if self.grid_shape_ != self._grid():
            raise ValueError("grid_shape_ does not match the images.")
        if self.n_features_in_ != int(np.prod(shape)):
            raise ValueError("n_features_in_ does not match the images.")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def _as_array(X):
    """A list of images as a stack; the rest is left to scikit-learn."""
    if not isinstance(X, list | tuple) or not any(np.ndim(image) > 1 for image in X):
        return X
    shapes = {np.shape(image) for image in X}
    if len(shapes) > 1:
        raise InputError(
            f"HOG needs images of the same size; got {len(shapes)} different shapes. Use mercer.vision.resize first."
        )
    return np.stack(X)
