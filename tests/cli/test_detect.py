"""``mercer detect``: the detectors of Python, boxes in and pictures out, and errors that name the file."""

import csv
import io

import numpy as np
import pytest
from PIL import Image

import mercer
from mercer.detection import PartDetector
from tests.command import invoke
from tests.detection.scenes import scenes

QUICK = (
    "--parts",
    "1",
    "--pq",
    "32",
    "--rounds",
    "1",
    "--interval",
    "3",
    "--margin",
    "1",
    "--cache-size",
    "300",
    "--C",
    "0.05",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Pictures with boxes to learn from and others, and a detector of them."""
    path = tmp_path_factory.mktemp("detect")
    for name, seed in (("train", 0), ("test", 1)):
        images, boxes = scenes(seed)
        (path / name).mkdir()
        lines = ["file,xmin,ymin,xmax,ymax"]
        for i, (image, own) in enumerate(zip(images, boxes, strict=True)):
            Image.fromarray(image).save(path / name / f"{i:02}.png")
            lines += [f"{i:02}.png,{','.join(f'{value:g}' for value in box)}" for box in own]
        (path / f"{name}.csv").write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(autouse=True)
def _inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


@pytest.fixture(scope="module")
def trained(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        arguments = [
            "detect",
            "train",
            "--images",
            "train",
            "--boxes",
            "train.csv",
            *QUICK,
            "--out",
            "d.mercer",
            "--json",
        ]
        result = invoke(*arguments, "--plot", "d.png")
    assert result.exit_code == 0, result.output
    import json

    return json.loads(result.stdout)


def test_a_trained_detector_is_that_of_python(trained):
    images, boxes = scenes(0)
    same = PartDetector(
        2, 1, 32, margin=1, n_part_rounds=1, interval=3, cache_size=300, C=0.05, random_state=0
    ).fit(images, boxes)  # fmt: skip
    np.testing.assert_array_equal(mercer.load("d.mercer").roots_[0], same.roots_[0])
    assert trained["images"] == 15
    assert trained["images_without_objects"] == 5
    assert trained["objects"] == 10
    assert trained["bytes"] > 1000
    assert np.asarray(Image.open("d.png").convert("L")).std() > 5


@pytest.mark.usefixtures("trained")
def test_run_writes_lines_pictures_and_json(succeeds, folder):
    text = succeeds("detect", "run", "d.mercer", "test/00.png", "test/14.png", "--out", "overlays", "--threshold", "-1")
    lines = list(csv.DictReader(io.StringIO(text)))
    found = mercer.load("d.mercer").detect("test/00.png", -1)
    own = [line for line in lines if line["file"] == "test/00.png"]
    assert len(own) == len(found) > 0
    assert float(own[0]["xmin"]) == pytest.approx(found.boxes[0, 0], abs=0.06)
    assert {path.name for path in (folder / "overlays").iterdir()} == {"00.png", "14.png"}
    document = succeeds("detect", "run", "d.mercer", "test", "--json")
    assert len(document["images"]) == 15
    best = document["images"][0]["objects"][0]
    assert len(best["parts"]) == 1
    assert best["box"] == pytest.approx(found.boxes[0], abs=0.01)


@pytest.mark.usefixtures("trained")
def test_run_skips_images_that_cannot_be_used_and_names_them(command, fails, succeeds, folder):
    (folder / "odd").mkdir()
    (folder / "odd" / "broken.png").write_bytes(b"no image")
    Image.new("L", (9, 7)).save(folder / "odd" / "small.png")
    result = command("detect", "run", "d.mercer", "odd", "test/00.png")
    assert result.exit_code == 0, result.output
    assert "Skipped 2 images:" in result.stderr
    assert "odd/broken.png is not a readable image" in result.stderr
    assert "cannot use odd/small.png. The image has 7 x 9 pixels" in result.stderr
    assert "in 1 image in" in result.stderr
    document = succeeds("detect", "run", "d.mercer", "odd", "test/00.png", "--json")
    assert [one["file"] for one in document["images"]] == ["test/00.png"]
    assert len(document["skipped"]) == 2
    fails(1, ["odd/broken.png"], "detect", "run", "d.mercer", "odd", "test/00.png", "--strict")
    fails(1, ["None of the 2 images", "odd/broken.png"], "detect", "run", "d.mercer", "odd")
    fails(1, ["odd/small.png", "7 x 9", "larger image"], "detect", "run", "d.mercer", "odd/small.png")


@pytest.mark.usefixtures("trained")
def test_pictures_have_the_same_names_each_time_and_replace_no_image(succeeds, fails, folder):
    (folder / "other").mkdir()
    content = (folder / "test" / "01.png").read_bytes()
    (folder / "other" / "01.png").write_bytes(content)
    for _ in range(2):
        succeeds("detect", "run", "d.mercer", "test/00.png", "test/01.png", "other", "--out", "again")
        assert {path.name for path in (folder / "again").iterdir()} == {"00.png", "01.png", "0002-01.png"}
    fails(2, ["other/01.png would be overwritten"], "detect", "run", "d.mercer", "other", "--out", "other")
    assert (folder / "other" / "01.png").read_bytes() == content


def test_a_single_view_counts_each_object_once(succeeds):
    text = succeeds("detect", "train", "--images", "train", "--boxes", "train.csv", *QUICK, "--parts", "0",
                    "--components", "1", "--out", "one.mercer", "--plot", "one.picture")  # fmt: skip
    assert "10, 10 of them large enough" in text
    assert "1 component with a root only" in text
    assert Image.open("one.picture").format == "PNG"


@pytest.mark.usefixtures("trained")
def test_evaluate_gives_the_figures_of_python(succeeds, folder):
    evaluate = ("detect", "evaluate", "d.mercer", "--images", "test", "--boxes", "test.csv")
    document = succeeds(*evaluate, "--plot", "curve.png", "--json")
    report = mercer.load("d.mercer").evaluate(*scenes(1))
    assert document["ap"] == pytest.approx(report.ap)
    assert document["ap_11_point"] == pytest.approx(report.ap_11_point)
    assert document["log_average_miss_rate"] == pytest.approx(report.log_average_miss_rate)
    assert (folder / "curve.png").exists()
    first, best = document["thresholds"]
    assert first["threshold"] == mercer.load("d.mercer").threshold_
    assert best["threshold"] == pytest.approx(report.best_threshold)
    assert (best["precision"], best["recall"]) == pytest.approx(report.at(report.best_threshold))
    assert f"{100 * report.ap:.1f} %" in succeeds(*evaluate)


@pytest.mark.usefixtures("trained")
def test_errors_name_the_file(fails, folder):
    train = ("detect", "train", "--images", "train", *QUICK, "--out", "x.mercer", "--boxes")
    (folder / "unknown.csv").write_text("file,xmin,ymin,xmax,ymax\nnone.png,1,2,3,4\n")
    (folder / "outside.csv").write_text("file,xmin,ymin,xmax,ymax\n03.png,1,2,500,40\n")
    (folder / "flat.csv").write_text("file,xmin,ymin,xmax,ymax\n03.png,1,2,1,40\n")
    fails(1, ["unknown.csv", "none.png"], *train, "unknown.csv")
    fails(1, ["03.png", "128 x 112"], *train, "outside.csv")
    fails(1, ["03.png", "1 2 1 40"], *train, "flat.csv")
    fails(2, ["missing.csv"], *train, "missing.csv")
    fails(2, ["even", "--unpaired"], *train, "train.csv", "--components", "3")
    fails(2, ["train.csv is also an input file"], *train, "train.csv", "--out", "train.csv")
    (folder / "junk.npz").write_bytes(b"junk")
    words = fails(1, ["junk.npz", "Remove it"], *train, "train.csv", "--checkpoint", "junk.npz")
    assert "pickle" not in words
    Image.new("L", (9, 7)).save(folder / "little.png")
    with pytest.raises(mercer.InputError, match=r"cannot use little\.png\. The image has 7 x 9"):
        mercer.load("d.mercer").evaluate(["little.png"], [[]])
    (folder / "nothing.csv").write_text("file,xmin,ymin,xmax,ymax\n")
    fails(1, ["nothing.csv", "nothing to evaluate"], "detect", "evaluate", "d.mercer", "--images", "test", "--boxes",
          "nothing.csv")  # fmt: skip
    fails(2, ["nowhere"], "detect", "run", "d.mercer", "nowhere.png")
    np.save(folder / "X.npy", np.random.default_rng(0).random((20, 4)))
    mercer.save(mercer.Chi2(), folder / "kernel.mercer")
    fails(2, ["kernel.mercer", "not a detector"], "detect", "run", "kernel.mercer", "test/00.png")
