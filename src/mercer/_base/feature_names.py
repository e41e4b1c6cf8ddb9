"""Names of columns: of rows of files and Dask data frames, which scikit-learn does not know, and of features.

Data frames are checked by scikit-learn's ``validate_data``; ``settle_feature_names`` does the same, in the same words,
for row sources.
"""

__all__ = ["names_of_features", "names_of_groups", "settle_feature_names"]

import warnings

import numpy as np
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from mercer._base.errors import InputError
from mercer._base.tables.columns import listed

MOST_NAMES = 3  # in the name of a sum


def settle_feature_names(estimator, names, reset):
    """Keep the names of columns as ``feature_names_in_``, or compare them with those that are kept.

    Parameters
    ----------
    names : of the columns of the rows, or None
    reset : whether the estimator is being fitted
    """
    who, known = type(estimator).__name__, getattr(estimator, "feature_names_in_", None)
    if reset:
        if names is not None:
            estimator.feature_names_in_ = np.array(names, dtype=object)
        elif known is not None:
            del estimator.feature_names_in_
        return
    if known is None and names is not None:
        warnings.warn(f"X has feature names, but {who} was fitted without feature names", UserWarning, stacklevel=3)
    elif names is None and known is not None:
        warnings.warn(
            f"X does not have valid feature names, but {who} was fitted with feature names", UserWarning, stacklevel=3
        )
    elif known is not None and list(names) != list(known):
        unseen = [name for name in names if name not in set(known)]
        missing = [name for name in known if name not in set(names)]
        reasons = [f"unseen at fit time: {listed(unseen)}"] if unseen else []
        reasons += [f"seen at fit time, yet now missing: {listed(missing)}"] if missing else []
        reason = "; ".join(reasons) or "they must be in the same order as in fit"
        raise InputError(
            f"{who}: the feature names should match those that were passed during fit; {reason}. Open the rows with "
            "open_rows(..., like=model), which puts columns into the model's order."
        )


def names_of_groups(estimator, input_features, groups):
    """Names of sums of columns: ``a+b+c``, or of more than three ``a+5 more``.

    Parameters
    ----------
    estimator, input_features : as in :func:`names_of_features`
    groups : the number of its sum for each column, or -1 for a column that is left out
    """
    check_is_fitted(estimator)
    columns = _check_feature_names_in(estimator, input_features)
    parts = [columns[groups == number] for number in range(groups.max() + 1)]
    names = ["+".join(part) if len(part) <= MOST_NAMES else f"{part[0]}+{len(part) - 1} more" for part in parts]
    return np.array(names, dtype=object)


def names_of_features(estimator, input_features, what, width=None):
    """Names of features that belong to a column each, ``width`` of them to one: ``mz_12~chi2_0``, or ``mz_12~level``.

    Parameters
    ----------
    estimator : fitted
    input_features : names of the columns, or None for those of ``fit``; ``x0``, ``x1``, ... if it had none
    what : the word after the tilde
    width : features of a column, or None for a single one without a number
    """
    check_is_fitted(estimator)
    columns = _check_feature_names_in(estimator, input_features)
    endings = [f"~{what}"] if width is None else [f"~{what}_{i}" for i in range(width)]
    return np.array([f"{column}{ending}" for column in columns for ending in endings], dtype=object)
