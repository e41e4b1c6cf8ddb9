"""The estimators of scikit-learn that a model file may hold, and what of each is kept and checked.

The list is closed. For every class it names the attributes that ``fit`` leaves behind and that ``predict`` or
``transform`` read, private ones too, with the kind of value each has; whatever else an object carries, or a file says,
is refused. The same checks run before an object is written and after it is read. Attributes are those of scikit-learn
1.6 to 1.9; an object that lacks one the installed version needs is refused rather than left to fail later.

A kind is a word for ``KINDS``, arrays with the lengths of their axes: ``F`` is ``n_features_in_``, another letter
the same length wherever it stands in one object, ``*`` any. Before it, ``?`` marks what may be missing, ``-`` what may
be None.
"""

__all__ = ["FUNCTIONS", "PREFIX", "build_listed", "listed_class", "listed_name", "packed_state", "portable"]

import inspect
import math
import re
from collections import UserList
from importlib import import_module
from typing import Any

import numpy as np

from mercer._base.files.sklearn_kinds import KINDS, is_estimator, is_part, is_plain, packed, require, unpacked

PREFIX = "sklearn."  # before the names of these classes in a file; Mercer's own have none
FUNCTIONS = {  # score functions that a file may name
    name: "sklearn.feature_selection" for name in ("f_classif", "f_regression", "chi2", "mutual_info_classif")
}
_MOST_OUTPUTS, _HIGHEST_DEGREE, _MOST_JOBS = 2**22, 64, 128
_EVERY = {"n_features_in_": "count", "feature_names_in_": "?names", "_sklearn_output_config": "?plain"}
_ENCODER = {"categories_": "categories", "_infrequent_enabled": "flag"}
_LINEAR = {"coef_": "array * F", "intercept_": "intercept", "n_iter_": "-?plain"}
_CLASSIFIER = _LINEAR | {"classes_": "labels"}
_REGRESSOR = _LINEAR | {"coef_": "coefficients"}
_SCORED = {"scores_": "any F", "pvalues_": "-any F"}

# module -> class -> attributes
LISTED: dict[str, dict[str, dict[str, str]]] = {
    "sklearn.preprocessing": {
        "StandardScaler": {"mean_": "-array F", "scale_": "-array F", "var_": "-array F", "n_samples_seen_": "samples"},
        "MinMaxScaler": dict.fromkeys(("data_max_", "data_min_", "data_range_", "min_", "scale_"), "array F")
        | {"n_samples_seen_": "samples"},
        "MaxAbsScaler": {"max_abs_": "array F", "scale_": "array F", "n_samples_seen_": "samples"},
        "RobustScaler": {"center_": "-array F", "scale_": "-array F"},
        "Normalizer": {},
        "Binarizer": {},
        "QuantileTransformer": {"n_quantiles_": "count", "quantiles_": "any Q F", "references_": "array Q"},
        "PowerTransformer": {"lambdas_": "array F", "_scaler": "?object"},
        "OneHotEncoder": _ENCODER
        | {"drop_idx_": "-objects", "_drop_idx_after_grouping": "-objects", "_n_features_outs": "plain"},
        "OrdinalEncoder": _ENCODER | {"_missing_indices": "plain"},
        "LabelEncoder": {"classes_": "labels"},
        "LabelBinarizer": {"classes_": "labels", "sparse_input_": "flag", "y_type_": "word"},
        "KBinsDiscretizer": {"bin_edges_": "objects", "n_bins_": "integers F", "_encoder": "?object"},
        "PolynomialFeatures": dict.fromkeys(
            ("_max_degree", "_min_degree", "_n_out_full", "n_output_features_"), "count"
        ),
        "FunctionTransformer": {},
    },
    "sklearn.impute": {
        "SimpleImputer": {"statistics_": "fill F", "indicator_": "-object", "_fit_dtype": "dtype"}
        | {"_fill_dtype": "?dtype"},
        "MissingIndicator": {"features_": "integers *", "_n_features": "count", "_precomputed": "flag"},
    },
    "sklearn.feature_selection": {
        "VarianceThreshold": {"variances_": "any F"},
        "SelectKBest": _SCORED,
        "SelectPercentile": _SCORED,
    },
    "sklearn.decomposition": {
        "PCA": {"components_": "array K F", "mean_": "array F", "noise_variance_": "number", "n_components_": "count"}
        | dict.fromkeys(("explained_variance_", "explained_variance_ratio_", "singular_values_"), "any K")
        | {"n_samples_": "count", "_fit_svd_solver": "word"},
        "TruncatedSVD": {"components_": "array K F"}
        | dict.fromkeys(("explained_variance_", "explained_variance_ratio_", "singular_values_"), "any K"),
    },
    "sklearn.feature_extraction.text": {"TfidfTransformer": {"idf_": "?array F"}},
    "sklearn.linear_model": {
        "LogisticRegression": _CLASSIFIER,
        "LinearRegression": _REGRESSOR | {"n_iter_": "?plain", "rank_": "?plain", "singular_": "?any *"},
        "Ridge": _REGRESSOR | {"solver_": "?word"},
    },
    "sklearn.svm": {"LinearSVC": _CLASSIFIER, "LinearSVR": _REGRESSOR},
    "sklearn.pipeline": {"Pipeline": {}, "FeatureUnion": {}},
    "sklearn.compose": {
        "ColumnTransformer": {"transformers_": "parts", "_columns": "plain", "_remainder": "part"}
        | {"_transformer_to_input_indices": "plain", "output_indices_": "plain", "sparse_output_": "flag"},
        "TransformedTargetRegressor": {"regressor_": "object", "transformer_": "object", "_training_dim": "count"},
    },
}
_MODULE_OF = {name: module for module, classes in LISTED.items() for name in classes}
_STATE_OF = {name: state for classes in LISTED.values() for name, state in classes.items()}
_WITHOUT_WIDTH = ("LabelEncoder", "LabelBinarizer", "Pipeline", "FeatureUnion", "TransformedTargetRegressor")
_PARTS = {"Pipeline": "steps", "FeatureUnion": "transformer_list", "ColumnTransformer": "transformers"}
_INNER = {"TransformedTargetRegressor": ("regressor", "transformer"), "ColumnTransformer": ("remainder",)}
_GROUPING = ("min_frequency", "max_categories")
_NONE = ("memory", "func", "inverse_func")  # parameters that would be code, or a folder of pickles
# Parameters that come and go between versions 1.6 and 1.9: those that only fit reads, and values that say nothing.
_READ_BY_FIT = {
    "ColumnTransformer": "force_int_remainder_cols",
    "KBinsDiscretizer": "quantile_method",
    "LinearRegression": "tol",
}
_UNSET: dict[str, list[tuple[str, str | bool]]] = {
    "ColumnTransformer": [("force_int_remainder_cols", "deprecated")],
    "KBinsDiscretizer": [("quantile_method", "warn")],
    "LogisticRegression": [("multi_class", "deprecated"), ("penalty", "deprecated")],
    "MaxAbsScaler": [("clip", False)],
}


def listed_class(name: str) -> type | None:
    """The class of scikit-learn that a name in a file stands for, or None if it is not listed."""
    name = name.removeprefix(PREFIX) if name.startswith(PREFIX) else ""
    return getattr(import_module(_MODULE_OF[name]), name) if name in _MODULE_OF else None


def listed_name(cls: type) -> str | None:
    """The name of a class in a file, or None if it is not listed."""
    name = PREFIX + cls.__name__
    return name if cls.__module__.startswith("sklearn.") and listed_class(name) is cls else None


def packed_state(model: Any) -> dict[str, Any]:
    """The attributes that are kept, in the order of their names, as a file can hold them. Raises ValueError."""
    _check_parameters(model)
    kinds, parameters = _kinds(type(model)), model.get_params(deep=False)
    state = {name: _plain_columns(value) for name, value in sorted(vars(model).items()) if name not in parameters}
    unknown = [name for name in state if name not in kinds]
    if unknown:
        raise ValueError(f"its attribute {unknown[0]} is not supported in model files")
    _check_state(model, state, kinds)
    return {name: packed(value, kinds[name]) for name, value in state.items()}


def _plain_columns(value: Any) -> Any:
    """The same, but the columns of a remainder, in scikit-learn 1.6 a list that warns its readers, as a plain list."""
    if isinstance(value, UserList):
        return value.data
    return type(value)(map(_plain_columns, value)) if type(value) in (list, tuple) else value


def portable(cls: type, parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters that another version wrote, without those that the installed one may lack and can do without."""
    known, title = inspect.signature(cls).parameters, cls.__name__

    def is_needed(name: str, value: Any) -> bool:
        if name not in known and name == _READ_BY_FIT.get(title):
            return False
        return type(value) not in (str, bool) or (name, value) not in _UNSET.get(title, [])

    return {name: value for name, value in parameters.items() if is_needed(name, value)}


def build_listed(cls: type, parameters: dict[str, Any], state: dict[str, Any]) -> Any:
    """The object of a class on the list, checked. Raises ValueError, or what scikit-learn raises for its parameters."""
    model, kinds = cls(**parameters), _kinds(cls)
    _check_parameters(model)
    if hasattr(cls, "_parameter_constraints") and cls.__name__ not in _PARTS:
        model._validate_params()
    unknown = [name for name in state if name not in kinds]
    if unknown:
        raise ValueError(f"{unknown[0][:80]!r} is not an attribute that model files support")
    values = {name: unpacked(value, kinds[name]) for name, value in state.items()}
    _check_state(model, values, kinds)
    for name, value in values.items():
        setattr(model, name, value)
    return model


# ---------------------------------------------------------------------------------------------------------- parameters


def _check_parameters(model: Any) -> None:
    """Parameters are plain values; parts of a container are estimators, and nothing is code."""
    name = type(model).__name__
    for parameter, value in model.get_params(deep=False).items():
        if parameter in _NONE:
            require(value is None, f"its parameter {parameter} must be None, because model files contain no code")
        elif parameter in _GROUPING:
            require(
                value is None,
                f"its parameter {parameter} must be None, because groups of infrequent categories are not supported",
            )
        elif parameter == _PARTS.get(name):
            allowed = isinstance(value, list) and all(map(is_part, value)) and (value or name != "Pipeline")
            require(allowed, f"its {parameter} are not pairs or triples")
        elif parameter in _INNER.get(name, ()):
            allowed = value is None or isinstance(value, str) or is_estimator(value)
            require(allowed, f"its {parameter} is not an estimator")
        elif parameter == "n_jobs":
            allowed = value is None or (type(value) is int and abs(value) <= _MOST_JOBS)
            require(allowed, f"n_jobs={value!r} is not a number of at most {_MOST_JOBS}")
        elif parameter == "score_func":
            require(
                value in [getattr(import_module(module), title) for title, module in FUNCTIONS.items()],
                "its score_func must be one of " + ", ".join(FUNCTIONS),
            )
        else:
            allowed = is_plain(value) or (parameter == "dtype" and isinstance(value, type | np.dtype))
            require(allowed, f"its parameter {parameter} is {type(value).__name__}, not a plain value")


# --------------------------------------------------------------------------------------------------------------- state


def _kinds(cls: type) -> dict[str, str]:
    name = cls.__name__
    every = {k: v for k, v in _EVERY.items() if k != "n_features_in_"} if name in _WITHOUT_WIDTH else _EVERY
    kinds = _STATE_OF[name] | every
    if name == "SimpleImputer" and _sklearn_version() >= (1, 8):
        kinds = kinds | {"_fill_dtype": "dtype"}
    return kinds


def _sklearn_version() -> tuple[int, int]:
    import sklearn

    major, minor = sklearn.__version__.split(".")[:2]
    return int(major), int(minor)


def _check_state(model: Any, state: dict[str, Any], kinds: dict[str, str]) -> None:
    """Every attribute is of its kind, and what has to be there is. An object without any is one that is not fitted."""
    if not state.keys() - {"_sklearn_output_config"}:
        return
    missing = [name for name, kind in kinds.items() if "?" not in kind and name not in state]
    if missing:
        version = ".".join(map(str, _sklearn_version()))
        raise ValueError(
            f"it lacks {missing[0]}, which scikit-learn {version} needs. Fit and save it again with this version"
        )
    lengths: dict[str, int] = {}
    if "n_features_in_" in state:
        KINDS["count"](state["n_features_in_"], "", lengths)
        lengths["F"] = int(state["n_features_in_"])
    for name, value in state.items():
        marks, kind, axes = re.fullmatch(r"([-?]*)(\w+) ?(.*)", kinds[name]).groups()  # type: ignore[union-attr]
        if value is None and "-" in marks:
            continue
        try:
            KINDS[kind](value, axes, lengths)
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"its attribute {name} is not valid ({error})") from error
    _CHECKS.get(type(model).__name__, _nothing)(model, state)


def _nothing(model: Any, state: dict[str, Any]) -> None:
    """No check beyond the kinds of attributes."""


# ------------------------------------------------------------------------------- what one attribute says about another


def _check_onehot(model, state):
    """Columns of the output are counted from these; a wrong one is a column that a sparse matrix lacks."""
    _check_encoder(model, state)
    sizes, dropped = [len(each) for each in state["categories_"]], state["drop_idx_"]
    after = state["_drop_idx_after_grouping"]
    require((dropped is None) == (after is None), "its dropped categories are inconsistent")
    if dropped is not None:
        for size, first, second in zip(sizes, dropped, after, strict=True):
            require(first is None or (type(first) is not np.ndarray and first < size), "it drops a missing category")
            require(first == second, "it drops different categories in two attributes")
        sizes = [size - (one is not None) for size, one in zip(sizes, dropped, strict=True)]
    require(state["_n_features_outs"] == sizes, "the width of its output does not match its categories")


def _check_encoder(model, state):
    require(not state["_infrequent_enabled"], "groups of infrequent categories are not supported")
    indices = state.get("_missing_indices", {})
    require(isinstance(indices, dict), "its missing categories are not in a dictionary")
    for column, index in indices.items():
        known = type(column) is int and 0 <= column < len(state["categories_"])
        require(
            known and isinstance(index, int | np.integer) and 0 <= index < len(state["categories_"][column]),
            "one of its missing categories is not among its categories",
        )


def _check_bins(model, state):
    for count, edges in zip(state["n_bins_"], state["bin_edges_"], strict=True):
        require(isinstance(edges, np.ndarray) and len(edges) == count + 1, "it must have one more edge than bins")
    require(model.encode == "ordinal" or type(state.get("_encoder")).__name__ == "OneHotEncoder", "it has no encoder")


def _check_polynomial(model, state):
    """How many columns it makes, by the formula: a degree is one number that can ask for any amount of memory."""
    low, high, width = state["_min_degree"], state["_max_degree"], state["n_features_in_"]
    require(low <= high <= _HIGHEST_DEGREE, "its degrees are out of range")
    asked = (0, model.degree) if isinstance(model.degree, int | np.integer) else tuple(model.degree)
    require(asked == (low, high), "its degrees do not match its parameter")
    ways = (lambda d: math.comb(width, d)) if model.interaction_only else (lambda d: math.comb(width + d - 1, d))
    total = sum(ways(d) for d in range(max(1, low), high + 1)) + bool(model.include_bias)
    require(total == state["n_output_features_"], "the width of its output does not match its degree")
    require(state["_n_out_full"] <= _MOST_OUTPUTS and total <= _MOST_OUTPUTS, "its output is too wide")


def _check_classifier(model, state):
    rows = 1 if len(state["classes_"]) == 2 else len(state["classes_"])
    require(state["coef_"].shape[0] == rows, "its weights do not match its classes")
    require(np.size(state["intercept_"]) in (1, rows), "its intercepts do not match its classes")


def _check_columns(model, state):
    width, indices = state["n_features_in_"], state["_transformer_to_input_indices"]
    require(isinstance(indices, dict) and isinstance(state["_columns"], list), "its columns are not listed")
    for numbers in indices.values():
        require(
            isinstance(numbers, list) and all(isinstance(i, int | np.integer) and 0 <= i < width for i in numbers),
            "it takes columns that do not exist",
        )


_CHECKS = {
    "OneHotEncoder": _check_onehot,
    "OrdinalEncoder": _check_encoder,
    "KBinsDiscretizer": _check_bins,
    "PolynomialFeatures": _check_polynomial,
    "QuantileTransformer": lambda model, state: require(
        state["n_quantiles_"] == len(state["references_"]) > 0, "the number of its quantiles is wrong"
    ),
    "TfidfTransformer": lambda model, state: require(not model.use_idf or "idf_" in state, "it lacks idf_"),
    "PowerTransformer": lambda model, state: require(
        not model.standardize or type(state.get("_scaler")).__name__ == "StandardScaler", "it lacks its scaler"
    ),
    "LogisticRegression": _check_classifier,
    "LinearSVC": _check_classifier,
    "ColumnTransformer": _check_columns,
}
