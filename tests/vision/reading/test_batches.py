"""Working through images: order, threads, progress, and images that cannot be read."""

import io
import warnings

import numpy as np
import pytest
from PIL import Image

from mercer import InputError
from mercer._base.progress import show_progress
from mercer.vision import DenseSIFT, SkippedImagesWarning, describe_images, read_image
from mercer.vision.reading.batches import Picture
from tests.vision.patches import Patches, pictures


@pytest.fixture
def folder(rng, tmp_path):
    """Twenty files: gray and colored ones; the third is no image, the last is blank and has no contrast."""
    for i, image in enumerate(pictures(rng, 20)):
        Image.fromarray(image if i % 2 else np.stack([image] * 3, axis=2)).save(tmp_path / f"{i:02}.png")
    (tmp_path / "02.png").write_bytes(b"hello")
    Image.new("L", (40, 40), 128).save(tmp_path / "19.png")
    return tmp_path


def paths(folder):
    return sorted(folder.iterdir())


def test_images_come_in_order_whatever_they_are_and_however_many_threads(rng):
    images = pictures(rng, 40)
    buffer = io.BytesIO()
    Image.fromarray(images[3]).save(buffer, "PNG")
    images[3] = buffer.getvalue()
    for n_jobs in (1, 2):
        found = list(describe_images(images, Patches(), n_jobs=n_jobs))
        assert [position for position, _ in found] == list(range(40))
        for position in (0, 17, 39):
            np.testing.assert_array_equal(found[position][1].values, Patches().describe(images[position]).values)
        np.testing.assert_array_equal(found[3][1].values, Patches().describe(read_image(images[3])).values)


def test_dense_sift_is_the_default(rng):
    image = pictures(rng, 1)[0]
    ((_, found),) = describe_images([image])
    np.testing.assert_array_equal(found.values, DenseSIFT().describe(image).values)


def test_an_image_that_cannot_be_used_raises_by_name(folder):
    with pytest.raises(InputError, match=r"02\.png is not a readable image"):
        list(describe_images(paths(folder), Patches()))
    with pytest.raises(InputError, match=r"19\.png has no descriptors: an image of 40 x 40 pixels"):
        list(describe_images(paths(folder)[10:]))
    with pytest.raises(InputError, match=r"image 1: Patches needs values up to 1e6"):
        list(describe_images([np.ones((8, 8)), np.full((8, 8), 1e7)], Patches()))
    with pytest.raises(InputError, match="reader of image 0 needs an image of shape"):
        list(describe_images([np.ones(8)], Patches()))
    with pytest.raises(InputError, match=r"missing\.png: No such file"):
        list(describe_images([folder / "missing.png"], Patches()))


def test_such_images_are_skipped_by_name_if_asked_for(folder):
    with pytest.warns(
        SkippedImagesWarning, match=r"skipped 2 of 20 images; they are missing from the result.*02\.png.*19\.png"
    ) as caught:
        found = list(describe_images(paths(folder), strict=False))
    assert [position for position, _ in found] == [i for i in range(20) if i not in (2, 19)]
    (warning,) = caught
    assert warning.filename == __file__
    assert sorted(warning.message.skipped) == [2, 19]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(describe_images(paths(folder)[3:19], strict=False))


def test_a_long_list_of_skipped_images_is_cut(tmp_path):
    with pytest.warns(SkippedImagesWarning, match=r"skipped 14 of 14.* And 4 more\."):
        assert list(describe_images([tmp_path / f"{i}.png" for i in range(14)], strict=False)) == []


def test_errors_that_no_image_is_to_blame_for_are_raised(rng):
    class Broken(Patches):
        def describe(self, image):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(describe_images(pictures(rng, 3), Broken(), strict=False))


def test_progress_is_reported_image_by_image(rng):
    class Display:
        steps, total = 0, None

        def add_task(self, description, *, total):
            self.total = total

        def advance(self, task, advance=1):
            self.steps += advance

        def remove_task(self, task):
            pass

    with show_progress(Display()) as display:
        list(describe_images(pictures(rng, 21), Patches()))
    assert (display.steps, display.total) == (21, 21)


def test_no_more_than_a_batch_is_worked_on_ahead(rng):
    seen = []

    class Counting(Patches):
        def describe(self, image):
            seen.append(1)
            return super().describe(image)

    found = describe_images(pictures(rng, 60), Counting(), n_jobs=1)
    next(found)
    assert len(seen) <= 16
    found.close()


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16"])
def test_files_are_read_as_read_image_reads_them(rng, mode):
    image = Image.fromarray(rng.integers(0, 256, (6, 8, 3), dtype=np.uint8))
    if mode == "I;16":
        image = Image.fromarray(rng.integers(0, 65536, (6, 8), dtype=np.uint16))
    elif mode != "RGB":
        image = image.convert(mode)
    buffer = io.BytesIO()
    image.save(buffer, "TIFF")
    pixels = Picture(buffer.getvalue(), 0).pixels()
    wanted = read_image(buffer.getvalue())
    np.testing.assert_array_equal(np.broadcast_to(np.atleast_3d(pixels), wanted.shape), wanted)


@pytest.mark.parametrize(
    ("images", "words"),
    [
        ([], "at least one image"),
        ("photo.jpg", "got one str. Put it into a list"),
        (b"GIF", "got one bytes"),
        (np.array([b"photo.jpg"]), r"got an array of shape \(1,\)"),
        (np.zeros((5, 64)), r"got an array of shape \(5, 64\)"),
        (3, "got int"),
    ],
)
def test_what_is_no_collection_of_images_is_refused(images, words):
    with pytest.raises(InputError, match=words):
        list(describe_images(images, Patches()))


def test_what_is_no_descriptor_is_refused(rng):
    with pytest.raises(InputError, match=r"needs a descriptor with a method describe\(image\).*got 'sift'"):
        list(describe_images(pictures(rng, 1), "sift"))


def test_the_digest_of_a_picture_is_that_of_its_content(folder):
    first, again = (Picture(path, 0).digest for path in (folder / "00.png", str(folder / "00.png")))
    assert first == again == Picture((folder / "00.png").read_bytes(), 5).digest != Picture(folder / "01.png", 0).digest
    array = np.arange(12, dtype=np.uint8)
    digests = {Picture(array.reshape(shape), 0).digest for shape in ((3, 4), (4, 3))}
    assert len(digests | {Picture(array.reshape(3, 4).astype(float), 0).digest}) == 3
