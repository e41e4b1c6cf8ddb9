"""``mercer images evaluate``: how good a model of images is on a folder of images whose classes are known."""

__all__ = ["EXAMPLES", "evaluate"]

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from mercer._base.errors import InputError, require_extra
from mercer._base.tables import open_for_writing
from mercer.cli.framework.options import Settings, common_options, option_groups
from mercer.cli.framework.output import note, print_json, progress
from mercer.cli.images.files import (
    StrictOption,
    check_output,
    check_some_kept,
    folder_of_classes,
    load_image_model,
    note_skipped,
    scores_by_class,
)
from mercer.cli.models.evaluate import _print, class_figures

EXAMPLES = """
[bold]Examples[/bold]

  mercer images evaluate scenes.mercer test
  mercer images evaluate scenes.mercer test --plot confusion.png
  mercer images evaluate scenes.mercer test --json
"""


@option_groups(settings=common_options)
def evaluate(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A file written by mercer images train.")],
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="A folder with one folder of images per class.")],
    plot: Annotated[Path | None, typer.Option("--plot", metavar="PNG", help="Draw the confusion matrix.")] = None,
    strict: Annotated[bool, StrictOption] = False,
    *,
    settings: Settings,
) -> None:
    """How good the predictions of a model are, on a folder of images that it has not seen.

    Accuracy, balanced accuracy (the mean recall of the classes), mAP (the mean average precision), and for each class
    precision, recall and the average precision (AP) of its scores against all other classes.
    """
    if plot is not None:
        check_output(plot, model)
        require_extra("matplotlib", "plot", "--plot")
    classifier = load_image_model(model)
    paths, truth = folder_of_classes(folder)
    started = time.perf_counter()
    with progress(settings):
        figures, skipped = _judged(classifier, paths, truth, folder, strict)
    document = {"model": model, "folder": folder, "images": len(paths) - len(skipped)} | figures
    document |= {"skipped": list(skipped.values()), "seconds": time.perf_counter() - started}
    title = f"{model} on {document['images']} images of {folder}"
    if plot is not None:
        _draw(figures, title, plot)
        document["plot"] = str(plot)
    if settings.json:
        print_json(document)
        return
    _print(settings, title, document)
    if plot is not None:
        note(settings, f"Plot: {plot}")
    note_skipped(settings, skipped)


def _judged(classifier, paths, truth, folder: str, strict: bool) -> tuple[dict[str, Any], dict[int, str]]:
    """Figures of merit, and the images that could not be read."""
    import numpy as np

    classes = classifier.classes_.astype(str)
    known = np.isin(truth, classes)
    if not known.any():
        raise InputError(
            f"No class of {folder} ({', '.join(np.unique(truth)[:5])}) is one of the model ({', '.join(classes[:5])})."
        )
    encoding = classifier.encode(paths)
    check_some_kept(encoding, strict)
    truth = truth[encoding.kept]
    predicted = classifier.classifier_.predict(encoding.features).astype(str)
    scores = scores_by_class(classifier.classifier_.decision_function(encoding.features))
    figures = class_figures(truth, predicted, scores, classes)
    n_unknown = int((~np.isin(truth, classes)).sum())
    return figures | ({"unknown_rows": n_unknown} if n_unknown else {}), encoding.skipped


def _draw(figures: dict[str, Any], title: str, plot: Path) -> None:
    import numpy as np

    from mercer.cli.models.evaluate_plot import draw_confusion

    names = [str(one["label"]) for one in figures["classes"]]
    caption = f"{title}\naccuracy {100 * figures['accuracy']:.1f} %"
    with open_for_writing(plot) as stream:
        draw_confusion(np.array(figures["confusion"]), names, caption, stream)
