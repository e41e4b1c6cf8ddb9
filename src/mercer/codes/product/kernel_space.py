"""Coordinates in which a block of an additive kernel is clustered: three eigenfunctions of every column, tabulated.

K(x, y) = sum_j k(x_j, y_j) ~ sum_j psi_j(x_j)' psi_j(y_j), so squared distances of the coordinates are those of the
kernel's feature space, words are means there, and F_m holds the coordinates of the words of block m.

Two maps give three numbers per column: the tables of :mod:`mercer.maps.landmarks.per_dimension` and the homogeneous
map. With the tables codes are about as accurate for chi2 and Jensen-Shannon, where the quantizer and not the map is the
weaker part, and more so for the intersection, where it is the map: they follow the values of the column. They also
serve sums of kernels of different homogeneity.
"""

__all__ = ["COMPONENTS", "check_kernel", "coordinates", "fit_strip", "warn_beyond"]

import warnings

import numpy as np

from mercer._base.errors import ApproximationWarning, InputError
from mercer.maps.landmarks.per_dimension import fit_tables
from mercer.maps.tables import encode_by_tables

COMPONENTS = 3  # coordinates per column
LANDMARKS = 64  # quantiles of a column, as NystroemMap(per_dimension=True) takes them


def check_kernel(kernel, rotation):
    """Raise unless blocks of columns can stand for the kernel."""
    if not kernel.additive:
        raise InputError(
            f"ProductQuantizer needs the linear kernel or an additive kernel; got {kernel!r}. For other kernels, "
            "quantize kernel principal components: make_pipeline(KernelPCA(kernel), ProductQuantizer())."
        )
    if np.any(kernel.scalar(np.array([0.5, 1.0, 2.0]), np.zeros(3))):
        raise InputError(f"ProductQuantizer needs an additive kernel with k(x, 0) = 0, which {kernel!r} is not.")
    if rotation not in (None, "permutation"):
        raise InputError(
            f"ProductQuantizer(rotation={rotation!r}) mixes columns, which only the linear kernel allows; for "
            f"{kernel!r} use rotation='permutation' or None."
        )


def fit_strip(kernel, strip, random_state, n_jobs=None):
    """(coordinates of the strip, points, tables) for the columns of a strip of training rows, float32."""
    points, tables = fit_tables(kernel, strip, COMPONENTS, LANDMARKS, random_state=random_state, n_jobs=n_jobs)
    return encode_by_tables(strip, points, tables, n_jobs), points, tables


def coordinates(rows, points, tables, n_jobs=None):
    """(coordinates of float32 rows, number of values beyond the tables), those values being taken as the last point."""
    largest = np.nextafter(points[:, -1].astype(np.float32), np.float32(0))
    beyond = int(np.count_nonzero(np.abs(rows) > largest))
    if beyond:
        rows = np.clip(rows, -largest, largest)
    return encode_by_tables(rows, points, tables, n_jobs), beyond


def warn_beyond(count):
    """Say how many values lay beyond the tables."""
    if count:
        warnings.warn(
            f"ProductQuantizer: {count} values exceed twice the largest training value of their column and are "
            "clipped to it. Fit on data that covers their range.",
            ApproximationWarning,
            stacklevel=5,
        )
