"""``mercer wire fit``: a classifier of bits at several rates, learned from labelled rows."""

__all__ = ["EXAMPLES", "fit", "rates_of_text"]

import re
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from mercer._base.tables import ArgumentError, RowSource, keep_columns
from mercer.cli.framework.labels import LabelsOption, labels_of
from mercer.cli.framework.options import Settings, common_options, input_options, option_groups
from mercer.cli.framework.output import note, print_json, progress
from mercer.cli.framework.rates import print_curve
from mercer.cli.map.building import build_embedding
from mercer.cli.models.learner_building import number_or_auto
from mercer.cli.models.learning import blaming, check_folder, missing_facts, open_data, rows_to_fit

EXAMPLES = """
[bold]Examples[/bold]

Codes of 32 to 1024 bits, everything else by cross-validation:
  mercer wire fit train.npz --out wire.mercer
  mercer wire fit train.csv --label species --out wire.mercer

Rates and embedding of your choice; what a row is, for the page of mercer serve:
  mercer wire fit X.npy --labels y.npy --rates 64,128,256 --input drawing:8x8:16 --out wire.mercer
  mercer wire fit X.npy --labels y.npy --embedding universal:n_bits=512,delta=2.5 --out wire.mercer
  mercer wire fit X.npy --labels y.npy --embedding qjl:bits=2 --rates 128,256 --C 1 --out wire.mercer
"""
_BITS = 1024  # of the longest code, if nothing else is said
_PICTURE = re.compile(r"(drawing|image):(\d{1,5})x(\d{1,5})(?::(\d+(?:\.\d+)?))?")
_MAXIMUM = {"drawing": 1, "image": 255}  # of a pixel, if it is not said


@option_groups(rules=input_options, settings=common_options)
def fit(
    x: Annotated[str, typer.Argument(metavar="DATA", help="Rows: a file, FILE.npz::NAME, or - for the input.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The model file to write.")],
    labels: Annotated[str | None, LabelsOption] = None,
    embedding: Annotated[
        str,
        typer.Option(
            "--embedding",
            metavar="NAME[:P=V,...]",
            help="universal for distances, qjl for inner products, or compact, learned from the rows; parameters "
            "behind a colon.",
        ),
    ] = "universal",
    rates: Annotated[
        str | None,
        typer.Option(
            "--rates",
            metavar="N,...",
            help="Bits of a code, shortest to longest.",
            show_default="powers of two from 32 projections on, to 1024 bits",
        ),
    ] = None,
    kind: Annotated[
        str,
        typer.Option(
            "--input",
            metavar="KIND",
            help="What a row is, for the page of mercer serve: drawing:HxW[:MAX] or image:HxW[:MAX], pixels from 0 to "
            "MAX (1; 255) line by line, or vector.",
        ),
    ] = "vector",
    C: Annotated[
        str,
        typer.Option("--C", metavar="NUMBER|auto", help="Weight of the losses; auto cross-validates for each rate."),
    ] = "auto",
    folds: Annotated[int, typer.Option("--folds", metavar="N", min=2, help="Parts of the cross-validation.")] = 5,
    *,
    rules: dict[str, Any],
    settings: Settings,
) -> None:
    """Learn to classify rows by the bits of an embedding, at several rates, and write the model to a file.

    A client sends what its line allows, and the classifier of that length answers. The delta of universal bits, if it
    is not said, and the C of each rate are chosen by cross-validation, whose accuracies are printed; that takes its
    time, which --C shortens. How good the model is on rows it has not seen, mercer evaluate --bits tells.
    """
    check_folder(out)
    chosen = number_or_auto(C)
    wanted = None if rates is None else rates_of_text(rates, "--rates")
    template = build_embedding(embedding, settings.seed)
    data = open_data(settings, x, rules | {"needs_labels": labels is None})
    y = labels_of(data, labels, rules)
    if y.dtype.kind == "f":
        raise ArgumentError("The labels are fractions, not classes; bits are classified.")
    input = _input(kind, data)
    from mercer.serving import WireClassifier

    projections = _projections(template, embedding, wanted, data.shape[1])
    made = WireClassifier(template, rates=projections, cv=folds, input=input, random_state=settings.seed)
    if chosen != "auto":
        made.set_params(Cs=[chosen])
    started = time.perf_counter()
    with progress(settings), blaming(data):
        made.fit(rows_to_fit(data, "memory"), y)
    seconds = time.perf_counter() - started
    keep_columns(made, data)
    from mercer import save

    save(made, out)
    _print(settings, made, data, seconds, out)


def _print(settings: Settings, made, data: RowSource, seconds: float, out: Path) -> None:
    if settings.json:
        curve = [
            point | {"C": one.C_, "embedding": one.map_.specification_.fingerprint}
            for point, one in zip(made.curve_, made.classifiers_, strict=True)
        ]
        head = {"embedding": type(made.embedding_).__name__, "parameters": made.embedding_.get_params(deep=False)}
        document = {"data": data.name, "rows": data.shape[0], "columns": data.shape[1], "classes": made.classes_}
        document |= missing_facts(data)
        print_json(head | document | {"input": made.input_, "curve": curve, "seconds": seconds, "out": str(out)})
        return
    title = f"Accuracy against bits on {data.shape[0]} rows of {data.name}, by cross-validation"
    print_curve(settings, title, made.curve_)
    name = type(made.embedding_).__name__
    delta = f", delta {made.embedding_.delta_:.4g}" if hasattr(made.embedding_, "delta_") else ""
    took = f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.2g} s"
    count = f"{len(made.rates_)} classifier{'s' if len(made.rates_) > 1 else ''}"
    note(settings, f"{name}{delta}, {count}, fitted in {took}, written to {out}")


# ------------------------------------------------------------------------------------------------------ rates in bits


def rates_of_text(text: str, option: str) -> list[int]:
    """Numbers of bits, ascending."""
    words = text.split(",")
    if not all(word.isascii() and word.isdigit() and 0 < int(word) < 2**31 for word in words):
        raise ArgumentError(f"{option} is a list of whole numbers of bits, as in 64,128,256, not {text}.")
    return sorted({int(word) for word in words})


def _projections(template, text: str, rates: list[int] | None, n_columns: int) -> list[int] | None:
    """Rates as numbers of projections, after the template was made as long as the longest."""
    name = "n_bits" if hasattr(template, "n_bits") else "n_projections"
    unit = _bits_per_projection(template, n_columns)
    uneven = [rate for rate in rates or [] if rate % unit]
    if uneven:
        near = " or ".join(str(unit * n) for n in (uneven[0] // unit, uneven[0] // unit + 1) if n)
        raise ArgumentError(
            f"A projection takes {unit} bits of a code here, and --rates wants {uneven[0]}, which is not a multiple of "
            f"it. Use {near}."
        )
    if f"{name}=" not in text:
        template.set_params(**{name: max(1, (rates[-1] if rates else _BITS) // unit)})
    longest = unit * getattr(template, name)
    if rates and rates[-1] > longest:
        raise ArgumentError(f"The embedding has {longest} bits, and --rates wants {rates[-1]}. Raise {name}.")
    return None if rates is None else [rate // unit for rate in rates]


def _bits_per_projection(template, n_columns: int) -> int:
    """Of all blocks; 1 where a parameter is wrong, which the fit will say."""
    size, bits = template.block_size, getattr(template, "bits", 1)
    blocks = n_columns // size if isinstance(size, int) and size > 0 and n_columns % size == 0 else 1
    return blocks * (bits if isinstance(bits, int) and 0 < bits <= 8 else 1)


# ------------------------------------------------------------------------------------------------------ what a row is


def _input(text: str, data: RowSource) -> dict[str, Any] | None:
    """The description of a row that the page of the service reads."""
    if text == "vector":
        return None if data.feature_names is None else {"type": "vector", "names": list(data.feature_names)}
    found = _PICTURE.fullmatch(text)
    if found is None:
        raise ArgumentError(f"--input is drawing:HxW:MAX, image:HxW:MAX or vector, as in drawing:8x8:16, not {text}.")
    kind, height, width = found[1], int(found[2]), int(found[3])
    colours = (1,) if kind == "drawing" else (1, 3)
    if data.shape[1] not in [n * height * width for n in colours]:
        raise ArgumentError(
            f"{data.name} has {data.shape[1]} columns of numbers, but {kind}s of {height} x {width} pixels have "
            f"{' or '.join(str(n * height * width) for n in colours)}."
        )
    maximum = float(found[4]) if found[4] else _MAXIMUM[kind]
    if maximum == 0:
        raise ArgumentError(f"--input {text}: the largest value of a pixel must be above 0.")
    maximum = int(maximum) if maximum == int(maximum) else maximum
    return {"type": kind, "height": height, "width": width, "maximum": maximum}
