"""``mercer wire fit``: a classifier of bits at several rates, learned from labeled rows."""

__all__ = ["EXAMPLES", "fit"]

import re
from pathlib import Path
from typing import Any

from mercer._base.parameters import integer, integers, text
from mercer._base.tables import ArgumentError, RowSource, keep_columns
from mercer.cli.framework.checks import check_folder
from mercer.cli.framework.options import COMMON, INPUT, Settings, options
from mercer.cli.framework.output import note, print_json, progress, took
from mercer.cli.framework.rates import print_curve
from mercer.cli.framework.shared import C_OR_AUTO, DATA, LABELS, MODEL_OUT
from mercer.cli.map.building import build_embedding
from mercer.cli.models.learning import blaming, missing_facts, open_classes, rows_to_fit, save_model

EXAMPLES = """
Fit codes of 32 to 1024 bits; cross-validation chooses everything else:
  mercer wire fit train.npz --out wire.mercer
  mercer wire fit train.csv --label species --out wire.mercer

Name rates and embedding; describe a row for the page of mercer serve:
  mercer wire fit X.npy --labels y.npy --rates 64,128,256 --input drawing:8x8:16 --out wire.mercer
  mercer wire fit X.npy --labels y.npy --embedding universal:n_bits=512,delta=2.5 --out wire.mercer
  mercer wire fit X.npy --labels y.npy --embedding qjl:bits=2 --rates 128,256 --C 1 --out wire.mercer
"""
_BITS = 1024  # of the longest code, if nothing else is said
_PICTURE = re.compile(r"(drawing|image):(\d{1,5})x(\d{1,5})(?::(\d+(?:\.\d+)?))?")
_MAXIMUM = {"drawing": 1, "image": 255}  # of a pixel, if it is not said


@options((
    DATA, MODEL_OUT, LABELS,
    text("embedding", "universal", "Embedding: universal (for distances), qjl (for inner products) or compact "
        "(learned from the rows). Parameters follow a colon.", "NAME[:P=V,...]"),
    integers("rates", None, "Code lengths in bits, shortest to "
        "longest.", "N,...", shown="powers of two, from 32 projections to 1024 bits"),
    text("kind", "vector", "Content of a row, for the page of mercer serve: drawing:HxW[:MAX] or image:HxW[:MAX] for "
        "pixels from 0 to MAX (default 1 and 255) line by line, or vector.", "KIND", "--input"),
    C_OR_AUTO.but(help="Weight of the losses against the regularizer; auto cross-validates for each rate."),
    integer("folds", 5, "Number of cross-validation folds.", least=2),
), examples=EXAMPLES, rules=INPUT, settings=COMMON)  # fmt: skip
def fit(x, out, labels, embedding, rates, kind, C, folds, rules, settings: Settings) -> None:
    """Learn to classify rows by the bits of an embedding, at several rates, and write the model to a file.

    A client sends as many bits as its connection allows, and the classifier of that code length answers.
    Cross-validation chooses the delta of universal bits, unless it is set, and the C of each rate, and its accuracies
    are printed; set --C to save time. Use mercer evaluate --bits to measure the model on unseen rows.
    """
    check_folder(out)
    wanted = None if rates is None else sorted(set(rates))
    template = build_embedding(embedding, settings.seed)
    data, y = open_classes(settings, x, labels, rules)
    input = _input(kind, data)
    from mercer.serving import WireClassifier

    projections = _projections(template, embedding, wanted, data.shape[1])
    made = WireClassifier(template, rates=projections, cv=folds, input=input, random_state=settings.seed)
    if C != "auto":
        made.set_params(Cs=[C])
    with progress(settings) as watch, blaming(data):
        made.fit(rows_to_fit(data, "memory"), y)
    keep_columns(made, data)
    save_model(made, out)
    _print(settings, made, data, watch.seconds, out)


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
    count = f"{len(made.rates_)} classifier{'s' if len(made.rates_) > 1 else ''}"
    note(settings, f"{name}{delta}, {count}, fitted in {took(seconds)}, written to {out}")


# ------------------------------------------------------------------------------------------------------ rates in bits


def _projections(template, text: str, rates: list[int] | None, n_columns: int) -> list[int] | None:
    """Rates as numbers of projections, after the template was made as long as the longest."""
    name = "n_bits" if hasattr(template, "n_bits") else "n_projections"
    unit = _bits_per_projection(template, n_columns)
    uneven = [rate for rate in rates or [] if rate % unit]
    if uneven:
        near = " or ".join(str(unit * n) for n in (uneven[0] // unit, uneven[0] // unit + 1) if n)
        raise ArgumentError(f"--rates {uneven[0]} is not a multiple of the {unit} bits of a projection. Use {near}.")
    if f"{name}=" not in text:
        template.set_params(**{name: max(1, (rates[-1] if rates else _BITS) // unit)})
    longest = unit * getattr(template, name)
    if rates and rates[-1] > longest:
        raise ArgumentError(f"The embedding has {longest} bits, but --rates asks for {rates[-1]}. Raise {name}.")
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
        raise ArgumentError(
            f"--input must be drawing:HxW:MAX, image:HxW:MAX or vector, as in drawing:8x8:16; got {text}."
        )
    kind, height, width = found[1], int(found[2]), int(found[3])
    colours = (1,) if kind == "drawing" else (1, 3)
    if data.shape[1] not in [n * height * width for n in colours]:
        raise ArgumentError(
            f"{data.name} has {data.shape[1]} columns of numbers, but {kind}s of {height} x {width} pixels have "
            f"{' or '.join(str(n * height * width) for n in colours)}."
        )
    maximum = float(found[4]) if found[4] else _MAXIMUM[kind]
    if maximum == 0:
        raise ArgumentError(f"--input {text}: the maximum pixel value must be greater than 0.")
    maximum = int(maximum) if maximum == int(maximum) else maximum
    return {"type": kind, "height": height, "width": width, "maximum": maximum}
