"""Accuracy on real data: kernels through maps, exact kernels, linear; and linear on product-quantised rows."""

from __future__ import annotations

from benchmarks.registry import Bar, benchmark

KERNELS = ("chi2", "intersection")
DENSE_SETS, SPARSE_SETS = ("pendigits", "digits", "covtype"), ("20newsgroups", "sector")
BEATEN = ("pendigits", "covtype")  # sets on which linear is not enough
CODED_SETS = ("Fashion-MNIST", "digits")
BLOCK_SIZES = {16: 4, 32: 8}  # compression of float32 -> numbers per byte
EXACT = "{}, {}: accuracy of the exact kernel's SVM - KernelClassifier's"
LINEAR = "{}, {}: accuracy of KernelClassifier - linear SVM's"
CODED = "{}, linear: accuracy on float32 - accuracy on codes {} times smaller"

# in units of 1 / mean K(x, x), for every side
C_GRID = (0.1, 1.0, 10.0, 100.0, 1000.0)
TEXT_GRID = (1.0, 10.0, 100.0)
TEXT_PASSES = 50  # of liblinear's coordinate descent: a C that needs more is not the best one either
FOLDS = 3


@benchmark(
    "accuracy",
    "KernelClassifier against exact-kernel SVMs and linear SVMs; product-quantised against float32 rows",
    bars=[
        *(Bar(EXACT.format(name, kernel), "<= 0.5", "points") for name in DENSE_SETS for kernel in KERNELS),
        *(Bar(LINEAR.format(name, kernel), ">= 1", "points") for name in BEATEN for kernel in KERNELS),
        *(Bar(CODED.format(name, times), "<= 1", "points") for name in CODED_SETS for times in BLOCK_SIZES),
    ],
    needs=["pendigits", "covtype", "dataset-fashion-mnist"],
)
def accuracy(record):
    from benchmarks.runner import limited_threads

    with limited_threads(record.threads):
        _kernels(record, DENSE_SETS)
        _codes(record)
    _say_how(record)


@benchmark(
    "accuracy-text",
    "KernelClassifier against exact-kernel SVMs and linear SVMs on sparse text",
    bars=[Bar(EXACT.format(name, kernel), "<= 0.5", "points") for name in SPARSE_SETS for kernel in KERNELS],
    needs=["20newsgroups", "sector"],
)
def accuracy_text(record):
    from benchmarks.runner import limited_threads

    with limited_threads(record.threads):
        _kernels(record, SPARSE_SETS)
    _say_how(record)


def _say_how(record):
    record.note(
        "C is chosen for every side by the same three-fold cross-validation on the training rows, from five values "
        "(text: three) that are powers of ten over the mean of K(x, x). The exact side is scikit-learn's SVC on "
        "Mercer's exact kernel matrices. The linear side is LinearSVC on rows of length 1 (sparse sets) or, as "
        "the folds choose, on the rows as they are or with standardised columns (dense sets)."
    )
    record.note(
        "Dense columns are scaled to [0, 1] by the training rows; word counts and tf-idf rows sum to 1. Digits is the "
        "mean of five splits, 1,000 rows against 797; covtype has 10,000 training and 20,000 test rows; the others "
        "have their published splits."
    )


def _kernels(record, names):
    import numpy as np

    from benchmarks.compare._sets import splits

    lines = []
    for name in names:
        found = [_judged(split) for split in splits(name, record.quick)]
        mean = {side: float(np.mean([one[side][0] for one in found])) for side in found[0]}
        for kernel in KERNELS:
            ours, exact = mean["mercer", kernel], mean["exact", kernel]
            record.measured(EXACT.format(name, kernel), exact - ours, f"{exact:.4g} - {ours:.4g} %")
            if name in BEATEN:
                linear = mean["linear", ""]
                record.measured(LINEAR.format(name, kernel), ours - linear, f"{ours:.4g} - {linear:.4g} %")
            plan = found[0]["mercer", kernel][1]
            lines.append([name, kernel, ours, exact, mean["linear", ""], ours - exact, ours - mean["linear", ""], plan])
    columns = ["set", "kernel", "mercer %", "exact %", "linear %", "mercer - exact", "mercer - linear", "plan"]
    record.table("accuracy on test rows", columns, lines)


def _judged(split):
    """(side, kernel) -> (accuracy in percent, what was chosen)"""
    found = {("linear", ""): _linear(split)}
    for kernel in KERNELS:
        found["mercer", kernel] = _mercer(split, kernel=kernel)
        found["exact", kernel] = _exact(split, kernel)
    return found


def _folds():
    from sklearn.model_selection import StratifiedKFold

    return StratifiedKFold(FOLDS, shuffle=True, random_state=0)


def _mercer(split, **parameters):
    """KernelClassifierCV with a kernel or a map."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    from mercer import KernelClassifierCV

    model = KernelClassifierCV(**parameters, Cs=_c_values(split, parameters), cv=_folds(), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of the folds; the gap of the model is told
        model.fit(split.X, split.y)
    plan = f"{type(model.map_).__name__}, {model.multi_class_}, {model.plan_.solver}, C = {model.C_:.3g}"
    if model.gap_ > model.tol:
        plan += f", gap {model.gap_:.1e}"
    return 100 * model.score(split.X_test, split.y_test), plan


def _c_values(split, parameters):
    return [c / _mean_diagonal(split.X, parameters.get("kernel", "linear")) for c in _grid(split)]


def _grid(split):
    """Values of C to choose from: on text, where an exact machine takes long, those around the best."""
    from scipy import sparse

    return TEXT_GRID if sparse.issparse(split.X) else C_GRID


def _mean_diagonal(X, kernel):
    """Mean of K(x, x)."""
    from mercer import get_kernel

    return float(get_kernel(kernel).diag(X).mean())


def _exact(split, kernel):
    """SVC on exact kernel matrices; C by cross-validation on the training matrix."""
    import numpy as np
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC

    from mercer import get_kernel

    exact = get_kernel(kernel)
    scale = _mean_diagonal(split.X, kernel)
    K = exact(split.X).astype(np.float64) / scale
    search = GridSearchCV(SVC(kernel="precomputed", cache_size=1000), {"C": _grid(split)}, cv=_folds()).fit(K, split.y)
    del K
    K_test = exact(split.X_test, split.X).astype(np.float64) / scale
    return 100 * search.score(K_test, split.y_test), f"C = {search.best_params_['C']:g}"


def _linear(split):
    """LinearSVC; C, and for dense rows the scaling of their columns, by cross-validation."""
    import warnings

    from scipy import sparse
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import Normalizer, StandardScaler
    from sklearn.svm import LinearSVC

    if sparse.issparse(split.X):
        grids = {"scale": [Normalizer()], "linear__C": list(_grid(split))}
        linear = LinearSVC(max_iter=TEXT_PASSES, random_state=0)
    else:
        scale, n_columns = _mean_diagonal(split.X, "linear"), split.X.shape[1]
        grids = [
            {"scale": ["passthrough"], "linear__C": [c / scale for c in C_GRID]},
            {"scale": [StandardScaler()], "linear__C": [c / n_columns for c in C_GRID]},
        ]
        linear = LinearSVC(dual=False, random_state=0)
    model = Pipeline([("scale", "passthrough"), ("linear", linear)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a C too large to be reached is not chosen either
        search = GridSearchCV(model, grids, cv=_folds()).fit(split.X, split.y)
    return 100 * search.score(split.X_test, split.y_test), f"C = {search.best_params_['linear__C']:.3g}"


def _codes(record):
    """The same linear classifier on float32 rows and on the codes of a quantiser."""
    import numpy as np

    from benchmarks.compare._sets import splits
    from mercer import ProductQuantizer

    lines = []
    for name in CODED_SETS:
        chosen = splits(name, record.quick)
        plain = float(np.mean([_mercer(split, kernel="linear")[0] for split in chosen]))
        for times, size in BLOCK_SIZES.items():
            quantizer = ProductQuantizer(size, random_state=0)
            coded = float(np.mean([_mercer(split, map=quantizer)[0] for split in chosen]))
            record.measured(CODED.format(name, times), plain - coded, f"{plain:.4g} - {coded:.4g} %")
            lines.append([name, times, size, plain, coded, plain - coded])
    columns = ["set", "times smaller", "numbers per byte", "float32 %", "codes %", "loss"]
    record.table("linear classifiers on product-quantised rows", columns, lines)
