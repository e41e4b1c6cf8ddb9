"""Reading images as bytes, and resizing them, with Pillow (the extra ``vision``)."""

__all__ = ["SUFFIXES", "read_image", "resize"]

import io
import os
import struct
import zlib

import numpy as np

from mercer._base.errors import InputError, require_extra
from mercer.vision.reading.checks import as_image, whole_pair

# format -> suffixes of its files. Pillow knows more formats; some start other programs (EPS), others have no use here.
FORMATS = {
    "JPEG": (".jpg", ".jpeg"),
    "PNG": (".png",),
    "BMP": (".bmp",),
    "GIF": (".gif",),
    "TIFF": (".tif", ".tiff"),
    "WEBP": (".webp",),
    "PPM": (".pbm", ".pgm", ".ppm", ".pnm"),
}
SUFFIXES = frozenset(suffix for suffixes in FORMATS.values() for suffix in suffixes)
MODES = {"rgb": "RGB", "gray": "L"}
WHITE = (255, 255, 255, 255)
# What Pillow's decoders raise for files that are cut off or damaged, besides OSError and ValueError.
DAMAGE = (
    OSError,
    ValueError,
    SyntaxError,
    EOFError,
    LookupError,
    ArithmeticError,
    TypeError,
    AttributeError,
    RuntimeError,
    MemoryError,
    struct.error,
    zlib.error,
)


def read_image(source, mode="rgb", size=None):
    """Read an image file as an array of bytes.

    Applies the orientation stored by the camera (EXIF), lays transparent pixels on white, scales 16 bits to 8, and
    converts palettes and CMYK to RGB. Reads the first of several frames or pages. Supports JPEG, PNG, BMP, GIF, TIFF,
    WebP and PNM files.

    Truncated and damaged files raise an error. So do images with more pixels than ``PIL.Image.MAX_IMAGE_PIXELS``,
    before they are unpacked.

    Parameters
    ----------
    source : path or bytes
        The file, or its content.
    mode : str
        ``"rgb"`` or ``"gray"`` (luma of ITU-R 601).
    size : (height, width) or None
        Size to scale the image to; see :func:`resize`.

    Returns
    -------
    ndarray of shape (H, W, 3) or (H, W), uint8

    Examples
    --------
    >>> read_image(b"P2 3 1 255 0 128 255", mode="gray")
    array([[  0, 128, 255]], dtype=uint8)
    """
    if mode not in MODES:
        raise InputError(f"read_image needs mode to be 'rgb' or 'gray'; got mode={mode!r}.")
    if size is not None:
        size = whole_pair(size, "read_image")
    name, content = content_of(source)
    image = np.array(decoded(content, name).convert(MODES[mode]))
    return image if size is None else resize(image, size)


def resize(image, size):
    """Scale an image to another size, by linear interpolation over all covered pixels.

    Parameters
    ----------
    image : array of shape (H, W) or (H, W, 3)
        Bytes or numbers.
    size : (height, width)

    Returns
    -------
    ndarray of shape (height, width) or (height, width, 3)
        uint8 for bytes, float32 for others.

    Examples
    --------
    >>> import numpy as np
    >>> resize(np.array([[0, 10, 20, 30]], dtype=np.uint8), (1, 2))
    array([[ 7, 23]], dtype=uint8)
    """
    Image = require_extra("PIL.Image", extra="vision", purpose="Resizing images")
    height, width = whole_pair(size, "resize")
    image = as_image(image, "resize")
    if image.dtype == np.uint8:
        planes = [image]
    else:  # Pillow has no color images of floats
        planes = np.moveaxis(np.atleast_3d(image), 2, 0).astype(np.float32)
    resized = [np.array(Image.fromarray(plane).resize((width, height), Image.Resampling.BILINEAR)) for plane in planes]
    return resized[0] if len(resized) == 1 else np.ascontiguousarray(np.stack(resized, axis=2))


def content_of(source):
    """(what errors call it, a file of its bytes) of a path or of bytes."""
    if isinstance(source, bytes | bytearray | memoryview):
        return f"the image of {len(source)} bytes", bytes(source)
    try:
        path = os.fspath(source)
    except TypeError:
        raise InputError(f"read_image needs a path or the bytes of a file, got {type(source).__name__}.") from None
    try:
        with open(path, "rb") as file:
            return str(path), file.read()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"read_image cannot read {path}: {reason}.") from error


def decoded(content, name):
    """A Pillow image, upright and opaque, of mode L, RGB or one that converts to them."""
    Image = require_extra("PIL.Image", extra="vision", purpose="Reading images")
    ImageOps = require_extra("PIL.ImageOps", extra="vision", purpose="Reading images")
    try:
        with Image.open(io.BytesIO(content), formats=list(FORMATS)) as image:
            _refuse_huge(image.size, Image.MAX_IMAGE_PIXELS, name)
            image.load()
            return _plain(ImageOps.exif_transpose(image), name, Image)
    except InputError:
        raise
    except Image.UnidentifiedImageError:
        raise InputError(f"{name} is not a readable image; supported formats: {', '.join(FORMATS)}.") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise InputError(f"{name} claims more pixels than {_most(Image.MAX_IMAGE_PIXELS)}") from error
    except DAMAGE as error:
        raise InputError(f"{name} is damaged or incomplete: {error}.") from error


def _refuse_huge(size, most, name):
    width, height = size
    if most is not None and width * height > most:
        raise InputError(f"{name} claims {width} x {height} pixels, more than {_most(most)}")


def _most(most):
    return f"the limit of {most:,}. Scale it down or, if you trust it, raise PIL.Image.MAX_IMAGE_PIXELS."


def _plain(image, name, Image):
    """Eight bits per value, without transparency."""
    if image.mode.startswith("I"):
        return Image.fromarray(_eight_bits(np.asarray(image), name))
    if image.mode in ("F", "LAB"):
        raise InputError(
            f"{name} has pixels of mode {image.mode}, whose range is unknown. Convert it to 8 or 16 bits, or pass its "
            "numbers as an array."
        )
    if image.has_transparency_data:
        image = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", image.size, WHITE), image)
    return image.convert("RGB") if image.mode in ("P", "CMYK", "YCbCr", "HSV") else image


def _eight_bits(values, name):
    """Numbers from 0 to 65535 as bytes, 65535 becoming 255; Pillow keeps them in 16 or 32 bits."""
    low, high = int(values.min()), int(values.max())
    if low < 0 or high > 65535:
        raise InputError(
            f"{name} has values from {low} to {high}; only 8 and 16 bits per value are supported. Convert it first."
        )
    return ((values.astype(np.uint32) + 128) // 257).astype(np.uint8)
