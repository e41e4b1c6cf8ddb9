"""Boxes from files: csv tables, PASCAL VOC's XML (one file, or a folder of them) and COCO's JSON.

All of them become {file name: (n, 4) array of xmin ymin xmax ymax}, with pixels counted from 0, so that a box covers
the pixels from xmin up to but not including xmax.
"""

__all__ = ["boxes_of", "read_boxes"]

import csv
import json
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree

import numpy as np

from mercer._base.errors import InputError
from mercer._base.tables.limits import Limit

COLUMNS = ("xmin", "ymin", "xmax", "ymax")
FILE_COLUMNS = ("file", "filename", "image")
LABEL_COLUMNS = ("label", "class", "name")


def read_boxes(path, label=None):
    r"""Read the boxes of annotated images.

    ========  ==========================================================================================================
    csv       columns file, xmin, ymin, xmax, ymax, and label if there are several kinds; pixels counted from 0
    XML       PASCAL VOC: a file, or a folder with one file per image. VOC counts pixels from 1
    JSON      COCO: images, annotations with bbox = x, y, width, height, categories. Crowds are left out
    ========  ==========================================================================================================

    Parameters
    ----------
    path : path of the file or folder
    label : str or None
        Kind of object to read; required if the file has several kinds.

    Returns
    -------
    dict
        File name, as it is written there -> float64 array of shape (n, 4). Images that are listed without objects have
        none.

    See Also
    --------
    PartDetector : learns from these boxes.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "boxes.csv")
    ...     with open(path, "w") as file:
    ...         _ = file.write("file,xmin,ymin,xmax,ymax\na.jpg,10,20,50,90\n")
    ...     {name: boxes.tolist() for name, boxes in read_boxes(path).items()}
    {'a.jpg': [[10.0, 20.0, 50.0, 90.0]]}
    """
    path = Path(path)
    if path.is_dir():
        entries = [entry for one in sorted(path.glob("*.xml")) for entry in _voc(one)]
        if not entries:
            raise InputError(f"read_boxes found no XML file in the folder {path}.")
    else:
        entries = _reader(path)(path)
    return _table(entries, label, path)


def boxes_of(files, table, source="the boxes"):
    """Boxes of each file, by its path from the folder of images or, where that is not listed, by its bare name.

    Parameters
    ----------
    files : paths of images, from the folder that the table starts at
    table : dict of read_boxes
    source : name of the table in error messages

    Examples
    --------
    >>> import numpy as np
    >>> table = {"a.jpg": np.array([[10.0, 20.0, 50.0, 90.0]])}
    >>> [boxes.tolist() for boxes in boxes_of(["street/a.jpg"], table)]
    [[[10.0, 20.0, 50.0, 90.0]]]
    """
    names = [PurePosixPath(Path(file).as_posix()) for file in files]
    known = {str(name): i for i, name in enumerate(names)}
    by_name: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        by_name.setdefault(name.name, []).append(i)
    found = [np.empty((0, 4)) for _ in names]
    for listed, boxes in table.items():
        name = PurePosixPath(listed.replace("\\", "/"))
        i = known.get(str(name))
        if i is None:
            same = by_name.get(name.name, [])
            if len(same) != 1 or len(name.parts) > 1:
                raise InputError(
                    f"{source} has boxes for {listed}, which is not among the {len(names)} images"
                    + (f" ({len(same)} of them have its bare name)." if len(same) > 1 else ".")
                    + " Correct the name, or add the image."
                )
            i = same[0]
        found[i] = np.concatenate([found[i], boxes])
    return found


# -------------------------------------------------------------------------------------------------------------- formats


def _reader(path):
    readers = {".csv": _csv, ".xml": _voc, ".json": _coco}
    if path.suffix.lower() not in readers:
        raise InputError(f"read_boxes reads .csv, .xml and .json files and folders of .xml files, not {path}.")
    return readers[path.suffix.lower()]


def _content(path):
    try:
        with open(path, "rb") as stream:
            return Limit.fixed().read(stream, str(path))
    except OSError as error:
        raise InputError(f"read_boxes cannot read {path}: {error.strerror or error}.") from error


def _text(path):
    try:
        return _content(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text: {error}.") from error


def _csv(path):
    """Entries (file, label or None, box or None)."""
    lines = csv.DictReader(_text(path).splitlines())
    names = [name.strip().lower() for name in lines.fieldnames or []]
    lines.fieldnames = names
    file_column = next((name for name in FILE_COLUMNS if name in names), None)
    if file_column is None or any(name not in names for name in COLUMNS):
        raise InputError(
            f"{path} needs the columns file, {', '.join(COLUMNS)} in its first line; got "
            f"{', '.join(names) or 'nothing'}."
        )
    label_column = next((name for name in LABEL_COLUMNS if name in names), None)
    found = []
    for line in lines:
        cells = [line[name] for name in COLUMNS]
        box = None if all(not cell for cell in cells) else _numbers(cells, f"{path}, line {lines.line_num}")
        found.append((line[file_column], line[label_column] if label_column else None, box))
    return found


def _voc(path):
    content = _content(path)
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        raise InputError(f"{path} declares XML entities, which are not allowed in annotations.")
    try:
        root = ElementTree.fromstring(content)
    except ElementTree.ParseError as error:
        raise InputError(f"{path} is not valid XML: {error}.") from error
    file = root.findtext("filename")
    if root.tag != "annotation" or not file:
        raise InputError(f"{path} is not a PASCAL VOC annotation: it has no <annotation> with a <filename>.")
    found = [(file.strip(), None, None)]
    for number, one in enumerate(root.iter("object")):
        box = _numbers([one.findtext(f"bndbox/{name}") for name in COLUMNS], f"{path}, object {number}")
        found.append((file.strip(), (one.findtext("name") or "").strip() or None, box - [1, 1, 0, 0]))
    return found


def _coco(path):
    try:
        document = json.loads(_text(path))
        images = {one["id"]: str(one["file_name"]) for one in document["images"]}
        labels = {one["id"]: str(one["name"]) for one in document.get("categories", [])}
        annotations = list(document["annotations"])
    except (RecursionError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is not a COCO file with images, annotations and categories: {error!r}.") from error
    found = [(name, None, None) for name in images.values()]
    for number, one in enumerate(annotations):
        where = f"{path}, annotation {number}"
        if not isinstance(one, dict) or one.get("image_id") not in images:
            raise InputError(f"{where} refers to an image that the file does not list.")
        if one.get("iscrowd"):
            continue
        box = _numbers(one.get("bbox"), where)
        found.append(
            (images[one["image_id"]], labels.get(one.get("category_id")), np.append(box[:2], box[:2] + box[2:]))
        )
    return found


def _numbers(cells, where):
    try:
        box = np.array([float(cell) for cell in cells])
    except (TypeError, ValueError):
        box = np.empty(0)
    if box.shape != (4,) or not np.isfinite(box).all():
        raise InputError(f"{where} must have four numbers for its box; got {cells!r}.")
    return box


def _table(entries, label, path):
    """Entries by file, of one kind of object."""
    kinds = sorted({kind for _, kind, box in entries if box is not None and kind is not None})
    if label is None and len(kinds) > 1:
        raise InputError(f"{path} has boxes of several kinds ({', '.join(kinds[:8])}). Choose one with label=...")
    if label is not None and label not in kinds:
        raise InputError(f"{path} has no boxes of {label!r}. It has {', '.join(kinds[:8]) or 'no labels'}.")
    found: dict[str, list] = {}
    for file, kind, box in entries:
        own = found.setdefault(file, [])
        if box is not None and (label is None or kind == label):
            own.append(box)
    return {file: np.array(boxes, dtype=np.float64).reshape(-1, 4) for file, boxes in found.items()}
