"""What a user would take for a table: each side as a function of nothing, with the scaling that it needs."""

from __future__ import annotations

OURS = "Mercer, KernelClassifier()"
GRID = "SVC, grid of 12, 3 folds"
PACKAGES = {"LightGBM": "lightgbm"}  # all others come with Mercer


def judge(parts, side, set_name, quick):
    """A job: fit on every split and predict its test rows; a dict of figures for each. The first split is timed."""
    import warnings
    from contextlib import nullcontext

    import numpy as np
    from scipy import sparse

    from benchmarks.compare._table_sets import NUMBERS, splits

    warnings.simplefilter("ignore")  # of solvers that end early, which is part of what is compared
    make, found = REGRESSORS[side] if set_name in NUMBERS else MAKERS[side], []
    for number, split in enumerate(splits(set_name, quick)):
        is_sparse = sparse.issparse(split.X)
        if side == OURS and number == 0:  # what is compiled is compiled before
            few = np.concatenate([np.flatnonzero(split.y == one)[:20] for one in np.unique(split.y)])
            make(is_sparse).fit(split.X[few], split.y[few])
        model = make(is_sparse)
        with parts.part("fit") if number == 0 else nullcontext():
            model.fit(split.X, split.y)
        with parts.part("predict") if number == 0 else nullcontext():
            predicted = model.predict(split.X_test)
        found.append(_figures(model, predicted, split, set_name))
    return found


def _figures(model, predicted, split, set_name):
    from benchmarks.compare._table_sets import NUMBERS, RARE

    probabilities = model.predict_proba(split.X_test) if hasattr(model, "predict_proba") else None
    if set_name in NUMBERS:
        from sklearn.metrics import r2_score

        score = r2_score(split.y_test, predicted)
    elif set_name in RARE:
        from sklearn.metrics import roc_auc_score

        decided = model.decision_function(split.X_test) if probabilities is None else probabilities[:, 1]
        score = roc_auc_score(split.y_test, decided)
    else:
        score = float((predicted == split.y_test).mean())
    return {
        "score": 100 * float(score),
        "log loss": None if probabilities is None else _log_loss(probabilities, split.y_test, list(model.classes_)),
        "chosen": str(getattr(model, "best_params_", "")) or str(getattr(getattr(model, "plan_", None), "kernel", "")),
        "rows": len(split.y),
    }


def _log_loss(probabilities, y, classes):
    import numpy as np

    column = {one: k for k, one in enumerate(classes)}
    own = [probabilities[i, column[one]] if one in column else 0.0 for i, one in enumerate(y)]
    return float(-np.log(np.maximum(own, 1e-15)).mean())


def _scaled(is_sparse, *steps):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler

    return make_pipeline(MaxAbsScaler() if is_sparse else MinMaxScaler(clip=True), *steps)


def mercer(is_sparse):
    from mercer import KernelClassifier

    return KernelClassifier(random_state=0)


def linear(is_sparse):
    from sklearn.svm import LinearSVC

    return _scaled(is_sparse, LinearSVC())


def svc(is_sparse):
    from sklearn.svm import SVC

    return _scaled(is_sparse, SVC())


def svc_grid(is_sparse):
    from sklearn.model_selection import GridSearchCV

    grid = {"svc__C": [1, 10, 100], "svc__gamma": ["scale", 0.1, 1.0, 10.0]}
    return GridSearchCV(svc(is_sparse), grid, cv=3)


def sampler(is_sparse):
    from sklearn.kernel_approximation import AdditiveChi2Sampler
    from sklearn.svm import LinearSVC

    return _scaled(is_sparse, AdditiveChi2Sampler(), LinearSVC())


def nystroem(is_sparse):
    from sklearn.kernel_approximation import Nystroem
    from sklearn.svm import LinearSVC

    return _scaled(is_sparse, Nystroem(n_components=300, random_state=0), LinearSVC())


def boosting(is_sparse):
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=0, early_stopping=False)


def boosting_early(is_sparse):
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=0, early_stopping=True)


def lightgbm(is_sparse):
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=0, verbose=-1, n_jobs=1)


def forest(is_sparse):
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(random_state=0)


def neighbors(is_sparse):
    from sklearn.neighbors import KNeighborsClassifier

    return _scaled(is_sparse, KNeighborsClassifier())


MAKERS = {
    OURS: mercer,
    "LinearSVC": linear,
    "SVC": svc,
    GRID: svc_grid,
    "AdditiveChi2Sampler + LinearSVC": sampler,
    "Nystroem + LinearSVC": nystroem,
    "HistGradientBoosting": boosting,
    "HistGradientBoosting, early stopping": boosting_early,
    "LightGBM": lightgbm,
    "random forest": forest,
    "k-NN": neighbors,
}


def mercer_numbers(is_sparse):
    from mercer import KernelRegressor

    return KernelRegressor(random_state=0)


def _regression(*steps):
    """Columns scaled to [0, 1], and a target of standard deviation 1, without which SVR and its C mean nothing."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.preprocessing import StandardScaler

    return TransformedTargetRegressor(_scaled(False, *steps), transformer=StandardScaler())


def linear_numbers(is_sparse):
    from sklearn.linear_model import RidgeCV

    return _regression(RidgeCV())


def svr(is_sparse):
    from sklearn.svm import SVR

    return _regression(SVR())


def svr_grid(is_sparse):
    from sklearn.model_selection import GridSearchCV

    grid = {"regressor__svr__C": [1, 10, 100], "regressor__svr__gamma": ["scale", 0.1, 1.0, 10.0]}
    return GridSearchCV(svr(is_sparse), grid, cv=3)


def sampler_numbers(is_sparse):
    from sklearn.kernel_approximation import AdditiveChi2Sampler
    from sklearn.linear_model import RidgeCV

    return _regression(AdditiveChi2Sampler(), RidgeCV())


def nystroem_numbers(is_sparse):
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import RidgeCV

    return _regression(Nystroem(n_components=300, random_state=0), RidgeCV())


def boosting_numbers(is_sparse):
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(random_state=0, early_stopping=False)


def boosting_early_numbers(is_sparse):
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(random_state=0, early_stopping=True)


def lightgbm_numbers(is_sparse):
    from lightgbm import LGBMRegressor

    return LGBMRegressor(random_state=0, verbose=-1, n_jobs=1)


def forest_numbers(is_sparse):
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(random_state=0)


def neighbors_numbers(is_sparse):
    from sklearn.neighbors import KNeighborsRegressor

    return _regression(KNeighborsRegressor())


REGRESSORS = dict(
    zip(
        MAKERS,
        (
            mercer_numbers, linear_numbers, svr, svr_grid, sampler_numbers, nystroem_numbers, boosting_numbers,
            boosting_early_numbers, lightgbm_numbers, forest_numbers, neighbors_numbers,
        ),
        strict=True,
    )
)  # fmt: skip
DENSE_ONLY = ("HistGradientBoosting", "HistGradientBoosting, early stopping")
