"""From the options of ``mercer fit`` to an estimator that is not fitted yet."""

__all__ = ["Choices", "build_learner", "learner_options"]

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import typer

from mercer._base.errors import InputError
from mercer._base.tables import ArgumentError
from mercer.cli.map_building import build_map
from mercer.cli.parameters import named_values

_OF_KERNEL = "kernel__"


@dataclass(frozen=True)
class Choices:
    """What was said about the learner; None where nothing was said and the estimator's own default holds."""

    kernel: str | None
    encoder: str | None
    param: list[str]
    task: str | None
    loss: str | None
    C: float | None  # None: by cross-validation
    epsilon: float | None
    multi_class: str | None
    class_weight: str | None
    probability: bool
    expansion: str
    solver: str
    tol: float
    max_iter: int
    storage: str


def learner_options(
    kernel: Annotated[
        str | None,
        typer.Option(
            "--kernel",
            "-k",
            metavar="NAME",
            help="Kernel, by the names of mercer kernel.",
            show_default="chi2, or the map's own",
        ),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            "--map",
            "-m",
            metavar="NAME[:P=V,...]",
            help="A map by the names of mercer map fit, or pq to learn on the codes of a product quantiser.",
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
            show_default="hinge; epsilon_insensitive",
        ),
    ] = None,
    C: Annotated[
        str,
        typer.Option(
            "--C", metavar="NUMBER|auto", help="Weight of the losses against the regulariser; auto cross-validates."
        ),
    ] = "1",
    epsilon: Annotated[
        float | None,
        typer.Option(
            "--epsilon", metavar="NUMBER", help="Errors that epsilon_insensitive forgives.", show_default="0.1"
        ),
    ] = None,
    multi_class: Annotated[
        Literal["auto", "ovr", "ovo"] | None,
        typer.Option(
            "--multi-class",
            metavar="WAY",
            help="ovr sets each class against the rest, ovo against each other one; auto takes ovo for few classes.",
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
        Literal["delayed", "immediate", "dense"],
        typer.Option("--expansion", metavar="WHEN", help="How codes are learned on: delayed, immediate or dense."),
    ] = "delayed",
    solver: Annotated[
        Literal["auto", "bundle", "dual", "newton", "projected"],
        typer.Option("--solver", metavar="NAME", help="auto, bundle, dual, newton or projected."),
    ] = "auto",
    tol: Annotated[
        float, typer.Option("--tol", metavar="NUMBER", help="Relative duality gap at which to stop.")
    ] = 1e-3,
    max_iter: Annotated[int, typer.Option("--max-iter", metavar="N", min=1, help="Most passes over the rows.")] = 1000,
    storage: Annotated[
        Literal["auto", "memory", "disk"],
        typer.Option("--storage", metavar="WHERE", help="Where encoded rows are kept: auto, memory or disk."),
    ] = "auto",
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
        _number_or_auto(C),
        epsilon,
        multi_class,
        class_weight,
        probability,
        expansion,
        solver,
        tol,
        max_iter,
        storage,
    )


def _number_or_auto(text: str) -> float | None:
    if text == "auto":
        return None
    try:
        C = float(text)
    except ValueError:
        C = math.nan
    if not 0 < C < math.inf:
        raise ArgumentError(f"--C must be a number above 0, or auto, not {text}.")
    return C


def build_learner(choices: Choices, y, seed: int):
    """The estimator, not fitted, for labels ``y``."""
    task = choices.task or ("regress" if y.dtype.kind == "f" else "classify")
    if task == "regress" and y.dtype.kind not in "iuf":
        raise ArgumentError("The labels are words, which cannot be predicted as numbers. Leave --task out.")
    if task == "classify" and y.dtype.kind == "f":
        raise ArgumentError("The labels are fractions, not classes. Leave --task out, or say --task regress.")
    given: dict[str, Any] = _encoding(choices, seed) | _common(choices, task) | {"random_state": seed}
    return _classifier(choices, given) if task == "classify" else _regressor(choices, given)


def _classifier(choices: Choices, given: dict[str, Any]):
    from mercer.learners import KernelClassifier, KernelClassifierCV

    if choices.epsilon is not None:
        raise ArgumentError("--epsilon belongs to --task regress. Leave it out.")
    given["class_weight"], given["probability"] = choices.class_weight, choices.probability
    if choices.multi_class is not None:
        given["multi_class"] = choices.multi_class
    return KernelClassifierCV(**given) if choices.C is None else KernelClassifier(C=choices.C, **given)


def _regressor(choices: Choices, given: dict[str, Any]):
    from mercer.learners import KernelRegressor

    said = {
        "--C auto": choices.C is None,
        "--multi-class": choices.multi_class is not None,
        "--class-weight": choices.class_weight is not None,
        "--probability": choices.probability,
    }
    wrong = [option for option, is_said in said.items() if is_said]
    if wrong:
        raise ArgumentError(f"{wrong[0]} is for classes, and these labels are numbers to predict. Leave it out.")
    if choices.epsilon is not None:
        given["epsilon"] = choices.epsilon
    return KernelRegressor(C=choices.C, **given)


def _common(choices: Choices, task: str) -> dict[str, Any]:
    from mercer.learners._losses import CLASSIFICATION_LOSSES, REGRESSION_LOSSES

    losses = CLASSIFICATION_LOSSES if task == "classify" else REGRESSION_LOSSES
    if choices.loss is not None and choices.loss not in losses:
        raise ArgumentError(f"There is no loss {choices.loss!r} to {task}. Losses: {', '.join(losses)}.")
    names = ("expansion", "solver", "tol", "max_iter", "storage")
    given = {name: getattr(choices, name) for name in names}
    return given if choices.loss is None else given | {"loss": choices.loss}


def _encoding(choices: Choices, seed: int) -> dict[str, Any]:
    """The kernel or the map, as keywords of the estimator."""
    if choices.encoder is not None:
        return {"map": build_map(choices.encoder, choices.kernel, choices.param, None, seed)}
    from mercer.kernels import get_kernel

    name = choices.kernel or "chi2"
    given = named_values(choices.param, "kernel__gamma=0.5")
    foreign = [key for key in given if not key.startswith(_OF_KERNEL)]
    if foreign:
        raise ArgumentError(f"The parameter {foreign[0]!r} is one of a map, but no map was named. Name it with --map.")
    try:
        kernel = get_kernel(name, **{key.removeprefix(_OF_KERNEL): value for key, value in given.items()})
    except InputError as error:
        raise ArgumentError(str(error)) from error
    return {"kernel": kernel if given else name}
