"""``mercer images explain``: a picture of which patches and words of an image spoke for a class."""

__all__ = ["EXAMPLES", "explain"]

from pathlib import Path
from typing import Annotated, Any

import typer

from mercer._base.errors import InputError, require_extra
from mercer._base.tables import ArgumentError, open_for_writing
from mercer.cli.images_files import load_image_model
from mercer.cli.learning import check_folder
from mercer.cli.options import Settings, common_options, option_groups
from mercer.cli.output import note, print_json, print_table, progress

EXAMPLES = """
[bold]Examples[/bold]

Why the class that is predicted, and why, or why not, another one:
  mercer images explain scenes.mercer new/1.jpg --out why.png
  mercer images explain scenes.mercer new/1.jpg --class Forest --out why.png
"""
_WORDS = 5  # shown on either side
_CLASSES = 8  # whose scores are shown


@option_groups(settings=common_options)
def explain(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A file written by mercer images train.")],
    file: Annotated[str, typer.Argument(metavar="FILE", help="An image.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="PNG", help="The picture to write.")],
    label: Annotated[
        str | None,
        typer.Option("--class", metavar="NAME", help="The class to explain.", show_default="the predicted one"),
    ] = None,
    *,
    settings: Settings,
) -> None:
    """Draw which patches and words of an image spoke for a class, and which against it.

    With an additive kernel between histograms of words, the score of a class is a sum over patches, which the picture
    shows exactly. For Fisher vectors and other kernels, parts of the image are left out in turn, and the picture shows
    what the score loses.
    """
    check_folder(out)
    require_extra("matplotlib", "plot", "The picture of an explanation")
    classifier = load_image_model(model)
    if not Path(file).exists():
        raise ArgumentError(f"There is no file {file}.")
    if label is not None and label not in map(str, classifier.classes_):
        names = ", ".join(map(str, classifier.classes_[:20]))
        raise ArgumentError(f"The model has no class {label}. Its classes: {names}.")
    if Path(file).is_dir():
        raise InputError(f"{file} is a folder; an explanation is of one image.")
    with progress(settings):
        found = classifier.explain(file, label)
        with open_for_writing(out) as stream:
            found.plot().savefig(stream, format="png")
    document = _document(found, model, file, out)
    if settings.json:
        print_json(document)
        return
    _print(settings, document)
    note(settings, f"Picture: {out}")


def _document(found, model: str, file: str, out: Path) -> dict[str, Any]:
    words = [
        {"word": word, "contribution": float(found.words[word]), "patches": int((found.word_of_patch == word).sum())}
        for against in (False, True)
        for word in found.telling_words(_WORDS, against)
    ]
    return {
        "model": model,
        "file": file,
        "class": found.label,
        "predicted": found.predicted,
        "score": found.score,
        "intercept": found.intercept,
        "measure": found.measure,
        "patches": len(found.patches),
        "sum_of_patches": float(found.patches.sum()),
        "scores": dict(zip(map(str, found.classes), found.scores.tolist(), strict=True)),
        "words": words,
        "out": str(out),
    }


def _print(settings: Settings, document: dict[str, Any]) -> None:
    best = sorted(document["scores"].items(), key=lambda item: -item[1])[:_CLASSES]
    print_table(settings, f"{document['file']}: scores", ["class", "score"], [[n, f"{s:.4f}"] for n, s in best])
    rows = [[one["word"], one["patches"], f"{one['contribution']:+.4f}"] for one in document["words"]]
    title = f"Words that speak for {document['class']} (+) or against it (-)"
    print_table(settings, title, ["word", "patches", "contribution"], rows)
