"""Working through images that do not fit in memory together: a batch at a time, over threads, in order.

Images may be paths, the bytes of files, or arrays. One that cannot be read or described raises an error that names it;
whoever goes through many asks for these to be skipped instead, and gets a list of names and reasons.
"""

__all__ = ["Picture", "SkippedImagesWarning", "as_pictures", "describe_images", "over_images", "warn_skipped"]

import hashlib
import os
import warnings
from functools import cached_property

import numpy as np

from mercer._base.errors import InputError
from mercer._base.progress import track
from mercer._base.threads import run_blocks, single_threaded
from mercer.vision.reading.checks import as_image
from mercer.vision.reading.images import content_of, decoded

BATCH = 16  # images between two looks at Ctrl-C, and finished at most ahead of the one that is handed out
NAMED = 10  # skipped images that a message names


class SkippedImagesWarning(UserWarning):
    """Some images could not be read or described, and were skipped.

    Attributes
    ----------
    skipped : dict, position of the image -> its name and the reason
    """

    def __init__(self, message, skipped=None):
        super().__init__(message)
        self.skipped = dict(skipped or {})


class Picture:
    """One image of a collection, read when it is needed and not kept.

    Parameters
    ----------
    source : path, bytes of a file, or array of shape (H, W) or (H, W, 3)
    position : int, its place in the collection
    """

    def __init__(self, source, position):
        self.source = source
        self.position = position

    @property
    def name(self):
        """The path, or which image of the collection it is."""
        return str(self.source) if isinstance(self.source, (str, os.PathLike)) else f"image {self.position}"

    def pixels(self):
        """The image as an array: gray files as (H, W), others as (H, W, 3), arrays as they are."""
        if isinstance(self.source, np.ndarray):
            return as_image(self.source, f"The reader of {self.name}")
        image = decoded(self._bytes, self.name)
        return np.array(image if image.mode == "L" else image.convert("RGB"))

    @cached_property
    def digest(self):
        """SHA-256 of the file, or of the array with its shape and type."""
        if isinstance(self.source, np.ndarray):
            array = np.ascontiguousarray(self.source)
            return hashlib.sha256(f"{array.dtype.str} {array.shape}".encode() + array.tobytes()).hexdigest()
        return hashlib.sha256(self._bytes).hexdigest()

    @cached_property
    def _bytes(self):
        return content_of(self.source)[1]


def as_pictures(images, who):
    """A list of pictures from a sequence of paths, bytes or arrays, or from a stack of images."""
    if isinstance(images, (str, bytes, os.PathLike)):
        raise InputError(f"{who} needs a sequence of images; got one {type(images).__name__}. Put it into a list.")
    if isinstance(images, np.ndarray) and images.dtype.kind not in "OU" and images.ndim not in (3, 4):
        raise InputError(
            f"{who} needs a stack of images of shape (n, height, width) or (n, height, width, 3), or a list of paths "
            f"and arrays, got an array of shape {images.shape}."
        )
    try:
        sources = [_source(image) for image in images]
    except TypeError:
        raise InputError(f"{who} needs a sequence of paths or arrays, got {type(images).__name__}.") from None
    if not sources:
        raise InputError(f"{who} needs at least one image, got none.")
    return [Picture(source, position) for position, source in enumerate(sources)]


def _source(image):
    return image if isinstance(image, (str, os.PathLike, bytes, bytearray, memoryview)) else np.asarray(image)


def describe_images(images, descriptor=None, *, strict=True, n_jobs=None):
    """Compute the descriptors of images one by one, in batches over threads.

    Parameters
    ----------
    images : sequence of paths, bytes of files or arrays; or a stack of images
    descriptor : object with a method ``describe(image)``, or None
        None uses ``DenseSIFT()``.
    strict : bool
        Raise an error if an image cannot be read or has no descriptors. Otherwise, it is skipped, and a warning at the
        end, :class:`SkippedImagesWarning`, lists all skipped images.
    n_jobs : int or None
        Number of threads. It does not affect the descriptors.

    Yields
    ------
    position : int
        Of the image in the sequence.
    descriptors : Descriptors
        With ``values``, ``frames`` and ``shape``.

    Examples
    --------
    >>> import numpy as np
    >>> images = np.random.default_rng(0).integers(0, 256, (2, 32, 32), dtype=np.uint8)
    >>> [(position, descriptors.values.shape[1]) for position, descriptors in describe_images(images)]
    [(0, 128), (1, 128)]
    """
    who = "describe_images"
    descriptor = checked_descriptor(descriptor, who)
    pictures = as_pictures(images, who)
    skipped = None if strict else {}

    def describe(picture):
        return described(picture, descriptor)

    yield from over_images(describe, pictures, skipped, n_jobs, "describing images")
    if skipped:
        warn_skipped(skipped, len(pictures), who, "they are missing from the result", stacklevel=2)


def checked_descriptor(descriptor, who):
    """The descriptor, DenseSIFT() for None."""
    if descriptor is None:
        from mercer.vision.descriptors.sift import DenseSIFT

        return DenseSIFT()
    if not callable(getattr(descriptor, "describe", None)):
        raise InputError(
            f"{who} needs a descriptor with a method describe(image), such as DenseSIFT(), got {descriptor!r}."
        )
    return descriptor


def described(picture, descriptor):
    """The descriptors of a picture, at least one; what goes wrong is said with its name."""
    pixels = picture.pixels()
    try:
        descriptors = descriptor.describe(pixels)
    except InputError as error:
        raise InputError(f"{picture.name}: {error}") from error
    if not len(descriptors.values):
        height, width = pixels.shape[:2]
        raise InputError(
            f"{picture.name} has no descriptors: an image of {height} x {width} pixels that is blank, or too small "
            f"for {descriptor!r}. Remove it, or use smaller patches."
        )
    return descriptors


def over_images(work, pictures, skipped, n_jobs, description):
    """Yield (position, work(picture)) in order, a batch of pictures at a time spread over threads.

    Each picture is worked on by one thread, BLAS included, so that results do not depend on the number of threads.

    Parameters
    ----------
    work : function of a Picture that raises InputError if the picture is to blame
    skipped : dict or None
        Filled with position -> reason for pictures that are to blame, which are then passed over. None: the first one
        raises.
    """
    results = _in_batches(work, pictures, skipped is not None, n_jobs)
    for picture, (result, reason) in track(results, description, total=len(pictures)):
        if reason is None:
            yield picture.position, result
        else:
            skipped[picture.position] = reason


def _in_batches(work, pictures, forgiving, n_jobs):
    def attempt(picture):
        # a fresh one each time: the content of a file is not kept beyond its turn
        try:
            return work(Picture(picture.source, picture.position)), None
        except InputError as error:
            if not forgiving:
                raise
            return None, str(error) if picture.name in str(error) else f"{picture.name}: {error}"

    for start in range(0, len(pictures), BATCH):
        batch = pictures[start : start + BATCH]
        with single_threaded():
            results = run_blocks(attempt, batch, n_jobs)
        yield from zip(batch, results, strict=True)


def warn_skipped(skipped, n_images, who, consequence, stacklevel):
    """Say how many images were skipped, why the first ones were, and what follows."""
    shown = " ".join(list(skipped.values())[:NAMED])
    more = f" And {len(skipped) - NAMED} more." if len(skipped) > NAMED else ""
    message = f"{who} skipped {len(skipped)} of {n_images} images; {consequence}. {shown}{more}"
    warnings.warn(SkippedImagesWarning(message, skipped), stacklevel=stacklevel + 1)
