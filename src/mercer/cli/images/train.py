"""``mercer images train``: a classifier from a folder of images, with a report of how good it is."""

__all__ = ["EXAMPLES", "train"]

import re
import sys
from pathlib import Path
from typing import Any

import typer

from mercer._base.errors import InputError, MissingExtraError, require_extra
from mercer._base.parameters import Values, choice, flag, integer, integers, pathname, text, texts
from mercer._base.parameters.vision import IMAGE_OPTIONS
from mercer._base.tables import ArgumentError
from mercer.cli.framework.checks import as_argument, check_folder, exclude
from mercer.cli.framework.options import COMMON, Group, Settings, options
from mercer.cli.framework.output import answer_json, note, note_skipped, print_facts, progress, took
from mercer.cli.framework.parameters import parameters_of
from mercer.cli.framework.shared import CLASS_FOLDER, MODEL_OUT, STRICT
from mercer.cli.images.files import folder_of_classes, said_command
from mercer.cli.models.learning import save_model

EXAMPLES = """
Train on a folder with one subfolder of images per class; also writes a report (scenes.html):
  mercer images train scenes --out scenes.mercer

Merge correlated words into fewer columns; use a spatial pyramid:
  mercer images train scenes --reduce 600 --out small.mercer
  mercer images train scenes --pyramid 1x1,2x2 --kernel intersection --out scenes.mercer

Use Fisher vectors; cache the rows for the next run:
  mercer images train scenes --encoder fisher --words 64 --cache rows --out scenes.mercer
  mercer images train scenes --encoder fisher --words 256 --reduce 64 --kernel chi2 --out scenes.mercer

Use other patches, several words per patch, and an approximate word search:
  mercer images train scenes --descriptor centrist -p n_nearest=5 -p assignment=hnsw --out scenes.mercer
"""
_WORDS = {"bow": 1000, "fisher": 64}


*_LEARNER, _CACHE = IMAGE_OPTIONS
TRAIN = Group((
    CLASS_FOLDER, MODEL_OUT, *_LEARNER,
    integer("words", None, "Number of visual words; more words describe images more finely and take "
        "longer.", shown="1000; 64 for fisher", least=1, panel="Words"),
    choice("descriptor", "sift centrist", "sift", "Descriptor of image patches.", panel="Words"),
    integer("step", 4, "Distance between patches in pixels; a smaller step gives more patches and takes "
        "longer.", least=1, panel="Words"),
    integers("sizes", None, "Sizes of patches in pixels: a quarter of the side for sift, the side for "
        "centrist.", "N,...",
        shown="4,8; 16,32 for centrist", panel="Words"),
    integer("max_side", 640, "Maximum side of an image in pixels; larger images are scaled "
        "down.", least=1, panel="Words"),
    text("pyramid", "1x1", "Grids of cells; each cell adds its own histogram to the row.", "RxC,...", panel="Words"),
    texts("param", None, "Parameter of BagOfWords or FisherVectors, such as assignment=hnsw, n_nearest=5, terms=mean "
        "or power=1.", "NAME=VALUE", "-p", panel="Words"),
    _CACHE, STRICT,
    pathname("report", None, "HTML report to write.", "HTML", shown="next to the model"),
    flag("no_report", "Do not write a report."),
))  # fmt: skip


@options(examples=EXAMPLES, given=TRAIN, settings=COMMON)
def train(ctx: typer.Context, given, settings: Settings) -> None:
    """Train an image classifier on a folder with one subfolder per class, and write it to a file.

    Patches of the images become visual words, and each image becomes a histogram of words or a Fisher vector.
    Cross-validation estimates the accuracy on unseen images, and a report shows it as an HTML page with figures. Images
    that cannot be read are skipped and listed.
    """
    out = given.out
    check_folder(out)
    page = _page(out, given.report, given.no_report)
    model = _model(given, _encoder(given, _descriptor(given)), settings.seed)
    paths, labels = folder_of_classes(given.folder)
    with progress(settings):
        report = model.fit_report(paths, labels)
    save_model(model, out)
    room = {"model_bytes": out.stat().st_size, "peak_bytes": _peak_memory()}
    document = _document(report, given.folder, out, **room)
    if page is not None:
        with progress(settings):
            report.write_page(page, folder=given.folder, command=said_command(ctx), **room)
        document["report"] = str(page)
    if answer_json(settings, document):
        return
    if not settings.quiet:  # the file is the result
        _print(settings, document)
    if report.figures and report.n_folds < given.cv:
        said = f"the smallest class has {report.n_folds} images, so cross-validation used {report.n_folds} folds"
        note(settings, f"--folds {given.cv} was reduced: {said}.")
    note_skipped(settings, list(model.skipped_.values()), "image")


def _page(out: Path, report: Path | None, no_report: bool) -> Path | None:
    """Where the report goes; nowhere if it is not wanted, or cannot be drawn and was not asked for."""
    exclude(report=report, no_report=no_report)
    if no_report:
        return None
    page = out.with_suffix(".html") if report is None else report
    if page == out:
        raise ArgumentError(
            f"The model and the report would both be written to {out}. Name another file with "
            "--report, or use --no-report."
        )
    check_folder(page)
    try:
        require_extra("matplotlib", "plot", "The report of a training")
    except MissingExtraError:
        if report is not None:
            raise
        return None
    return page


# ------------------------------------------------------------------------------------------------------- the estimator


def _descriptor(given: Values):
    from mercer.vision import DenseSIFT, Downscaled, LocalCENTRIST

    make, usual = (DenseSIFT, (4, 8)) if given.descriptor == "sift" else (LocalCENTRIST, (16, 32))
    found = Downscaled(make(given.step, given.sizes or usual), given.max_side)
    with as_argument():
        found.descriptor.describe(_BLANK)
    return found


def _encoder(given: Values, descriptor):
    """The encoder, not fitted; parameters that have an option of their own are not among the others."""
    from mercer.vision import BagOfWords, FisherVectors

    make = BagOfWords if given.encoder == "bow" else FisherVectors
    made = make(descriptor, given.words or _WORDS[given.encoder], pyramid=_grids(given.pyramid))
    others = parameters_of(made, given.param or [], "--param n_nearest=5", _HAVE_OPTIONS)
    with as_argument():
        made.set_params(**others).check_parameters()
    return made


def _model(given: Values, encoder, seed: int):
    """The estimator, not fitted, after the checks that need no images."""
    from mercer.kernels import get_kernel
    from mercer.vision import BagOfWords, ImageClassifier

    reduce, is_bag = given.reduce, isinstance(encoder, BagOfWords)
    if given.reduce_method is not None and reduce is None:
        raise ArgumentError(
            f"--reduce-by {given.reduce_method} needs --reduce N, the number of columns or words to keep."
        )
    with as_argument():
        additive = get_kernel(given.kernel or "chi2").additive
        if reduce is not None and is_bag and not additive:
            raise InputError(f"--reduce needs an additive kernel such as chi2, not {given.kernel}.")
        most = encoder.n_words * (sum(rows * columns for rows, columns in encoder.pyramid) if is_bag else 1)
        if reduce is not None and reduce > most:
            raise InputError(
                f"--reduce {reduce} is more than the {most:,} available. Use a smaller number, or more --words."
            )
        said = {each.name: given[each.name] for each in IMAGE_OPTIONS} | {"encoder": encoder}
        said["cache"] = None if given.cache is None else str(given.cache)
        model = ImageClassifier(**said, strict=given.strict, random_state=seed)
        model.check_parameters()
    return model


_HAVE_OPTIONS = {
    "descriptor", "n_words", "pyramid", "strict", "cache", "random_state", "n_jobs", "words", "level_weights",
}  # fmt: skip
_BLANK = [[0.0]]  # an image that lets a descriptor check its parameters


def _grids(text: str) -> tuple[tuple[int, int], ...]:
    found = [re.fullmatch(r"(\d{1,3})x(\d{1,3})", part) for part in text.split(",")]
    if not all(found):
        raise ArgumentError(f"--pyramid must be a list of ROWSxCOLUMNS, as in 1x1,2x2; got {text}.")
    return tuple((int(one[1]), int(one[2])) for one in found if one)


# ------------------------------------------------------------------------------------------------------------ training


def _peak_memory() -> int:
    """The most memory that the process has taken so far, in bytes; 0 where the system does not say."""
    try:
        import resource
    except ImportError:  # Windows has no such module
        return 0
    # counted in bytes on macOS, in KiB elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


# ------------------------------------------------------------------------------------------------------------ printing


def _document(report, folder: str, out: Path, model_bytes: int, peak_bytes: int) -> dict[str, Any]:
    model, learner = report.model, report.model.classifier_
    return {
        "folder": folder,
        "images": len(report.images),
        "classes": model.classes_,
        "skipped": list(model.skipped_.values()),
        "encoder": type(model.encoder_).__name__,
        "words": model.encoder_.n_words,
        "columns": learner.n_features_in_,
        "kernel": learner.plan_.kernel,
        "map": learner.plan_.map,
        "C": getattr(learner, "C_", None) or learner.C,
        "cross_validation": report.figures or None,
        "folds": report.n_folds if report.figures else None,
        "seconds": report.seconds | {"total": sum(report.seconds.values())},
        "peak_bytes": peak_bytes,
        "bytes": model_bytes,
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
            ["cross-validation", f"{document['folds']} folds"],
            ["accuracy, by cross-validation", f"{document['cross_validation']['accuracy']:.4f}"],
            ["mAP, by cross-validation", f"{document['cross_validation']['map']:.4f}"],
        ]
    rows += [
        ["time", took(document["seconds"]["total"])],
        ["peak memory", f"{document['peak_bytes'] / 2**20:,.0f} MiB" if document["peak_bytes"] else "not known"],
        ["written to", f"{document['out']}, {document['bytes'] / 2**20:.2g} MiB"],
    ]
    print_facts(settings, f"Classifier of the images in {document['folder']}", rows)
    if "report" in document:
        note(settings, f"Report: {document['report']}")
