"""From the options of ``mercer fit`` to an estimator that is not fitted yet."""

__all__ = ["LEARNER", "build_learner"]

from collections.abc import Callable
from typing import Any

from mercer._base.errors import did_you_mean
from mercer._base.parameters import Values, choice, named, text
from mercer._base.parameters.learners import ICD, INTERSECTION_SVC
from mercer._base.parameters.learners import LEARNER as PARAMETERS
from mercer._base.tables import ArgumentError
from mercer.cli.framework.checks import as_argument, first_said
from mercer.cli.framework.options import Group
from mercer.cli.framework.parameters import OF_KERNEL, named_values
from mercer.cli.framework.shared import MAP_PARAM
from mercer.cli.map.building import build_map

# None where nothing was said and the estimator's own default holds
LEARNER = Group((
    PARAMETERS["kernel"].unsaid("chosen by trials; chi2 with options of solvers; the map's own; intersection for icd"),
    text("encoder", None, "Map, by a name that mercer map fit lists; pq learns on the codes of a product quantizer; "
        "universal, qjl, compact, sign, klsh and rmmh learn on bits.", "NAME[:P=V,...]", "--map -m",
        shown="chosen for the kernel and the rows"),
    MAP_PARAM,
    choice("task", "classify regress", None, "Task: classify or regress.", "TASK", shown="regress if labels are "
        "fractions"),
    PARAMETERS["loss"].unsaid("squared_hinge; epsilon_insensitive"),
    PARAMETERS["C"].unsaid("chosen by trials; 1 for a named kernel; by the rows for icd"),
    PARAMETERS["scaling"].unsaid("chosen by trials"),
    PARAMETERS["budget"].but(metavar="SECONDS", shown="by the number of rows"),
    PARAMETERS["epsilon"].unsaid(),
    PARAMETERS["multi_class"].unsaid(),
    PARAMETERS["class_weight"],
    PARAMETERS["probability"],
    PARAMETERS["expansion"].unsaid(),
    PARAMETERS["solver"],
    ICD["bins"].unsaid(),
    ICD["binning"].unsaid(),
    PARAMETERS["tol"],
    PARAMETERS["max_iter"],
    PARAMETERS["storage"].unsaid(),
))  # fmt: skip


def build_learner(choices: Values, y, seed: int, in_memory: bool = True):
    """The estimator, not fitted, for labels ``y`` of rows that are in memory or on the workers of a cluster."""
    task = choices.task or ("regress" if y.dtype.kind == "f" else "classify")
    if task == "regress" and y.dtype.kind not in "iuf":
        raise ArgumentError("The labels are text and cannot be predicted as numbers. Remove --task.")
    if task == "classify" and y.dtype.kind == "f":
        raise ArgumentError("The labels are fractions, not classes. Remove --task, or use --task regress.")
    if choices.solver == "icd":
        _check(choices, _WITH_ICD)
        encoding, make = _levels(choices), _icd_class(task)
    else:
        _check(choices, _WITHOUT_ICD)
        encoding = _encoding(choices, seed, in_memory)
        make = _kernel_class(task, choices.C if _is_named(encoding) else None)
    if _is_named(encoding):
        _check(choices, _WITHOUT_TRIALS[task])
    _check(choices, _OF_TASK[task])
    _check_loss(choices, task)
    return make(**encoding, **_said(choices, task), random_state=seed)


def _is_named(encoding: dict[str, Any]) -> bool:
    """Whether a kernel, a map or a solver was said, which leaves nothing to trials."""
    return encoding != {"kernel": None}


def _kernel_class(task: str, C: float | str | None):
    from mercer.learners import KernelClassifier, KernelClassifierCV, KernelRegressor

    if task == "regress":
        return KernelRegressor
    return KernelClassifierCV if C == "auto" else KernelClassifier


def _icd_class(task: str):
    from mercer.learners import IntersectionSVC, IntersectionSVR

    return IntersectionSVC if task == "classify" else IntersectionSVR


def _said(choices: Values, task: str) -> dict[str, Any]:
    """What was said, as keywords of any estimator for the task."""
    names = ["loss", "C", "scaling", "budget", "expansion", "solver", "tol", "max_iter", "storage"]
    names += ["multi_class", "class_weight", "probability"] if task == "classify" else ["epsilon"]
    values = {name: getattr(choices, name) for name in names}
    return {name: value for name, value in values.items() if value not in (None, "auto")}


# ------------------------------------------------------------------------------------------- options that do not agree


Rule = tuple[Callable[[Values], Any], str]  # what finds that something is wrong, and the sentence that says so


def _of(*names: str) -> Callable[[Values], str | None]:
    """The first of the options that was said."""
    return lambda choices: first_said({f"--{name.replace('_', '-')}": choices[name] for name in names})


# in a sentence, {wrong} is what was found
_WITHOUT_ICD: tuple[Rule, ...] = (
    (_of("bins", "binning"), "{wrong} works only with --solver icd. Add --solver icd, or remove {wrong}."),
    (lambda it: it.kernel == "auto", "--kernel auto works only with --solver icd. Name a kernel, or add --solver icd."),
    (lambda it: it.multi_class == "crammer_singer", "--multi-class crammer_singer works only with --solver icd. "
        "Otherwise use --loss crammer_singer."),
)  # fmt: skip
_WITH_ICD: tuple[Rule, ...] = (
    (lambda it: it.C == "auto", "--solver icd does not support --C auto. Remove --C, or set a number."),
    (_of("encoder"), "--map does not work with --solver icd, which bins the values itself. Remove --map or --solver."),
    (_of("expansion", "storage"), "{wrong} applies to encoded rows, which --solver icd does not use. Remove it."),
    (lambda it: it.bins == "none" and it.binning not in (None, "auto"), "--bins none uses the values as levels, so "
        "--binning {it.binning} has no effect. Remove one of them."),
    (lambda it: it.kernel == "linear" and _of("bins", "binning")(it), "--kernel linear uses values, not levels. "
        "Remove {wrong} or --kernel."),
    (lambda it: it.multi_class == "crammer_singer" and it.loss is not None, "--multi-class crammer_singer has its "
        "own loss. Remove --loss or --multi-class."),
)  # fmt: skip
_NO_TRIALS: Rule = (_of("scaling", "budget"), "{wrong} applies only to automatic fitting, which does not run on a "
    "cluster or with a kernel, a map or a solver option. Remove {wrong}, or remove these."
)  # fmt: skip
_WITHOUT_TRIALS: dict[str, tuple[Rule, ...]] = {
    "classify": (_NO_TRIALS,),
    "regress": (_NO_TRIALS, (lambda it: it.C == "auto", "--C auto with a kernel works only for classification. "
        "Remove --kernel, or set a number.")),
}  # fmt: skip
_FOR_CLASSES = "{wrong} works only for classification, but the labels are numbers to predict. Remove it."
_OF_TASK: dict[str, tuple[Rule, ...]] = {
    "classify": ((lambda it: it.epsilon is not None, "--epsilon works only with --task regress. Remove it."),),
    "regress": ((_of("multi_class", "class_weight", "probability"), _FOR_CLASSES),),
}


def _check(choices: Values, rules: tuple[Rule, ...]) -> None:
    """Refuse choices that one of the rules finds something wrong with."""
    for finds, sentence in rules:
        wrong = finds(choices)
        if wrong:
            raise ArgumentError(sentence.format(wrong=wrong, it=choices))


def _check_loss(choices: Values, task: str) -> None:
    from mercer.learners import CLASSIFICATION_LOSSES, REGRESSION_LOSSES

    losses, what = tuple(CLASSIFICATION_LOSSES if task == "classify" else REGRESSION_LOSSES), task
    if choices.solver == "icd" and task == "classify":
        losses, what = named(INTERSECTION_SVC)["loss"].words, "classify with --solver icd"
    if choices.loss is not None and choices.loss not in losses:
        hint = did_you_mean(choices.loss, losses)
        raise ArgumentError(f"There is no loss {choices.loss!r} to {what}. {hint}Losses: {', '.join(losses)}.")


# ------------------------------------------------------------------------------------------------- kernel, map, levels


def _encoding(choices: Values, seed: int, in_memory: bool) -> dict[str, Any]:
    """The kernel or the map, as keywords of the estimator; no kernel where trials are to choose one."""
    if choices.encoder is not None:
        return {"map": build_map(choices.encoder, choices.kernel, choices.param or [], None, seed)}
    of_solver = _of("loss", "multi_class", "expansion", "storage")(choices) or choices.solver != "auto"
    if in_memory and choices.kernel is None and not choices.param and not of_solver:
        return {"kernel": None}
    return {"kernel": _kernel(choices, "chi2", "no map is named. Name one with --map.")}


def _levels(choices: Values) -> dict[str, Any]:
    """The kernel and the bins, as keywords of the estimator."""
    from mercer.kernels import get_kernel

    kernel = _kernel(choices, "intersection", "--solver icd uses none. Remove it.")
    resolved = get_kernel("intersection" if kernel == "auto" else kernel)
    if not resolved.additive or resolved.scalar(0.0, 1.0) != 0:
        raise ArgumentError(
            f"--solver icd needs an additive kernel, such as intersection or chi2, not {choices.kernel}. Name another "
            "kernel, or remove --solver."
        )
    found: dict[str, Any] = {"kernel": kernel}
    if choices.bins is not None:
        found["bins"] = None if choices.bins == "none" else choices.bins
    if choices.binning is not None:
        found["binning"] = choices.binning
    return found


def _kernel(choices: Values, default: str, but: str):
    """The name of the kernel, or the kernel if it was given parameters."""
    from mercer.kernels import get_kernel

    name = choices.kernel or default
    given = named_values(choices.param or [], "gamma=0.5")
    with as_argument():
        known = {} if name == "auto" else get_kernel(name).get_params()
    foreign = [key for key in given if not key.startswith(OF_KERNEL) and key not in known]
    if foreign:
        raise ArgumentError(f"{foreign[0]!r} is not a parameter of the kernel, but of a map, and {but}")
    if name == "auto" and given:
        raise ArgumentError("--kernel auto compares kernels without parameters. Remove --param.")
    if name == "auto":
        return name
    with as_argument():
        kernel = get_kernel(name, **{key.removeprefix(OF_KERNEL): value for key, value in given.items()})
    return kernel if given else name
