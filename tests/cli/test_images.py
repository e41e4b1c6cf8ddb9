"""``mercer images``: the models of Python, a report that needs nothing beside it, and images of all bad kinds."""

import csv
import io
import json
import os
import re
import struct
import zlib
from html.parser import HTMLParser

import numpy as np
import pytest
from PIL import Image

import mercer
from mercer.vision import (
    CENTRIST,
    HOG,
    BagOfWords,
    ColorHistogram,
    DenseSIFT,
    Downscaled,
    FisherVectors,
    ImageClassifier,
    LocalCENTRIST,
    image_folder,
    read_image,
)
from tests.vision.textures import KINDS, write_folder

QUICK = ("--words", "12", "--sizes", "4", "--C", "10", "--folds", "2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Textures to learn from and others, a model of them, and a model of rows."""
    path = tmp_path_factory.mktemp("images")
    write_folder(path / "train", np.random.default_rng(0))
    write_folder(path / "test", np.random.default_rng(1), 9)
    paths, kinds = image_folder(path / "train")
    mercer.save(python_model().fit(paths, kinds), path / "m.mercer")
    X = np.random.default_rng(0).random((20, 4))
    mercer.save(mercer.KernelClassifier("chi2").fit(X, np.arange(20) % 2), path / "rows.mercer")
    np.save(path / "X.npy", X)
    return path


@pytest.fixture(autouse=True)
def _inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


def python_model(encoder=BagOfWords, words=12, kernel=None, **parameters):
    pyramid = parameters.pop("pyramid", ((1, 1),))
    descriptor = parameters.pop("descriptor", DenseSIFT(4, (4,)))
    own = {name: parameters.pop(name) for name in ("n_nearest", "assignment") if name in parameters}
    bags = encoder(Downscaled(descriptor, 640), words, pyramid=pyramid, **own)
    return ImageClassifier(bags, kernel, **{"C": 10.0, "cv": 2, "random_state": 0, **parameters})


# ---- train


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], {}),
        (["--kernel", "intersection", "--pyramid", "1x1,2x1", "--seed", "3"],
         {"kernel": "intersection", "pyramid": ((1, 1), (2, 1)), "random_state": 3}),
        (["--reduce", "5", "--C", "auto"], {"reduce": 5, "C": "auto"}),
        (["--encoder", "fisher", "--words", "2"], {"encoder": FisherVectors, "words": 2}),
        (["--encoder", "fisher", "--words", "4", "--reduce", "2", "--kernel", "chi2"],
         {"encoder": FisherVectors, "words": 4, "reduce": 2, "kernel": "chi2"}),
        (["--probability"], {"probability": True}),
        (["--multi-class", "ovr"], {"multi_class": "ovr"}),
        (["--reduce", "5", "--reduce-by", "convex", "-p", "n_nearest=2", "-p", "assignment=ivf"],
         {"reduce": 5, "reduce_method": "convex", "n_nearest": 2, "assignment": "ivf"}),
        (["--descriptor", "centrist", "--sizes", "12"], {"descriptor": LocalCENTRIST(4, (12,))}),
    ],
)  # fmt: skip
def test_a_trained_model_is_that_of_python(succeeds, options, expected):
    document = succeeds("images", "train", "train", *QUICK, *options, "--out", "t.mercer", "--no-report", "--json")
    found = mercer.load("t.mercer")
    paths, kinds = image_folder("train")
    others, truth = image_folder("test")
    same = python_model(**expected).fit(paths, kinds)
    np.testing.assert_array_equal(found.decision_function(others), same.decision_function(others))
    assert document["classes"] == list(KINDS)
    assert document["images"] == 24
    assert document["columns"] == same.classifier_.n_features_in_
    assert document["skipped"] == []
    assert 0 <= document["cross_validation"]["accuracy"] <= 1
    assert sum(line["rows"] for line in document["cross_validation"]["classes"]) == 24
    assert found.score(others, truth) > 0.8
    assert document["peak_bytes"] > 0


@pytest.mark.parametrize("way", ["ovr", "ovo"])
def test_the_figures_are_those_of_classifiers_of_the_same_kind_learnt_without_the_images(succeeds, way):
    given = [*QUICK, "--multi-class", way, "--out", "t.mercer", "--no-report", "--json"]
    document = succeeds("images", "train", "train", *given)
    paths, kinds = image_folder("train")
    rows = mercer.load("t.mercer").encode(paths).features
    from sklearn.metrics import average_precision_score
    from sklearn.model_selection import cross_val_predict

    learner = mercer.KernelClassifier("chi2", C=10.0, multi_class=way, random_state=0)
    scores = cross_val_predict(learner, rows, kinds, cv=2, method="decision_function")
    scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
    expected = np.unique(kinds)[scores.argmax(axis=1)]
    assert document["cross_validation"]["accuracy"] == pytest.approx((expected == kinds).mean())
    precision = [average_precision_score(kinds == name, scores[:, i]) for i, name in enumerate(np.unique(kinds))]
    assert document["cross_validation"]["map"] == pytest.approx(np.mean(precision))


def test_a_training_is_printed_and_quiet_prints_nothing(succeeds):
    text = succeeds("images", "train", "train", *QUICK, "--out", "t.mercer", "--no-report")
    assert "24 of 3 classes" in text
    assert "BagOfWords, 12 words" in text
    assert succeeds("images", "train", "train", *QUICK, "--out", "t.mercer", "--no-report", "--quiet") == ""


# ---- the report


class Page(HTMLParser):
    """What a page refers to, and whether its tags are closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.links, self.tags, self.text = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [value for name, value in attributes if name in ("src", "href")]
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def hostile(folder):
    """Classes with names that are markup, and a file that is no image."""
    root = write_folder(folder / "odd", np.random.default_rng(2), 12)
    os.rename(root / "checks", root / "<b>bold & brave<b>")
    (root / "stripes" / "<i>broken.png").write_bytes(b"no image")
    return root


@pytest.mark.usefixtures("hostile")
@pytest.mark.parametrize("encoder", [[], ["--encoder", "fisher", "--words", "2", "--C", "auto"]])
def test_the_report_stands_alone_and_says_what_happened(succeeds, folder, encoder):
    document = succeeds("images", "train", "odd", *QUICK, *encoder, "--out", "t.mercer", "--json")
    assert document["report"] == "t.html"
    text = (folder / "t.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.open == []
    assert "script" not in page.tags
    assert "<b>bold" not in text
    assert "<i>broken" not in text
    assert page.links
    assert all(re.match(r"data:image/(png|jpeg);base64,", link) for link in page.links)
    assert not re.search(r"https?://|@import|url\(", text)
    said = " ".join(page.text)
    assert "<b>bold & brave<b>" in said
    assert "<i>broken.png is not a readable image" in said
    assert f"{100 * document['cross_validation']['accuracy']:.1f} %" in said
    assert "mercer images train odd " in said
    for title in ("Classes", "Confusion matrix", "Mistakes", "The plan", "Time and memory", "Skipped files"):
        assert title in said
    assert ("The choice of C" in said) == ("auto" in encoder)
    assert "1 of 13 files" in said


def test_the_report_says_that_words_were_merged_by_classes(succeeds, folder):
    reduced = (*QUICK, "--reduce", "5", "--out", "t.mercer", "--json")
    for method, is_said in (("supervised", True), ("merge", False)):
        succeeds("images", "train", "train", *reduced, "--reduce-by", method)
        assert ("merged using the classes of all images" in (folder / "t.html").read_text(encoding="utf-8")) == is_said


def test_the_command_of_the_report_makes_the_same_model(succeeds, folder):
    succeeds("--seed", "5", "images", "train", "train", *QUICK, "--out", "t.mercer", "--report", "r.html")
    others, _ = image_folder("test")
    first = mercer.load("t.mercer").decision_function(others)
    page = Page((folder / "r.html").read_text(encoding="utf-8"))
    (said,) = [part for part in page.text if part.startswith("mercer --seed")]
    (folder / "t.mercer").unlink()
    succeeds(*said.replace("--report r.html", "--no-report").split()[1:])
    np.testing.assert_array_equal(mercer.load("t.mercer").decision_function(others), first)


def test_folds_that_the_classes_are_too_small_for_are_noted(command, folder):
    smallest = min(len(list(kind.iterdir())) for kind in (folder / "train").iterdir())
    told = command("images", "train", "train", *QUICK, "--folds", 500, "--no-report", "--out", "folds.mercer")
    assert f"cross-validation {smallest} folds" in " ".join(told.stdout.split())
    assert f"--folds 500 was reduced: the smallest class has {smallest} images" in " ".join(told.stderr.split())


def test_without_matplotlib_there_is_no_report_unless_it_was_asked_for(succeeds, fails, folder, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    document = succeeds("images", "train", "train", *QUICK, "--out", "plain.mercer", "--json")
    assert "report" not in document
    assert not (folder / "plain.html").exists()
    train = ("images", "train", "train", *QUICK, "--out", "plain.mercer")
    fails(1, ["mercer[plot]"], *train, "--report", "r.html")
    fails(1, ["mercer[plot]"], "images", "explain", "m.mercer", "test/checks/00.png", "--out", "why.png")


# ---- images of all kinds


def png_of(width, height):
    """A file that claims to hold a gray image of this size, and holds no pixels."""

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


@pytest.fixture(scope="module")
def mixed(folder):
    """A folder with good images of unusual kinds, and bad ones."""
    root = write_folder(folder / "mixed", np.random.default_rng(3), 12)
    good = Image.open(root / "checks" / "00.png")
    deep = np.asarray(good).astype(np.uint16) * 257
    Image.fromarray(deep).save(root / "checks" / "deep.png")
    good.convert("CMYK").save(root / "checks" / "print.tif")
    good.save(root / "checks" / "moving.gif", save_all=True, append_images=[good.rotate(90)])
    Image.new("L", (1, 1)).save(root / "checks" / "pixel.png")
    (root / "slopes" / "huge.png").write_bytes(png_of(30_000, 30_000))
    content = (root / "checks" / "03.png").read_bytes()
    (root / "slopes" / "cut.png").write_bytes(content[: len(content) // 2])
    (root / "slopes" / "empty.jpg").touch()
    (root / "stripes" / "gone.png").symlink_to(root / "nowhere.png")
    return root


BAD = {
    "pixel.png": "no descriptors",
    "huge.png": "claims more pixels than the",
    "cut.png": "damaged or incomplete",
    "empty.jpg": "is not a readable image",
    "gone.png": "No such file",
}


@pytest.mark.usefixtures("mixed")
def test_bad_images_are_skipped_by_name_and_unusual_ones_are_not(command, fails):
    result = command("images", "train", "mixed", *QUICK, "--out", "t.mercer", "--no-report")
    assert result.exit_code == 0, result.output
    assert "15 of 3 classes" in result.stdout  # 12 and three unusual ones
    assert "Skipped 5 images:" in result.stderr
    for name, reason in BAD.items():
        (line,) = [line for line in result.stderr.splitlines() if name in line]
        assert reason in line
    words = fails(1, [], "images", "train", "mixed", *QUICK, "--out", "t.mercer", "--no-report", "--strict")
    assert any(name in words for name in BAD)


@pytest.mark.usefixtures("mixed")
def test_evaluate_and_predict_skip_the_same_images(succeeds, command, fails):
    document = succeeds("images", "evaluate", "m.mercer", "mixed", "--json")
    assert document["images"] == 15
    assert len(document["skipped"]) == 5
    result = command("images", "predict", "m.mercer", "mixed/slopes", "mixed/checks/print.tif")
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 5
    assert "Skipped 3 images:" in result.stderr
    fails(1, ["pixel.png"], "images", "evaluate", "m.mercer", "mixed", "--strict")
    fails(1, ["mercer: mixed/slopes/cut.png is damaged"], "images", "predict", "m.mercer", "mixed/slopes/cut.png")
    fails(1, ["None of the 2 images can be read"], "images", "predict", "m.mercer", "mixed/slopes/cut.png",
          "mixed/slopes/empty.jpg")  # fmt: skip
    fails(1, ["huge.png"], "images", "predict", "m.mercer", "test", "mixed/slopes/huge.png", "--strict")
    fails(
        1, ["pixel.png", "no descriptors"], "images", "explain", "m.mercer", "mixed/checks/pixel.png", "--out", "e.png"
    )


# ---- predict


def test_predictions_are_those_of_python(succeeds):
    paths, _ = image_folder("test")
    model = mercer.load("m.mercer")
    lines = list(csv.reader(io.StringIO(succeeds("images", "predict", "m.mercer", "test"))))
    assert lines == [[str(path), label] for path, label in zip(paths, model.predict(paths), strict=True)]
    text = succeeds("images", "predict", "m.mercer", *paths[:4], "--scores")
    head, *lines = csv.reader(io.StringIO(text))
    assert head == ["file", *KINDS]
    np.testing.assert_array_equal(np.array([line[1:] for line in lines], float), model.decision_function(paths[:4]))
    document = succeeds("images", "predict", "m.mercer", "test", "--json")
    assert [answer["label"] for answer in document["answers"]] == model.predict(paths).tolist()


def test_predictions_go_to_a_file_and_probabilities_need_a_model_that_has_them(succeeds, fails, folder):
    assert succeeds("images", "predict", "m.mercer", "test", "--out", "p.csv") == ""
    assert len((folder / "p.csv").read_text().splitlines()) == 9
    fails(2, ["--probability"], "images", "predict", "m.mercer", "test", "--proba")
    succeeds("images", "train", "train", *QUICK, "--probability", "--out", "p.mercer", "--no-report")
    document = succeeds("images", "predict", "p.mercer", "test", "--proba", "--json")
    assert sum(document["answers"][0]["probabilities"]) == pytest.approx(1)


# ---- evaluate and explain


def test_an_evaluation_is_that_of_python_and_is_drawn(succeeds, folder):
    paths, truth = image_folder("test")
    document = succeeds("images", "evaluate", "m.mercer", "test", "--plot", "c.png", "--json")
    assert document["accuracy"] == mercer.load("m.mercer").score(paths, truth)
    assert np.sum(document["confusion"]) == 9
    assert Image.open(folder / "c.png").format == "PNG"
    assert "balanced accuracy" in succeeds("images", "evaluate", "m.mercer", "test")


def test_unknown_classes_are_mistakes_and_only_unknown_ones_an_error(succeeds, fails, folder):
    other = folder / "other"
    write_folder(other, np.random.default_rng(4), 6)
    os.rename(other / "checks", other / "unheard")
    document = succeeds("images", "evaluate", "m.mercer", "other", "--json")
    assert document["unknown_rows"] == 2
    assert document["accuracy"] <= 4 / 6
    for kind in ("slopes", "stripes"):
        os.rename(other / kind, other / f"un{kind}")
    fails(1, ["No class of other", "checks"], "images", "evaluate", "m.mercer", "other")


def test_an_explanation_is_that_of_python_and_is_drawn(succeeds, folder):
    name = "test/slopes/01.png"
    document = succeeds("images", "explain", "m.mercer", name, "--class", "stripes", "--out", "why.png", "--json")
    expected = mercer.load("m.mercer").explain(name, "stripes")
    assert document["class"] == "stripes"
    assert document["score"] == pytest.approx(expected.score)
    assert document["sum_of_patches"] + document["intercept"] == pytest.approx(document["score"], abs=1e-5)
    assert document["measure"] == "additive"
    assert Image.open(folder / "why.png").format == "PNG"
    text = succeeds("images", "explain", "m.mercer", name, "--out", "why.png")
    assert f"Words that count for {expected.predicted}" in text


def test_words_are_located_as_in_python(succeeds, folder):
    name = "test/slopes/01.png"
    document = succeeds("images", "explain", "m.mercer", name, "--words", "--out", "words.png", "--json")
    expected = mercer.load("m.mercer").locate_words(name)
    assert [one["column"] for one in document["columns"]] == expected.columns.tolist()
    assert [one["patches"] for one in document["columns"]] == expected.counts.tolist()
    assert Image.open(folder / "words.png").format == "PNG"
    assert "where most of its" in succeeds("images", "explain", "m.mercer", name, "--words", "--out", "words.png")


# ---- what cannot be


@pytest.fixture(scope="module")
def _odd_folders(folder):
    (folder / "empty").mkdir()
    write_folder(folder / "single", np.random.default_rng(0), 6)
    for kind in KINDS[1:]:
        for file in (folder / "single" / kind).iterdir():
            file.unlink()
    write_folder(folder / "lonely", np.random.default_rng(0), 6)
    for file in sorted((folder / "lonely" / "stripes").iterdir())[1:]:
        file.unlink()
    (folder / "lost" / "a").mkdir(parents=True)
    (folder / "lost" / "b").mkdir()
    (folder / "lost" / "a" / "1.png").write_bytes(b"x")
    (folder / "lost" / "b" / "1.png").write_bytes(b"x")
    (folder / "broken.mercer").write_bytes(b"not a model")


@pytest.mark.usefixtures("_odd_folders")
@pytest.mark.parametrize(
    ("code", "words", "line"),
    [
        (2, ["no folder nowhere"], "train nowhere --out t.mercer"),
        (1, ["but has no folders"], "train empty --out t.mercer"),
        (1, ["one class, checks"], "train single --out t.mercer"),
        (1, ["class stripes has only one"], "train lonely --words 5 --sizes 4 --out t.mercer"),
        (1, ["lost/a/1.png"], "train lost --out t.mercer"),
        (2, ["no directory nowhere"], "train train --out nowhere/t.mercer"),
        (2, ["--multi-class must be one of 'auto'", "got 'all'"], "train train --multi-class all --out t.mercer"),
        (2, ["--sizes must be integers", "4x"], "train train --sizes 4x --out t.mercer"),
        (2, ["sizes", "256"], "train train --sizes 1000 --out t.mercer"),
        (2, ["--pyramid", "1x1,2x2"], "train train --pyramid 2 --out t.mercer"),
        (2, ["pyramid"], "train train --pyramid 0x1 --out t.mercer"),
        (2, ["--C", "auto"], "train train --C much --out t.mercer"),
        (2, ["kernel", "chi3"], "train train --kernel chi3 --out t.mercer"),
        (2, ["--reduce 65", "--words"], "train train --encoder fisher --reduce 65 --out t.mercer"),
        (2, ["additive kernel", "rbf"], "train train --kernel rbf --reduce 5 --out t.mercer"),
        (2, ["--reduce 50", "--words"], "train train --words 12 --reduce 50 --out t.mercer"),
        (2, ["--reduce-by convex", "--reduce N"], "train train --reduce-by convex --out t.mercer"),
        (2, ["--report", "--no-report"], "train train --report r.html --no-report --out t.mercer"),
        (2, ["both be written"], "train train --out t.html"),
        (1, ["descriptors", "fewer words"], "train train --words 100000 --out t.mercer"),
        (2, ["KernelClassifier", "not an image classifier", "mercer predict"], "predict rows.mercer test"),
        (2, ["KernelClassifier", "not an image classifier"], "evaluate rows.mercer test"),
        (2, ["KernelClassifier", "not an image classifier"], "explain rows.mercer test/checks/00.png --out e.png"),
        (1, ["broken.mercer"], "predict broken.mercer test"),
        (2, ["no file nowhere.mercer"], "predict nowhere.mercer test"),
        (2, ["no file nowhere.png"], "predict m.mercer nowhere.png"),
        (2, ["no images in the folder empty"], "predict m.mercer empty"),
        (2, ["--scores", "--proba"], "predict m.mercer test --scores --proba"),
        (2, ["no class cats", "checks, slopes, stripes"],
         "explain m.mercer test/checks/00.png --class cats --out e.png"),
        (2, ["--words and --class"], "explain m.mercer test/checks/00.png --words --class checks --out e.png"),
        (2, ["no file nowhere.png"], "explain m.mercer nowhere.png --out e.png"),
        (1, ["is a folder"], "explain m.mercer test --out e.png"),
        (1, ["but has no folders"], "evaluate m.mercer empty"),
        (2, ["m.mercer is also an input file"], "explain m.mercer test/checks/00.png --out m.mercer"),
        (2, ["00.png is also an input file"], "explain m.mercer test/checks/00.png --out test/checks/00.png"),
        (2, ["m.mercer is also an input file"], "predict m.mercer test --out m.mercer"),
        (2, ["m.mercer is also an input file"], "evaluate m.mercer test --plot m.mercer"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_said_in_one_sentence(fails, code, words, line):
    fails(code, words, "images", *line.split())


@pytest.mark.parametrize("verb", ["predict", "evaluate"])
def test_a_model_of_images_takes_no_rows(fails, verb):
    fails(2, ["m.mercer holds ImageClassifier", "mercer images"], verb, "m.mercer", "X.npy")


def test_errors_are_json_with_json(command):
    result = command("images", "predict", "rows.mercer", "test", "--json")
    assert json.loads(result.stderr)["exit_code"] == 2


# ---- rows


@pytest.mark.parametrize(
    ("options", "transformer"),
    [
        (["--as", "color", "-p", "bins=3", "--grid", "2x1"], ColorHistogram(3, grid=(2, 1))),
        (["--as", "centrist"], CENTRIST()),
        (["--size", "64x48", "-p", "cell_size=16"], HOG(16)),
    ],
)
def test_rows_are_those_of_python(succeeds, options, transformer):
    succeeds("images", "rows", "test", *options, "--out", "rows.npy")
    paths, _ = image_folder("test")
    size = (64, 48) if "--size" in options else None
    images = paths if size is None else np.stack([read_image(path, size=size) for path in paths])
    np.testing.assert_array_equal(np.load("rows.npy"), transformer.fit(images).transform(images))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rows", "test", "--out", "r.npy", "-p", "size=3"], "no parameter size. Its parameters are cell_size,"),
        (["rows", "test", "--out", "r.npy", "--grid", "2x2"], "--grid works with centrist and color"),
        (["rows", "test", "--out", "r.npy", "--size", "64"], "--size must have the form ROWSxCOLUMNS"),
        (["rows", "test", "--out", "train"], "train is a directory"),
        (["train", "train", "--out", "t.mercer", "-p", "words=3"], "BagOfWords has no parameter words. Its parameters"),
        (["train", "train", "--out", "t.mercer", "-p", "n_nearest=0"], "n_nearest"),
        (["train", "train", "--out", "t.mercer", "--encoder", "fisher", "--reduce", "2", "--reduce-by", "merge"],
         "cannot be merged"),
    ],
)  # fmt: skip
def test_parameters_that_make_no_sense_are_refused(fails, arguments, words):
    fails(2, [words], "images", *arguments)
