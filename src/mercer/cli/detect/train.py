"""``mercer detect train``: a detector from images and boxes."""

__all__ = ["EXAMPLES", "train"]

from pathlib import Path
from typing import Any

from mercer._base.parameters import Values, flag, pathname
from mercer._base.parameters.detection import DETECTOR
from mercer._base.tables import ArgumentError
from mercer.cli.detect.files import annotated
from mercer.cli.framework.checks import as_argument, check_output, check_plot
from mercer.cli.framework.options import COMMON, Group, Settings, options
from mercer.cli.framework.output import answer_json, note_plot, print_table, progress, took, write_plot
from mercer.cli.framework.shared import BOX_LABEL, BOXES, MODEL_OUT, PHOTOS
from mercer.cli.models.learning import save_model

EXAMPLES = """
Train on boxes from csv, with the columns file, xmin, ymin, xmax, ymax:
  mercer detect train --images photos --boxes boxes.csv --parts 6 --components 2 --pq 256 --out person.mercer

Train on PASCAL VOC or COCO annotations; plot the learned model:
  mercer detect train --images JPEGImages --boxes Annotations --label dog --out dog.mercer --plot dog.png
  mercer detect train --images photos --boxes instances.json --label dog --out dog.mercer

Save checkpoints; after an interruption, run the same command again to resume:
  mercer detect train --images photos --boxes boxes.csv --checkpoint state.npz --out person.mercer
"""


_COMPONENTS, _PARTS, _WORDS, *_TRAINING = DETECTOR
TRAIN = Group((
    PHOTOS, BOXES, MODEL_OUT, _COMPONENTS, _PARTS, _WORDS, BOX_LABEL,
    flag("unpaired", "Train views without mirror images."),
    *_TRAINING,
    pathname("plot", None, "Plot the learned filters.", "PNG"),
))  # fmt: skip


@options(examples=EXAMPLES, given=TRAIN, settings=COMMON)
def train(given, settings: Settings) -> None:
    """Train a detector on a folder of images and the boxes of the objects in them.

    Images without boxes count as images without objects; at least one is required.
    """
    out, plot = given.out, given.plot
    for file in (out, given.checkpoint):
        check_output(file, given.boxes)
    check_plot(plot, given.boxes)
    model = _model(given, settings.seed)
    paths, found = annotated(given.images, given.boxes, given.label)
    with progress(settings) as watch:
        model.fit(paths, found)
    save_model(model, out)
    write_plot(plot, model.plot_model)
    document = _document(model, found, watch.seconds, out)
    if not answer_json(settings, document) and not settings.quiet:
        _print(settings, document)
    note_plot(settings, plot)


def _model(given: Values, seed: int):
    """The detector, not fitted."""
    from mercer.detection import PartDetector

    n = given.n_components
    if n > 1 and n % 2 and not given.unpaired:
        raise ArgumentError(
            "--components must be even (views come in mirrored pairs) or 1 (a view that is its own mirror image); "
            f"got {n}. Use --unpaired for views without mirror images."
        )
    said = {each.name: given[each.name] for each in DETECTOR}
    said |= {name: None if said[name] is None else str(said[name]) for name in ("cache", "checkpoint")}
    model = PartDetector(
        **said | {"codewords": given.codewords or None},
        mirrored=not given.unpaired,
        storage="dense" if given.codewords else "bytes",
        n_root_rounds=2 if given.n_parts else given.n_part_rounds,
        random_state=seed,
    )
    with as_argument():
        model.check_parameters()
    return model


def _document(model, boxes, seconds: float, out: Path) -> dict[str, Any]:
    solved = [one["objective"] for one in model.history_ if one["step"] == "solve"]
    placed = [one["objects"] for one in model.history_ if "objects" in one]
    # a single view is learned from each object and from its mirror image
    n_views = 2 if model.mirrored and model.n_components == 1 else 1
    return {
        "images": len(boxes),
        "images_without_objects": sum(not len(own) for own in boxes),
        "objects": sum(map(len, boxes)),
        "objects_placed": placed[-1] // n_views,
        "components": model.n_components,
        "parts": model.n_parts,
        "codewords": model.codewords,
        "roots": [list(root.shape[:2]) for root in model.roots_],
        "objective": solved[-1],
        "seconds": seconds,
        "bytes": out.stat().st_size,
        "out": str(out),
    }


def _print(settings: Settings, document: dict[str, Any]) -> None:
    cells = f"{document['codewords']} words" if document["codewords"] else "bytes"
    parts = f"{_several(document['parts'], 'part')} each" if document["parts"] else "a root only"
    roots = ", ".join(f"{rows} x {columns}" for rows, columns in document["roots"])
    rows = [
        ["images", f"{document['images']}, {document['images_without_objects']} of them without objects"],
        ["objects", f"{document['objects']}, {document['objects_placed']} of them large enough to learn from"],
        ["model", f"{_several(document['components'], 'component')} with {parts}, cells as {cells}"],
        ["roots", f"{roots} cells"],
        ["time", took(document["seconds"])],
        ["written to", f"{document['out']}, {document['bytes'] / 2**20:.2g} MiB"],
    ]
    print_table(settings, "Detector", ["", ""], rows, text_columns=2)


def _several(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n != 1)}"
