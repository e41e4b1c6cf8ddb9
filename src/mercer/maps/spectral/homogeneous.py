"""Explicit maps of homogeneous additive kernels, by sampling their spectrum. [vedaldi12efficient]

With u = |x|^g, g the homogeneity of the kernel, and the coefficients c_j of `mercer.maps.spectral.spectra`:

    psi_0(x)      = sqrt(c_0 u)
    psi_2j-1(x)   = sqrt(2 c_j u) cos(j L log u)
    psi_2j(x)     = sqrt(2 c_j u) sin(j L log u)         j = 1 .. n,  L = 2 pi / period

so that psi(x)' psi(y) = sqrt(u v) (c_0 + 2 sum_j c_j cos(j L log(v / u))), v = |y|^g. Zero maps to zero.
"""

__all__ = ["HomogeneousMap"]


import numpy as np
from scipy import sparse

from mercer._base.errors import InputError
from mercer._base.files.loaded import check_kind, check_number, checked_array
from mercer._base.parameters import keep_arguments
from mercer._base.parameters.maps import HOMOGENEOUS
from mercer._base.threads import run_blocks
from mercer._base.validation import index_type
from mercer._native.maps.homogeneous import LOOPS, widen_columns
from mercer.kernels import Kernel, get_kernel
from mercer.maps.base import FeatureMap
from mercer.maps.spectral.spectra import best_period, coefficients, spectrum_of
from mercer.spaces import Identity

BLOCK_VALUES = 2**16  # values per task: 0.2 ms of work
# Bits kept in the leading part of the pitch, so that its product with a binary exponent is exact.
PITCH_BITS = {"f": 14, "d": 40}


class HomogeneousMap(FeatureMap):
    """Features of each value, 2n + 1 numbers, whose inner products approximate a homogeneous additive kernel.

    The map depends only on the kernel and the parameters; it learns nothing from the data.

    Parameters
    ----------
    kernel : str or Kernel
        Chi2, Intersection, JensenShannon, PowerMean or GeneralizedIntersection; Hellinger or Linear, which need one
        number per value and are exact; or a sum of these with the same homogeneity.
    order : int
        n, the number of frequencies; each column becomes 2n + 1 features. A higher order is closer to the kernel and
        slower. AdditiveChi2Sampler of scikit-learn calls n + 1 its ``sample_steps``.
    window : {"rectangular", "uniform", "least-squares"}
        How the coefficients are computed. ``"rectangular"`` uses the Fourier series of the periodic signature of the
        kernel; chi2 and Jensen-Shannon keep K(x, x) within 2 %, and even orders improve little on the odd order below.
        ``"uniform"`` samples the spectrum, as in scikit-learn; K(x, x) comes out too small. ``"least-squares"`` uses
        the non-negative coefficients with the smallest error over Gamma(1/2) values.
    period : float or None
        The approximation repeats when g log(y / x) grows by this much, where g is the homogeneity. None uses the period
        with the smallest error over Gamma(1/2) values. ``sample_interval`` of scikit-learn is 2 pi / period.
    signed : bool
        Accept values of any sign, by the odd extension sign(x) sign(y) k(|x|, |y|); the same as ``signed=True`` of the
        kernel.
    n_jobs : int or None
        Number of threads.

    Attributes
    ----------
    coefficients_ : ndarray of shape (n + 1,)
        c_0 .. c_n; a single one for Hellinger and Linear. The diagonal comes out as c_0 + 2 (c_1 + ... + c_n) times
        K(x, x).
    period_ : float or None
        The period that is used.
    kernel_ : Kernel
    inner_ : Identity

    Notes
    -----
    The features of column j stand together, in columns (2n + 1) j to (2n + 1) (j + 1) - 1: psi_0, then cosine and sine
    of each frequency. (scikit-learn puts psi_0 of all columns first, then all cosines, then all sines.) CSR gives CSR
    with 2n + 1 entries per stored value.

    Examples
    --------
    >>> X = [[0.2, 0.3, 0.5], [0.6, 0.4, 0.0]]
    >>> HomogeneousMap("chi2").fit(X).approximate_kernel(X).round(2)
    array([[0.98, 0.64],
           [0.64, 0.98]])
    >>> from mercer import Chi2
    >>> Chi2()(X).round(2)
    array([[1.  , 0.64],
           [0.64, 1.  ]])
    """

    _any_range = True

    _table = HOMOGENEOUS

    def __init__(self, kernel="chi2", order=1, window="rectangular", *, period=None, signed=False, n_jobs=None):
        keep_arguments(self, locals())

    def fit(self, X, y=None):
        """Compute the period and the coefficients; only the width of X is used. ``y`` is ignored."""
        self._checked(X, reset=True)
        self.kernel_ = self.resolved_kernel()
        spectrum = spectrum_of(self.kernel_)
        _check_parity(self.kernel_)
        if spectrum.is_constant:
            self.period_, self.coefficients_ = None, np.array([spectrum.atom])
        else:
            chosen = best_period(self.kernel_, self.order, self.window) if self.period is None else self.period
            self.period_ = float(chosen)
            self.coefficients_ = coefficients(spectrum, self.order, self.window, self.period_)
        self.inner_ = Identity(self._n_features_out)
        return self

    @property
    def _n_features_out(self):
        return self.n_features_in_ * self._features_per_column

    @property
    def _features_per_column(self):
        return 2 * len(self.coefficients_) - 1

    def encode_rows(self, X):
        if not sparse.issparse(X):
            return self._features(X.ravel()).reshape(X.shape[0], -1)
        width = self._features_per_column
        integer = index_type(X.nnz * width, X.shape[1] * width)
        columns = np.empty(X.nnz * width, dtype=integer)
        self._run(lambda part, wide: widen_columns(X.indices[part], width, columns[wide]), X.nnz)
        pointers = X.indptr.astype(integer) * width
        return sparse.csr_array((self._features(X.data), columns, pointers), shape=(X.shape[0], X.shape[1] * width))

    def _features(self, values):
        """Features of a flat array of values, flat."""
        dtype = values.dtype
        out = np.empty(len(values) * self._features_per_column, dtype=dtype)
        amplitudes = np.sqrt(self.coefficients_ * np.where(np.arange(len(self.coefficients_)) > 0, 2, 1)).astype(dtype)
        pitch = _pitch(self.period_, dtype)
        degree, is_odd = self.kernel_.homogeneity, self.kernel_.parity == "odd"

        def encode(part, wide):
            LOOPS[dtype.char](_roots(values[part], degree, is_odd), amplitudes, pitch, out[wide])

        self._run(encode, len(values))
        return out

    def _run(self, function, n_values):
        """``function(values, features)`` on matching slices of the flat arrays, over threads."""

        def run(start):
            stop = min(start + BLOCK_VALUES, n_values)
            function(slice(start, stop), slice(start * self._features_per_column, stop * self._features_per_column))

        run_blocks(run, range(0, n_values, BLOCK_VALUES), self.n_jobs)

    def resolved_kernel(self):
        kernel = get_kernel(self.kernel)
        return kernel.signed_form() if self.signed else kernel

    def _check_loaded(self):
        found = checked_array(self, "coefficients_", "float64", ndim=1, lowest=0)
        if not len(found):
            raise ValueError("coefficients_ must hold at least one number.")
        if len(found) > 1:
            check_number(self, "period_", above=0)
        check_kind(self, "kernel_", Kernel)
        spectrum_of(self.kernel_)
        _check_parity(self.kernel_)
        if not isinstance(self.inner_, Identity) or self.inner_.n_features != self._n_features_out:
            raise ValueError("inner_ must be the identity on all features.")


def _roots(values, degree, is_odd):
    """|x|^(g/2), with the sign of x for an odd map."""
    roots = np.abs(values)
    if degree == 1:
        np.sqrt(roots, out=roots)
    elif degree != 2:
        np.power(roots, roots.dtype.type(degree / 2), out=roots)
    return np.copysign(roots, values, out=roots) if is_odd else roots


def _pitch(period, dtype):
    """Half turns of L log u = 2 L log |root| per octave of the root, as a short leading part and the rest."""
    exact = 0.0 if period is None else 4 * np.log(2) / period
    mantissa, exponent = np.frexp(exact)
    bits = PITCH_BITS[dtype.char]
    leading = np.ldexp(np.rint(np.ldexp(mantissa, bits)), exponent - bits)
    return np.array([leading, exact - leading], dtype=dtype)


def _check_parity(kernel):
    if kernel.parity is None:
        raise InputError(
            f"HomogeneousMap cannot represent {kernel!r}: some of its terms change sign with x and others do not. Map "
            "each term separately, and concatenate the features."
        )
