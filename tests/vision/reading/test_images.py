"""Image files as bytes: every kind of pixel, orientation, what is refused; resizing; folders of classes."""

import io
import struct
import sys
import zlib

import numpy as np
import pytest
from PIL import Image

from mercer import InputError
from mercer._base.errors import MissingExtraError
from mercer.vision import image_folder, read_image, resize

LOSSLESS = {"PNG": {}, "BMP": {}, "TIFF": {"compression": "tiff_lzw"}, "WEBP": {"lossless": True}, "PPM": {}}


@pytest.fixture
def pixels(rng):
    return rng.integers(0, 256, (6, 5, 3), dtype=np.uint8)


def encoded(image, format="PNG", **options):
    image = image if isinstance(image, Image.Image) else Image.fromarray(image)
    buffer = io.BytesIO()
    image.save(buffer, format, **options)
    return buffer.getvalue()


def luma(rgb):
    """ITU-R 601, rounded."""
    return np.rint(rgb @ [0.299, 0.587, 0.114])


# ------------------------------------------------------------------------------------------------------- reading


@pytest.mark.parametrize("format", LOSSLESS)
def test_lossless_files_give_their_pixels(pixels, format, tmp_path):
    content = encoded(pixels, format, **LOSSLESS[format])
    file = tmp_path / "picture"
    file.write_bytes(content)
    for source in (content, bytearray(content), file, str(file)):
        image = read_image(source)
        np.testing.assert_array_equal(image, pixels)
        assert image.dtype == np.uint8
        assert image.flags.c_contiguous
        assert image.flags.writeable
    assert np.abs(read_image(content, "gray") - luma(pixels)).max() <= 1  # Pillow's weights have 16 bits
    assert read_image(content, "gray").shape == (6, 5)


def test_jpeg_files_give_nearly_their_pixels():
    smooth = np.add.outer(np.arange(32), 2 * np.arange(48)).astype(np.uint8)
    got = read_image(encoded(smooth, "JPEG", quality=95))
    assert got.shape == (32, 48, 3)
    assert np.abs(got.astype(int) - smooth[..., None]).max() <= 3


@pytest.mark.parametrize(
    ("orientation", "upright"),
    [
        (1, lambda stored: stored),
        (2, lambda stored: stored[:, ::-1]),
        (3, lambda stored: stored[::-1, ::-1]),
        (4, lambda stored: stored[::-1]),
        (5, lambda stored: stored.swapaxes(0, 1)),
        (6, lambda stored: np.rot90(stored, -1)),
        (7, lambda stored: np.rot90(stored, 2).swapaxes(0, 1)),
        (8, np.rot90),
    ],
)
def test_the_orientation_of_the_camera_is_applied(pixels, orientation, upright):
    exif = Image.Exif()
    exif[0x0112] = orientation
    np.testing.assert_array_equal(read_image(encoded(pixels, exif=exif)), upright(pixels))


def test_sixteen_bits_become_eight_by_scaling():
    values = np.array([[0, 128, 129, 257, 32768, 65535]], dtype=np.uint16)
    pgm = b"P5 6 1 65535\n" + values.astype(">u2").tobytes()  # which Pillow writes since 11 only
    for content in (encoded(values, "PNG"), encoded(values, "TIFF"), pgm):
        np.testing.assert_array_equal(read_image(content, "gray"), [[0, 0, 1, 1, 128, 255]])
        np.testing.assert_array_equal(read_image(content)[..., 2], [[0, 0, 1, 1, 128, 255]])
    wide = encoded(Image.fromarray(np.array([[0, 70_000]], dtype=np.int32)), "TIFF")
    with pytest.raises(InputError, match="values from 0 to 70000"):
        read_image(wide)
    with pytest.raises(InputError, match="mode F"):
        read_image(encoded(Image.fromarray(np.array([[0.5, 2.0]], dtype=np.float32)), "TIFF"))


def test_palettes_and_black_and_white_become_colours(pixels):
    few = pixels // 128 * 255
    np.testing.assert_array_equal(read_image(encoded(Image.fromarray(few).quantize(8))), few)
    mask = few[..., 0] > 0
    np.testing.assert_array_equal(read_image(encoded(Image.fromarray(mask)), "gray"), 255 * mask)


def test_transparent_pixels_are_laid_on_white(pixels):
    alpha = np.zeros((6, 5, 1), dtype=np.uint8)
    alpha[:3] = 255
    alpha[3] = 51  # a fifth
    got = read_image(encoded(np.concatenate([pixels, alpha], axis=2)))
    np.testing.assert_array_equal(got[:3], pixels[:3])
    assert np.abs(got[3] - (0.2 * pixels[3] + 0.8 * 255)).max() <= 1  # rounding of the product
    assert (got[4:] == 255).all()
    grey = np.concatenate([pixels[..., :1], alpha], axis=2)
    np.testing.assert_array_equal(read_image(encoded(grey), "gray")[[0, 5]], [pixels[0, :, 0], [255] * 5])
    palette = Image.fromarray(np.array([[0, 1]], dtype=np.uint8)).convert("P")
    assert read_image(encoded(palette, transparency=1)).tolist() == [[[0, 0, 0], [255, 255, 255]]]


def test_cmyk_becomes_rgb():
    colours = np.array([[[255, 255, 255], [255, 0, 0], [0, 0, 255], [0, 0, 0]]], dtype=np.uint8)
    large = np.repeat(np.repeat(colours, 16, axis=0), 16, axis=1)  # whole blocks of the JPEG
    got = read_image(encoded(Image.fromarray(large).convert("CMYK"), "JPEG", quality=100))
    assert np.abs(got.astype(int) - large).max() <= 4


def test_of_several_frames_the_first_counts(pixels):
    first, second = (Image.fromarray(image).quantize(8) for image in (pixels, 255 - pixels))
    content = encoded(first, "GIF", save_all=True, append_images=[second])
    np.testing.assert_array_equal(read_image(content), np.asarray(first.convert("RGB")))


# ------------------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize("format", ["JPEG", *LOSSLESS, "GIF"])
def test_a_truncated_file_is_refused_by_name(rng, tmp_path, format):
    content = encoded(rng.integers(0, 256, (40, 40, 3), dtype=np.uint8), format)
    for share in (0.1, 0.5, 0.9):
        file = tmp_path / f"cut{share}.bin"
        file.write_bytes(content[: int(share * len(content))])
        with pytest.raises(InputError, match=file.name):
            read_image(file)


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::RuntimeWarning")  # Pillow's, of metadata and of sizes
def test_a_file_whose_bytes_were_changed_is_refused_or_read(rng):
    contents = [
        encoded(rng.integers(0, 256, (9, 8, 3), dtype=np.uint8), format) for format in ("JPEG", "PNG", "GIF", "BMP")
    ]
    refused = 0
    for trial in range(400):
        damaged = bytearray(contents[trial % 4])
        for place in rng.integers(0, len(damaged), 4):
            damaged[place] = rng.integers(0, 256)
        try:
            assert read_image(bytes(damaged), size=(4, 4)).shape == (4, 4, 3)
        except InputError:
            refused += 1
    assert 100 < refused < 400


def png_header(width, height):
    """A PNG file that claims a size and has no pixels."""
    header = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    end = b"IDAT" + zlib.compress(b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk)) for chunk in (header, end)
    )


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("side", [12_000, 60_000])
def test_an_image_of_too_many_pixels_is_refused_before_it_is_unpacked(tmp_path, side):
    file = tmp_path / "bomb.png"
    file.write_bytes(png_header(side, side))
    with pytest.raises(InputError, match=r"bomb\.png .*(pixels|decompression bomb)"):
        read_image(file)


def test_the_limit_is_that_of_pillow(pixels, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 29)
    with (
        pytest.warns(Image.DecompressionBombWarning),
        pytest.raises(InputError, match="5 x 6 pixels, more than the limit of 29"),
    ):
        read_image(encoded(pixels))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 9)  # Pillow itself refuses more than twice as many
    with pytest.raises(InputError, match=r"more pixels than the limit of 9\. Scale it down"):
        read_image(encoded(pixels))


def test_what_is_no_image_or_a_program_is_refused(pixels):
    for content in (b"", b"hello", encoded(pixels, "EPS")):  # EPS files are programs, which Pillow hands to Ghostscript
        with pytest.raises(InputError, match=f"the image of {len(content)} bytes is not a readable image"):
            read_image(content)


def test_sources_that_cannot_be_read_are_refused_by_name(tmp_path):
    with pytest.raises(InputError, match=r"missing\.png: No such file"):
        read_image(tmp_path / "missing.png")
    with pytest.raises(InputError, match=tmp_path.name):
        read_image(tmp_path)
    with pytest.raises(InputError, match="a path or the bytes of a file, got int"):
        read_image(3)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"mode": "cmyk"}, "mode='cmyk'"),
        ({"size": 128}, "size=128"),
        ({"size": (0, 4)}, "size="),
        ({"size": (2.0, 4)}, "size="),
    ],
)
def test_arguments_without_a_meaning_are_refused(pixels, arguments, words):
    with pytest.raises(InputError, match=words):
        read_image(encoded(pixels), **arguments)


def test_without_pillow_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(MissingExtraError, match=r"mercer\[vision\]"):
        read_image(b"")


# ------------------------------------------------------------------------------------------------------ resizing


def test_the_whole_image_is_warped(pixels):
    content = encoded(pixels)
    np.testing.assert_array_equal(read_image(content, size=(12, 4)), resize(pixels, (12, 4)))
    assert resize(pixels, (12, 4)).shape == (12, 4, 3)
    assert read_image(content, "gray", size=(3, 9)).shape == (3, 9)
    np.testing.assert_array_equal(resize(pixels, (6, 5)), pixels)
    flat = np.full((7, 9, 3), 93, dtype=np.uint8)
    assert (resize(flat, (20, 3)) == 93).all()


def test_shrinking_takes_all_pixels_into_account():
    stripes = np.tile(np.array([0, 255], dtype=np.uint8), (64, 32))
    shrunk = resize(stripes, (8, 8))
    assert np.abs(shrunk.astype(int) - 127).max() <= 16  # every eighth pixel alone would give 0 or 255 throughout


def test_a_mirrored_image_is_resized_to_a_mirrored_one(pixels):
    for size in ((4, 3), (13, 11)):
        np.testing.assert_array_equal(resize(pixels[:, ::-1], size), resize(pixels, size)[:, ::-1])


def test_floats_are_resized_like_bytes(pixels):
    for image in (pixels, pixels[..., 0]):
        got = resize(image / 255, (4, 9))
        assert got.dtype == np.float32
        assert got.flags.c_contiguous
        # bytes are rounded after each of the two directions
        assert np.abs(255 * got - resize(image, (4, 9))).max() <= 1.1


def test_sizes_and_images_that_are_none_are_refused(pixels):
    with pytest.raises(InputError, match=r"two integers \(height, width\)"):
        resize(pixels, (3, -1))
    with pytest.raises(InputError, match="resize needs an image of shape"):
        resize(np.zeros((4, 4, 2)), (3, 3))


# ------------------------------------------------------------------------------------------------------- folders


def test_folders_are_classes_in_sorted_order(pixels, tmp_path):
    for name in (
        "rose/b.PNG",
        "rose/a.jpg",
        "rose/deep/c.png",
        "daisy/z.tiff",
        ".cache/x.png",
        "rose/.old/d.png",
        "rose/.e.png",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(encoded(pixels))
    for name in ("rose/notes.txt", "beside.png", "daisy/.hidden"):
        (tmp_path / name).write_text("no image")
    (tmp_path / "empty").mkdir()
    paths, labels = image_folder(tmp_path)
    assert [path.relative_to(tmp_path).as_posix() for path in paths] == [
        "daisy/z.tiff",
        "rose/a.jpg",
        "rose/b.PNG",
        "rose/deep/c.png",
    ]
    assert labels.tolist() == ["daisy", "rose", "rose", "rose"]
    for path in paths:  # the content decides what a file is, not its suffix
        np.testing.assert_array_equal(read_image(path), pixels)


def test_folders_without_images_are_refused(tmp_path):
    with pytest.raises(InputError, match="has no folders"):
        image_folder(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "beside.png").write_bytes(b"")
    with pytest.raises(InputError, match="has folders without images, and an image outside them: put it into"):
        image_folder(str(tmp_path))
    for place in (tmp_path / "beside.png", tmp_path / "missing"):
        with pytest.raises(InputError, match="is not a folder"):
            image_folder(place)
