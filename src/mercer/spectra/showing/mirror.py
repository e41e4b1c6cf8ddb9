"""A query above a library spectrum, as both are compared: as SVG here, and by matplotlib as anything else."""

__all__ = ["Mirror"]

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from mercer._base.html.pieces import escape
from mercer._base.tables import open_for_writing
from mercer.spectra.collection import Spectrum

UP, DOWN, OTHER, INK, SOFT = "#0072B2", "#D55E00", "#B4BEC8", "#1D2733", "#5D6B7A"  # of Okabe and Ito; unmatched; text
WIDTH, HEIGHT = 480, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 12, 30, 46  # margins
_APART = 48  # dots between two labels
_LABELS = 5  # of a side


@dataclass(frozen=True)
class Mirror:
    """A query and a library spectrum, with their matching peaks.

    Attributes
    ----------
    query, hit : Spectrum
        Both spectra, cleaned, with the weighted intensities of the similarity.
    matched_query, matched_hit : ndarrays of bool, the peaks that match
    score, matched_peaks : as of the hit
    words : texts above and below, the names of both
    """

    query: Spectrum
    hit: Spectrum
    matched_query: np.ndarray
    matched_hit: np.ndarray
    score: float
    matched_peaks: int
    words: tuple[str, str] = field(default=("query", "hit"))

    def plot(self, path=None):
        """Draw the mirror plot.

        Parameters
        ----------
        path : None, or the file to write, whose suffix selects the format

        Returns
        -------
        matplotlib.figure.Figure, or None for a path that ends in .svg, which needs no matplotlib
        """
        from mercer.spectra.showing.plot import draw_mirror

        suffix = "" if path is None else Path(path).suffix.lower()
        figure = None if suffix == ".svg" else draw_mirror(self)
        if path is not None:
            with open_for_writing(path) as stream:
                if figure is None:
                    stream.write(self.svg().encode())
                else:
                    figure.savefig(stream, format=suffix.removeprefix(".") or "png")
        return figure

    @property
    def summary(self):
        """Score and number of matched peaks, as text."""
        return f"score {self.score:.4f}, {self.matched_peaks} matched peak{'s' * (self.matched_peaks != 1)}"

    @property
    def sides(self):
        """(sign, m/z, share of the strongest peak, whether it matches, colour) of both."""
        for sign, spectrum, matched, colour in (
            (1, self.query, self.matched_query, UP),
            (-1, self.hit, self.matched_hit, DOWN),
        ):
            yield sign, spectrum.mz, spectrum.intensity / max(spectrum.intensity, default=1.0), matched, colour

    def limits(self):
        """The smallest and the largest m/z of the plot."""
        masses = np.concatenate([self.query.mz, self.hit.mz])
        low, high = (masses.min(), masses.max()) if len(masses) else (0.0, 1.0)
        room = max(0.04 * (high - low), 2.0)
        return float(low - room), float(high + room)

    def svg(self):
        """The plot as SVG text, without matplotlib."""
        low, high = self.limits()
        scale, middle = (WIDTH - _LEFT - _RIGHT) / (high - low), (_TOP + HEIGHT - _BOTTOM) / 2
        tall = middle - _TOP - 14
        parts = []
        for sign, mz, share, matched, colour in self.sides:
            places = _LEFT + (mz - low) * scale
            for kept, stroke in ((~matched, OTHER), (matched, colour)):
                lines = [f"M{x:.1f} {middle:.1f}v{-sign * tall * y:.1f}"
                         for x, y in zip(places[kept].tolist(), share[kept].tolist(), strict=True)]  # fmt: skip
                parts += [f'<path d="{"".join(lines)}" stroke="{stroke}" stroke-width="1.6"/>'] if lines else []
            for i in labelled(places, share, matched):
                y = middle - sign * (tall * share[i] + 4) + (9 if sign < 0 else 0)
                parts.append(_word(places[i], y, f"{mz[i]:.4f}".rstrip("0").rstrip("."), "middle", 10))
        bottom = HEIGHT - _BOTTOM + 8
        parts.append(f'<path d="M{_LEFT} {middle:.1f}H{WIDTH - _RIGHT}" stroke="{INK}" stroke-width="0.8"/>')
        for tick in ticks(low, high):
            x = _LEFT + (tick - low) * scale
            parts.append(f'<path d="M{x:.1f} {bottom}v4" stroke="{SOFT}" stroke-width="0.8"/>')
            parts.append(_word(x, bottom + 15, f"{tick:g}", "middle", 10, SOFT))
        for share, y in ((100, middle - tall), (0, middle), (100, middle + tall)):
            parts.append(_word(_LEFT - 6, y + 3, f"{share} %", "end", 10, SOFT))
        above, below = (shortened(word, 48) for word in self.words)
        parts += [_word(_LEFT, 14, above, "start", 12, UP), _word(_LEFT, HEIGHT - 6, below, "start", 12, DOWN),
                  _word(WIDTH - _RIGHT, HEIGHT - 6, "m/z", "end", 11, SOFT)]  # fmt: skip
        said = escape(f"Mirror plot of {self.words[0]} and {self.words[1]}, {self.summary}")
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{said}"'
            f' font-family="system-ui, sans-serif" fill="none">{"".join(parts)}</svg>'
        )


def labelled(places, share, matched):
    """Peaks whose m/z is written: the strongest, matched ones first, where there is room."""
    chosen = []
    for i in np.lexsort((-share, ~matched)).tolist():
        if share[i] >= 0.05 and all(abs(places[i] - places[j]) >= _APART for j in chosen):
            chosen.append(i)
        if len(chosen) == _LABELS:
            break
    return chosen


def ticks(low, high):
    """Round numbers between two others, five to ten of them."""
    step = 10.0 ** np.floor(np.log10((high - low) / 4))
    step *= next(each for each in (5, 2, 1) if (high - low) / (step * each) >= 4)
    return np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step


def shortened(text, most):
    """A text of at most so many letters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _word(x, y, text, anchor, size, colour=INK):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{colour}">{escape(text)}'
            "</text>")  # fmt: skip
