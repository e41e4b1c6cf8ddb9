"""The recipe of the million descriptors, on a handful of small pictures."""

import hashlib
import json
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mercer
from mercer import InputError
from mercer._base.errors import MissingExtraError
from mercer.datasets import load_scenes_sift, make_scenes_sift
from mercer.datasets.images import scenes_sift as _scenes_sift
from mercer.datasets.images.scenes_sift import (
    RECIPE,
    distinct_rows,
    image_digests,
    images_sha256,
    names_sha256,
    read_made,
    shuffled_names,
)

NOT_AS_PUBLISHED = "ignore:.*the published one:UserWarning"


@pytest.fixture
def scenes(tmp_path):
    """(module of the pictures, folder of the pictures)."""
    pytest.importorskip("cv2", reason="OpenCV is not installed")
    from tests.datasets import scenes

    scenes.draw_scenes(tmp_path / "scenes15")
    return scenes, tmp_path / "scenes15"


def descriptors(path):
    import cv2

    before = cv2.useOptimized(), cv2.ipp.useIPP()
    cv2.setUseOptimized(False)
    try:
        image = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
        rows = cv2.SIFT_create(contrastThreshold=0.02).detectAndCompute(image, None)[1]
    finally:
        cv2.setUseOptimized(before[0])
        cv2.ipp.setUseIPP(before[1])
    return [tuple(row) for row in rows.astype(int).tolist()]


@pytest.mark.filterwarnings(NOT_AS_PUBLISHED)
def test_rows_are_the_descriptors_of_the_images_in_the_order_of_the_recipe(scenes, tmp_path):
    pictures, images = scenes
    out = tmp_path / "new" / "scenes-sift"
    record = _scenes_sift.follow(pictures.recipe_for(images), images, out)
    names = sorted(path.relative_to(images).as_posix() for path in images.rglob("*.jpg"))
    names = [names[i] for i in np.random.RandomState(0).permutation(pictures.N_IMAGES)]
    asked, others = names[: pictures.N_QUERY_IMAGES], names[pictures.N_QUERY_IMAGES + 3 :]  # three are copies
    base = list(dict.fromkeys(row for name in others for row in descriptors(images / name)))[:150]
    assert np.load(out / "base.npy").tolist() == [list(row) for row in base]
    query = [tuple(row) for row in np.load(out / "query.npy").tolist()]
    assert len(set(query)) == 30
    assert set(query) <= {row for name in asked for row in descriptors(images / name)} - set(base)
    assert np.load(out / "base.npy").dtype == np.uint8
    assert json.loads((out / "made.json").read_text()) == record
    for name, file in record["files"].items():
        assert file["sha256"] == hashlib.sha256((out / name).read_bytes()).hexdigest()
    assert sorted(path.name for path in out.iterdir()) == ["base.npy", "made.json", "query.npy"]


@pytest.mark.filterwarnings(NOT_AS_PUBLISHED)
def test_threads_make_no_difference_and_opencv_is_left_as_it_was(scenes, tmp_path):
    import cv2

    pictures, images = scenes
    recipe, state = pictures.recipe_for(images), lambda: (cv2.getNumThreads(), cv2.useOptimized(), cv2.ipp.useIPP())
    before = state()
    made = []
    for n_threads in (1, 2):
        with mercer.thread_limit(n_threads):
            made.append(_scenes_sift.follow(recipe, images, tmp_path / str(n_threads)))
    assert made[0] == made[1]
    assert before == state()


@pytest.mark.filterwarnings(NOT_AS_PUBLISHED)
def test_every_thread_runs_the_code_that_does_not_depend_on_the_processor(scenes, tmp_path, monkeypatch):
    import cv2

    pictures, images = scenes
    used, create = [], cv2.SIFT_create

    class Watched:
        def detectAndCompute(self, *arguments):
            used.append((cv2.getNumThreads(), cv2.useOptimized(), cv2.ipp.useIPP()))
            return create(contrastThreshold=0.02).detectAndCompute(*arguments)

    monkeypatch.setattr(cv2, "SIFT_create", lambda **parameters: Watched())
    with mercer.thread_limit(2):
        _scenes_sift.follow(pictures.recipe_for(images), images, tmp_path / "out")
    assert len(used) == pictures.N_IMAGES - 3  # three are copies
    assert set(used) == {(1, False, False)}


@pytest.mark.filterwarnings(NOT_AS_PUBLISHED)
def test_a_checksum_that_is_not_the_published_one_is_stated_when_made_and_when_loaded(scenes, tmp_path, monkeypatch):
    pictures, images = scenes
    recipe = pictures.recipe_for(images)
    monkeypatch.setattr(_scenes_sift, "RECIPE", recipe)
    monkeypatch.setattr(_scenes_sift, "PARTS", {"base": ("base.npy", 150), "query": ("query.npy", 30)})
    with pytest.warns(UserWarning, match=rf"base\.npy .*the published one {'0' * 64}"):
        record = make_scenes_sift(tmp_path / "scenes-sift", root=tmp_path)
    actual = record["files"]["base.npy"]["sha256"]
    for root in (tmp_path, tmp_path / "scenes-sift"):
        with pytest.warns(UserWarning, match=f"its sha256 is {actual}, the published one {'0' * 64}"):
            assert load_scenes_sift(root=root).shape == (150, 128)
    monkeypatch.setattr(_scenes_sift, "RECIPE", replace(recipe, base_sha256=actual))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_scenes_sift(root=tmp_path)


@pytest.mark.filterwarnings(NOT_AS_PUBLISHED)
def test_a_file_that_was_changed_is_refused(scenes, tmp_path):
    pictures, images = scenes
    _scenes_sift.follow(pictures.recipe_for(images), images, tmp_path)
    content = (tmp_path / "base.npy").read_bytes()
    (tmp_path / "base.npy").write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(
        InputError, match=r"base\.npy differs from the generated file.*mercer datasets scenes-sift --out"
    ):
        read_made(tmp_path, "base.npy", "0" * 64)
    read_made(tmp_path, "query.npy", "0" * 64)
    for record in ("{}", "[]", "not json", '{"files": {"query.npy": 3}}'):
        (tmp_path / "made.json").write_text(record)
        with pytest.raises(InputError, match=r"query\.npy differs from the generated file"):
            read_made(tmp_path, "query.npy", "0" * 64)


def test_an_interrupted_run_leaves_what_was_there_and_no_more(scenes, tmp_path, monkeypatch):
    pictures, images = scenes
    out, stopped = tmp_path / "out", shuffled_names(images)[-1]
    out.mkdir()
    (out / "base.npy").write_bytes(b"old")
    sift = _scenes_sift.sift

    def interrupted(path):
        if path == images / stopped:
            raise KeyboardInterrupt
        return sift(path)

    monkeypatch.setattr(_scenes_sift, "sift", interrupted)
    with pytest.raises(KeyboardInterrupt):
        _scenes_sift.follow(pictures.recipe_for(images), images, out)
    assert [(path.name, path.read_bytes()) for path in out.iterdir()] == [("base.npy", b"old")]


def test_other_images_and_too_few_are_refused(scenes, tmp_path):
    pictures, images = scenes
    recipe, out = pictures.recipe_for(images), tmp_path / "out"
    with pytest.raises(InputError, match=r"gives \d+ different rows for a base of 10000"):
        _scenes_sift.follow(replace(recipe, n_base=10_000), images, out)
    with pytest.raises(InputError, match=r"and \d+ others for 10000 queries"):
        _scenes_sift.follow(replace(recipe, n_query=10_000), images, out)
    first, last = shuffled_names(images)[0], shuffled_names(images)[-1]
    (images / first).write_bytes((images / last).read_bytes())
    with pytest.raises(InputError, match="right names but different contents"):
        _scenes_sift.follow(recipe, images, out)
    (images / first).unlink()
    with pytest.raises(InputError, match=r"needs the 4,485 images of Scenes-15.*13 other files"):
        _scenes_sift.follow(recipe, images, out)
    (images / last).write_bytes(b"no image")
    with pytest.raises(InputError, match=rf"{last} is not an image"):
        _scenes_sift.follow(pictures.recipe_for(images), images, out)
    assert not list(out.iterdir())


def test_without_opencv_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(MissingExtraError, match=r"mercer\[recipes\]"):
        make_scenes_sift(tmp_path)


@given(st.lists(st.lists(st.integers(0, 1), min_size=3, max_size=3), min_size=1, max_size=20))
def test_distinct_rows_are_first_occurrences_that_are_not_all_zero(rows):
    expected = [list(row) for row in dict.fromkeys(map(tuple, rows)) if any(row)]
    assert distinct_rows(np.array(rows, np.uint8)).tolist() == expected


@pytest.mark.data
def test_the_images_are_those_of_the_recipe(data_dir):
    names = shuffled_names(data_dir / "scenes15")
    assert len(names) == 4_485
    assert names_sha256(names) == RECIPE.list_sha256
    digests = image_digests(data_dir / "scenes15", names)
    assert images_sha256(digests) == RECIPE.images_sha256
    assert len(digests) - len(set(digests)) == 18  # pairs of equal files, as the set is known to have
