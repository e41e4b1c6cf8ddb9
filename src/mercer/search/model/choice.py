"""Which store an index has: the one place where that is decided."""

__all__ = ["DEFAULT_BYTES", "GRAPH_FROM", "chosen_store", "refuse_unserved"]

from numbers import Real

import numpy as np
from scipy import sparse

from mercer._base.errors import InputError
from mercer.kernels import get_kernel
from mercer.search.lists.formula import formula_of
from mercer.search.model.measure import Measure

DEFAULT_BYTES = 16  # of a code
# Dense rows of a fit from which on they get a graph: to look at so many embedded rows takes about as long as a walk
# through a graph of them. Fewer are found sooner by a scan, and without building anything.
GRAPH_FROM = 2**15
UNSET = {"bytes_per_item": (None,), "code": ("pq",), "bits": (8,), "embedding": ("auto",), "n_lists": ("auto", 0)}
UNSET_OF_DENSE = {"bytes_per_item": (None,), "code": ("pq",), "bits": (8,), "n_lists": ("auto", 0), "oversample": (10,)}


def chosen_store(index, X):
    """(store, the reason in a sentence) of a `KernelIndex` for rows X."""
    if index.store != "auto":
        return index.store, f"store={index.store!r} was requested."
    asked = _asked_for_codes(index, UNSET if sparse.issparse(X) else UNSET_OF_DENSE)
    if asked is not None:
        return "codes", f"{asked} requires codes."
    if not sparse.issparse(X):
        shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape  # of what is not validated yet
        if shape[:1] < (GRAPH_FROM,):
            return "codes", f"The rows are dense, and fit got fewer than {GRAPH_FROM:,}."
        return "graph", f"The rows are dense, and fit got at least {GRAPH_FROM:,}."
    reason = _unserved(index)
    if reason is not None:
        return "codes", f"Inverted lists do not support this kernel: {reason}."
    return "lists", "The rows are sparse, and inverted lists find the nearest ones exactly."


def _asked_for_codes(index, unset):
    """The parameter that only codes have a use for, None if there is none."""
    if index.vectors is None:
        return "vectors=None"
    for name, values in unset.items():
        value = getattr(index, name)
        if not any(value is each or (isinstance(value, (str, Real)) and value == each) for each in values):
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
    """Refuse what ``store="lists"`` or ``"graph"`` cannot do."""
    store = owner.store
    reason = _unserved(owner) if store == "lists" else None
    if reason is not None:
        raise InputError(
            "KernelIndex(store='lists') supports only kernels that are functions of sums over shared columns, but "
            f"{reason}. Use store='codes'."
        )
    if getattr(owner, "vectors", "auto") is None:
        raise InputError(f"KernelIndex(store={store!r}) needs the rows, which vectors=None does not store.")
    if getattr(owner, "n_lists", "auto") not in ("auto", 0):
        what = "has a list for every column" if store == "lists" else "has no lists"
        raise InputError(f"KernelIndex(store={store!r}) {what}; n_lists applies to lists of codes.")
