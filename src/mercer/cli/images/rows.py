"""``mercer images rows``: images as rows of numbers, for ``mercer fit``, ``mercer wire fit`` or ``mercer index``."""

__all__ = ["EXAMPLES", "rows"]

from mercer._base.parameters import REQUIRED, choice, pathname, text, texts
from mercer._base.tables import ArgumentError, writable_format, write_rows
from mercer.cli.framework.checks import as_argument, check_output
from mercer.cli.framework.options import COMMON, Settings, options
from mercer.cli.framework.output import note, print_json, progress, took, written_to
from mercer.cli.framework.parameters import parameters_of
from mercer.cli.framework.shared import IMAGES
from mercer.cli.images.files import pair_of, paths_of

EXAMPLES = """
Compute gradients of images scaled to 128 x 128 pixels, in 16 x 16 cells of 36 numbers:
  mercer images rows photos --as hog --size 128x128 -p cell_size=8 -p variant=dalal-triggs --out X.npy

Compute color histograms, and census transforms in 2 x 2 parts:
  mercer images rows photos/*.jpg --as color -p bins=8 -p space=hsv --out X.csv
  mercer images rows photos --as centrist --grid 2x2 --out X.npy
"""
_USUAL_SIZE = "128x128"  # of hog, whose images must be alike


@options((
    IMAGES,
    pathname("out", REQUIRED, "File for the rows: npy, npz, csv or tsv.", "FILE", "-o"),
    choice("kind", "hog centrist color", "hog", "Descriptor: gradients in cells (hog), census transforms (centrist) "
        "or color histograms (color).", flags="--as"),
    text("size", None, "Height and width to scale images to.", "HxW",
        shown="original size; 128x128 for hog"),
    text("grid", None, "Grid of parts of each image, for centrist and color.", "RxC", shown="1x1"),
    texts("param", None, "Parameter of HOG, CENTRIST or ColorHistogram.", "NAME=VALUE", "-p"),
), examples=EXAMPLES, settings=COMMON)  # fmt: skip
def rows(files, out, kind, size, grid, param, settings: Settings) -> None:
    """Write one row of numbers per image, in the order of the files; images of a folder are sorted by name.

    An image that cannot be read stops the command, so that no row is missing.
    """
    check_output(out, *files)
    format = writable_format(str(out), None)
    transformer = _transformer(kind, grid, param or [])
    shape = pair_of("--size", size or _USUAL_SIZE) if size or kind == "hog" else None
    paths = paths_of(files)
    with progress(settings) as watch:
        X = _features(transformer, paths, shape)
        write_rows(out, [X], X.shape, X.dtype, format=format)
    if settings.json:
        document = {"out": str(out), "images": list(map(str, paths)), "shape": X.shape, "seconds": watch.seconds}
        print_json(document)
    note(settings, f"{len(X)} rows of {X.shape[1]:,} numbers in {took(watch.seconds)}{written_to(out)}")


def _transformer(kind: str, grid: str | None, param: list[str]):
    from mercer.vision import CENTRIST, HOG, ColorHistogram

    made = {"hog": HOG, "centrist": CENTRIST, "color": ColorHistogram}[kind]()
    given = parameters_of(made, param, "--param cell_size=8", {"image_shape", "n_jobs", "grid"})
    if grid is not None:
        if kind == "hog":
            raise ArgumentError(
                "--grid works with centrist and color only. For hog, set the cell size with -p cell_size=8."
            )
        given["grid"] = pair_of("--grid", grid)
    with as_argument():
        made.set_params(**given).fit(_blank())
    return made


def _blank():
    """An image that lets a transformer check its parameters."""
    import numpy as np

    return np.zeros((1, 256, 256, 3), dtype=np.uint8)


def _features(transformer, paths, shape):
    import numpy as np

    from mercer.vision import read_image

    if shape is None:
        return transformer.fit(paths).transform(paths)
    images = np.stack([read_image(path, size=shape) for path in paths])
    return transformer.fit(images).transform(images)
