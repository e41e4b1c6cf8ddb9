"""Finds the periods of ``mercer.maps.spectral.spectra.PERIODS`` and prints the table with the errors they give.

For each kernel, window and order the period minimises the root mean square error of k(x, y), relative to the root mean
square of k itself, over independent x and y of distribution Gamma(1/2): the bins of histograms under Jeffreys' prior,
with many small values and few large ones. By quadrature, without random numbers; takes seconds.

Run: python -m benchmarks.fits.homogeneous_periods
"""

from mercer.kernels import Chi2, Intersection, JensenShannon
from mercer.maps.spectral import spectra as _spectra

ORDERS = range(1, 9)
WINDOWS = ("rectangular", "uniform", "least-squares")


def main():
    lines, table = [], []
    for kernel in (Chi2(), Intersection(), JensenShannon()):
        spectrum = _spectra.spectrum_of(kernel)
        for window in WINDOWS:
            periods = [_spectra.minimising_period(spectrum, order, window) for order in ORDERS]
            table.append(f'    ({type(kernel).__name__}, "{window}"): {tuple(periods)},')
            for order, period in zip(ORDERS, periods, strict=True):
                found = _spectra.coefficients(spectrum, order, window, period)
                error = _spectra.relative_error(spectrum, found, period)
                diagonal = found[0] + 2 * found[1:].sum() - 1
                lines.append(f"{kernel.name:16}{window:16}{order:5}{period:9.2f}{error:11.5f}{diagonal:+11.5f}")
    print("kernel          window          order   period      error   diagonal")
    print(*lines, sep="\n")
    print("\nPERIODS = {", *table, "}", sep="\n")


if __name__ == "__main__":
    main()
