"""``mercer fit``: a classifier or regressor with a kernel, learned from labeled rows and written to a model file."""

__all__ = ["EXAMPLES", "fit"]

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from mercer._base.errors import InputError
from mercer._base.parameters import Values, flag, text
from mercer._base.parameters.molecules import FINGERPRINTS
from mercer._base.tables import ArgumentError, Features, RowSource, keep_columns
from mercer.cli.framework.checks import check_folder
from mercer.cli.framework.errors import INTERRUPTED
from mercer.cli.framework.labels import labels_of
from mercer.cli.framework.on_dask import rows_on_dask
from mercer.cli.framework.options import COMMON, INPUT, Group, Settings, options
from mercer.cli.framework.output import answer_json, note, print_facts, progress, took
from mercer.cli.framework.shared import DATA, LABELS, MODEL_OUT
from mercer.cli.models.judging import judged_fit, score_in_words
from mercer.cli.models.learner_building import LEARNER, build_learner
from mercer.cli.models.learning import (
    blaming,
    missing_facts,
    open_data,
    rows_to_fit,
    save_model,
    say_about_missing,
    with_fingerprints,
)

EXAMPLES = """
Fit any table with a label column; trials choose scaling, kernel, width and C:
  mercer fit train.csv --label species --out species.mercer

Name a kernel, here for histograms:
  mercer fit train.csv --label species --kernel chi2 --out species.mercer

Print the plan and the memory it needs:
  mercer fit X.npy --labels y.npy --kernel intersection --dry-run

Choose C by cross-validation and enable probabilities:
  mercer fit X.npy --labels y.npy --kernel chi2 --C auto --probability --out m.mercer

Name a map; learn on codes of one byte per eight columns:
  mercer fit X.npy --labels y.npy --map nystroem:n_landmarks=512 --kernel rbf -p kernel__gamma=0.5 --out m.mercer
  mercer fit X.npy --labels y.npy --map pq:block_size=8 --out m.mercer

Learn one table per column, without tuning, from histograms or from binned values:
  mercer fit train.csv --label species --solver icd --out species.mercer
  mercer fit train.csv --label species --solver icd --bins 200 --binning column --kernel auto --out species.mercer

Learn from the fingerprints of molecules, which the model computes itself:
  mercer fit molecules.csv --smiles smiles --label active --kernel min-max --out m.mercer

Learn from more rows than one machine holds, on a Dask cluster:
  mercer fit rows/*.parquet --label species --kernel chi2 --dask tcp://scheduler:8786 --out species.mercer
"""
_FEW_CLASSES, _ROWS_PER_CLASS = 20, 10  # more classes than the one, fewer rows each than the other: hardly classes
MOLECULES = Group(
    (
        text("smiles", None, "Column of SMILES; learn from the fingerprints of these molecules.", "COLUMN"),
        *FINGERPRINTS,
    ),
    Values,
    panel="Molecules",
)


@options((
    DATA.but(kind=list, help="Rows: a file, FILE.npz::NAME, or - for standard input; with --dask, files."),
    MODEL_OUT.but(default=None),
    LABELS,
    flag("dry_run", "Print the plan and exit."),
    flag("evaluate", "Measure the accuracy on held-out rows: in the trials, or by a second fit to four fifths of the "
        "rows.", "--evaluate/--no-evaluate", default=True),
    text("dask", None, "Learn on a Dask cluster: the address of its scheduler, such as tcp://host:8786, or local to "
        "start one on this machine. DATA must be Parquet files that the workers can read.", "ADDRESS"),
), examples=EXAMPLES, choices=LEARNER, molecules=MOLECULES, rules=INPUT, settings=COMMON)  # fmt: skip
def fit(x, out, labels, dry_run, evaluate, dask, choices, molecules, rules, settings: Settings) -> None:
    """Learn to classify or to predict numbers from labeled rows, and write the model to a file.

    Without --kernel or --map, the fit tries scalings of the columns, kernels, widths and penalties on some of the rows,
    and prints the score of each on held-out rows. With --kernel or --map, it prints a plan: how rows are encoded and
    solved, and how much memory that takes. --dry-run stops after the plan. Integer and text labels are classes and
    fractions are numbers to predict, unless --task is set. The table ends with the accuracy on held-out rows. Use
    mercer evaluate to measure the model on rows of your own.
    """
    if not dry_run:
        if out is None:
            raise ArgumentError("Name the model file with --out, or use --dry-run to print the plan only.")
        check_folder(out)
    fingerprints = _fingerprints(molecules)
    with _opened(settings, x, dask, rules | {"needs_labels": labels is None}, fingerprints) as data:
        _fit(data, out, labels, dry_run, evaluate, choices, rules, settings, fingerprints, in_memory=dask is None)


def _fingerprints(molecules: Values) -> Any:
    """What makes rows of molecules; None if the rows are not molecules."""
    column = molecules.pop("smiles")
    if column is None:
        said = next((each.name for each in FINGERPRINTS if molecules[each.name] != each.default), None)
        if said is not None:
            raise ArgumentError(
                f"--{said.replace('_', '-')} applies to molecules only. Name the column of SMILES with --smiles."
            )
        return None
    from mercer.features import MoleculeFingerprints

    return MoleculeFingerprints(**molecules, column=column)


@contextmanager
def _opened(
    settings: Settings, paths: list[str], dask: str | None, rules: dict[str, Any], fingerprints: Any
) -> Iterator[RowSource]:
    if dask is not None:
        if fingerprints is not None:
            raise ArgumentError("--smiles does not work with --dask. Remove --dask.")
        with rows_on_dask(paths, dask, rules) as data:
            say_about_missing(settings, data)
            yield data
        return
    if len(paths) > 1:
        raise ArgumentError(f"mercer fit takes one file, got {len(paths)}. Several Parquet files need --dask.")
    yield open_data(settings, paths[0], rules, None if fingerprints is None else Features(fingerprints=fingerprints))


def _fit(data, out, labels, dry_run, evaluate, choices, rules, settings, fingerprints, in_memory) -> None:
    y = labels_of(data, labels, rules)
    storage = choices.storage or "auto"
    learner = build_learner(choices, y, settings.seed, in_memory)
    _point_out_quantities(settings, choices, y)
    head = {"learner": type(learner).__name__, "data": data.name, "rows": data.shape[0], "columns": data.shape[1]}
    head |= missing_facts(data)
    if dry_run:
        with blaming(data):
            plan = learner.plan(rows_to_fit(data, storage), y)
        _print(settings, head | {"plan": _described(plan)}, plan, {})
        return
    rows = rows_to_fit(data, storage)
    with progress(settings) as watch, blaming(data):
        learner.fit(rows, y)
    keep_columns(learner, data)
    save_model(learner if fingerprints is None else with_fingerprints(fingerprints, learner), out)
    found = _found(learner) | {"seconds": watch.seconds, "out": str(out)}
    if evaluate:
        with progress(settings), blaming(data):
            score = judged_fit(learner, rows, y, settings.seed)
        found |= score
        if not score:
            note(
                settings,
                "The fit has not been measured on held-out rows. Use mercer evaluate to measure the model on unseen "
                "rows.",
            )
    _print(settings, head | {"plan": _described(learner.plan_)} | found, learner.plan_, found)
    if learner.interrupted_:  # the best model so far was written
        raise typer.Exit(INTERRUPTED)


def _point_out_quantities(settings: Settings, choices, y) -> None:
    """Say what can be done about integers that are hardly classes; refuse ids, which are none."""
    import numpy as np

    if choices.task is None and y.ndim == 1 and y.dtype.kind != "f":
        n_classes = len(np.unique(y))
        if n_classes > _FEW_CLASSES and n_classes > len(y) / 2:
            raise InputError(
                f"The labels look like ids: {len(y):,} rows have {n_classes:,} different labels. Name another column, "
                "or use --task classify for classes and --task regress for quantities."
            )
        if y.dtype.kind in "iu" and n_classes > _FEW_CLASSES and n_classes > len(y) / _ROWS_PER_CLASS:
            note(settings, f"The labels are treated as {n_classes} classes. For quantities, use --task regress.")


def _described(plan) -> dict[str, Any]:
    """The plan for a JSON document."""
    return plan.get_params() | {"total_bytes": plan.total_bytes}


def _found(learner) -> dict[str, Any]:
    """What the fit came to, for a JSON document."""
    found = {"classes": learner.classes_} if hasattr(learner, "classes_") else {}
    found["C"] = learner.C_
    if getattr(learner, "trial_scores_", None):  # by which --kernel auto chose
        found["trial_scores"] = learner.trial_scores_
    if not hasattr(learner, "gap_"):  # of trials
        return found
    names = ("objective", "dual_objective", "gap")
    return found | {name: getattr(learner, f"{name}_") for name in names} | {"iterations": learner.n_iter_}


def _print(settings: Settings, document: dict[str, Any], plan, found: dict[str, Any]) -> None:
    if answer_json(settings, document):
        return
    if settings.quiet and found:  # the file is the result
        return
    rows = [_cells(line) for line in str(plan).splitlines()[1:]]
    score = score_in_words(found)
    rows = [row for row in rows if score is None or row[0] != score[0]]  # trials have it: said once, at the end
    if "trial_scores" in found:
        scores = (f"{name} {score:.4g}" for name, score in found["trial_scores"].items())
        rows.insert(1, ["chosen by", ", ".join(scores) + " on held-out training rows"])
    if "C" in found:
        rows.append(["C", f"{found['C']:.4g}"])
    if found:
        rows += [["time", took(found["seconds"])], ["written to", found["out"]]]
    if score is not None:
        rows.append(score)
    title = f"{document['learner']} on {document['rows']} rows of {document['data']}"
    print_facts(settings, title, rows)


def _cells(line: str) -> list[str]:
    """Name and value of a line of a plan; a line that goes on with the value above has no name."""
    return ["", line.strip()] if line.startswith("   ") else re.split(r"\s{2,}", line.strip(), maxsplit=1)
