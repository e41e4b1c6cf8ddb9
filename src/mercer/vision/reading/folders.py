"""Images in one folder per class."""

__all__ = ["image_folder", "images_below"]

import os
from pathlib import Path

import numpy as np

from mercer._base.errors import InputError
from mercer.vision.reading.images import SUFFIXES


def image_folder(path):
    """List the image files of a folder with one subfolder per class, and the class of each.

    Classes, and the files of a class, are sorted by name. Files in deeper folders belong to the class above them.
    Hidden files (whose names start with a dot), files without an image suffix, and files next to the class folders are
    ignored.

    Parameters
    ----------
    path : path

    Returns
    -------
    paths : list of pathlib.Path
    labels : ndarray of str, of the same length

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as flowers:
    ...     for name in ("rose/1.png", "rose/2.png", "daisy/1.png"):
    ...         Path(flowers, name).parent.mkdir(exist_ok=True)
    ...         Path(flowers, name).touch()
    ...     paths, labels = image_folder(flowers)
    >>> [path.name for path in paths], labels.tolist()
    (['1.png', '1.png', '2.png'], ['daisy', 'rose', 'rose'])
    """
    root = Path(path)
    if not root.is_dir():
        raise InputError(f"{root} is not a folder. Name a folder with one subfolder of images per class.")
    classes = sorted((child for child in root.iterdir() if _is_shown(child.name) and child.is_dir()), key=_by_name)
    found = [(file, folder.name) for folder in classes for file in images_below(folder)]
    if not found:
        beside = sum(_is_image(child.name) for child in root.iterdir())
        folders = "folders without images" if classes else "no folders"
        of_its_own = "an image outside them: put it" if beside == 1 else f"{beside} images outside them: put these"
        hint = f", and {of_its_own} into one subfolder per class." if beside else "."
        raise InputError(f"{root} must have one subfolder of images per class, but has {folders}{hint}")
    return [file for file, _ in found], np.array([label for _, label in found])


def images_below(folder):
    """List the image files in a folder and its subfolders, sorted by path."""
    files = []
    for place, folders, names in os.walk(folder):
        folders[:] = filter(_is_shown, folders)
        files += [Path(place, name) for name in names if _is_image(name)]
    return sorted(files, key=lambda file: file.relative_to(folder).parts)


def _by_name(path):
    return path.name


def _is_shown(name):
    return not name.startswith(".")


def _is_image(name):
    return _is_shown(name) and os.path.splitext(name)[1].lower() in SUFFIXES
