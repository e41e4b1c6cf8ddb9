"""A picture as the body of a request: PNG or JPEG, small enough before anything of it is unpacked.

The size is read from the header alone, so that a few kilobytes that stand for gigabytes are refused at once. What is
then unpacked is checked again by the reader of images.
"""

__all__ = ["MEDIA", "check_picture", "is_picture"]

from mercer.serving.http.faults import Fault

MEDIA = {"image/png": "PNG", "image/jpeg": "JPEG"}
LONGEST_SIDE = 2**14  # pixels
_BEGINNINGS = {"PNG": b"\x89PNG\r\n\x1a\n", "JPEG": b"\xff\xd8\xff"}
_NO_LENGTH = {0x01, *range(0xD0, 0xD9)}  # markers that stand alone
_SCAN, _END = 0xDA, 0xD9
_FRAMES = set(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # markers that tell the size


def is_picture(content_type):
    """Whether a content type says that the body is a picture, of any format."""
    return _media(content_type).startswith("image/")


def check_picture(content_type, body, max_pixels):
    """Refuse a body that is no PNG or JPEG, or whose header claims too many pixels."""
    format = MEDIA.get(_media(content_type))
    if format is None:
        raise Fault(415, "media-type", "Send a picture as image/png or image/jpeg.")
    if not body.startswith(_BEGINNINGS[format]):
        raise Fault(415, "media-type", f"The content type says {format}, but the body is no {format} file.")
    size = _png_size(body) if format == "PNG" else _jpeg_size(body)
    if size is None or 0 in size:
        raise Fault(422, "picture", "The picture is damaged or incomplete: its size is missing.")
    width, height = size
    if max(size) > LONGEST_SIDE:
        shown = f"The picture claims {width} x {height} pixels"
        raise Fault(413, "picture-too-large", f"{shown}; the maximum for a side is {LONGEST_SIDE}. Scale it down.")
    if width * height > max_pixels:
        shown = f"The picture claims {width} x {height} pixels"
        raise Fault(413, "picture-too-large", f"{shown}, more than the maximum of {max_pixels:,}. Scale it down.")


def _media(content_type):
    return content_type.partition(";")[0].strip().lower()


def _png_size(body):
    """(width, height): the first chunk of a PNG."""
    if len(body) < 24 or body[12:16] != b"IHDR":
        return None
    return int.from_bytes(body[16:20], "big"), int.from_bytes(body[20:24], "big")


def _jpeg_size(body):
    """(width, height): the largest of all frames before the first scan of a JPEG."""
    place, found = 2, None
    while place + 4 <= len(body):
        if body[place] != 0xFF:
            return None
        marker = body[place + 1]
        if marker == 0xFF:  # a marker may be filled up
            place += 1
        elif marker in _NO_LENGTH:
            place += 2
        elif marker in (_SCAN, _END):
            return found
        else:
            if marker in _FRAMES and place + 9 <= len(body):
                height, width = (int.from_bytes(body[at : at + 2], "big") for at in (place + 5, place + 7))
                found = max(found or (0, 0), (width, height), key=lambda size: size[0] * size[1])
            place += 2 + int.from_bytes(body[place + 2 : place + 4], "big")
    return None
