"""``mercer detect run``: what a detector finds in images, as lines, JSON and pictures."""

__all__ = ["EXAMPLES", "run"]

from pathlib import Path
from typing import Any

from mercer._base.errors import InputError, require_extra
from mercer._base.parameters import number, pathname
from mercer._base.progress import track
from mercer._base.tables import ArgumentError
from mercer.cli.detect.files import load_detector
from mercer.cli.framework.options import COMMON, Settings, options
from mercer.cli.framework.output import lines_of, note, note_skipped, print_json, progress, took
from mercer.cli.framework.shared import DETECTOR, IMAGES, STRICT
from mercer.cli.images.files import paths_of

EXAMPLES = """
Print one line per object: file, xmin, ymin, xmax, ymax, score:
  mercer detect run person.mercer new/*.jpg > found.csv

Draw the boxes into pictures; a lower threshold finds more objects and makes more mistakes:
  mercer detect run person.mercer new --out overlays --threshold -0.02

Print the boxes of the parts too:
  mercer detect run person.mercer new/1.jpg --json
"""


@options((
    DETECTOR, IMAGES,
    pathname("out", None, "Folder for pictures with boxes.", "FOLDER", "-o"),
    number("threshold", None, "Minimum score of an object; a lower threshold finds more objects and makes more "
        "mistakes.", "SCORE", shown="that of the detector"),
    STRICT,
), examples=EXAMPLES, settings=COMMON)  # fmt: skip
def run(model, files, out, threshold, strict, settings: Settings) -> None:
    """Find objects in images, and write their boxes as csv, or with --json with the boxes of their parts.

    Images that cannot be read, or that are smaller than the objects of the detector, are skipped and listed.
    """
    from mercer.vision import read_image

    if out is not None:
        require_extra("matplotlib", "plot", "--out")
        if out.exists() and not out.is_dir():
            raise ArgumentError(f"--out must be a folder, but {out} is a file.")
    detector = load_detector(model)
    used = detector.threshold_ if threshold is None else threshold
    paths = paths_of(files)
    targets = [None] * len(paths) if out is None else _pictures(out, paths)
    answers, n_found = [], 0
    lines = [["file", "xmin", "ymin", "xmax", "ymax", "score"]]
    skipped: dict[int, str] = {}
    with progress(settings) as watch:
        for i, (path, target) in enumerate(track(list(zip(paths, targets, strict=True)), "Detecting")):
            try:
                found = detector.detect(path, threshold)
            except InputError as error:
                skipped[i] = str(error) if str(path) in str(error) else f"{path}: {error}"
                if strict or len(paths) == 1:
                    raise InputError(skipped[i]) from error
                continue
            n_found += len(found)
            lines += [
                [str(path), *(f"{value:.1f}" for value in box), f"{score:.4f}"]
                for box, score in zip(found.boxes, found.scores, strict=True)
            ]
            answer = _answer(path, found)
            if target is not None:
                found.plot(read_image(path)).figure.savefig(target, dpi=100)
                answer["overlay"] = str(target)
            answers.append(answer)
    if not answers:
        raise InputError(f"None of the {len(paths)} images can be used. {skipped[0]}")
    if settings.json:
        about = {"model": model, "threshold": used, "seconds": watch.seconds}
        print_json(about | {"images": answers, "skipped": list(skipped.values())})
    else:
        print(lines_of(lines).decode(), end="")
    note_skipped(settings, list(skipped.values()), "image")
    _note_found(settings, n_found, len(answers), watch.seconds, out)


def _answer(path: Path, found) -> dict[str, Any]:
    objects = [
        {"box": box, "score": score, "component": component, "parts": parts}
        for box, score, component, parts in zip(
            found.boxes.round(2), found.scores, found.components, found.parts.round(2), strict=True
        )
    ]
    return {"file": str(path), "objects": objects}


def _pictures(folder: Path, paths: list[Path]) -> list[Path]:
    """Where the picture of each image goes: its name, with its number in front if an earlier one has that name."""
    found: dict[Path, Path] = {}
    for i, path in enumerate(paths):
        target = folder / f"{path.stem}.png"
        target = folder / f"{i:04}-{path.stem}.png" if target in found else target
        found[target] = path
    for target in found:
        if target.exists() and any(target.samefile(path) for path in paths if path.exists()):
            raise ArgumentError(
                f"{target} would be overwritten by a picture with boxes. Name another folder with --out."
            )
    folder.mkdir(parents=True, exist_ok=True)
    return list(found)


def _note_found(settings: Settings, n_found: int, n_images: int, seconds: float, out: Path | None) -> None:
    counts = f"{n_found} object{'s' * (n_found != 1)} in {n_images} image{'s' * (n_images != 1)}"
    where = "" if out is None else f", pictures in {out}"
    hint = (
        "" if n_found else ". A lower --threshold finds more objects; use mercer detect evaluate to find the best one"
    )
    note(settings, f"{counts} in {took(seconds)}{where}{hint}")
