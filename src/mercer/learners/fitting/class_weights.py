"""Factors of the losses of each class, as scikit-learn names them."""

__all__ = ["class_weights"]

from collections.abc import Mapping

import numpy as np
from sklearn.utils import compute_class_weight

from mercer._base.errors import InputError
from mercer._base.parameters import number


def class_weights(class_weight, y, classes, codes, weights, who):
    """The factor of each row, float64 (n,), by its class.

    Parameters
    ----------
    class_weight : "balanced", by the weights of the rows and not by their number, or factors by class
    y, codes : labels, and their numbers among the classes (n,)
    classes : labels
    weights : float64 (n,), which must stay finite with these factors
    who : name of the estimator
    """
    for name, weight in class_weight.items() if isinstance(class_weight, Mapping) else ():
        number(f"class_weight[{name!r}]", 1.0, "Factor for its losses.", least=0).check(weight, who)
    if isinstance(class_weight, str) and class_weight == "balanced":
        totals = np.bincount(codes, weights)
        factors = totals.sum() / (len(totals) * totals)
    else:
        factors = compute_class_weight(class_weight, classes=classes, y=y)
    with np.errstate(over="ignore"):
        if not np.isfinite(weights * factors[codes]).all():
            raise InputError(f"{who}: the product of sample_weight and class_weight is too large.")
    return factors[codes]
