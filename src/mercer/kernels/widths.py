"""Widths that are left open (None): measured on the rows of a fit, 1 for a kernel that is called directly.

Every estimator that takes a kernel resolves it here, once, and keeps the result as ``kernel_``.
"""

__all__ = ["closed", "resolve_kernel"]

import numpy as np

from mercer.kernels.registry import get_kernel

DISTANCE_ROWS = 1000  # rows whose mean distance gives a kernel its width


def resolve_kernel(kernel, X, n_jobs=None):
    """Get the kernel of a parameter, with the width measured on rows X.

    An open width of exp(-gamma D) becomes gamma = 1 over the mean of D between different rows, so that the scale of the
    data does not matter. For RBF that is near to what scikit-learn calls ``gamma="scale"``. Parts of sums, products and
    normalized kernels are resolved too. Where all rows are equal the width is 1.

    Parameters
    ----------
    kernel : str, callable or Kernel
    X : validated rows, dense or CSR, of which every so many are looked at
    n_jobs : int or None

    >>> resolve_kernel("rbf", np.array([[0.0], [2.0]]))
    RBF(gamma=0.25)
    """
    found = get_kernel(kernel)
    if closed(found) == found:
        return found
    step = max(1, X.shape[0] // DISTANCE_ROWS)
    sample = X[::step][:DISTANCE_ROWS].astype(np.float64)  # squares of float32 may be beyond its range
    found.check_values(sample, "X")
    return found.with_widths(lambda part: part.natural_width(sample, n_jobs))


def closed(kernel):
    """The kernel with width 1 wherever the width is None, as when it is called directly.

    >>> closed(get_kernel("laplacian"))
    Laplacian(gamma=1.0)
    """
    return kernel.with_widths(lambda part: 1.0)
