"""Names of columns of what scikit-learn does not know: rows of files and of Dask data frames.

Data frames are checked by scikit-learn's ``validate_data``; this does the same, in the same words, for row sources.
"""

__all__ = ["settle_feature_names"]

import warnings

import numpy as np

from mercer._base.errors import InputError
from mercer._base.tables.columns import listed


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
