"""From the options of ``mercer fit`` to an estimator that is not fitted yet."""

__all__ = ["Choices", "build_learner", "learner_options", "number_or_auto"]

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import typer

from mercer._base.errors import InputError, did_you_mean
from mercer._base.tables import ArgumentError
from mercer.cli.framework.parameters import named_values
from mercer.cli.map.building import build_map

_OF_KERNEL = "kernel__"
_MOST_BINS = 65_535  # as in mercer.codes, which would load what --help does not need


@dataclass(frozen=True)
class Choices:
    """What was said about the learner; None where nothing was said and the estimator's own default holds."""

    kernel: str | None
    encoder: str | None
    param: list[str]
    task: str | None
    loss: str | None
    C: float | Literal["auto"] | None
    epsilon: float | None
    multi_class: str | None
    class_weight: str | None
    probability: bool
    expansion: str | None
    solver: str
    bins: int | Literal["auto", "none"] | None
    binning: str | None
    tol: float
    max_iter: int
    storage: str | None


def learner_options(
    kernel: Annotated[
        str | None,
        typer.Option(
            "--kernel",
            "-k",
            metavar="NAME",
            help="Kernel, by the names of mercer kernel; with --solver icd also auto, the better of linear and "
            "intersection.",
            show_default="chi2, or the map's own; intersection for icd",
        ),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            "--map",
            "-m",
            metavar="NAME[:P=V,...]",
            help="A map by the names of mercer map fit; pq learns on the codes of a product quantiser, universal, "
            "qjl and compact on bits.",
            show_default="chosen for the kernel and the rows",
        ),
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param",
            "-p",
            metavar="NAME=VALUE",
            help="Parameter of the map, or as kernel__NAME of the kernel; may be repeated.",
        ),
    ] = None,
    task: Annotated[
        Literal["classify", "regress"] | None,
        typer.Option("--task", metavar="TASK", help="classify or regress.", show_default="regress for fractions only"),
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(
            "--loss",
            metavar="NAME",
            help="To classify: hinge, squared_hinge, logistic, huber_hinge, crammer_singer, multinomial; "
            "to regress: epsilon_insensitive, squared, absolute.",
            show_default="hinge, squared_hinge for icd; epsilon_insensitive",
        ),
    ] = None,
    C: Annotated[
        str | None,
        typer.Option(
            "--C",
            metavar="NUMBER|auto",
            help="Weight of the losses against the regulariser; auto cross-validates.",
            show_default="1; 0.001 for icd",
        ),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            "--epsilon", metavar="NUMBER", help="Errors that epsilon_insensitive forgives.", show_default="0.1"
        ),
    ] = None,
    multi_class: Annotated[
        Literal["auto", "ovr", "ovo", "crammer_singer"] | None,
        typer.Option(
            "--multi-class",
            metavar="WAY",
            help="ovr sets each class against the rest, ovo against each other one; auto takes ovo for few classes; "
            "icd also has crammer_singer, all classes at once.",
            show_default="auto",
        ),
    ] = None,
    class_weight: Annotated[
        Literal["balanced"] | None,
        typer.Option("--class-weight", metavar="balanced", help="Let every class count the same, however frequent."),
    ] = None,
    probability: Annotated[
        bool, typer.Option("--probability", help="Calibrate, so that mercer predict --proba works.")
    ] = False,
    expansion: Annotated[
        Literal["delayed", "immediate", "dense"] | None,
        typer.Option(
            "--expansion",
            metavar="WHEN",
            help="How codes are learned on: delayed, immediate or dense.",
            show_default="delayed",
        ),
    ] = None,
    solver: Annotated[
        Literal["auto", "bundle", "dual", "newton", "projected", "icd"],
        typer.Option(
            "--solver",
            metavar="NAME",
            help="auto, bundle, dual, newton or projected; or icd, which needs no map and no tuning: values become "
            "levels, and what is learned is a table for each column.",
        ),
    ] = "auto",
    bins: Annotated[
        str | None,
        typer.Option(
            "--bins",
            metavar="auto|N|none",
            help="For icd: how many bins values are put into; none takes whole numbers as they are, auto where they "
            "are small.",
            show_default="auto",
        ),
    ] = None,
    binning: Annotated[
        Literal["auto", "global", "column", "adaptive"] | None,
        typer.Option(
            "--binning",
            metavar="HOW",
            help="For icd: one scale for all columns (global), one for each (column), or quantiles (adaptive).",
            show_default="auto",
        ),
    ] = None,
    tol: Annotated[
        float, typer.Option("--tol", metavar="NUMBER", help="Relative duality gap at which to stop.")
    ] = 1e-3,
    max_iter: Annotated[int, typer.Option("--max-iter", metavar="N", min=1, help="Most passes over the rows.")] = 1000,
    storage: Annotated[
        Literal["auto", "memory", "disk"] | None,
        typer.Option(
            "--storage",
            metavar="WHERE",
            help="Where encoded rows are kept: auto, memory or disk.",
            show_default="auto",
        ),
    ] = None,
) -> Choices:
    """The options as one object, after the checks that need no data."""
    if tol <= 0 or not math.isfinite(tol):
        raise ArgumentError(f"--tol must be a number above 0, not {tol:g}.")
    if epsilon is not None and not 0 <= epsilon < math.inf:
        raise ArgumentError(f"--epsilon must be 0 or a number above it, not {epsilon:g}.")
    return Choices(
        kernel,
        encoder,
        param or [],
        task,
        loss,
        number_or_auto(C),
        epsilon,
        multi_class,
        class_weight,
        probability,
        expansion,
        solver,
        _bins(bins),
        binning,
        tol,
        max_iter,
        storage,
    )


def number_or_auto(text: str | None) -> float | Literal["auto"] | None:
    """What ``--C`` says."""
    if text is None:
        return None
    if text == "auto":
        return "auto"
    try:
        C = float(text)
    except ValueError:
        C = math.nan
    if not 0 < C < math.inf:
        raise ArgumentError(f"--C must be a number above 0, or auto, not {text}.")
    return C


def _bins(text: str | None) -> int | Literal["auto", "none"] | None:
    if text is None:
        return None
    if text == "auto":
        return "auto"
    if text == "none":
        return "none"
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= _MOST_BINS):
        raise ArgumentError(f"--bins must be auto, none or a whole number from 1 to {_MOST_BINS:,}, not {text}.")
    return int(text)


def build_learner(choices: Choices, y, seed: int):
    """The estimator, not fitted, for labels ``y``."""
    task = choices.task or ("regress" if y.dtype.kind == "f" else "classify")
    if task == "regress" and y.dtype.kind not in "iuf":
        raise ArgumentError("The labels are words, which cannot be predicted as numbers. Leave --task out.")
    if task == "classify" and y.dtype.kind == "f":
        raise ArgumentError("The labels are fractions, not classes. Leave --task out, or say --task regress.")
    if choices.solver == "icd":
        _check_for_icd(choices)
        encoding, make = _levels(choices), _icd_class(task)
    else:
        _check_for_others(choices)
        encoding, make = _encoding(choices, seed), _kernel_class(task, choices.C)
    _check_for_task(choices, task)
    _check_loss(choices, task)
    return make(**encoding, **_said(choices, task), random_state=seed)


def _kernel_class(task: str, C: float | str | None):
    from mercer.learners import KernelClassifier, KernelClassifierCV, KernelRegressor

    if task == "regress":
        return KernelRegressor
    return KernelClassifierCV if C == "auto" else KernelClassifier


def _icd_class(task: str):
    from mercer.learners import IntersectionSVC, IntersectionSVR

    return IntersectionSVC if task == "classify" else IntersectionSVR


def _said(choices: Choices, task: str) -> dict[str, Any]:
    """What was said, as keywords of any estimator for the task."""
    names = ["loss", "C", "expansion", "solver", "tol", "max_iter", "storage"]
    names += ["multi_class", "class_weight", "probability"] if task == "classify" else ["epsilon"]
    values = {name: getattr(choices, name) for name in names}
    return {name: value for name, value in values.items() if value not in (None, "auto")}


# ------------------------------------------------------------------------------------------- options that do not agree


def _check_for_task(choices: Choices, task: str) -> None:
    if task == "classify":
        if choices.epsilon is not None:
            raise ArgumentError("--epsilon belongs to --task regress. Leave it out.")
        return
    wrong = _first_said({
        "--C auto": choices.C == "auto",
        "--multi-class": choices.multi_class,
        "--class-weight": choices.class_weight,
        "--probability": choices.probability,
    })  # fmt: skip
    if wrong:
        raise ArgumentError(f"{wrong} is for classes, and these labels are numbers to predict. Leave it out.")


def _check_loss(choices: Choices, task: str) -> None:
    from mercer.learners.intersection import LOSSES
    from mercer.learners.solvers.losses import CLASSIFICATION_LOSSES, REGRESSION_LOSSES

    losses, what = tuple(CLASSIFICATION_LOSSES if task == "classify" else REGRESSION_LOSSES), task
    if choices.solver == "icd" and task == "classify":
        losses, what = LOSSES, "classify with --solver icd"
    if choices.loss is not None and choices.loss not in losses:
        hint = did_you_mean(choices.loss, losses)
        raise ArgumentError(f"There is no loss {choices.loss!r} to {what}. {hint}Losses: {', '.join(losses)}.")


def _check_for_others(choices: Choices) -> None:
    """Refuse what only ``--solver icd`` has."""
    wrong = _first_said({"--bins": choices.bins, "--binning": choices.binning})
    if wrong:
        raise ArgumentError(
            f"{wrong} says how values become levels, which only --solver icd works on. Add --solver icd, or leave "
            f"{wrong} out."
        )
    if choices.kernel == "auto":
        raise ArgumentError("--kernel auto belongs to --solver icd. Name a kernel, or add --solver icd.")
    if choices.multi_class == "crammer_singer":
        raise ArgumentError(
            "--multi-class crammer_singer belongs to --solver icd. Without it, say --loss crammer_singer."
        )


def _check_for_icd(choices: Choices) -> None:
    """Refuse what ``--solver icd`` does not have."""
    if choices.C == "auto":
        raise ArgumentError("--solver icd needs no tuning and has no --C auto. Leave --C out, or give a number.")
    if choices.encoder is not None:
        raise ArgumentError(
            "--map has no place with --solver icd, which makes levels of the values by itself. Leave --map out, or "
            "--solver."
        )
    wrong = _first_said({"--expansion": choices.expansion, "--storage": choices.storage})
    if wrong:
        raise ArgumentError(
            f"{wrong} is about encoded rows, and --solver icd keeps levels of a byte or two in memory. Leave it out."
        )
    if choices.bins == "none" and choices.binning not in (None, "auto"):
        raise ArgumentError(
            f"--bins none takes values as they are, and leaves --binning {choices.binning} nothing to do. Leave one of "
            "them out."
        )
    wrong = _first_said({"--bins": choices.bins, "--binning": choices.binning})
    if wrong and choices.kernel == "linear":
        raise ArgumentError(f"--kernel linear works on values, not on levels. Leave {wrong} out, or --kernel.")
    if choices.multi_class == "crammer_singer" and choices.loss is not None:
        raise ArgumentError("--multi-class crammer_singer has a loss of its own. Leave --loss out, or --multi-class.")


def _first_said(options: dict[str, Any]) -> str | None:
    return next((option for option, value in options.items() if value), None)


# ------------------------------------------------------------------------------------------------- kernel, map, levels


def _encoding(choices: Choices, seed: int) -> dict[str, Any]:
    """The kernel or the map, as keywords of the estimator."""
    if choices.encoder is not None:
        return {"map": build_map(choices.encoder, choices.kernel, choices.param, None, seed)}
    return {"kernel": _kernel(choices, "chi2", "no map was named. Name it with --map.")}


def _levels(choices: Choices) -> dict[str, Any]:
    """The kernel and the bins, as keywords of the estimator."""
    from mercer.kernels import get_kernel

    kernel = _kernel(choices, "intersection", "--solver icd has none. Leave it out.")
    resolved = get_kernel("intersection" if kernel == "auto" else kernel)
    if not resolved.additive or resolved.scalar(0.0, 1.0) != 0:
        raise ArgumentError(
            "--solver icd needs a kernel that is a sum over columns, such as intersection or chi2, not "
            f"{choices.kernel}. Name another one, or leave --solver out."
        )
    found: dict[str, Any] = {"kernel": kernel}
    if choices.bins is not None:
        found["bins"] = None if choices.bins == "none" else choices.bins
    if choices.binning is not None:
        found["binning"] = choices.binning
    return found


def _kernel(choices: Choices, default: str, but: str):
    """The name of the kernel, or the kernel if it was given parameters."""
    from mercer.kernels import get_kernel

    name = choices.kernel or default
    given = named_values(choices.param, "kernel__gamma=0.5")
    foreign = [key for key in given if not key.startswith(_OF_KERNEL)]
    if foreign:
        raise ArgumentError(f"The parameter {foreign[0]!r} is one of a map, but {but}")
    if name == "auto" and given:
        raise ArgumentError("--kernel auto compares kernels that have no parameters. Leave --param out.")
    if name == "auto":
        return name
    try:
        kernel = get_kernel(name, **{key.removeprefix(_OF_KERNEL): value for key, value in given.items()})
    except InputError as error:
        raise ArgumentError(str(error)) from error
    return kernel if given else name
