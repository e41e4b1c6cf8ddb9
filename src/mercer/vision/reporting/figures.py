"""The pictures of the report of a training, as data URIs: nothing has to be fetched to see them."""

__all__ = ["accuracy_against_C", "confusion_figure", "explanation_figure", "thumbnail"]

import io
from typing import Any

from mercer._base.errors import InputError, require_extra
from mercer._base.evaluation.plots import draw_confusion
from mercer._base.html.pieces import uri
from mercer.vision.reading.images import read_image, resize

_BLUE, _ORANGE = "#0072B2", "#D55E00"  # of Okabe and Ito, told apart by color-blind readers
_THUMBNAIL = 132  # pixels of the longer side
_JPEG_QUALITY = 82


def thumbnail(path) -> str | None:
    """A small copy of an image, or None if the file cannot be read anymore."""
    Image = require_extra("PIL.Image", extra="vision", purpose="Thumbnails of images")
    try:
        pixels = read_image(path)
    except InputError:
        return None
    height, width = pixels.shape[:2]
    scale = _THUMBNAIL / max(height, width)
    if scale < 1:
        pixels = resize(pixels, (max(1, round(scale * height)), max(1, round(scale * width))))
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format="JPEG", quality=_JPEG_QUALITY)
    return uri(buffer.getvalue(), "jpeg")


def confusion_figure(confusion, names: list[str]) -> str:
    """Counts of true against predicted classes."""
    buffer = io.BytesIO()
    draw_confusion(confusion, names, "", buffer)
    return uri(buffer.getvalue(), "png")


def accuracy_against_C(Cs, scores, chosen: float) -> str:
    """Mean accuracy of the folds, with the range of the folds, against the values of C that were tried."""
    figure, axis = _figure(7.2, 2.9)
    mean = scores.mean(axis=0)
    axis.fill_between(Cs, scores.min(axis=0), scores.max(axis=0), color=_BLUE, alpha=0.15, linewidth=0)
    axis.plot(Cs, mean, color=_BLUE, marker="o", markersize=5)
    axis.axvline(chosen, color=_ORANGE, linewidth=1.2, linestyle="--")
    axis.annotate(
        f"chosen: {chosen:.3g}", (chosen, axis.get_ylim()[0]), xytext=(5, 6), textcoords="offset points",
        color=_ORANGE, fontsize=9,
    )  # fmt: skip
    axis.set_xscale("log")
    axis.set_xlabel("C")
    axis.set_ylabel("accuracy")
    axis.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    axis.grid(axis="y", color="0.92")
    axis.spines[["top", "right"]].set_visible(False)
    return _saved(figure)


def explanation_figure(explanation) -> str:
    """The picture of an explanation."""
    return _saved(explanation.plot(), dpi=100)


def _figure(width: float, height: float) -> tuple[Any, Any]:
    require_extra("matplotlib", extra="plot", purpose="The figures of a report")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=140, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots()


def _saved(figure, **options) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", **options)
    return uri(buffer.getvalue(), "png")
