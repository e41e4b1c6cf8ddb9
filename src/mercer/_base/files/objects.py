"""Which classes a model file may name, what of an object is kept, and how it is built again.

An object is its constructor parameters and its fitted state: the instance attributes that end in ``_``, as scikit-learn
names them. Private attributes are caches and are left out. Loading refuses NaN and infinity everywhere (a class lists
what may hold them in ``_may_be_infinite``), calls the constructor and, if the class has it, ``_check_loaded()``: there
a class validates the shapes, types and ranges that its compiled loops trust, with the checks of
:mod:`mercer._base.files.loaded`, and raises if they do not fit. Estimators of scikit-learn are those of
:mod:`mercer._base.files.sklearn_objects`, under rules of its own.
"""

__all__ = ["build", "name_in_file", "parameters_of", "saveable_class", "state_of"]

import inspect
from importlib import import_module
from typing import Any

from mercer._base.errors import NotSaveableError
from mercer._base.files.container import FileProblem
from mercer._base.files.loaded import check_width, refuse_not_finite
from mercer._base.files.renames import renamed
from mercer._base.files.sklearn_objects import PREFIX, build_listed, listed_class, listed_name, packed_state, portable


def saveable_class(name: str) -> type | None:
    """The class of that public name, or None if a model file may not name it.

    The table of public names is consulted when it is needed, and modules are imported by name: this layer lies below
    kernels, maps and learners and must not import them, yet has to find the one class that a file asks for.
    """
    import mercer

    if name.startswith(PREFIX):
        return listed_class(name)
    module = mercer._NAMES.get(name)
    found = getattr(import_module(module), name, None) if module else None
    is_ours = isinstance(found, type) and found.__module__.startswith("mercer.") and hasattr(found, "get_params")
    return found if is_ours else None


def name_in_file(cls: type) -> str | None:
    """The name of a class in a model file, or None if it cannot stand in one."""
    return listed_name(cls) or (cls.__name__ if saveable_class(cls.__name__) is cls else None)


def parameters_of(model: Any) -> dict[str, Any]:
    """The constructor parameters, in the order of their names."""
    return dict(sorted(model.get_params(deep=False).items()))


def state_of(model: Any) -> dict[str, Any]:
    """The fitted attributes, in the order of their names.

    An attribute that is neither parameter, nor fitted, nor private would be lost without a word: it is refused.
    """
    reason = getattr(type(model), "_not_saveable", None)
    if reason:
        raise NotSaveableError(f"{type(model).__name__} cannot be saved: {reason}")
    if listed_name(type(model)):
        try:
            return packed_state(model)
        except ValueError as error:
            raise NotSaveableError(f"{type(model).__name__} of scikit-learn cannot be saved: {error}.") from error
    parameters = model.get_params(deep=False)
    state = {}
    for name, value in sorted(getattr(model, "__dict__", {}).items()):
        if name in parameters or name.startswith("_"):
            continue
        if not name.endswith("_"):
            raise NotSaveableError(
                f"{type(model).__name__}.{name} cannot be saved: it is neither a parameter nor fitted state. "
                f"Name it {name}_ to keep it or _{name} to leave it out."
            )
        if _may_be_state(type(model), name):  # what functools.cached_property leaves behind is not
            state[name] = value
    return state


def build(cls: type, parameters: dict[str, Any], state: dict[str, Any]) -> Any:
    """An instance with these parameters and this fitted state. A parameter that an older file lacks has its default."""
    parameters = portable(cls, parameters) if listed_name(cls) else renamed(cls.__name__, parameters)
    unknown = sorted(set(parameters) - set(inspect.signature(cls).parameters))
    if unknown:
        raise FileProblem(f"is refused: {cls.__name__} has no parameter {unknown[0][:80]!r}.")
    if listed_name(cls):
        try:
            return build_listed(cls, parameters, state)
        except Exception as error:  # scikit-learn's checks raise what they like
            raise FileProblem(f"is refused: it does not describe a valid {cls.__name__}: {error}.") from error
    wrong = [name for name in state if not _may_be_state(cls, name)]
    if wrong:
        raise FileProblem(f"is refused: {wrong[0][:80]!r} cannot be fitted state of {cls.__name__}.")
    try:
        refuse_not_finite(parameters | state, getattr(cls, "_may_be_infinite", ()))
        check_width(state)
        model = cls(**parameters)
        for name, value in state.items():
            setattr(model, name, value)
        _check_columns(model)
        if state and hasattr(model, "_check_loaded"):  # nothing to check in a model saved before it was fitted
            model._check_loaded()
    except Exception as error:  # whatever a class raises on values it did not write, the file is to blame
        raise FileProblem(f"is refused: it does not describe a valid {cls.__name__}. {error}") from error
    return model


def _check_columns(model: Any) -> None:
    """What a model knows of the table it was fitted on must fit its features."""
    import numpy as np

    known, n = vars(model), getattr(model, "n_features_in_", None)
    names, others, means = (known.get(name) for name in ("feature_names_in_", "other_columns_", "feature_means_"))
    if names is not None:
        is_right = isinstance(names, np.ndarray) and names.dtype.kind in "OU" and names.shape == (n,)
        if not is_right or len(set(names.tolist())) != n:
            raise ValueError("feature_names_in_ must hold one unique name per column.")
    if others is not None and not (isinstance(others, list) and all(isinstance(name, str) for name in others)):
        raise ValueError("other_columns_ must be a list of names.")
    if means is not None:
        is_right = isinstance(means, np.ndarray) and means.dtype == np.float64 and means.shape == (n,)
        if not is_right or not np.isfinite(means).all():
            raise ValueError("feature_means_ must hold one finite number per column.")


def _may_be_state(cls: type, name: str) -> bool:
    """Whether setting the attribute can only store a value: never a property, a method or something private."""
    is_fitted_name = name.isidentifier() and name.endswith("_") and not name.startswith("_")
    return is_fitted_name and not hasattr(type(inspect.getattr_static(cls, name, None)), "__get__")
