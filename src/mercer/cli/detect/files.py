"""What the verbs of ``mercer detect`` share: folders of images with boxes, and detectors in files."""

__all__ = ["annotated", "load_detector"]

from pathlib import Path

from mercer._base.tables import ArgumentError
from mercer.cli.models.learning import load_fitted


def annotated(images: Path, boxes: Path, label: str | None):
    """(paths, boxes of each) of a folder of images; boxes of images that are not there are refused."""
    from mercer.detection import boxes_of, read_boxes
    from mercer.vision import images_below

    if not images.is_dir():
        raise ArgumentError(f"There is no folder {images}.")
    if not boxes.exists():
        raise ArgumentError(f"There is no file {boxes}.")
    paths = images_below(images)
    if not paths:
        raise ArgumentError(f"There are no images in the folder {images}.")
    table = read_boxes(boxes, label)
    return paths, boxes_of([path.relative_to(images) for path in paths], table, str(boxes))


def load_detector(path: str):
    """A detector that ``mercer detect train`` wrote."""
    from mercer.detection import PartDetector

    otherwise = "which is not a detector. Train one with mercer detect train."
    return load_fitted(path, PartDetector, "roots_", otherwise)
