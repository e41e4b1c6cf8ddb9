"""The options of ``mercer index build``, and the index that they describe."""

__all__ = ["INDEX", "new_index"]

from typing import Any

from mercer._base.parameters.search import INDEX as PARAMETERS
from mercer.cli.framework.checks import as_argument
from mercer.cli.framework.options import Group
from mercer.cli.framework.parameters import named_values
from mercer.cli.framework.shared import KERNEL_PARAM

_KERNEL, *_OTHERS = PARAMETERS
INDEX = Group((_KERNEL, KERNEL_PARAM, *_OTHERS), panel="Index")


def new_index(choices: dict[str, Any], seed: int):
    """The index that the options describe, not fitted. What cannot be combined is refused here."""
    from mercer import KernelIndex
    from mercer.kernels import get_kernel

    given = dict(choices)
    parameters = named_values(given.pop("param") or [], "--param gamma=0.5")
    if given["vectors"] == "none":
        given["vectors"] = None
    with as_argument():
        given["kernel"] = get_kernel(given["kernel"], **parameters)
        index = KernelIndex(**given, random_state=seed)
        index.check_parameters()
    return index
