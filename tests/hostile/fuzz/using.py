"""What people do with a model, done with a forged one: every method that takes rows, on fitting and on odd rows."""

import warnings

import numpy as np
from scipy import sparse

OF_ROWS = (
    "transform", "codes", "approximate_kernel", "residual", "decision_function", "predict", "predict_proba", "embed",
    "embed_queries", "nearest", "agreement", "project", "gram", "row_norms",
)  # fmt: skip
OF_IMAGES = ("detect", "explain", "locate_words", "word_shares")
MOST_COLUMNS = 4096


def use(model, method, rows, rng):
    """Call what the model offers; what it raises is returned, one exception per call that raised."""
    raised = []
    of_images = rows.ndim > 2 or method == "detect"
    for given in [rows, _odd(rows, rng)] if of_images else [_fitting(model, rows), _odd(_fitting(model, rows), rng)]:
        names = OF_IMAGES + OF_ROWS if of_images else OF_ROWS
        calls = [(name, getattr(type(model), name, None)) for name in names]
        calls = [name for name, found in calls if callable(found)]
        if callable(model):
            calls.append("__call__")
        for name in calls:
            raised += _attempt(_call, model, name, given)
        raised += _attempt(_fold, model, given)
    return raised


def _attempt(function, *arguments):
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            function(*arguments)
    except Exception as error:  # a model of nonsense may refuse its input in any words
        return [error]
    return []


def _call(model, name, given):
    if name == "detect":
        model.detect(given, threshold=-1e30)
    elif name in ("explain", "locate_words"):
        getattr(model, name)(given[0])
    else:
        getattr(model, name)(given)


def _fold(model, given):
    """Weights of one class, folded into a predictor; codes, back into rows; bits, as distances."""
    if hasattr(model, "inner_") and hasattr(model, "fold"):
        n_features = model.inner_.n_features
        if n_features <= MOST_COLUMNS:
            model.fold(np.ones(n_features))(given)
    if hasattr(model, "inverse_transform"):
        model.inverse_transform(model.transform(given))
    if hasattr(model, "distance_from_codes"):
        model.distance_from_codes(model.transform(given))
    if hasattr(type(model), "coder_"):
        model.coder_.encode(model.levelled(model.embed(given)))
        model.coder_.tables(model.levelled_queries(model.embed_queries(given)))


def _fitting(model, rows):
    """Rows as wide as the model wants them; one that refuses to say it gets them as they are."""
    try:
        width = getattr(model, "n_features_in_", rows.shape[-1])
    except Exception:
        return rows
    if type(width) is not int or not 0 < width <= MOST_COLUMNS or rows.ndim != 2:
        return rows
    return rows[:, np.arange(width) % rows.shape[1]]


def _odd(rows, rng):
    kind = int(rng.integers(6))
    if rows.dtype.kind == "U":  # molecules
        return [rows[:, None], rows[::-1], np.char.multiply(rows, 40), np.zeros(3), np.array(["", "(", "C\0"]), rows][
            kind
        ]
    if rows.ndim > 2 or rows.shape[0] > 16:
        small, halved, white = rows[..., :5, :5], rows[..., ::2, :], rows * 0 + 255
        return [halved, rows.astype(np.float32), np.zeros_like(rows), white, small, rows][kind]
    if kind == 0:
        return sparse.csr_array(rows)
    with np.errstate(all="ignore"):
        return [rows.astype(np.float32), rows * 1e30, rows * 0, -rows, (rows * 1e-30).astype(np.float32)][kind - 1]
