"""``mercer datasets``: the list, and making a set by its recipe."""

import json
from dataclasses import replace

import numpy as np
import pytest

from mercer import datasets
from mercer.datasets.images import scenes_sift as _scenes_sift


@pytest.fixture
def data(tmp_path):
    """A directory with the file of one set, half of another, and nothing of the others."""
    for name in ("uci_bow_kos/docword.kos.txt.gz", "shuttle/shuttle.tst"):
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True)
        path.touch()
    return tmp_path / "data"


def test_the_list_names_every_loader_and_what_is_found(succeeds, data):
    document = succeeds("datasets", "--data", data, "--json")
    assert document["data"] == str(data)
    sets = {known["name"]: known for known in document["sets"]}
    loaders = [f"mercer.datasets.{name}" for name in datasets.__all__ if name.startswith("load_")]
    assert sorted(known["loader"] for known in sets.values()) == sorted(loaders)
    assert [name for name, known in sets.items() if known["found"]] == ["kos"]
    assert sets["shuttle"]["parts"] == [
        {"part": "train", "rows": 43_500, "columns": 9, "found": False},
        {"part": "test", "rows": 14_500, "columns": 9, "found": True},
    ]
    assert "archive.ics.uci.edu" in sets["shuttle"]["origin"]
    assert [name for name, known in sets.items() if known["recipe"]] == ["scenes-sift"]


def test_the_table_and_the_quiet_list_say_the_same(succeeds, data, monkeypatch):
    monkeypatch.setenv("MERCER_DATA", str(data))
    lines = {line.split()[0]: line for line in succeeds("datasets").splitlines() if line.strip()}
    assert {"3,430", "6,906", "found"} <= set(lines["kos"].split())
    assert {"14,500", "9", "test", "only"} <= set(lines["shuttle"].split())
    assert "missing" in lines["massbank"]
    assert "mercer datasets scenes-sift" in lines["scenes-sift"]
    # with a directory that is named, Debian's package of one set is not looked for
    assert succeeds("datasets", "--quiet", "--data", data) == "kos\n"


def test_a_set_found_elsewhere_is_named_with_its_directory(command, data, tmp_path, monkeypatch):
    known = datasets.CATALOGUE["kos"]
    monkeypatch.setitem(datasets.CATALOGUE, "kos", replace(known, elsewhere=(str(data), known.folder)))
    monkeypatch.delenv("MERCER_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.chdir(tmp_path)
    told = command("datasets")
    assert f"found in {data / known.folder}" in told.stdout
    assert "MERCER_DATA is not set" in told.stderr


def test_covtype_is_found_in_either_form(succeeds, data):
    for name in ("covtype.csv.xz", "covtype.data"):
        (data / "covtype").mkdir(exist_ok=True)
        (data / "covtype" / name).touch()
        assert "covtype" in succeeds("datasets", "--quiet", "--data", data).split()
        (data / "covtype" / name).unlink()


def test_what_cannot_be_made_is_answered_with_what_can(fails, tmp_path):
    fails(2, ["no data set 'scene-sift'", "'scenes-sift'"], "datasets", "scene-sift")
    fails(2, ["no data set 'xyz'", "to list all data sets"], "datasets", "xyz")
    fails(2, ["sift cannot be generated", "corpus-texmex"], "datasets", "sift")
    fails(2, ["--out", "mercer datasets scenes-sift"], "datasets", "--out", tmp_path)


def test_a_recipe_without_its_images_is_refused(fails, data):
    pytest.importorskip("cv2", reason="OpenCV is not installed")
    fails(1, ["4,485 images", str(data / "scenes15"), "0 other files"], "datasets", "scenes-sift", "--data", data)
    assert not (data / "scenes-sift").exists()


def test_a_recipe_makes_its_files_and_says_what_they_are(command, tmp_path, monkeypatch):
    pytest.importorskip("cv2", reason="OpenCV is not installed")
    from tests.datasets import scenes

    scenes.draw_scenes(tmp_path / "scenes15")
    monkeypatch.setattr(_scenes_sift, "RECIPE", scenes.recipe_for(tmp_path / "scenes15"))
    result = command("datasets", "scenes-sift", "--data", tmp_path)
    assert result.exit_code == 0, result.output
    assert np.load(tmp_path / "scenes-sift" / "base.npy").shape == (150, 128)
    assert "150 x 128" in result.stdout
    assert result.stderr.count("the published one") == 2
    made = json.loads((tmp_path / "scenes-sift" / "made.json").read_text())["files"]
    checksums = {f"{part}_sha256": made[f"{part}.npy"]["sha256"] for part in ("base", "query")}
    monkeypatch.setattr(_scenes_sift, "RECIPE", scenes.recipe_for(tmp_path / "scenes15", **checksums))
    again = command("datasets", "scenes-sift", "--data", tmp_path, "--out", tmp_path / "again", "--json")
    assert (again.exit_code, again.stderr) == (0, "")
    record = json.loads(again.stdout)
    assert (record["directory"], record["files"]["base.npy"]["sha256"]) == (
        str(tmp_path / "again"),
        checksums["base_sha256"],
    )
