"""``mercer detect run``: what a detector finds in images, as lines, JSON and pictures."""

__all__ = ["EXAMPLES", "run"]

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from mercer._base.errors import require_extra
from mercer._base.progress import track
from mercer._base.tables import ArgumentError
from mercer.cli.detect_files import load_detector
from mercer.cli.images_files import paths_of, took
from mercer.cli.options import Settings, common_options, option_groups
from mercer.cli.output import note, print_json, progress
from mercer.cli.predict import _lines

EXAMPLES = """
[bold]Examples[/bold]

A line for each object: file, xmin, ymin, xmax, ymax, score:
  mercer detect run person.mercer new/*.jpg > found.csv

Pictures with boxes, in a folder; more objects, with more mistakes:
  mercer detect run person.mercer new --out overlays --threshold -0.5

Boxes of the parts too:
  mercer detect run person.mercer new/1.jpg --json
"""


@option_groups(settings=common_options)
def run(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A file written by mercer detect train.")],
    files: Annotated[list[str], typer.Argument(metavar="FILES...", help="Images, and folders of them.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FOLDER", help="Where pictures with boxes go.")
    ] = None,
    threshold: Annotated[
        float, typer.Option("--threshold", metavar="SCORE", help="Objects score more than this.")
    ] = 0.0,
    *,
    settings: Settings,
) -> None:
    """Find objects in images, and write their boxes as lines of csv, or with --json with the boxes of their parts."""
    from mercer.detection._sources import read

    if out is not None:
        require_extra("matplotlib", "plot", "--out")
        if out.exists() and not out.is_dir():
            raise ArgumentError(f"--out is a folder, but {out} is a file.")
        out.mkdir(parents=True, exist_ok=True)
    detector = load_detector(model)
    paths = paths_of(files)
    started, answers, n_found = time.perf_counter(), [], 0
    lines = [["file", "xmin", "ymin", "xmax", "ymax", "score"]]
    with progress(settings):
        for number, path in enumerate(track(paths, "Detecting")):
            image = read(path, number)
            found = detector.detect(image, threshold)
            n_found += len(found)
            lines += [
                [str(path), *(f"{value:.1f}" for value in box), f"{score:.4f}"]
                for box, score in zip(found.boxes, found.scores, strict=True)
            ]
            answer = _answer(path, found)
            if out is not None:
                answer["overlay"] = str(_draw(found, image, out, path, number))
            answers.append(answer)
    seconds = time.perf_counter() - started
    if settings.json:
        print_json({"model": model, "threshold": threshold, "seconds": seconds, "images": answers})
    else:
        print(_lines(lines, "csv").decode(), end="")
    where = "" if out is None else f", pictures in {out}"
    note(settings, f"{n_found} objects in {len(paths)} images in {took(seconds)}{where}")


def _answer(path: Path, found) -> dict[str, Any]:
    objects = [
        {"box": box, "score": score, "component": component, "parts": parts}
        for box, score, component, parts in zip(
            found.boxes.round(2), found.scores, found.components, found.parts.round(2), strict=True
        )
    ]
    return {"file": str(path), "objects": objects}


def _draw(found, image, folder: Path, path: Path, number: int) -> Path:
    """A picture of the same name; its number in front if another image has that name."""
    target = folder / f"{path.stem}.png"
    if target.exists() and number:
        target = folder / f"{number:04}-{path.stem}.png"
    found.plot(image).figure.savefig(target, dpi=100)
    return target
