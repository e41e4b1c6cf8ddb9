"""What a class asks of the values that a model file put into it: one vocabulary for every ``_check_loaded``.

A valid checksum says nothing about who wrote a file. Compiled loops trust their input, and numpy allocates what it is
told to; so types are exact, shapes fit together, indices are bounded below and above, counts are bounded by sizes that
the file has bytes for. Numbers that are not finite never get this far: :func:`refuse_not_finite` looks at everything.

A check raises ValueError, which :func:`mercer._base.files.objects.build` turns into the refusal of the file.
"""

__all__ = [
    "FLOATS", "MOST_COLUMNS", "check_kind", "check_matrix", "check_number", "check_whole", "check_width",
    "checked_array", "refuse_not_finite",
]  # fmt: skip

import math
from typing import Any

import numpy as np
from scipy import sparse

FLOATS = ("float32", "float64")
MOST_COLUMNS = 2**31  # more than any array that a loop walks over; no shape may count on more
_AT_ONCE = 2**20  # numbers that are looked at together: the answer takes little memory whatever the array has


def checked_array(model, name, dtype, *, ndim=None, shape=None, lowest=None, highest=None):
    """The array of that attribute, if it has one of these types and sizes, is finite, and lies in the range.

    Parameters
    ----------
    model : the loaded object
    name : the attribute
    dtype : name of a type, or several of them
    ndim : number of dimensions
    shape : sizes, None for one that may be any
    lowest, highest : smallest and largest value, both included
    """
    value = getattr(model, name, None)
    dtypes = (dtype,) if isinstance(dtype, str) else dtype
    if type(value) not in (np.ndarray, np.memmap) or value.dtype.name not in dtypes:
        raise ValueError(f"{name} must be an array of {' or '.join(dtypes)}.")
    if ndim is not None and value.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimension{'s' * (ndim != 1)}, not {value.ndim}.")
    if shape is not None and not _fits(value.shape, shape):
        wanted = ", ".join("any" if side is None else str(side) for side in shape) + "," * (len(shape) == 1)
        raise ValueError(f"{name} must have shape ({wanted}), not {value.shape}.")
    if not _is_finite(value):
        raise ValueError(f"{name} must be finite, but contains NaN or infinity.")
    if value.size and (lowest is not None or highest is not None):
        low, high = value.min(), value.max()
        if (lowest is not None and not low >= lowest) or (highest is not None and not high <= highest):
            raise ValueError(f"{name} must be numbers {_range(lowest, highest)}, not {low:.6g} to {high:.6g}.")
    return value


def check_matrix(model, name, *, shape=None):
    """The rows of that attribute, dense or CSR, of float32 or float64, as loops over rows take them."""
    value = getattr(model, name, None)
    if not sparse.issparse(value):
        return checked_array(model, name, FLOATS, ndim=2, shape=shape)
    if not isinstance(value, sparse.csr_array) or value.dtype.name not in FLOATS or not value.has_canonical_format:
        raise ValueError(f"{name} must be a CSR array of floats with ascending, unique columns.")
    if shape is not None and not _fits(value.shape, shape):
        raise ValueError(f"{name} must have shape {shape}, not {value.shape}.")
    return value


def check_whole(model, name, lowest, highest):
    """The integer of that attribute, if it lies in the range, ends included."""
    value = getattr(model, name, None)
    if type(value) is bool or not isinstance(value, (int, np.integer)) or not lowest <= value <= highest:
        raise ValueError(f"{name} must be an integer {_range(lowest, highest)}, not {_shown(value)}.")
    return int(value)


def check_number(model, name, *, lowest=-math.inf, above=None):
    """The finite number of that attribute: a Python float, at least ``lowest`` or greater than ``above``."""
    value = getattr(model, name, None)
    limit = lowest if above is None else above
    fits = type(value) is float and math.isfinite(value) and (value >= limit if above is None else value > limit)
    if not fits:
        wanted = f"> {above}" if above is not None else _range(lowest if math.isfinite(lowest) else None, None)
        raise ValueError(f"{name} must be a number {wanted}, not {_shown(value)}.")
    return value


def check_kind(model, name, kind, *, optional=False):
    """The object of that attribute, if it is one of a class (or None, where that is allowed)."""
    value = getattr(model, name, None)
    if not isinstance(value, kind) and not (optional and value is None):
        wanted = kind.__name__ if isinstance(kind, type) else " or ".join(one.__name__ for one in kind)
        raise ValueError(f"{name} must be an instance of {wanted}{' or None' * optional}, not {type(value).__name__}.")
    return value


def check_width(values: dict[str, Any]) -> None:
    """What scikit-learn keeps of the columns of its input, if the state has it."""
    width = values.get("n_features_in_")
    if "n_features_in_" in values and (type(width) is not int or not 1 <= width < MOST_COLUMNS):
        raise ValueError(f"n_features_in_ must be an integer from 1 to {MOST_COLUMNS - 1}, not {_shown(width)}.")
    if "feature_names_in_" in values:
        names = values["feature_names_in_"]
        texts = isinstance(names, np.ndarray) and names.ndim == 1 and all(isinstance(name, str) for name in names)
        if not texts or width is None or len(names) != width:
            raise ValueError("feature_names_in_ must hold one name for each of the n_features_in_ columns.")


def refuse_not_finite(values: dict[str, Any], allowed: tuple[str, ...] = ()) -> None:
    """Raise ValueError for a value that is, or holds, NaN or infinity; the names in ``allowed`` may.

    Objects inside were built before and have been looked at themselves.
    """
    for name, value in values.items():
        if name not in allowed and not _is_finite(value):
            raise ValueError(f"{name} must be finite, but contains NaN or infinity.")


def _is_finite(value: Any) -> bool:
    if isinstance(value, (float, complex, np.inexact)):
        return bool(np.isfinite(value))
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "fc":
            return True
        flat = value.reshape(-1, order="A")
        return all(bool(np.isfinite(flat[i : i + _AT_ONCE]).all()) for i in range(0, len(flat), _AT_ONCE))
    if sparse.issparse(value):
        return _is_finite(value.data)
    if isinstance(value, dict):
        value = list(value.values())
    return not isinstance(value, (list, tuple)) or all(map(_is_finite, value))


def _fits(shape, wanted):
    return len(shape) == len(wanted) and all(
        want is None or side == want for side, want in zip(shape, wanted, strict=True)
    )


def _range(lowest, highest):
    if lowest is None or highest is None:
        return "of any size" if lowest is highest else f">= {lowest}" if highest is None else f"<= {highest}"
    return f"from {lowest} to {highest}"


def _shown(value):
    return repr(value)[:40]
