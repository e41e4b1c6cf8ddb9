"""What a fit is going to do, said before it does it: the map, the rows, the geometry, the solver, the memory.

The map of a kernel is chosen here, from what the kernel is and never from labels.
"""

__all__ = ["Plan", "check_memory", "choose_map", "choose_storage"]

from dataclasses import asdict, dataclass, fields

from mercer._base.errors import InputError
from mercer._base.html.pieces import facts
from mercer._base.memory import available_memory
from mercer.learners.fitting.wording import lines_of, sentence, size
from mercer.maps import HomogeneousMap, NystroemMap, SparseAdditiveMap

ORDER = 3  # of a HomogeneousMap
POINTS, MOST_POINTS = 32, 2**18  # of a SparseAdditiveMap, per column and in all
LANDMARKS = 1024  # of a NystroemMap
MEMORY_SHARE = 0.5  # of the available memory that rows may take before they go to disk
WORK_SHARE = 0.75  # of it that scores and weights of all columns may take; the rest is for rows and for predicting
SIGN_BYTES = 2  # of a row in a column: its sign, and whether it is positive


def choose_map(kernel, n_columns, random_state=None, n_jobs=None):
    """The map that stands for a kernel when the user names none.

    Parameters
    ----------
    kernel : Kernel
    n_columns : columns of the raw rows
    random_state, n_jobs : as in the map

    Notes
    -----
    Judged by cross-validation on training rows of digits, pendigits and covtype, the exact kernels being the reference:

    - Additive homogeneous kernels: HomogeneousMap. It learns nothing (so weights and repeated rows mean the same),
      takes values of any size and keeps CSR. A SparseAdditiveMap is as accurate with two numbers per value, but needs a
      geometry, which excludes the solvers for the identity; NystroemMap(per_dimension=True) is with three, but its
      tables grow with the columns and end at twice the largest training value.
    - Intersection, and power means close to it: SparseAdditiveMap, exact on its grid. A sampled spectrum converges too
      slowly for a kernel with a kink. With very many columns, as of text, a grid for each is more weights than there
      are numbers in the rows; a map of fixed size does as well as the few points that one could afford.
    - Linear and Hellinger: HomogeneousMap, which is exact for them.
    - All others: NystroemMap, which takes fewer features than random Fourier features for the same accuracy, and is the
      exact kernel as long as every row can be a landmark.
    """
    if kernel.additive and kernel.has_spectrum and (not kernel.has_kink or n_columns * POINTS > MOST_POINTS):
        return HomogeneousMap(kernel, ORDER, "least-squares", n_jobs=n_jobs)
    if kernel.additive and kernel.scalar(0.0, 1.0) == 0:
        return SparseAdditiveMap(kernel, n_points=POINTS, random_state=random_state, n_jobs=n_jobs)
    return NystroemMap(kernel, n_landmarks=LANDMARKS, random_state=random_state, n_jobs=n_jobs)


# ------------------------------------------------------------------------------------------------------------- storage


def choose_storage(storage, n_bytes):
    """``"memory"`` or ``"disk"`` for encoded rows of that size."""
    if storage != "auto":
        return storage
    return "memory" if n_bytes <= MEMORY_SHARE * available_memory() else "disk"


def check_memory(plan):
    """Refuse a plan whose columns need more memory than there is, before any of it is taken.

    What is counted does not shrink: encoded rows may go to disk, and planes are given up one by one.
    """
    of_rows = 0 if plan.storage == "workers" else plan.work_bytes
    needed = of_rows + plan.tables_bytes + SIGN_BYTES * plan.n_rows * plan.n_columns
    available = available_memory()
    if needed <= WORK_SHARE * available:
        return
    advice = "Use fewer rows, or fit some columns of y at a time."
    if plan.problems in ("one-vs-rest", "one-vs-one", "joint"):
        pairs = "Use multi_class='ovr', or" if plan.problems == "one-vs-one" else "Give"
        advice = f"{pairs} fewer classes or fewer rows. If y holds numbers, use KernelRegressor; ids are not classes."
    raise InputError(
        f"{plan.estimator} would need {size(needed)} of memory for {plan.n_columns:,} columns of scores "
        f"({plan.problems}) of {plan.n_rows:,} rows, more than {WORK_SHARE:.0%} of the {size(available)} available. "
        f"{advice}"
    )


# ---------------------------------------------------------------------------------------------------------------- plan


@dataclass
class Plan:
    """Description of a fit. ``summary`` is a sentence, ``str(plan)`` a small table.

    Parameters
    ----------
    estimator : its name
    kernel : what is approximated
    map : name of its class, empty where rows are compared by exact kernel values
    rows : how the encoded rows are kept
    inner : the inner product of the features
    n_rows, n_inputs, n_features, n_factors, n_columns : n, raw columns, D, r and P
    problems : how the classes or outputs become columns
    loss, solver : their names
    storage : ``"memory"``, ``"disk"`` or, of a Dask cluster, ``"workers"``
    rows_bytes : the encoded rows, expected
    work_bytes : scores and slopes of all rows, and weights, for all columns
    planes_bytes : cutting planes, at most
    tables_bytes : weights on features, for all columns
    levels : how values become levels, where they do

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import KernelClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> plan = KernelClassifier("chi2").plan(X, y)
    >>> plan.map, plan.n_inputs, plan.n_features, plan.n_columns
    ('HomogeneousMap', 4, 28, 3)
    >>> plan.summary
    'chi2 kernel through a map of 7 numbers per column (28 in all); 3 pairs of classes; 30.9 KiB of memory'
    """

    estimator: str
    kernel: str
    map: str
    rows: str
    inner: str
    n_rows: int
    n_inputs: int
    n_features: int
    n_factors: int
    n_columns: int
    problems: str
    loss: str
    solver: str
    storage: str
    rows_bytes: int
    work_bytes: int
    planes_bytes: int
    tables_bytes: int
    levels: str = ""

    def get_params(self, deep=True):
        """Fields by name, which is what a model file keeps."""
        return asdict(self)

    def _check_loaded(self):
        wrong = [field.name for field in fields(self) if type(getattr(self, field.name)) not in (str, int)]
        if wrong:
            raise ValueError(f"{wrong[0]} must be a string or an integer.")

    @property
    def total_bytes(self):
        """Memory the fit is expected to take beside the raw rows, at most."""
        in_memory = self.rows_bytes if self.storage == "memory" else 0
        return in_memory + self.work_bytes + self.planes_bytes + self.tables_bytes

    @property
    def summary(self):
        """The model in one sentence."""
        return sentence(self)

    def __str__(self):
        lines = lines_of(self)
        width = max(len(name) for name, _ in lines)
        return "\n".join([self.estimator, *(f"  {name:<{width}}  {line}" for name, line in lines)])

    def _repr_html_(self):
        return facts(self.estimator, dict(lines_of(self)))
