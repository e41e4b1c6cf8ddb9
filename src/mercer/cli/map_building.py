"""From the words of a command line to a map."""

__all__ = ["build_map"]

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from mercer._base.errors import InputError
from mercer._base.tables import ArgumentError
from mercer.cli.parameters import named_values

_OF_KERNEL = "kernel__"  # scikit-learn's way of naming the parameters of a parameter


def build_map(text: str, kernel: str | None, param: Sequence[str], project: int | None, seed: int):
    """The map that NAME[:PARAM=VALUE,...], the kernel and further parameters stand for, not fitted."""
    from mercer.codes import ProductQuantizer
    from mercer.maps import MAPS, ProjectedMap

    name, _, inline = text.partition(":")
    known = {key: cls for key, cls in MAPS.items() if cls is not ProjectedMap}  # which --project makes
    known["pq"] = ProductQuantizer
    if name not in known:
        near = get_close_matches(name, known, n=1)
        hint = f"Did you mean {near[0]!r}? " if near else ""
        raise ArgumentError(f"There is no map {name!r}. {hint}Maps: {', '.join(known)}.")
    given = named_values([*(inline.split(",") if inline else []), *param], "order=2")
    made = _configured(known[name], name, kernel, given, seed)
    return made if project is None else ProjectedMap(made, n_components=project, random_state=seed)


def _configured(cls: type, name: str, kernel: str | None, given: dict[str, Any], seed: int):
    defaults = cls().get_params(deep=False)
    own = {key: value for key, value in given.items() if not key.startswith(_OF_KERNEL)}
    of_kernel = {key.removeprefix(_OF_KERNEL): value for key, value in given.items() if key.startswith(_OF_KERNEL)}
    unknown = sorted(set(own) - set(defaults))
    if unknown:
        accepted = ", ".join(sorted(set(defaults) - {"kernel", "n_jobs", "random_state"}))
        raise ArgumentError(f"The map {name} has no parameter {unknown[0]!r}; it takes {accepted}.")
    if "random_state" in defaults:
        own.setdefault("random_state", seed)
    made = cls(**own)
    if kernel is None and not of_kernel:
        return made
    from mercer.kernels import get_kernel

    its_own = made._resolved_kernel()
    try:
        chosen = get_kernel(kernel or its_own.name, **of_kernel)
    except InputError as error:
        raise ArgumentError(str(error)) from error
    if "kernel" in defaults:
        return made.set_params(kernel=chosen)
    if chosen != its_own:
        raise ArgumentError(f"The map {name} is made for the {its_own.name} kernel, not for {chosen.name}.")
    return made
