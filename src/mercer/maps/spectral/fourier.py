"""Random Fourier features of shift-invariant and exponentiated kernels. [rahimi07random]

A kernel exp(-gamma D(x, y)) is the mean of cos(w'(x - y)) over random frequencies w. With m of them,

    phi(x) = (cos(w_1'x), ..., cos(w_m'x), sin(w_1'x), ..., sin(w_m'x)) / sqrt(m)

has phi(x)' phi(y) = mean_k cos(w_k'(x - y)) and norm 1. An odd number of features ends with half a frequency: one
cosine at a random phase, which is unbiased too, but no longer of norm 1.

    RBF          w ~ normal(0, 2 gamma), orthogonal in groups [yu16orthogonal]
    Laplacian    entries of w ~ Cauchy(gamma), independent
    exp(-gamma (K(x, x) + K(y, y) - 2 K(x, y))) for an additive K: as RBF, on the features psi(x) of a HomogeneousMap
"""

__all__ = ["FourierMap"]


import numpy as np
from sklearn.utils import check_random_state

from mercer._base.errors import InputError
from mercer._base.files.loaded import check_kind, check_number, checked_array
from mercer._base.parameters import keep_arguments
from mercer._base.parameters.maps import FOURIER
from mercer._base.threads import run_blocks, single_threaded
from mercer._native.maps.fourier import LOOPS
from mercer.kernels import RBF, Chi2, ExpChi2, Exponential, Intersection, Kernel, Laplacian, Linear
from mercer.maps.base import FeatureMap
from mercer.maps.spectral.homogeneous import HomogeneousMap
from mercer.spaces import Identity

MOST_ROWS = 512  # rows per task
TASK_VALUES = 2**21  # numbers per row times rows of a task: 16 MiB in float64


class FourierMap(FeatureMap):
    """Random cosines and sines whose inner products approximate RBF, Laplacian and exponentiated additive kernels.

    The approximation is unbiased for RBF and Laplacian, and for other kernels up to the error of the homogeneous map
    inside them.

    Parameters
    ----------
    kernel : str or Kernel
        RBF, Laplacian, ExpChi2, or Exponential of a kernel that HomogeneousMap supports.
    n_components : int
        Number of features, a cosine and a sine per frequency. The error falls with its square root. K(x, x) = 1 exactly
        if it is even.
    orthogonal : bool
        Draw frequencies of RBF (also inside an exponentiated kernel) that are orthogonal in groups as large as the
        number of columns, which keeps the mean and lowers the variance. Frequencies of Laplacian are always
        independent.
    map_order : int
        Order of the HomogeneousMap inside an exponentiated kernel.
    random_state : int, RandomState or None
    n_jobs : int or None
        Number of threads. It does not affect the features.

    Attributes
    ----------
    frequencies_ : ndarray of shape (columns, ceil(n_components / 2))
        Of x or, where there is a map, of psi(x).
    phase_ : float
        Of the last frequency if ``n_components`` is odd, otherwise 0.
    map_ : HomogeneousMap or None
        The HomogeneousMap inside an exponentiated kernel.
    kernel_ : Kernel
    inner_ : Identity

    Examples
    --------
    >>> from mercer import RBF
    >>> X = [[0.0, 0.0], [1.0, 0.0]]
    >>> FourierMap(RBF(0.5), n_components=20000, random_state=0).fit(X).approximate_kernel(X).round(2)
    array([[1.  , 0.61],
           [0.61, 1.  ]])
    """

    _any_range = True

    _table = FOURIER

    def __init__(self, kernel="rbf", n_components=256, *, orthogonal=True, map_order=2, random_state=None, n_jobs=None):
        keep_arguments(self, locals())

    def fit(self, X, y=None):
        """Draw the frequencies. Only the width of X is used, and its distances if gamma is None. ``y`` is ignored."""
        X = self._checked(X, reset=True)
        size = self.n_components
        self.kernel_ = self.fitted_kernel(X)
        base, is_normal = _base_kernel(self.kernel_)
        self.map_ = None if base is None else HomogeneousMap(base, self.map_order, "least-squares", n_jobs=1).fit(X)
        self.inner_ = Identity(int(size))
        rng = check_random_state(self.random_state)
        self.phase_ = float(rng.uniform(0, 2 * np.pi)) if size % 2 else 0.0
        self.frequencies_ = self._draw(is_normal, rng)
        return self

    def _draw(self, is_normal, rng):
        """Frequencies, one per column."""
        width = self.n_features_in_ if self.map_ is None else self.map_.inner_.n_features
        count, gamma = (self._n_features_out + 1) // 2, float(self.kernel_.gamma)
        if not is_normal:
            return gamma * rng.standard_cauchy((width, count))
        normals = _orthogonal_normals(width, count, rng) if self.orthogonal else rng.standard_normal((width, count))
        return np.sqrt(2 * gamma) * normals

    @property
    def _n_features_out(self):
        return self.inner_.n_features

    def encode_rows(self, X):
        width, n_frequencies = self.frequencies_.shape
        # the frequencies of tiny rows may be beyond float32
        fits = np.abs(self.frequencies_).max(initial=0.0) < np.finfo(X.dtype).max
        per_value = (self.frequencies_ / np.pi).astype(X.dtype if fits else np.float64)
        scale, phase = X.dtype.type(np.sqrt(2 / self._n_features_out)), X.dtype.type(self.phase_ / np.pi)
        out = np.empty((X.shape[0], self._n_features_out), dtype=X.dtype)
        step = int(np.clip(TASK_VALUES // (width + n_frequencies), 1, MOST_ROWS))

        def encode(rows):
            psi = X[rows] if self.map_ is None else self.map_.encode_rows(X[rows])
            half_turns = (psi @ per_value).astype(X.dtype, copy=False)
            half_turns[:, -1] += phase
            LOOPS[X.dtype.char](half_turns, scale, out[rows])

        # The blocks are the parallelism: BLAS threads would make the bits of a product depend on their number.
        with single_threaded():
            run_blocks(encode, [slice(i, i + step) for i in range(0, X.shape[0], step)], self.n_jobs)
        return out

    def _check_loaded(self):
        base = check_kind(self, "map_", HomogeneousMap, optional=True)
        if base is not None and base.n_features_in_ != self.n_features_in_:
            raise ValueError("map_ was fitted on rows of a different width.")
        check_number(self, "phase_")
        check_kind(self, "kernel_", Kernel)
        n_features = check_kind(self, "inner_", Identity).n_features
        if n_features < 1:
            raise ValueError("inner_ must have at least one feature.")
        width = self.n_features_in_ if base is None else base.inner_.n_features
        checked_array(self, "frequencies_", "float64", shape=(width, (n_features + 1) // 2))


def _base_kernel(kernel):
    """(K of exp(-gamma D_K) or None if D is a distance of the rows themselves, whether frequencies are normal)."""
    match kernel:
        case RBF() | Exponential(kernel=Linear()):
            return None, True
        case Laplacian() | Exponential(kernel=Intersection(signed=False)):
            # x + y - 2 min(x, y) = |x - y|: exact, where the map of the intersection is at its poorest
            return None, False
        case ExpChi2():
            return Chi2(), True
        case Exponential():
            return kernel.kernel, True
    raise InputError(
        f"FourierMap has no frequencies for {kernel!r}. It supports RBF, Laplacian, ExpChi2 and Exponential of an "
        "additive homogeneous kernel. NystroemMap supports any kernel."
    )


def _orthogonal_normals(width, count, rng):
    """Standard normal columns, orthogonal within groups of ``width``, shape (width, count).

    Directions from the QR factorization of a normal matrix, made unique (and uniformly distributed) by R_kk > 0;
    lengths drawn anew, since the length of a normal vector is independent of its direction.
    """
    groups = []
    with single_threaded():
        for first in range(0, count, width):
            normals = rng.standard_normal((width, min(width, count - first)))
            directions, triangle = np.linalg.qr(normals)
            lengths = np.sqrt(rng.chisquare(width, size=normals.shape[1]))
            groups.append(directions * (lengths * np.sign(np.diag(triangle))))
    return np.hstack(groups)
