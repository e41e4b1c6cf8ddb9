"""Boxes from csv, PASCAL VOC and COCO: the same boxes, and errors that name file and place."""

import json

import numpy as np
import pytest

from mercer import InputError
from mercer.detection import boxes_of, read_boxes

VOC = """<annotation><filename>{file}</filename><size><width>100</width></size>{objects}</annotation>"""
BOX = "<bndbox><xmin>{0}</xmin><ymin>{1}</ymin><xmax>{2}</xmax><ymax>{3}</ymax></bndbox>"
OBJECT = f"<object><name>{{name}}</name>{BOX}</object>"


@pytest.fixture
def written(tmp_path):
    """The same boxes in all three forms: two persons in a.jpg and a dog, none in b.jpg."""
    (tmp_path / "boxes.csv").write_text(
        "file,xmin,ymin,xmax,ymax,label\na.jpg,10,20,30,60,person\na.jpg,40,20,55.5,60,person\na.jpg,0,0,9,9,dog\nb.jpg,,,,,\n"
    )
    folder = tmp_path / "voc"
    folder.mkdir()
    objects = OBJECT.format(11, 21, 30, 60, name="person") + OBJECT.format(41, 21, 55.5, 60, name="person")
    (folder / "a.xml").write_text(VOC.format(file="a.jpg", objects=objects + OBJECT.format(1, 1, 9, 9, name="dog")))
    (folder / "b.xml").write_text(VOC.format(file="b.jpg", objects=""))
    boxes = [(1, [10, 20, 20, 40], 1), (1, [40, 20, 15.5, 40], 1), (1, [0, 0, 9, 9], 2)]
    document = {
        "images": [{"id": 1, "file_name": "a.jpg"}, {"id": 2, "file_name": "b.jpg"}],
        "categories": [{"id": 1, "name": "person"}, {"id": 2, "name": "dog"}],
        "annotations": [{"image_id": i, "bbox": box, "category_id": c} for i, box, c in boxes]
        + [{"image_id": 2, "bbox": [0, 0, 99, 99], "category_id": 1, "iscrowd": 1}],
    }
    (tmp_path / "coco.json").write_text(json.dumps(document))
    return tmp_path


@pytest.mark.parametrize("name", ["boxes.csv", "voc", "coco.json"])
def test_all_forms_give_the_same_boxes(written, name):
    found = read_boxes(written / name, "person")
    assert found["a.jpg"].tolist() == [[10, 20, 30, 60], [40, 20, 55.5, 60]]
    assert found["b.jpg"].shape == (0, 4)
    with pytest.raises(InputError, match=rf"{name}.*several kinds \(dog, person\)"):
        read_boxes(written / name)
    with pytest.raises(InputError, match="no boxes of 'cat'"):
        read_boxes(written / name, "cat")


def test_a_table_without_labels_has_one_kind(tmp_path):
    (tmp_path / "b.csv").write_text("image,xmin,ymin,xmax,ymax\nx/1.png,1,2,3,4\n")
    assert read_boxes(tmp_path / "b.csv")["x/1.png"].tolist() == [[1, 2, 3, 4]]


BAD = {
    "b.csv": ("file,xmin\n1.png,2\n", "b.csv needs the columns"),
    "c.csv": ("file,xmin,ymin,xmax,ymax\n1.png,1,2,three,4\n", "c.csv, line 2"),
    "d.xml": ("<annotation><filename>x</filename>", "d.xml is not valid XML"),
    "e.xml": ("<html></html>", "e.xml is not a PASCAL VOC annotation"),
    "f.xml": (VOC.format(file="x", objects="<object><name>a</name></object>"), "f.xml, object 0"),
    "g.xml": ('<!DOCTYPE x [<!ENTITY a "b">]><annotation/>', "g.xml declares XML entities"),
    "h.json": ("{", "h.json is not a COCO file"),
    "i.json": ('{"images": [], "annotations": [{"image_id": 4}]}', "i.json, annotation 0"),
    "j.txt": ("", "not .*j.txt"),
}


@pytest.mark.parametrize("name", BAD)
def test_wrong_files_are_named(tmp_path, name):
    content, words = BAD[name]
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=words):
        read_boxes(tmp_path / name)


def test_missing_files_and_empty_folders_are_named(tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*none.csv"):
        read_boxes(tmp_path / "none.csv")
    with pytest.raises(InputError, match="no XML file"):
        read_boxes(tmp_path)


def test_boxes_are_matched_by_path_or_bare_name():
    table = {"a/1.png": np.ones((1, 4)), "2.png": np.ones((2, 4))}
    found = boxes_of(["a/1.png", "b/2.png", "b/3.png"], table)
    assert [len(own) for own in found] == [1, 2, 0]
    with pytest.raises(InputError, match=r"boxes for 2\.png.*2 of them"):
        boxes_of(["a/1.png", "a/2.png", "b/2.png"], table)
    with pytest.raises(InputError, match=r"boxes for a/1\.png, which is not among"):
        boxes_of(["2.png"], table)
