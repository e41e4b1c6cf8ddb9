"""``mercer images evaluate``: how good a model of images is on a folder of images whose classes are known."""

__all__ = ["EXAMPLES", "evaluate"]

from typing import Any

from mercer._base.errors import InputError
from mercer._base.evaluation.figures import scores_by_class
from mercer._base.parameters import pathname
from mercer.cli.framework.checks import check_plot
from mercer.cli.framework.options import COMMON, Settings, options
from mercer.cli.framework.output import note_skipped, progress
from mercer.cli.framework.shared import CLASS_FOLDER, IMAGE_MODEL, STRICT
from mercer.cli.images.files import check_some_kept, folder_of_classes, load_image_model
from mercer.cli.models.evaluate import give_figures, judged, picture_of_classes

EXAMPLES = """
  mercer images evaluate scenes.mercer test
  mercer images evaluate scenes.mercer test --plot confusion.png
  mercer images evaluate scenes.mercer test --json
"""


@options((
    IMAGE_MODEL, CLASS_FOLDER,
    pathname("plot", None, "Plot the confusion matrix.", "PNG"),
    STRICT,
), examples=EXAMPLES, settings=COMMON)  # fmt: skip
def evaluate(model, folder, plot, strict, settings: Settings) -> None:
    """Measure an image classifier on a folder of unseen images.

    Prints accuracy, balanced accuracy (the mean recall of the classes) and mAP (the mean average precision); and for
    each class, precision, recall and the average precision (AP) of its scores against all other classes.
    """
    check_plot(plot, model)
    classifier = load_image_model(model)
    paths, truth = folder_of_classes(folder)
    with progress(settings) as watch:
        figures, skipped = _judged(classifier, paths, truth, folder, strict)
    document = {"model": model, "folder": folder, "images": len(paths) - len(skipped)} | figures
    document |= {"skipped": list(skipped.values()), "seconds": watch.seconds}
    title = f"{model} on {document['images']} images of {folder}"
    give_figures(settings, title, document, plot, picture_of_classes(figures))
    note_skipped(settings, list(skipped.values()), "image")


def _judged(classifier, paths, truth, folder: str, strict: bool) -> tuple[dict[str, Any], dict[int, str]]:
    """Figures of merit, and the images that could not be read."""
    import numpy as np

    classes = classifier.classes_.astype(str)
    if not np.isin(truth, classes).any():
        raise InputError(
            f"No class of {folder} ({', '.join(np.unique(truth)[:5])}) is a class of the model "
            f"({', '.join(classes[:5])})."
        )
    encoding = classifier.encode(paths)
    check_some_kept(encoding, strict)
    truth = truth[encoding.kept]
    predicted = classifier.classifier_.predict(encoding.features).astype(str)
    scores = scores_by_class(classifier.classifier_.decision_function(encoding.features))
    return judged(truth, predicted, scores, classes), encoding.skipped
