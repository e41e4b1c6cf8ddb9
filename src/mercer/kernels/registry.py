"""Names of kernels, as accepted wherever a kernel is."""

__all__ = ["KERNELS", "TakesKernel", "get_kernel", "in_words", "needs_non_negative"]

import re

from mercer._base.errors import InputError, did_you_mean
from mercer.kernels import additive, exponential, ratios, universal_rbf
from mercer.kernels.base import Kernel
from mercer.kernels.compose import CallableKernel

KERNELS = {
    kernel.name: kernel
    for kernel in (
        additive.Linear,
        additive.Hellinger,
        additive.Chi2,
        additive.Intersection,
        additive.JensenShannon,
        additive.PowerMean,
        additive.GeneralizedIntersection,
        ratios.BrayCurtis,
        ratios.MinMax,
        ratios.DotTanimoto,
        exponential.RBF,
        exponential.Laplacian,
        exponential.ExpChi2,
        exponential.Exponential,
        universal_rbf.UniversalRBF,
    )
}
ALIASES = {
    "js": "jensen-shannon",
    "hik": "intersection",
    "min": "intersection",
    "bhattacharyya": "hellinger",
    "gaussian": "rbf",
    "tanimoto": "min-max",
    "ruzicka": "min-max",
    "minmax": "min-max",
    "expchi2": "exp-chi2",
    "braycurtis": "bray-curtis",
}
# names that are too far from ours to be guessed by their letters
MEANT = {
    **dict.fromkeys(("chi-squared", "chi-square", "chisquared", "chisquare", "chi-sq", "additive-chi2"), "chi2"),
    **dict.fromkeys(("histogram-intersection", "histogram", "minimum"), "intersection"),
    **dict.fromkeys(("gauss", "squared-exponential", "se"), "rbf"),
    **dict.fromkeys(("jaccard", "weighted-jaccard"), "min-max"),
    **dict.fromkeys(("dot", "dot-product", "cosine", "none"), "linear"),
    "exponential-chi2": "exp-chi2",
    "jsd": "jensen-shannon",
}


def get_kernel(kernel, **params):
    """Get a kernel object from a name, a function or a kernel.

    Parameters
    ----------
    kernel : str, callable or Kernel
        A name such as ``"chi2"`` or ``"js"`` (underscores and case do not matter), a function for
        :class:`CallableKernel`, or a kernel, which is returned as it is.
    **params
        Parameters of the named kernel, for example ``get_kernel("rbf", gamma=0.5)``.

    >>> get_kernel("power_mean", p=-4)
    PowerMean(p=-4, signed=False)
    """
    if isinstance(kernel, Kernel):
        if params:
            raise InputError(f"{kernel!r} already has its parameters; {sorted(params)} cannot be added.")
        return kernel
    if isinstance(kernel, str):
        return _by_name(kernel, params)
    if callable(kernel):
        return CallableKernel(kernel, **params)
    raise InputError(f"A kernel must be a name, a Kernel object or a function; got {kernel!r}.")


def needs_non_negative(resolve):
    """Whether rows must be non-negative for the kernel that ``resolve()`` returns; False if it refuses to.

    scikit-learn asks for the tags of an estimator wherever it shows or clones one: a wrong kernel is `fit`'s to refuse.

    >>> needs_non_negative(lambda: get_kernel("chi2")), needs_non_negative(lambda: get_kernel("tpyo"))
    (True, False)
    """
    try:
        return getattr(resolve(), "positive_definite_on", "") == "non-negative"
    except InputError:
        return False


class TakesKernel:
    """For estimators whose parts may be names or None: these have no parameters that ``set_params`` could set."""

    def set_params(self, **params):
        """Set the parameters of this estimator, or of its parts, as in ``kernel__gamma`` with ``kernel=RBF()``."""
        own = self.get_params(deep=False)
        for key in params:
            name, is_nested, _ = key.partition("__")
            part = params.get(name, own.get(name))
            if is_nested and name in own and not hasattr(part, "set_params"):
                said = f"{name}={part!r}" + (" is a name and" if isinstance(part, str) else "")
                raise InputError(
                    f"{type(self).__name__} cannot set {key}, because {said} has no parameters. Use "
                    f"{_object_for(name, part)} to set those of the {name}."
                )
        return super().set_params(**params)


def _object_for(name, part):
    """What to write instead of a name: ``kernel=RBF()`` for ``"rbf"``."""
    if name != "kernel":
        return f"an object as {name}"
    try:
        return f"kernel={type(get_kernel(part)).__name__}()"
    except InputError:
        return "an object such as kernel=RBF()"


def in_words(kernel):
    """Describe a kernel, or its ``repr``, in words: its name and its chosen arguments.

    >>> in_words("Chi2(signed=False)"), in_words("ExpChi2(gamma=0.51234)"), in_words("Linear() + RBF(gamma=1.0)")
    ('chi2 kernel', 'exp-chi2 kernel (gamma=0.5123)', 'kernel Linear() + RBF(gamma=1.0)')
    """
    text = re.sub(r"\d+\.\d+(e[-+]?\d+)?", lambda found: f"{float(found[0]):.4}", str(kernel))
    names = {kind.__name__: name for name, kind in KERNELS.items()}
    parts = re.fullmatch(r"(\w+)\(([^()]*)\)", text)
    if parts is None or parts[1] not in names:
        return f"kernel {text}"
    said = ", ".join(part for part in parts[2].split(", ") if part and part != "signed=False")
    return f"{names[parts[1]]} kernel" + (f" ({said})" if said else "")


def _by_name(name, params):
    key = name.strip().lower().replace("_", "-").replace(" ", "-")
    key = ALIASES.get(key, key)
    if key not in KERNELS:
        hint = did_you_mean(MEANT.get(key, key), [*KERNELS, *ALIASES])
        raise InputError(f"There is no kernel {name!r}. {hint}Kernels: {', '.join(KERNELS)}.")
    try:
        return KERNELS[key](**params)
    except TypeError:
        accepted = sorted(KERNELS[key]().get_params()) or ["no parameters"]
        raise InputError(f"Kernel {key!r} got {', '.join(sorted(params))}; it takes {', '.join(accepted)}.") from None
