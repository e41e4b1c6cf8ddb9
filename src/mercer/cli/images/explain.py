"""``mercer images explain``: a picture of which patches and words of an image spoke for a class, or of its words."""

__all__ = ["EXAMPLES", "explain"]

from pathlib import Path
from typing import Any

from mercer._base.errors import InputError, require_extra
from mercer._base.parameters import REQUIRED, argument, flag, pathname, text
from mercer._base.tables import ArgumentError
from mercer.cli.framework.checks import check_output, exclude
from mercer.cli.framework.options import COMMON, Settings, options
from mercer.cli.framework.output import answer_json, note, print_table, progress, write_plot
from mercer.cli.framework.shared import IMAGE_MODEL
from mercer.cli.images.files import load_image_model

EXAMPLES = """
Explain the predicted class, and another class:
  mercer images explain scenes.mercer new/1.jpg --out why.png
  mercer images explain scenes.mercer new/1.jpg --class Forest --out why.png

Show where the visual words are, or the groups that --reduce merged:
  mercer images explain scenes.mercer new/1.jpg --words --out words.png
"""
_WORDS = 5  # shown on either side
_CLASSES = 8  # whose scores are shown


@options((
    IMAGE_MODEL,
    argument("file", "FILE", "An image."),
    pathname("out", REQUIRED, "Picture to write.", "PNG", "-o"),
    text("label", None, "Class to explain.", "NAME", "--class", shown="the predicted class"),
    flag("words", "Show the patches of the most frequent words instead of a class."),
), examples=EXAMPLES, settings=COMMON)  # fmt: skip
def explain(model, file, out, label, words, settings: Settings) -> None:
    """Show which patches and words of an image count for a class, and which count against it.

    With an additive kernel between histograms of words, the score of a class is a sum over patches, which the picture
    shows exactly. For Fisher vectors and other kernels, parts of the image are removed in turn, and the picture shows
    how much the score drops. With --words, the picture shows the most frequent words of the image, or the groups of
    words that a reduction merged.
    """
    exclude(**{"words": words, "class": label})
    check_output(out, model, file)
    require_extra("matplotlib", "plot", "The picture of an explanation")
    classifier = load_image_model(model)
    if not Path(file).exists():
        raise ArgumentError(f"There is no file {file}.")
    if label is not None and label not in map(str, classifier.classes_):
        names = ", ".join(map(str, classifier.classes_[:20]))
        raise ArgumentError(f"The model has no class {label}. Its classes: {names}.")
    if Path(file).is_dir():
        raise InputError(f"{file} is a folder. Name a single image.")
    with progress(settings):
        found = classifier.locate_words(file) if words else classifier.explain(file, label)
        write_plot(out, found.plot)
    about = {"model": model, "file": file}
    document = about | (_located(found) if words else _explained(found)) | {"out": str(out)}
    if answer_json(settings, document):
        return
    (_print_located if words else _print_explained)(settings, document)
    note(settings, f"Picture: {out}")


def _located(found) -> dict[str, Any]:
    columns = [
        {"column": int(column), "words": words.tolist(), "weight": float(weight), "patches": int(count)}
        for column, words, weight, count in zip(found.columns, found.words, found.weights, found.counts, strict=True)
    ]
    return {"patches": len(found.place), "left_out": int((~found.kept).sum()), "columns": columns}


def _print_located(settings: Settings, document: dict[str, Any]) -> None:
    rows = [[_shortened(one["words"]), one["patches"], f"{one['weight']:.4g}"] for one in document["columns"]]
    title = f"{document['file']}: where most of its {document['patches']:,} patches belong"
    print_table(settings, title, ["words", "patches", "weight"], rows)


def _shortened(words: list[int]) -> str:
    shown = ", ".join(map(str, words[:_WORDS]))
    return shown if len(words) <= _WORDS else f"{shown} and {len(words) - _WORDS} more"


def _explained(found) -> dict[str, Any]:
    words = [
        {"word": word, "contribution": float(found.words[word]), "patches": int((found.word_of_patch == word).sum())}
        for against in (False, True)
        for word in found.telling_words(_WORDS, against)
    ]
    return {
        "class": found.label,
        "predicted": found.predicted,
        "score": found.score,
        "intercept": found.intercept,
        "measure": found.measure,
        "patches": len(found.patches),
        "sum_of_patches": float(found.patches.sum()),
        "scores": dict(zip(map(str, found.classes), found.scores.tolist(), strict=True)),
        "words": words,
    }


def _print_explained(settings: Settings, document: dict[str, Any]) -> None:
    best = sorted(document["scores"].items(), key=lambda item: -item[1])[:_CLASSES]
    print_table(settings, f"{document['file']}: scores", ["class", "score"], [[n, f"{s:.4f}"] for n, s in best])
    rows = [[one["word"], one["patches"], f"{one['contribution']:+.4f}"] for one in document["words"]]
    title = f"Words that count for {document['class']} (+) or against it (-)"
    print_table(settings, title, ["word", "patches", "contribution"], rows)
