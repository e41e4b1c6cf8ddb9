"""A million SIFT descriptors of the Scenes-15 images, made by a pinned recipe: who has the images has the rows.

The recipe, step by step; :data:`RECIPE` holds its numbers and checksums:

1. The images ``train/*/*.jpg`` and ``test/*/*.jpg``, sorted by name, are shuffled by the permutation of
   ``numpy.random.RandomState(0)``, whose numbers are the same in every version of numpy.
2. The first 150 give the queries. The base is made of the others, in this order, without those that are byte for byte
   one of the 150: Scenes-15 holds some photographs twice.
3. An image gives the descriptors of ``cv2.SIFT_create(contrastThreshold=0.02)``, as bytes and in OpenCV's order, found
   by one thread, without IPP and without the code for AVX2 and later, which round differently from processor to
   processor.
4. Of the rows of the base, those that are all zero and those that were there before are dropped; the first million
   stay.
5. Of the rows of the queries, those that are all zero, that were there before or that are a row of the base are
   dropped; a permutation of ``RandomState(0)`` takes 10,000 of the others.
"""

__all__ = ["load_scenes_sift", "make_scenes_sift"]

import hashlib
import json
import platform
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mercer._base.errors import InputError, require_extra
from mercer._base.files.atomic import replacing
from mercer._base.progress import track
from mercer._base.threads import run_blocks
from mercer.datasets.files import checked_part, data_root

ORIGIN = (
    "the 4,485 images of Scenes-15 (Lazebnik, Schmid, Ponce 2006) in the split of "
    "https://github.com/lionelmessi6410/Scene-Recognition-with-Bag-of-Words (data/train, data/test)"
)
IMAGES, FOLDER = "scenes15", "scenes-sift"
RECORD = "made.json"  # what was made, by which versions
OPENCV = "4.14.0"
CONTRAST_THRESHOLD = 0.02
SEED = 0
WIDTH = 128
BATCH = 64  # images between two steps of the progress
ROWS_PER_IMAGE = 680  # on average, for the progress only


@dataclass(frozen=True)
class Recipe:
    """The sizes of the recipe, and the checksums of what goes in and of what comes out.

    Attributes
    ----------
    n_query_images, n_base, n_query : images that give the queries; rows of the two files
    list_sha256 : of the names of the images in the order of the shuffle, one per line
    images_sha256 : of the sha256 digests of the images, in the same order
    base_sha256, query_sha256 : of the files, as OpenCV 4.14.0 makes them on x86-64
    """

    n_query_images: int
    n_base: int
    n_query: int
    list_sha256: str
    images_sha256: str
    base_sha256: str
    query_sha256: str

    @property
    def files(self):
        """Name -> checksum of each file."""
        return {"base.npy": self.base_sha256, "query.npy": self.query_sha256}


RECIPE = Recipe(
    n_query_images=150,
    n_base=1_000_000,
    n_query=10_000,
    list_sha256="ba51d62b4f3447c95ea1062d35245e2708b9d40b7f29c603fefe2e16cdd05570",
    images_sha256="0ee63fca838ced84ea44848013fa3963bec9ae855a65a274460654bfc00ceece",
    base_sha256="d5fcf85f31a2ca2f817cf4fb0aefe243b3538ca47200080864f246167899870b",
    query_sha256="5caedb0555b5a31d822ba760a3ef7c569d1318d564d1e614bab0e32ac8d28827",
)
# part -> file, rows
PARTS = {"base": ("base.npy", RECIPE.n_base), "query": ("query.npy", RECIPE.n_query)}


def make_scenes_sift(out, *, root=None):
    """Make the files that :func:`load_scenes_sift` reads; one to two minutes on two cores.

    Needs OpenCV (``pip install 'mercer[recipes]'``). Another version of it, or another kind of processor, may give
    descriptors that differ here and there by one: the files are then written with a warning, and a record beside them
    says what they are. Files that are there already are replaced, once the new ones are complete.

    Parameters
    ----------
    out : path
        Directory for ``base.npy``, ``query.npy`` and the record ``made.json``; made if it is not there.
    root : path or None
        Directory of the data sets, with the images in a folder ``scenes15``; None for the one that ``MERCER_DATA``
        names.

    Returns
    -------
    dict : the record
    """
    return follow(RECIPE, data_root(root) / IMAGES, Path(out))


def load_scenes_sift(part="base", *, root=None):
    """SIFT descriptors of the Scenes-15 images: integers from 0 to 255 in 128 dimensions, no row twice.

    Parameters
    ----------
    part : str
        ``"base"`` (1,000,000 rows) or ``"query"`` (10,000 rows, of other images; none is a row of the base).
    root : path or None
        Directory of the data sets, with a folder ``scenes-sift`` made by :func:`make_scenes_sift`, or this folder
        itself; None for the one that ``MERCER_DATA`` names.

    Returns
    -------
    ndarray of uint8, one row per descriptor
    """
    name, n_rows = checked_part("load_scenes_sift", part, PARTS)
    folder = data_root(root) / FOLDER
    if not (folder / name).is_file() and (data_root(root) / name).is_file():
        folder = data_root(root)
    rows = read_made(folder, name, RECIPE.files[name])
    if rows.shape != (n_rows, WIDTH) or rows.dtype != np.uint8:
        raise InputError(
            f"{folder / name} must contain {n_rows} x {WIDTH} bytes, but contains {rows.shape} {rows.dtype}."
        )
    return rows


def read_made(folder, name, pinned):
    """The array of a file that the recipe made: the pinned one, or, with a warning, the one in the folder's record."""
    path, again = folder / name, f"'mercer datasets scenes-sift --out {folder}' generates it from {ORIGIN}"
    if not path.is_file():
        raise InputError(
            f"There is no {name} in {folder}. {again}. Set MERCER_DATA to the directory above, or pass it as root."
        )
    with open(path, "rb") as file:
        checksum = hashlib.file_digest(file, "sha256").hexdigest()
        if checksum not in (pinned, _recorded(folder, name)):
            raise InputError(
                f"{path} differs from the generated file: its sha256 is {checksum[:16]}..., not {pinned[:16]}.... It "
                f"is damaged or was changed. {again}."
            )
        if checksum != pinned:
            warnings.warn(_difference(path, checksum, pinned), stacklevel=3)
        file.seek(0)
        return np.load(file, allow_pickle=False)


def follow(recipe, images, out):
    """Make the files of a recipe from the images in one folder, in another one."""
    cv2 = require_extra("cv2", extra="recipes", purpose="Making SIFT descriptors")
    names = shuffled_names(images)
    digests = image_digests(images, names)
    _refuse_other_images(recipe, images, names, digests)
    out.mkdir(parents=True, exist_ok=True)
    # all three files are opened before the long work, and take their names together after it
    with (
        replacing(out / "base.npy") as base_file,
        replacing(out / "query.npy") as query_file,
        replacing(out / RECORD) as record_file,
    ):
        with _plain_opencv(cv2):
            base, query = _descriptors(recipe, images, names, digests)
        record = _record(recipe, cv2, {"base.npy": _save(base_file, base), "query.npy": _save(query_file, query)})
        record_file.write((json.dumps(record, indent=2) + "\n").encode())
    for name, file in record["files"].items():
        if file["sha256"] != file["pinned"]:
            warnings.warn(_difference(out / name, file["sha256"], file["pinned"]), stacklevel=3)
    return record


def shuffled_names(images):
    """Names of the images, as ``train/Coast/image_0001.jpg``, in the order of the recipe."""
    names = sorted(path.relative_to(images).as_posix() for path in images.glob("*/*/*.jpg"))
    return [names[i] for i in np.random.RandomState(SEED).permutation(len(names))]


def image_digests(images, names):
    """sha256 of each image."""
    return [hashlib.sha256((images / name).read_bytes()).digest() for name in names]


def names_sha256(names):
    """The checksum of a list of names."""
    return hashlib.sha256("\n".join(names).encode()).hexdigest()


def images_sha256(digests):
    """The checksum of the contents of all images."""
    return hashlib.sha256(b"".join(digests)).hexdigest()


def _refuse_other_images(recipe, images, names, digests):
    needed = f"make_scenes_sift needs {ORIGIN} in {images}"
    if names_sha256(names) != recipe.list_sha256:
        raise InputError(f"{needed}, as train/*/*.jpg and test/*/*.jpg. It has {len(names)} other files of this kind.")
    if images_sha256(digests) != recipe.images_sha256:
        raise InputError(f"{needed}. The files have the right names but different contents.")


def _descriptors(recipe, images, names, digests):
    """Rows of the base and of the queries."""
    first = recipe.n_query_images
    asked = set(digests[:first])
    others = [name for name, digest in zip(names[first:], digests[first:], strict=True) if digest not in asked]
    base = distinct_sift(images, others, recipe.n_base)
    query = distinct_sift(images, names[:first])
    query = query[~np.isin(_keys(query), _keys(base))]
    if min(len(base) - recipe.n_base, len(query) - recipe.n_query) < 0:
        raise InputError(
            f"{images} gives {len(base)} different rows for a base of {recipe.n_base}, and {len(query)} others for "
            f"{recipe.n_query} queries."
        )
    return base, query[np.random.RandomState(SEED).permutation(len(query))[: recipe.n_query]]


def distinct_sift(images, names, n_rows=None):
    """Different descriptors of images, in their order: the first ``n_rows``, or all."""
    batches = [names[start : start + BATCH] for start in range(0, len(names), BATCH)]
    expected = len(batches) if n_rows is None else min(len(batches), -(-n_rows // (BATCH * ROWS_PER_IMAGE)))
    parts = [np.empty((0, WIDTH), np.uint8)]
    for batch in track(batches, "SIFT of images", total=expected):
        parts += run_blocks(lambda name: sift(images / name), batch)
        if n_rows is not None and sum(map(len, parts)) >= n_rows:
            rows = distinct_rows(np.concatenate(parts))
            if len(rows) >= n_rows:
                return rows[:n_rows]
    return distinct_rows(np.concatenate(parts))


def sift(path):
    """Descriptors of an image, one row of 128 bytes each."""
    import cv2

    image = cv2.imdecode(np.frombuffer(path.read_bytes(), np.uint8), cv2.IMREAD_GRAYSCALE)
    if image is None:
        raise InputError(f"{path} is not an image that OpenCV can read.")
    # a detector of its own, because the images of a batch are read by several threads
    detector = cv2.SIFT_create(contrastThreshold=CONTRAST_THRESHOLD)
    before = cv2.ipp.useIPP()
    cv2.ipp.setUseIPP(False)  # here, because each thread has this switch for itself
    try:
        _, descriptors = detector.detectAndCompute(image, None)
    finally:
        cv2.ipp.setUseIPP(before)
    return np.empty((0, WIDTH), np.uint8) if descriptors is None else descriptors.astype(np.uint8)


def distinct_rows(rows):
    """Rows that are not all zero, each where it stands first."""
    rows = rows[rows.any(axis=1)]
    _, first = np.unique(_keys(rows), return_index=True)
    return rows[np.sort(first)]


def _keys(rows):
    """Each row as one value that can be compared."""
    return np.ascontiguousarray(rows).view(f"V{rows.shape[1]}").ravel()


@contextmanager
def _plain_opencv(cv2):
    """OpenCV on one thread, with the code that every x86-64 runs; the images are spread over threads instead."""
    before = cv2.getNumThreads(), cv2.useOptimized(), cv2.ipp.useIPP()
    cv2.setNumThreads(1)
    cv2.setUseOptimized(False)
    try:
        yield
    finally:
        cv2.setNumThreads(before[0])
        cv2.setUseOptimized(before[1])
        cv2.ipp.setUseIPP(before[2])  # which setUseOptimized changes too


def _save(file, rows):
    """Write an npy file and return its checksum."""
    np.save(file, rows, allow_pickle=False)
    file.seek(0)
    return hashlib.file_digest(file, "sha256").hexdigest()


def _record(recipe, cv2, checksums):
    shapes = {"base.npy": recipe.n_base, "query.npy": recipe.n_query}
    return {
        "recipe": FOLDER,
        "opencv": cv2.__version__,
        "opencv_pinned": OPENCV,
        "numpy": np.__version__,
        "machine": platform.machine(),
        "images_sha256": recipe.images_sha256,
        "files": {
            name: {"shape": [shapes[name], WIDTH], "sha256": checksum, "pinned": recipe.files[name]}
            for name, checksum in checksums.items()
        },
    }


def _recorded(folder, name):
    """The checksum of a file by the record beside it; None if there is no record, or one that says nothing of it."""
    try:
        return json.loads((folder / RECORD).read_text(encoding="utf-8"))["files"][name]["sha256"]
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _difference(path, checksum, pinned):
    return (
        f"{path} was generated on a machine that does not reproduce the published rows (OpenCV {OPENCV} on x86-64): "
        f"its sha256 is {checksum}, the published one {pinned}. Results on it may differ slightly from published ones."
    )
