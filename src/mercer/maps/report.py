"""How well maps approximate their kernels on given rows: numbers, a table, a picture."""

__all__ = ["ApproximationReport", "MapQuality", "approximation_report"]

import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from mercer._base.errors import InputError, require_extra
from mercer._base.progress import track
from mercer._base.validation import as_rows
from mercer.maps.base import FeatureMap

PAIRS_KEPT = 4000  # pairs of rows of each map kept for the picture
TIMED_RUNS = 3
# (attribute, title, how its number is written) of the columns of the table
COLUMNS = (
    ("kernel", "kernel", "{}"),
    ("dimensions", "dimensions", "{:,}"),
    ("relative_error", "rel. error", "{:.4f}"),
    ("largest_error", "max error", "{:.3g}"),
    ("diagonal_bias", "diag. bias", "{:+.2%}"),
    ("recall", "recall@{k}", "{:.1%}"),
    ("bytes_per_row", "bytes/row", "{:,.0f}"),
    ("ms_per_1000_rows", "ms/1k rows", "{:.3g}"),
)


@dataclass(frozen=True)
class MapQuality:
    """One line of a report.

    Attributes
    ----------
    kernel : name of the exact kernel K that the map was compared with
    dimensions : features of the map
    relative_error : norm(K^ - K) / norm(K), Frobenius norms over all pairs of the sampled rows
    largest_error : max abs(K^ - K)
    diagonal_bias : mean of K^(x, x) / K(x, x) - 1
    recall : share of the k largest K^(x, y), y other than x, whose K(x, y) is among the k largest
    bytes_per_row : memory of an encoded row
    ms_per_1000_rows : time to encode, best of a few runs, compilation not included
    exact, approximate : K and K^ of a sample of pairs, for the picture
    """

    kernel: str
    dimensions: int
    relative_error: float
    largest_error: float
    diagonal_bias: float
    recall: float
    bytes_per_row: float
    ms_per_1000_rows: float
    exact: np.ndarray = field(repr=False, compare=False)
    approximate: np.ndarray = field(repr=False, compare=False)


@dataclass(frozen=True)
class ApproximationReport:
    """Result of :func:`approximation_report`; print it, plot it, or convert it with ``as_dict``.

    Attributes
    ----------
    maps : dict, name -> MapQuality
    n_rows : number of rows that were compared with each other
    k : number of neighbors that the recall counts

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import HomogeneousMap, approximation_report
    >>> X = np.random.default_rng(0).dirichlet(np.ones(16), size=50)
    >>> report = approximation_report({"order 1": HomogeneousMap("chi2", order=1)}, X, k=5)
    >>> quality = report.maps["order 1"]
    >>> quality.dimensions, quality.relative_error < 0.02
    (48, True)
    """

    maps: dict
    n_rows: int
    k: int

    def as_dict(self):
        """Convert to plain numbers that JSON can hold."""
        lines = {}
        for name, quality in self.maps.items():
            lines[name] = {key: value for key, value in asdict(quality).items() if key not in ("exact", "approximate")}
        return {"n_rows": self.n_rows, "k": self.k, "maps": lines}

    @property
    def kernel(self):
        """Name of the kernel that all maps approximate, or None if they differ."""
        names = {quality.kernel for quality in self.maps.values()}
        return names.pop() if len(names) == 1 else None

    def table(self):
        """(titles, lines) of the table as text; without the column of the kernel where all maps have the same."""
        columns = [column for column in COLUMNS if column[0] != "kernel" or self.kernel is None]
        titles = ["map", *(title.format(k=self.k) for _, title, _ in columns)]
        lines = [
            [name, *(text.format(getattr(quality, attribute)) for attribute, _, text in columns)]
            for name, quality in self.maps.items()
        ]
        return titles, lines

    def __str__(self):
        titles, lines = self.table()
        widths = [max(len(line[i]) for line in [titles, *lines]) for i in range(len(titles))]
        words = len(titles) - len(COLUMNS) + 1  # columns set to the left
        text = [f"{self.kernel or 'several kernels'}, {self.n_rows} rows"]
        for line in [titles, *lines]:
            cells = [
                cell.ljust(w) if i < words else cell.rjust(w)
                for i, (cell, w) in enumerate(zip(line, widths, strict=True))
            ]
            text.append("  ".join(cells).rstrip())
        return "\n".join(text)

    def plot(self, target=None):
        """Draw approximate against exact values, and the errors.

        Parameters
        ----------
        target : path, binary stream, matplotlib Axes or None
            Where to write a PNG file. On given axes, only the comparison of values is plotted.

        Returns
        -------
        The matplotlib figure, or the axes that were given.
        """
        require_extra("matplotlib", extra="plot", purpose="The plot of an approximation report")
        from mercer.maps import report_plot as _report_plot

        if hasattr(target, "scatter"):
            return _report_plot.draw_values(target, self.maps)
        figure = _report_plot.draw_report(self)
        if target is not None:
            figure.savefig(os.fspath(target) if hasattr(target, "__fspath__") else target, format="png")
        return figure


def approximation_report(map, X, *, n_rows=1000, k=10, random_state=0):
    """Compare the kernel that a map implies with the exact one, on a sample of rows.

    Parameters
    ----------
    map : FeatureMap, or dict of name -> FeatureMap
        A map that is not fitted is cloned and fitted on X.
    X : array-like or sparse matrix of shape (n, d)
        Rows to compare with each other; ideally not those the maps were fitted on.
    n_rows : int
        Size of the sample. Time and memory grow with its square.
    k : int
        Number of neighbors that the recall counts.
    random_state : int, RandomState or None
        Seed of the sample.

    Returns
    -------
    ApproximationReport

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import WeightedMinHash
    >>> X = np.random.default_rng(0).poisson(1.0, size=(50, 8))
    >>> report = approximation_report({"512 hashes": WeightedMinHash(512, random_state=0)}, X)
    >>> report.maps["512 hashes"].relative_error < 0.1
    True
    """
    maps = dict(map) if isinstance(map, Mapping) else {type(map).__name__: map}
    for name, one in maps.items():
        if not isinstance(one, FeatureMap):
            raise InputError(f"approximation_report needs maps of Mercer; {name!r} is {one!r}.")
    X = as_rows(X, "approximation_report")
    if min(X.shape[0], n_rows) < 2 or k < 1:
        raise InputError(
            f"approximation_report needs at least two rows and k >= 1; got {X.shape[0]} rows, n_rows={n_rows} and "
            f"k={k}."
        )
    rng = check_random_state(random_state)
    sample = X[np.sort(rng.choice(X.shape[0], min(int(n_rows), X.shape[0]), replace=False))]
    k = min(int(k), sample.shape[0] - 1)
    pairs = rng.randint(sample.shape[0], size=(2, PAIRS_KEPT))
    pairs = pairs[:, pairs[0] != pairs[1]]
    exact, found = {}, {}
    for name, one in track(list(maps.items()), "Maps"):
        fitted = one if hasattr(one, "inner_") else clone(one).fit(X)
        kernel = fitted.kernel_
        if kernel not in exact:  # maps of one kernel share the exact values
            exact[kernel] = kernel(sample.astype(np.float64))
        found[name] = _quality(fitted, sample, exact[kernel], k, pairs)
    return ApproximationReport(found, sample.shape[0], k)


def _quality(fitted, sample, K, k, pairs):
    rows = fitted.rows(sample)  # compiles what must be compiled, before anything is timed
    seconds = []
    for _ in range(TIMED_RUNS):
        start = time.perf_counter()
        fitted.rows(sample)
        seconds.append(time.perf_counter() - start)
    A = np.asarray(fitted.inner_.gram(rows), dtype=np.float64)
    diagonal, known = np.diag(A), np.diag(K) > 0
    ratios = diagonal[known] / np.diag(K)[known]
    norm = np.linalg.norm(K)
    error = np.linalg.norm(A - K)
    return MapQuality(
        kernel=fitted.kernel_.name,
        dimensions=int(fitted.inner_.n_features),
        relative_error=float(error / norm) if norm > 0 else float(error),
        largest_error=float(np.abs(A - K).max()),
        diagonal_bias=float(ratios.mean() - 1) if known.any() else 0.0,
        recall=ranking_recall(K, A, k),
        bytes_per_row=rows.nbytes / len(rows),
        ms_per_1000_rows=1e6 * min(seconds) / len(rows),
        exact=K[pairs[0], pairs[1]],
        approximate=A[pairs[0], pairs[1]],
    )


def ranking_recall(K, A, k):
    """Share of the k largest A[i, j], j other than i, whose K[i, j] is among the k largest, averaged over the rows.

    A row that ties with the k-th largest of K counts as one of them, whichever the order of the rows.
    """
    K, A = K.astype(np.float64), A.astype(np.float64)
    np.fill_diagonal(K, -np.inf)
    np.fill_diagonal(A, -np.inf)
    threshold = -np.partition(-K, k - 1, axis=1)[:, k - 1 : k]
    chosen = np.argpartition(-A, k - 1, axis=1)[:, :k]
    return float((np.take_along_axis(K, chosen, axis=1) >= threshold).mean())
