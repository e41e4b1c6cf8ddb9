"""Which store an index has: the one place where that is decided."""

__all__ = ["DEFAULT_BYTES", "chosen_store", "refuse_unserved"]

from scipy import sparse

from mercer._base.errors import InputError
from mercer.kernels import get_kernel
from mercer.search.lists.formula import formula_of
from mercer.search.model.measure import Measure

DEFAULT_BYTES = 16  # of a code


def chosen_store(index, X):
    """(store, the reason in a sentence) of a `KernelIndex` for rows X."""
    if index.store != "auto":
        return index.store, f"{index.store} were asked for."
    asked = _asked_for_codes(index)
    if asked is not None:
        return "codes", f"{asked} asks for codes."
    if not sparse.issparse(X):
        return "codes", "The rows are dense."
    reason = _unserved(index)
    if reason is not None:
        return "codes", f"Inverted lists cannot serve this kernel: {reason}."
    return "lists", "The rows are sparse, and inverted lists find the nearest ones exactly."


def _asked_for_codes(index):
    """The parameter that only codes have a use for, None if there is none."""
    if index.vectors is None:
        return "vectors=None"
    unset = {"bytes_per_item": (None,), "code": ("pq",), "bits": (8,), "embedding": ("auto",), "n_lists": ("auto", 0)}
    for name, values in unset.items():
        value = getattr(index, name)
        if not any(value is each or (isinstance(value, (str, int)) and value == each) for each in values):
            return f"{name}={value!r:.80}"
    return None


def _unserved(owner):
    """Why lists cannot serve the kernel of an index or a model, as half a sentence; None if they can."""
    try:
        formula_of(Measure(get_kernel(owner.kernel), owner.normalize, owner.measure))
    except InputError as error:
        return str(error)
    return None


def refuse_unserved(owner):
    """Refuse what ``store="lists"`` cannot do."""
    reason = _unserved(owner)
    if reason is not None:
        raise InputError(
            f"KernelIndex(store='lists') serves kernels that are functions of sums over shared columns, and {reason}. "
            "Use store='codes'."
        )
    if getattr(owner, "vectors", "auto") is None:
        raise InputError("KernelIndex(store='lists') needs the rows themselves, and vectors=None keeps none.")
    if getattr(owner, "n_lists", "auto") not in ("auto", 0):
        raise InputError("KernelIndex(store='lists') has a list for every column; n_lists is for lists of codes.")
