"""Spectra of homogeneous additive kernels, and the few cosines that stand for them.

Notation ([vedaldi12efficient])
    paper         code           meaning                                                         shape
    lambda        log_ratio      log(v / u), u = |x|^g and v = |y|^g, g the homogeneity          any
    K(lambda)     signature      k(x, y) / sqrt(u v), an even function of the log-ratio          any
    kappa(omega)  density        Fourier transform of the signature                              any
    -             atom           the part of the signature that is constant (Hellinger: all)     number
    Lambda        period         the approximate signature repeats after it                      number
    L             step           2 pi / Lambda, from one frequency to the next                   number
    kappa_j       coefficients   the signature is about c_0 + 2 sum_j c_j cos(j L lambda)        (n + 1,)

Deviations from the paper: kernels of any degree g are reduced to degree 1 by u = |x|^g; the spectrum of the power mean
is in closed form; periods minimize the error on a stated distribution instead of on a data set; coefficients can also
be found by least squares.
"""

__all__ = ["PERIODS", "Spectrum", "best_period", "coefficients", "relative_error", "spectrum_of"]

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.optimize import minimize_scalar, nnls
from scipy.special import loggamma

from mercer._base.errors import InputError
from mercer.kernels import (
    Chi2,
    GeneralizedIntersection,
    Hellinger,
    Intersection,
    JensenShannon,
    Linear,
    PowerMean,
    SumKernel,
)

# Periods for orders 1, 2, 3, ... Minimizers of `relative_error`; printed by benchmarks/fits/homogeneous_periods.py.
PERIODS: dict[tuple[type, str], tuple[float, ...]] = {
    (Chi2, "rectangular"): (8.66, 10.29, 12.33, 13.35, 15.09, 15.09, 17.5, 17.5),
    (Chi2, "uniform"): (10.3, 12.38, 14.1, 15.61, 16.97, 18.22, 19.39, 20.48),
    (Chi2, "least-squares"): (9.0, 11.25, 12.85, 14.38, 15.66, 16.89, 17.98, 19.04),
    (Intersection, "rectangular"): (6.11, 6.95, 7.62, 8.08, 8.49, 8.81, 9.1, 9.35),
    (Intersection, "uniform"): (7.99, 8.95, 9.64, 10.19, 10.64, 11.03, 11.36, 11.66),
    (Intersection, "least-squares"): (6.3, 7.22, 7.82, 8.29, 8.67, 8.99, 9.26, 9.5),
    (JensenShannon, "rectangular"): (11.78, 11.78, 16.95, 16.95, 20.97, 20.97, 24.38, 24.38),
    (JensenShannon, "uniform"): (13.98, 16.81, 19.04, 20.92, 22.58, 24.07, 25.44, 26.71),
    (JensenShannon, "least-squares"): (11.81, 14.87, 16.52, 18.53, 19.87, 21.41, 22.49, 23.74),
}

FARTHEST = 30.0  # log-ratios beyond this have a weight under 1e-19
PANEL_NODES = 20  # of the Gauss-Legendre rule; exact to rounding on panels of 4 radians
PERIODS_TRIED = 60
NEARLY_HELLINGER = 1e-6  # power means this close have the spectrum of the limit, to a relative error of about as much


@dataclass(frozen=True)
class Spectrum:
    """Signature and spectrum of a kernel, for log-ratios >= 0 and frequencies >= 0.

    ``scale`` is the shortest log-ratio over which the signature bends: where quadrature starts.
    """

    signature: Callable
    density: Callable
    atom: float = 0.0
    scale: float = 1.0

    @property
    def is_constant(self):
        """Whether one number per value represents the kernel exactly."""
        return float(self.density(np.zeros(1))[0]) == 0


def spectrum_of(kernel):
    """The spectrum of a homogeneous additive kernel, or InputError.

    kernel            signature at t                 density at omega
    Chi2              sech(t / 2)                    sech(pi omega)
    Intersection      exp(-t / 2)                    (2 / pi) / (1 + 4 omega^2)
    JensenShannon     k(exp(-t / 2), exp(t / 2))     (2 / ln 4) sech(pi omega) / (1 + 4 omega^2)
    PowerMean(-q)     cosh(q t / 2)^(-1/q)           2^(1/q - 1) |Gamma((1/2 + i omega) / q)|^2 / (pi q Gamma(1/q))
    Hellinger, Linear 1                              0, and a unit of mass at omega = 0
    """
    if isinstance(kernel, PowerMean):
        kernel = kernel.special_case() or kernel
    match kernel:
        case Linear() | Hellinger():
            return Spectrum(np.ones_like, np.zeros_like, atom=1.0)
        case Chi2():
            return Spectrum(lambda t: _sech(t / 2), lambda omega: _sech(np.pi * omega))
        case Intersection() | GeneralizedIntersection():
            return Spectrum(lambda t: np.exp(-t / 2), lambda omega: 2 / np.pi / (1 + 4 * omega**2))
        case JensenShannon():
            return Spectrum(
                lambda t: kernel.scalar(np.exp(-t / 2), np.exp(t / 2)),
                lambda omega: 2 / np.log(4) * _sech(np.pi * omega) / (1 + 4 * omega**2),
            )
        case PowerMean():
            return _power_mean(-float(kernel.p))
        case SumKernel() if kernel.homogeneity is not None:
            return _weighted_sum([spectrum_of(term) for term in kernel.kernels], kernel.weights)
    raise InputError(
        f"HomogeneousMap has no spectrum for {kernel!r}. It supports the additive homogeneous kernels (Hellinger, "
        "Chi2, Intersection, JensenShannon, PowerMean, GeneralizedIntersection, Linear) and sums of them with the "
        "same homogeneity. NystroemMap supports any kernel."
    )


def _sech(t):
    return 2 * np.exp(-t) / (1 + np.exp(-2 * t))  # does not overflow, as 1 / cosh does


def _power_mean(q):
    """p = -q. At q = 1 the reflection formula of Gamma gives chi2; as q grows, Gamma(z) ~ 1/z gives intersection."""

    def signature(t):
        return np.exp(-_log_cosh(q * t / 2) / q)

    def density(omega):
        log_gammas = 2 * loggamma((0.5 + 1j * omega) / q).real - loggamma(1 / q)
        return np.exp(log_gammas + (1 / q - 1) * np.log(2)) / (np.pi * q)

    def normal_density(omega):
        return np.sqrt(2 / (np.pi * q)) * np.exp(-2 * omega**2 / q)

    # Toward Hellinger the signature becomes a wide bell, exp(-q t^2 / 8), and the Gammas too large to be subtracted.
    return Spectrum(signature, normal_density if q < NEARLY_HELLINGER else density, scale=min(1.0, 1 / q))


def _log_cosh(t):
    """log(cosh(t)) without cancellation near 0 and without overflow."""
    small = np.minimum(t, 1)
    return np.where(t < 1, np.log1p(2 * np.sinh(small / 2) ** 2), t - np.log(2) + np.log1p(np.exp(-2 * t)))


def _weighted_sum(spectra, weights):
    parts = list(zip(spectra, weights, strict=True))
    return Spectrum(
        lambda t: sum(w * s.signature(t) for s, w in parts),
        lambda omega: sum(w * s.density(omega) for s, w in parts),
        atom=sum(w * s.atom for s, w in parts),
        scale=min(s.scale for s in spectra),
    )


def coefficients(spectrum, order, window, period):
    """c_0 .. c_order >= 0 such that signature(t) ~ c_0 + 2 sum_j c_j cos(2 pi j t / period).

    uniform        c_j = L kappa(j L): the spectrum sampled, as scikit-learn's AdditiveChi2Sampler does
    rectangular    c_j = 1/Lambda integral of K(t) cos(j L t) from -Lambda/2 to Lambda/2, at least 0: the Fourier series
                   of the signature made periodic
    least-squares  the c >= 0 with the smallest `relative_error`
    """
    omega = 2 * np.pi / period * np.arange(order + 1)
    if window == "uniform":
        found = omega[1] * spectrum.density(omega)
        found[0] += spectrum.atom
        return found
    limit = period / 2 if window == "rectangular" else FARTHEST
    t, dt = _quadrature(limit, spectrum.scale, omega[-1])
    if window == "rectangular":
        return np.maximum(2 / period * (np.cos(np.outer(omega, t)) @ (dt * spectrum.signature(t))), 0)
    root_weight = np.sqrt(dt * _weight(t))
    # over a period much longer than the weight reaches, the cosines are nearly dependent: many steps back and forth
    steps = 100 * (order + 1)
    return nnls(root_weight[:, None] * _cosines(t, omega), root_weight * spectrum.signature(t), maxiter=steps)[0]


def relative_error(spectrum, found, period):
    """Root mean square error of k(x, y) relative to its root mean square, for independent x, y ~ Gamma(1/2).

    Gamma(1/2) is the distribution of the bins of histograms that follow Jeffreys' prior. In the polar coordinates
    s = sqrt(u v) and t = log(v / u) the mean of s^2 (...)^2 over s leaves the weight sech(t/2)^3 for the log-ratio.
    """
    omega = 2 * np.pi / period * np.arange(len(found))
    t, dt = _quadrature(FARTHEST, spectrum.scale, omega[-1])
    exact, weight = spectrum.signature(t), dt * _weight(t)
    return np.sqrt(weight @ (_cosines(t, omega) @ found - exact) ** 2 / (weight @ exact**2))


def _weight(t):
    return _sech(t / 2) ** 3


def _cosines(t, omega):
    """The matrix with columns 1, 2 cos(omega_1 t), 2 cos(omega_2 t), ..."""
    columns = 2 * np.cos(np.outer(t, omega))
    columns[:, 0] = 1
    return columns


def _quadrature(limit, scale, fastest):
    """Nodes and weights on [0, limit]: panels that grow by half from ``scale`` to 4 radians of the fastest cosine."""
    longest = 4 / fastest if fastest > 0 else limit
    edges, length = [0.0], min(scale, longest)
    while edges[-1] < limit:
        edges.append(min(edges[-1] + length, limit))
        length = min(1.5 * length, longest)
    nodes, weights = np.polynomial.legendre.leggauss(PANEL_NODES)
    half = np.diff(edges)[:, None] / 2
    return (np.array(edges[:-1])[:, None] + half * (1 + nodes)).ravel(), (half * weights).ravel()


@lru_cache(maxsize=256)
def best_period(kernel, order, window):
    """The period of the table or, for kernels and orders that are not in it, the minimizer of `relative_error`."""
    if isinstance(kernel, PowerMean):
        kernel = kernel.special_case() or kernel
    kind = Intersection if isinstance(kernel, GeneralizedIntersection) else type(kernel)
    known = PERIODS.get((kind, window), ())
    return known[order - 1] if order <= len(known) else minimising_period(spectrum_of(kernel), order, window)


def minimising_period(spectrum, order, window):
    """The period with the smallest `relative_error`, to two digits after the point.

    The error has several valleys (a coefficient that would be negative is 0): all are looked at before one is explored.
    """

    def error(period):
        return relative_error(spectrum, coefficients(spectrum, order, window, period), period)

    # the wider the signature, the higher the spectrum at 0; a narrow spectrum wants a long period
    longest = (8 + 12 * np.sqrt(order)) * max(1.0, float(spectrum.density(np.zeros(1))[0]))
    tried = np.geomspace(2, longest, PERIODS_TRIED)
    i = int(np.argmin([error(period) for period in tried]))
    bounds = tried[max(i - 1, 0)], tried[min(i + 1, PERIODS_TRIED - 1)]
    return round(float(minimize_scalar(error, bounds=bounds, method="bounded", options={"xatol": 1e-3}).x), 2)
