"""``mercer images train``: a classifier from a folder of images, with a report of how good it is."""

__all__ = ["EXAMPLES", "train"]

import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from mercer._base.errors import InputError, MissingExtraError, require_extra
from mercer._base.tables import ArgumentError
from mercer.cli.framework.options import Settings, common_options, option_groups
from mercer.cli.framework.output import note, print_json, print_table, progress
from mercer.cli.framework.parameters import parameters_of
from mercer.cli.images.files import (
    StrictOption,
    folder_of_classes,
    note_skipped,
    said_command,
    scores_by_class,
    took,
)
from mercer.cli.models.learner_building import number_or_auto
from mercer.cli.models.learning import check_folder

EXAMPLES = """
[bold]Examples[/bold]

A folder with one folder of images per class; the model, and a report beside it (scenes.html):
  mercer images train scenes --out scenes.mercer

Fewer columns by merging words that rise and fall together, and a pyramid of cells:
  mercer images train scenes --reduce 600 --out small.mercer
  mercer images train scenes --pyramid 1x1,2x2 --kernel intersection --out scenes.mercer

Fisher vectors; rows kept for the next time:
  mercer images train scenes --encoder fisher --words 64 --cache rows --out scenes.mercer
  mercer images train scenes --encoder fisher --words 256 --reduce 64 --kernel chi2 --out scenes.mercer

Other patches, several words for each, words found quickly; which parameters there are, an unknown one tells:
  mercer images train scenes --descriptor centrist -p soft=5 -p assignment=hnsw --out scenes.mercer
"""
_WORDS = {"bow": 1000, "fisher": 64}
_SECTION = "Words"


@dataclass
class Training:
    """What a training came to, for the printed table and the report."""

    folder: str
    command: str
    paths: list[Path]
    labels: Any
    model: Any
    encoding: Any
    predicted: Any  # of the kept images, by classifiers that were learnt without them
    scores: Any
    figures: dict[str, Any]
    seconds: dict[str, float] = field(default_factory=dict)
    peak_bytes: int = 0
    model_bytes: int = 0


@option_groups(settings=common_options)
def train(
    ctx: typer.Context,
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="A folder with one folder of images per class.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The model file to write.")],
    encoder: Annotated[
        Literal["bow", "fisher"],
        typer.Option("--encoder", metavar="NAME", help="bow, histograms of words, or fisher, Fisher vectors."),
    ] = "bow",
    kernel: Annotated[
        str | None,
        typer.Option(
            "--kernel",
            "-k",
            metavar="NAME",
            help="Kernel, by the names of mercer kernel.",
            show_default="chi2; linear for fisher",
        ),
    ] = None,
    reduce: Annotated[
        int | None,
        typer.Option(
            "--reduce", metavar="N", min=1, help="Merge words of bow to N columns, or select N words of fisher."
        ),
    ] = None,
    reduce_by: Annotated[
        Literal["merge", "supervised", "convex", "energy", "random"] | None,
        typer.Option(
            "--reduce-by",
            metavar="METHOD",
            help="How: merge, supervised (merge by classes), convex, energy or random.",
            show_default="merge; convex for fisher",
        ),
    ] = None,
    C: Annotated[
        str, typer.Option("--C", metavar="NUMBER|auto", help="Weight of the losses; auto cross-validates.")
    ] = "auto",
    folds: Annotated[int, typer.Option("--folds", metavar="N", min=2, help="Parts of the cross-validation.")] = 5,
    multi_class: Annotated[
        Literal["auto", "ovr", "ovo"],
        typer.Option(
            "--multi-class",
            metavar="WAY",
            help="ovr sets each class against the rest, ovo against each other one; auto takes ovo for few classes.",
        ),
    ] = "auto",
    probability: Annotated[
        bool, typer.Option("--probability", help="Calibrate, so that predict --proba works.")
    ] = False,
    words: Annotated[
        int | None,
        typer.Option(
            "--words",
            metavar="N",
            min=1,
            help="Number of words.",
            show_default="1000; 64 for fisher",
            rich_help_panel=_SECTION,
        ),
    ] = None,
    descriptor: Annotated[
        Literal["sift", "centrist"],
        typer.Option(
            "--descriptor",
            metavar="NAME",
            help="What a patch is described by: sift, centrist.",
            rich_help_panel=_SECTION,
        ),
    ] = "sift",
    step: Annotated[
        int, typer.Option("--step", metavar="N", min=1, help="Pixels between patches.", rich_help_panel=_SECTION)
    ] = 4,
    sizes: Annotated[
        str | None,
        typer.Option(
            "--sizes",
            metavar="N,...",
            help="Sizes of patches: of sift a quarter of a side in pixels, of centrist the side.",
            show_default="4,8; 16,32 for centrist",
            rich_help_panel=_SECTION,
        ),
    ] = None,
    max_side: Annotated[
        int,
        typer.Option(
            "--max-side",
            metavar="N",
            min=1,
            help="Images with a longer side, in pixels, are made smaller first.",
            rich_help_panel=_SECTION,
        ),
    ] = 640,
    pyramid: Annotated[
        str,
        typer.Option(
            "--pyramid",
            metavar="RxC,...",
            help="Grids of cells, each cell with a histogram of its own.",
            rich_help_panel=_SECTION,
        ),
    ] = "1x1",
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param",
            "-p",
            metavar="NAME=VALUE",
            help="Another parameter of BagOfWords or FisherVectors: assignment=hnsw, soft=5, terms=mean, power=1 ...",
            rich_help_panel=_SECTION,
        ),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            "--cache", metavar="FOLDER", help="Keep the rows of images here for later.", rich_help_panel=_SECTION
        ),
    ] = None,
    strict: Annotated[bool, StrictOption] = False,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="HTML", help="The report.", show_default="beside the model"),
    ] = None,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no report.")] = False,
    *,
    settings: Settings,
) -> None:
    """Learn to classify images from a folder with one folder per class, and write the model to a file.

    Patches of the images become visual words, and images histograms of these, or Fisher vectors. How good the model is
    on images it has not seen is estimated by cross-validation, and a report, one page in HTML, shows it with figures.
    Images that cannot be read are skipped and named.
    """
    check_folder(out)
    page = _page(out, report, no_report)
    described = _descriptor(descriptor, step, sizes, max_side)
    model = _model(
        _encoder(encoder, described, words, pyramid, param or []), kernel, reduce, reduce_by, C, folds, probability
    )
    model.set_params(
        multi_class=multi_class,
        strict=strict,
        cache=None if cache is None else str(cache),
        random_state=settings.seed,
    )
    paths, labels = folder_of_classes(folder)
    with progress(settings):
        found = _trained(model, folder, paths, labels, said_command(ctx))
    from mercer import save

    save(model, out)
    found.model_bytes = out.stat().st_size
    document = _document(found, out)
    if page is not None:
        from mercer.cli.images.report import write_report

        with progress(settings):
            write_report(found, page)
        document["report"] = str(page)
    if settings.json:
        print_json(document)
        return
    if not settings.quiet:  # the file is the result
        _print(settings, document)
    note_skipped(settings, model.skipped_)


def _page(out: Path, report: Path | None, no_report: bool) -> Path | None:
    """Where the report goes; nowhere if it is not wanted, or cannot be drawn and was not asked for."""
    if no_report and report is not None:
        raise ArgumentError("--report and --no-report exclude each other. Leave one of them out.")
    if no_report:
        return None
    page = out.with_suffix(".html") if report is None else report
    if page == out:
        raise ArgumentError(f"--out and the report would both be written to {out}. Say --report, or --no-report.")
    check_folder(page)
    try:
        require_extra("matplotlib", "plot", "The report of a training")
    except MissingExtraError:
        if report is not None:
            raise
        return None
    return page


# ------------------------------------------------------------------------------------------------------- the estimator


def _descriptor(name: str, step: int, sizes: str | None, max_side: int):
    from mercer.vision import DenseSIFT, Downscaled, LocalCENTRIST

    make, usual = (DenseSIFT, "4,8") if name == "sift" else (LocalCENTRIST, "16,32")
    found = Downscaled(make(step, _numbers(sizes or usual)), max_side)
    with _as_argument():
        found.descriptor.describe(_BLANK)
    return found


def _encoder(name: str, descriptor, words: int | None, pyramid: str, param: list[str]):
    """The encoder, not fitted; parameters that have an option of their own are not among the others."""
    from mercer.vision import BagOfWords, FisherVectors

    made = (BagOfWords if name == "bow" else FisherVectors)(descriptor, words or _WORDS[name], pyramid=_grids(pyramid))
    given = parameters_of(made, param, "--param soft=5", _HAVE_OPTIONS)
    with _as_argument():
        made.set_params(**given)._check_parameters()
    return made


def _model(encoder, kernel, reduce, reduce_by, C, folds, probability):
    """The estimator, not fitted, after the checks that need no images."""
    from mercer.kernels import get_kernel
    from mercer.vision import BagOfWords, ImageClassifier

    is_bag = isinstance(encoder, BagOfWords)
    if reduce_by is not None and reduce is None:
        raise ArgumentError(f"--reduce-by {reduce_by} needs the number of columns or words to be left, --reduce N.")
    with _as_argument():
        additive = get_kernel(kernel or "chi2").additive
        if reduce is not None and is_bag and not additive:
            raise InputError(f"--reduce needs a kernel that is a sum over columns, such as chi2, not {kernel}.")
        most = encoder.n_words * (sum(rows * columns for rows, columns in encoder.pyramid) if is_bag else 1)
        if reduce is not None and reduce > most:
            raise InputError(
                f"--reduce {reduce} is more than the {most:,} there are. Leave it out, or use more --words."
            )
        options = {"reduce": reduce, "reduce_method": reduce_by, "cv": folds, "probability": probability}
        model = ImageClassifier(encoder, kernel, C=number_or_auto(C), **options)
        model._check_parameters()
    return model


@contextmanager
def _as_argument() -> Iterator[None]:
    """What the estimators refuse was said on the command line."""
    try:
        yield
    except InputError as error:
        raise ArgumentError(str(error)) from error


_HAVE_OPTIONS = {
    "descriptor",
    "n_words",
    "pyramid",
    "strict",
    "cache",
    "random_state",
    "n_jobs",
    "words",
    "level_weights",
}
_BLANK = [[0.0]]  # an image that lets a descriptor check its parameters


def _numbers(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not all(part.isascii() and part.isdigit() and 0 < int(part) < 2**31 for part in parts):
        raise ArgumentError(f"--sizes is a list of whole numbers, as in 4,8, not {text}.")
    return tuple(map(int, parts))


def _grids(text: str) -> tuple[tuple[int, int], ...]:
    found = [re.fullmatch(r"(\d{1,3})x(\d{1,3})", part) for part in text.split(",")]
    if not all(found):
        raise ArgumentError(f"--pyramid is a list of ROWSxCOLUMNS, as in 1x1,2x2, not {text}.")
    return tuple((int(one[1]), int(one[2])) for one in found if one)


# ------------------------------------------------------------------------------------------------------------ training


def _trained(model, folder: str, paths, labels, command: str) -> Training:
    """Fit the model in its two steps, and classify every image by models that were learnt without it."""
    import numpy as np

    started = time.perf_counter()
    encoding, y = model._fit_encoder(paths, labels)
    encoded = time.perf_counter()
    model._fit_classifier(encoding.features, y)
    learnt = time.perf_counter()
    smallest = int(np.unique(y, return_counts=True)[1].min())
    predicted = scores = None
    figures: dict[str, Any] = {}
    if smallest > 1:
        predicted, scores = _cross_validated(model, encoding.features, y, min(model.cv, smallest))
        from mercer.cli.models.evaluate import class_figures

        figures = class_figures(y, predicted, scores, model.classes_)
    seconds = {
        "words and rows": encoded - started,
        "learning": learnt - encoded,
        "cross-validation": time.perf_counter() - learnt,
    }
    return Training(
        folder, command, paths, labels, model, encoding, predicted, scores, figures, seconds, _peak_memory()
    )


def _cross_validated(model, rows, y, folds: int):
    """(classes, scores of all classes) of each row, by classifiers with the chosen C that were learnt without it."""
    from sklearn.model_selection import cross_val_predict

    from mercer.learners import KernelClassifier

    C = getattr(model.classifier_, "C_", None) or model.classifier_.C
    learner = KernelClassifier(model.classifier_.kernel, C=C, random_state=model.classifier_.random_state)
    scores = cross_val_predict(learner, rows, y, cv=folds, method="decision_function")
    by_class = scores_by_class(scores)
    return model.classes_[by_class.argmax(axis=1)], by_class


def _peak_memory() -> int:
    """The most memory that the process has taken so far, in bytes; 0 where the system does not say."""
    try:
        import resource
    except ImportError:  # Windows has no such module
        return 0
    # counted in bytes on macOS, in KiB elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


# ------------------------------------------------------------------------------------------------------------ printing


def _document(found: Training, out: Path) -> dict[str, Any]:
    model = found.model
    learner = model.classifier_
    return {
        "folder": found.folder,
        "images": len(found.paths),
        "classes": model.classes_,
        "skipped": list(model.skipped_.values()),
        "encoder": type(model.encoder_).__name__,
        "words": model.encoder_.n_words,
        "columns": learner.n_features_in_,
        "kernel": learner.plan_.kernel,
        "map": learner.plan_.map,
        "C": getattr(learner, "C_", None) or learner.C,
        "cross_validation": found.figures or None,
        "seconds": found.seconds | {"total": sum(found.seconds.values())},
        "peak_bytes": found.peak_bytes,
        "bytes": found.model_bytes,
        "out": str(out),
    }


def _print(settings: Settings, document: dict[str, Any]) -> None:
    n_read = document["images"] - len(document["skipped"])
    rows = [
        ["images", f"{n_read:,} of {len(document['classes'])} classes"],
        ["encoder", f"{document['encoder']}, {document['words']:,} words, {document['columns']:,} columns"],
        ["kernel", f"{document['kernel']}, by {document['map']}"],
        ["C", f"{document['C']:.4g}"],
    ]
    if document["cross_validation"]:
        rows += [
            ["accuracy, by cross-validation", f"{document['cross_validation']['accuracy']:.4f}"],
            ["mAP, by cross-validation", f"{document['cross_validation']['map']:.4f}"],
        ]
    rows += [
        ["time", took(document["seconds"]["total"])],
        ["peak memory", f"{document['peak_bytes'] / 2**20:,.0f} MiB" if document["peak_bytes"] else "not known"],
        ["written to", f"{document['out']}, {document['bytes'] / 2**20:.2g} MiB"],
    ]
    print_table(settings, f"Classifier of the images in {document['folder']}", ["", "value"], rows, text_columns=2)
    if "report" in document:
        note(settings, f"Report: {document['report']}")
