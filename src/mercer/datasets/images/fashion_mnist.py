"""Fashion-MNIST: small pictures of clothes, in the idx files of its authors."""

__all__ = ["load_fashion_mnist"]

import numpy as np

from mercer._base.errors import InputError
from mercer.datasets.files import checked_part, is_there, verified_bytes

ORIGIN = "https://github.com/zalandoresearch/fashion-mnist, or as Debian's package dataset-fashion-mnist"
# where that package puts the files: directory of data sets, and folder
DEBIAN = ("/usr/share/datasets", "fashion-mnist")
FOLDER = "fashion_mnist"
# part -> file name's beginning, rows, sha256 of the unpacked images and of the unpacked labels
PARTS = {
    "train": (
        "train", 60_000,
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    ),
    "test": (
        "t10k", 10_000,
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ),
}  # fmt: skip


def load_fashion_mnist(part="train", *, root=None):
    """Pictures of ten kinds of clothes, 28 x 28 gray values from 0 to 255, row by row.

    Parameters
    ----------
    part : str
        ``"train"`` (60,000 pictures) or ``"test"`` (10,000).
    root : path or None
        Directory of the data sets, with a folder ``fashion_mnist``. None for the one that ``MERCER_DATA`` names, or,
        if it has no such folder, for the one of Debian's package ``dataset-fashion-mnist``.

    Returns
    -------
    X, y : float32 array of shape (n, 784), int array of the kinds, 0 to 9
    """
    beginning, n_rows, images_sha256, labels_sha256 = checked_part("load_fashion_mnist", part, PARTS)
    images, labels = f"{beginning}-images-idx3-ubyte", f"{beginning}-labels-idx1-ubyte"
    folder = FOLDER
    if root is None and not is_there(FOLDER, images) and is_there(DEBIAN[1], images, DEBIAN[0]):
        root, folder = DEBIAN
    X = read_idx(verified_bytes(folder, images, images_sha256, ORIGIN, root), (n_rows, 28, 28), images)
    y = read_idx(verified_bytes(folder, labels, labels_sha256, ORIGIN, root), (n_rows,), labels)
    return X.reshape(n_rows, -1).astype(np.float32), y.astype(int)


def read_idx(content, shape, name):
    """The bytes of an idx file as an array: two zeros, their type, the number of dimensions, the sizes, the bytes."""
    head = bytes([0, 0, 8, len(shape)]) + np.array(shape, dtype=">u4").tobytes()  # 8: unsigned bytes
    if content[: len(head)] != head or len(content) != len(head) + np.prod(shape):
        raise InputError(f"{name} must contain {' x '.join(map(str, shape))} bytes in the idx format, but does not.")
    return np.frombuffer(content, dtype=np.uint8, offset=len(head)).reshape(shape)
