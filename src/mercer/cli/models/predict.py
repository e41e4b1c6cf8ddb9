"""``mercer predict``: labels, scores or probabilities of rows under a fitted model."""

__all__ = ["EXAMPLES", "predict"]

import itertools
import math
from collections.abc import Iterable, Iterator
from typing import Any

from mercer._base.files.steps import last_step
from mercer._base.parameters import text
from mercer._base.tables import ArgumentError, RowSource, open_for_writing, writable_format, write_rows
from mercer.cli.framework.checks import check_standard_output, exclude
from mercer.cli.framework.options import COMMON, INPUT, Settings, options
from mercer.cli.framework.output import lines_of, note, print_json, progress, to_plain, took, written_to
from mercer.cli.framework.rates import bits_of
from mercer.cli.framework.shared import BITS, DATA, LEARNER_MODEL, OUT_FORMAT, PROBA, SCORES
from mercer.cli.models.learning import answers, load_learner, missing_facts, open_data, spread, warm_up, with_gaps

EXAMPLES = """
Print one label per line:
  mercer predict iris.mercer new.csv
  mercer predict iris.mercer new.csv | sort | uniq -c

Write labels, scores of all classes, or probabilities if the model was fitted with --probability:
  mercer predict digits.mercer X.npy --out labels.npy
  mercer predict digits.mercer X.npy --scores --out scores.npy
  mercer predict iris.mercer new.csv --proba --out proba.csv

Write ids with the labels; rows with a missing value get an empty label:
  mercer predict iris.mercer new.csv --id plant --missing drop-rows --out labels.csv

Use codes of 64 bits, for a model fitted by mercer wire fit:
  mercer predict wire.mercer X.npy --bits 64
"""


@options((
    LEARNER_MODEL, DATA,
    text("out", None, "File for the predictions (npy, npz, csv, tsv); - is standard "
        "output.", "FILE", "-o", shown="the output"),
    OUT_FORMAT, SCORES, PROBA, BITS,
), examples=EXAMPLES, settings=COMMON, rules=INPUT)  # fmt: skip
def predict(model, x, out, out_format, scores, proba, bits, rules, settings: Settings) -> None:
    """Write the label of each row under a fitted model, or its scores or probabilities.

    Rows are processed in blocks. Labels in csv are one per line; scores and probabilities have a header with the class
    names. A model of two classes has one score, which is positive for the class in the header. Columns are matched by
    name with those of the training table. --id writes the ids of the rows next to the predictions.
    """
    exclude(scores=scores, proba=proba)
    check_standard_output(out, settings)
    format = writable_format(out or "-", out_format)
    what = "scores" if scores else "probabilities" if proba else "labels"
    if rules["id"] is not None and format == "npy":
        raise ArgumentError("npy cannot store ids with the predictions. Write npz, csv or tsv, or remove --id.")
    learner, columns = load_learner(model, bits)
    ask, titles = _question(learner, what, model)
    data = open_data(settings, x, rules | {"needs_labels": False}, columns)
    if data.kept is not None and what == "labels" and format in ("npy", "npz") and out is not None:
        raise ArgumentError(f"{format} has no empty label for dropped rows. Write csv or tsv.")
    warm_up(data, ask)
    with progress(settings) as watch:
        found = answers(data, ask, bytes_per_row=8 * len(titles))
        if settings.json and out is None:
            values: dict[str, Any] = _document(found, data, what)
        else:
            _write(out or "-", found, data, format, what, titles)
            values = {"out": out}
    if settings.json:
        about = {"classes": learner.classes_} if hasattr(learner, "classes_") else {}
        about |= bits_of(learner)
        about |= missing_facts(data) | {"seconds": watch.seconds}
        print_json({"model": model, "data": data.name, "rows": data.n_rows_in_file} | about | values)
    given, n = what if hasattr(learner, "classes_") else "numbers", data.n_rows_in_file
    rows = f"{n:,} row{'s' * (n != 1)}"
    note(settings, f"{given.capitalize()} of {rows} in {took(watch.seconds)}{written_to(out)}")


def _question(learner, what: str, model: str):
    """The method that answers, and the names of the columns it gives."""
    if what == "labels":
        return learner.predict, ["label"]
    if not hasattr(learner, "classes_"):
        raise ArgumentError(f"{model} predicts numbers, so it has no {what} of classes. Remove the option.")
    names = [str(name) for name in learner.classes_]
    if what == "scores":
        has_one_score = len(names) == 2 and getattr(last_step(learner), "multi_class_", None) != "labels"
        return learner.decision_function, names[1:] if has_one_score else names
    if not hasattr(learner, "predict_proba"):
        raise ArgumentError(f"{model} was fitted without probabilities. Fit it again with --probability.")
    return learner.predict_proba, names


def _document(blocks: Iterable[Any], data: RowSource, what: str) -> dict[str, Any]:
    """All answers, null for rows that were left out, and ids."""
    import numpy as np

    found = np.concatenate(list(blocks))
    ids = {} if data.ids_in_file is None else {"ids": data.ids_in_file}
    return ids | {what: found if data.kept is None else spread(to_plain(found), data, None)}


def _write(out: str, blocks: Iterator[Any], data: RowSource, format: str, what: str, titles: list[str]) -> None:
    """Write answers that come in blocks; one number or word for each row is an array of one dimension."""
    ids = data.ids_in_file
    if format in ("csv", "tsv"):
        # as text: the shortest that reads back as the same number
        texts = (block.reshape(len(block), -1).astype(str).astype(object) for block in blocks)
        with open_for_writing(out) as stream:
            if what != "labels" or ids is not None:
                stream.write(lines_of([titles if ids is None else ["id", *titles]], format))
            done = 0
            for block in with_gaps(texts, data, ""):
                rows = block.tolist()
                if ids is not None:
                    rows = [[id, *row] for id, row in zip(ids[done : done + len(rows)].tolist(), rows, strict=True)]
                    done += len(rows)
                stream.write(lines_of(rows, format))
        return
    blocks = with_gaps(blocks, data, math.nan)
    if ids is not None:
        import numpy as np

        with open_for_writing(out) as stream:
            members: dict[str, Any] = {"ids": ids, what: np.concatenate(list(blocks))}
            np.savez(stream, **members)
        return
    first = next(blocks)
    shape = (data.n_rows_in_file, *first.shape[1:])
    write_rows(out, itertools.chain([first], blocks), shape, first.dtype, format=format, name=what)
