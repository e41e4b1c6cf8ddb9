"""``mercer detect train``: a detector from images and boxes."""

__all__ = ["EXAMPLES", "train"]

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from mercer._base.errors import InputError, require_extra
from mercer._base.tables import ArgumentError, open_for_writing
from mercer.cli.detect.files import BoxesOption, ImagesOption, LabelOption, annotated
from mercer.cli.framework.options import Settings, common_options, option_groups
from mercer.cli.framework.output import note, print_json, print_table, progress
from mercer.cli.images.files import check_output, took

EXAMPLES = """
[bold]Examples[/bold]

Boxes as csv, with the columns file, xmin, ymin, xmax, ymax:
  mercer detect train --images photos --boxes boxes.csv --parts 6 --components 2 --pq 256 --out person.mercer

Annotations of PASCAL VOC or COCO; a picture of what was learnt:
  mercer detect train --images JPEGImages --boxes Annotations --label dog --out dog.mercer --plot dog.png
  mercer detect train --images photos --boxes instances.json --label dog --out dog.mercer

A training that can be interrupted and goes on when it is said again:
  mercer detect train --images photos --boxes boxes.csv --checkpoint state.npz --out person.mercer
"""
_TRAINING = "Training"


@option_groups(settings=common_options)
def train(
    images: Annotated[Path, ImagesOption],
    boxes: Annotated[Path, BoxesOption],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The model file to write.")],
    components: Annotated[
        int, typer.Option("--components", metavar="N", min=1, help="Views of the object, in mirrored pairs.")
    ] = 2,
    parts: Annotated[int, typer.Option("--parts", metavar="N", min=0, help="Parts of each view.")] = 6,
    pq: Annotated[
        int, typer.Option("--pq", metavar="WORDS", min=0, help="Words for cells of gradients; 0 keeps them as bytes.")
    ] = 256,
    label: Annotated[str | None, LabelOption] = None,
    unpaired: Annotated[bool, typer.Option("--unpaired", help="Views that do not mirror each other.")] = False,
    C: Annotated[float, typer.Option("--C", metavar="NUMBER", help="Weight of the losses.")] = 0.008,
    rounds: Annotated[
        int,
        typer.Option("--rounds", metavar="N", min=1, help="Times that objects are placed.", rich_help_panel=_TRAINING),
    ] = 4,
    interval: Annotated[
        int, typer.Option("--interval", metavar="N", min=1, help="Sizes per octave.", rich_help_panel=_TRAINING)
    ] = 6,
    margin: Annotated[
        int,
        typer.Option(
            "--margin", metavar="N", min=0, help="Cells around objects that count.", rich_help_panel=_TRAINING
        ),
    ] = 2,
    kernel: Annotated[
        str,
        typer.Option("--kernel", metavar="NAME", help="Of words: rbf or linear.", rich_help_panel=_TRAINING),
    ] = "rbf",
    cache_size: Annotated[
        int,
        typer.Option("--cache-size", metavar="N", min=1, help="Hard negatives kept.", rich_help_panel=_TRAINING),
    ] = 20_000,
    cache: Annotated[
        Path | None,
        typer.Option(
            "--cache", metavar="FOLDER", help="Keep cells in a file, not in memory.", rich_help_panel=_TRAINING
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint", metavar="FILE", help="Keep the state, and go on from it.", rich_help_panel=_TRAINING
        ),
    ] = None,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="PNG", help="Draw what was learnt.")] = None,
    *,
    settings: Settings,
) -> None:
    """Learn to find objects from a folder of images and the boxes of the objects in them, and write a detector.

    Images of the folder without boxes are taken to show no object; there must be some.
    """
    from mercer import save
    from mercer.detection import PartDetector

    for path in (out, plot, checkpoint):
        if path is not None:
            check_output(path, str(boxes))
    if components > 1 and components % 2 and not unpaired:
        raise ArgumentError(
            f"--components is even, for views come in mirrored pairs, or 1 for one that is its own mirror image, not "
            f"{components}. Say --unpaired for views without mirror images."
        )
    if plot is not None:
        require_extra("matplotlib", "plot", "--plot")
    model = PartDetector(
        components,
        parts,
        pq or None,
        kernel=kernel,
        mirrored=not unpaired,
        storage="bytes" if pq == 0 else "dense",
        margin=margin,
        interval=interval,
        C=C,
        cache_size=cache_size,
        part_rounds=rounds,
        root_rounds=rounds if parts == 0 else 2,
        cache=None if cache is None else str(cache),
        checkpoint=None if checkpoint is None else str(checkpoint),
        random_state=settings.seed,
    )
    try:
        model._check_parameters()
    except InputError as error:
        raise ArgumentError(str(error)) from error
    paths, found = annotated(images, boxes, label)
    started = time.perf_counter()
    with progress(settings):
        model.fit(paths, found)
    seconds = time.perf_counter() - started
    save(model, out)
    if plot is not None:
        with open_for_writing(plot) as stream:
            model.plot_model().savefig(stream, format="png")
    document = _document(model, found, seconds, out)
    if settings.json:
        print_json(document)
    elif not settings.quiet:
        _print(settings, document)
    if plot is not None:
        note(settings, f"Plot: {plot}")


def _document(model, boxes, seconds: float, out: Path) -> dict[str, Any]:
    solved = [one["objective"] for one in model.history_ if one["step"] == "solve"]
    placed = [one["objects"] for one in model.history_ if "objects" in one]
    # a single view is learnt from each object and from its mirror image
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
