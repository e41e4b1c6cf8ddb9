"""Files of every released version load and answer as they did when they were written."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer._base.files.container import FORMAT_VERSION
from mercer._base.files.renames import renamed

FOLDER = Path(__file__).parent
FILES = sorted(FOLDER.glob("v*/*.mercer"))
INDEXES = sorted(path.with_suffix("") for path in FOLDER.glob("index-v*/*.json"))
OF_IMAGES = ("BagOfWords", "CENTRIST", "ColorHistogram", "FisherVectors", "HOG", "ImageClassifier")


def test_every_format_has_golden_files_and_every_file_its_expectation():
    versions = {int(path.parent.name[1:]) for path in FILES}
    assert versions == set(range(1, FORMAT_VERSION + 1))
    assert {path.with_suffix(".json") for path in FILES} == set(FOLDER.glob("v*/*.json"))


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_released_file_answers_as_it_did(path, mmap):
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    model = mercer.load(path, mmap=mmap)
    assert type(model).__name__ == expected["class"]
    parameters = renamed(expected["class"], expected["parameters"])
    assert parameters.items() <= model.get_params(deep=False).items()
    output = getattr(model, expected["method"])(np.array(expected["input"]))
    # the compiled logarithm and exponential may change their last digits between machines; rows of images are float32,
    # and come from products of matrices that each machine sums in its own order
    rtol, atol = (1e-3, 1e-5) if expected["class"] in OF_IMAGES else (1e-6, 1e-12)
    if expected["method"] == "embed_queries":
        atol = 1e-6  # rows of length one, in float32
    np.testing.assert_allclose(output, expected["output"], rtol=rtol, atol=atol)


@pytest.mark.parametrize("verify", [False, True])
@pytest.mark.parametrize("path", INDEXES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_released_index_finds_what_it_found(path, verify):
    with mercer.KernelIndex.open(path, verify=verify) as index:
        assert_finds(index, path)


@pytest.mark.parametrize("path", INDEXES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_released_index_can_be_written_to(path, tmp_path):
    shutil.copytree(path, tmp_path / "copy")
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    with mercer.KernelIndex.open(tmp_path / "copy", mode="w") as index:
        new = ["new"] if isinstance(expected["by_codes"]["ids"][0][0], str) else [10**6]
        index.add(np.array(expected["queries"][:1]), new)
        assert new[0] in index
        index.remove(new).compact()
        assert_finds(index, path)


def assert_finds(index, path):
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    assert len(index) == expected["rows"]
    for name in {"by_codes", "exact"} & expected.keys():
        ids, values = index.search(np.array(expected["queries"]), k=5, exact=name == "exact")
        assert ids.tolist() == expected[name]["ids"]
        np.testing.assert_allclose(values, expected[name]["values"], rtol=1e-6)
