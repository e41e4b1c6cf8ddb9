"""Looking into pipelines: the estimator that answers at their end, and their parts that remember names of columns."""

__all__ = ["last_step", "listed_name", "without_names"]

import copy
from typing import Any

_PARTS = {"sklearn.Pipeline": "steps", "sklearn.FeatureUnion": "transformer_list"}  # class -> its fitted parts
_INNER = {"sklearn.TransformedTargetRegressor": "regressor_"}


def listed_name(cls: type) -> str | None:
    """The name of a listed class of scikit-learn in model files, looked up without loading it for ``--help``."""
    from mercer._base.files.sklearn_objects import listed_name

    return listed_name(cls)


def last_step(model: Any) -> Any:
    """The estimator that answers: the last step of a pipeline, or the model itself."""
    name = listed_name(type(model))
    if name == "sklearn.Pipeline":
        return last_step(model.steps[-1][1])
    return last_step(getattr(model, "regressor_", None)) if name == "sklearn.TransformedTargetRegressor" else model


def without_names(model: Any) -> Any:
    """The model as it takes arrays. Rows are brought into its order before: it has no names to compare, or to miss."""
    if not hasattr(model, "feature_names_in_"):
        return model
    bare = copy.copy(model)
    vars(bare).pop("feature_names_in_", None)
    name = listed_name(type(model)) or ""
    if name in _PARTS:
        parts = getattr(model, _PARTS[name])
        setattr(bare, _PARTS[name], [(title, without_names(part)) for title, part in parts])
    if name == "sklearn.ColumnTransformer":  # which takes columns of arrays by number only
        numbers = model._transformer_to_input_indices
        bare.transformers_ = [(title, without_names(part), numbers[title]) for title, part, _ in model.transformers_]
    if name in _INNER:
        setattr(bare, _INNER[name], without_names(getattr(model, _INNER[name])))
    return bare
