"""Looking into pipelines: what answers at their end, parts that remember names, what becomes of gaps and of words."""

__all__ = ["last_step", "listed_name", "takes_missing", "takes_molecules", "without_names", "word_columns"]

import copy
from collections.abc import Iterator, Sequence
from typing import Any

_PARTS = {"sklearn.Pipeline": "steps", "sklearn.FeatureUnion": "transformer_list"}  # class -> its fitted parts
_INNER = {"sklearn.TransformedTargetRegressor": "regressor_"}
_ENCODERS = ("sklearn.OneHotEncoder", "sklearn.OrdinalEncoder")
_FILLERS = ("sklearn.SimpleImputer", "sklearn.MissingIndicator", *_ENCODERS)  # behind which no value is missing


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


def takes_missing(model: Any) -> bool:
    """Whether a pipeline fills all missing values itself, before a step that would refuse them."""
    return listed_name(type(model)) is not None and _missing_behind(model) == "filled"


def _missing_behind(step: Any) -> str:
    """What has become of missing values behind a fitted step: "filled", "kept" or "refused"."""
    name = listed_name(type(step)) or ""
    if isinstance(step, str) or step is None:
        return "filled" if step == "drop" else "kept"
    if name == "sklearn.Pipeline":
        fates = (_missing_behind(part) for _, part in step.steps)
        return next((fate for fate in fates if fate != "kept"), "kept")
    if name in _INNER:
        return _missing_behind(getattr(step, _INNER[name]))
    if name in ("sklearn.ColumnTransformer", "sklearn.FeatureUnion"):
        parts = step.transformers_ if name == "sklearn.ColumnTransformer" else step.transformer_list
        side_by_side = {_missing_behind(part) for _, part, *_ in parts}
        return next(fate for fate in ("refused", "kept", "filled") if fate in {*side_by_side, "filled"})
    from sklearn.utils import get_tags

    if not get_tags(step).input_tags.allow_nan:
        return "refused"
    return "filled" if name in _FILLERS else "kept"


def takes_molecules(model: Any) -> bool:
    """Whether a pipeline begins with fingerprints of molecules, so that its rows are SMILES."""
    return listed_name(type(model)) == "sklearn.Pipeline" and getattr(model.steps[0][1], "takes_texts", False)


def word_columns(model: Any) -> list[str]:
    """The columns, by name or number, whose words a pipeline encodes."""
    names = getattr(model, "feature_names_in_", None)
    titles = range(getattr(model, "n_features_in_", 0)) if names is None else names
    return [str(title) for title in dict.fromkeys(_words_of(model, titles))]


def _words_of(step: Any, titles: Sequence[Any]) -> Iterator[Any]:
    """Those columns among ``titles``, the inputs of a fitted step, that it takes for words."""
    name = listed_name(type(step)) or ""
    if getattr(step, "takes_texts", False):
        yield from titles
    if name in _ENCODERS and len(step.categories_) == len(titles):
        for title, categories in zip(titles, step.categories_, strict=True):
            if any(isinstance(category, str) for category in categories):
                yield title
    elif name == "sklearn.ColumnTransformer":
        numbers = step._transformer_to_input_indices
        for title, part, _ in step.transformers_:
            yield from _words_of(part, [titles[i] for i in numbers.get(title, ())])
    elif name in _PARTS:
        for _, part in getattr(step, _PARTS[name]):  # a step before an encoder, an imputer say, keeps the columns
            yield from _words_of(part, titles)
    elif name in _INNER:
        yield from _words_of(getattr(step, _INNER[name]), titles)
