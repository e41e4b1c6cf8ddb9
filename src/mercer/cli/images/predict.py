"""``mercer images predict``: what images show, under a model of ``mercer images train``."""

__all__ = ["EXAMPLES", "predict"]

from pathlib import Path
from typing import Any

from mercer._base.evaluation.figures import scores_by_class
from mercer._base.parameters import pathname
from mercer._base.tables import ArgumentError, open_for_writing
from mercer.cli.framework.checks import check_output, exclude
from mercer.cli.framework.options import COMMON, Settings, options
from mercer.cli.framework.output import lines_of, note, note_skipped, print_json, progress, took, written_to
from mercer.cli.framework.shared import IMAGE_MODEL, IMAGES, PROBA, SCORES, STRICT
from mercer.cli.images.files import check_some_kept, load_image_model, paths_of

EXAMPLES = """
Print the name and the class of each image:
  mercer images predict scenes.mercer new/*.jpg
  mercer images predict scenes.mercer new | cut -d, -f2 | sort | uniq -c

Write the scores of all classes, or probabilities if the model was trained with --probability:
  mercer images predict scenes.mercer new --scores --out scores.csv
  mercer images predict scenes.mercer new/1.jpg --proba
"""


@options((
    IMAGE_MODEL, IMAGES,
    pathname("out", None, "File for the predictions.", "CSV", "-o", shown="the output"),
    SCORES, PROBA, STRICT,
), examples=EXAMPLES, settings=COMMON)  # fmt: skip
def predict(model, files, out, scores, proba, strict, settings: Settings) -> None:
    """Write the name of each image with its class, scores or probabilities, as csv.

    Images that cannot be read are skipped and listed on standard error.
    """
    exclude(scores=scores, proba=proba)
    check_output(out, model, *files)
    what = "scores" if scores else "probabilities" if proba else "label"
    classifier = load_image_model(model)
    if proba and not hasattr(classifier, "predict_proba"):
        raise ArgumentError(f"{model} was trained without probabilities. Train it again with --probability.")
    paths = paths_of(files)
    with progress(settings) as watch:
        encoding = classifier.encode(paths)
        check_some_kept(encoding, strict)
        answers = _answers(classifier.classifier_, encoding.features, what)
    names = [str(path) for path, kept in zip(paths, encoding.kept, strict=True) if kept]
    titles = [] if what == "label" else [str(name) for name in classifier.classes_]
    if out is not None or not settings.json:
        _write(out, names, answers, titles)
    if settings.json:
        about = {"model": model, "images": len(names), "classes": classifier.classes_, "seconds": watch.seconds}
        lines: Any = [{"file": name, what: answer} for name, answer in zip(names, answers, strict=True)]
        skipped = {"skipped": list(encoding.skipped.values())}
        print_json(about | skipped | ({"answers": lines} if out is None else {"out": str(out)}))
    note_skipped(settings, list(encoding.skipped.values()), "image")
    plural = "s" * (len(names) != 1)
    note(settings, f"{len(names)} image{plural} in {took(watch.seconds)}{written_to(out)}")


def _answers(learner, rows, what: str):
    if what == "label":
        return learner.predict(rows)
    return scores_by_class(learner.decision_function(rows)) if what == "scores" else learner.predict_proba(rows)


def _write(out: Path | None, names: list[str], answers, titles: list[str]) -> None:
    cells = answers.reshape(len(answers), -1).astype(str).tolist()
    with open_for_writing("-" if out is None else str(out)) as stream:
        if titles:
            stream.write(lines_of([["file", *titles]]))
        stream.write(lines_of(([name, *row] for name, row in zip(names, cells, strict=True))))
