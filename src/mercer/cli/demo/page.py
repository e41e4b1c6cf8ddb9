"""The page of the demo: the figures to remember, then what each act shows as sentences, dots, pictures and a table."""

__all__ = ["page"]

import math
from itertools import groupby

from mercer import __version__
from mercer._base.html.page import document
from mercer._base.html.pieces import cards, escape, section, table
from mercer.cli.demo.act import Act, Line, interval, milliseconds
from mercer.cli.demo.claims import HOW, capital

_ALIKE = 0.01  # shares that differ by less are not drawn, but times are
_STYLE = """
.claims { margin: 10px 0 14px; padding-left: 18px; } .claims li { margin: 3px 0; }
.dots { margin: 6px 0 16px; }
.dot-row { display: grid; grid-template-columns: 238px 1fr 74px; gap: 12px; align-items: center; padding: 3px 0; }
.dot-row .name { color: var(--soft); } .dot-row .value { text-align: right; font-variant-numeric: tabular-nums; }
.track { position: relative; height: 14px; margin: 0 6px;
  background: linear-gradient(var(--line), var(--line)) center / 100% 1px no-repeat; }
.track i { position: absolute; background: var(--soft); }
.track .whisker { height: 4px; top: 5px; opacity: 0.4; border-radius: 2px; }
.track .dot { width: 12px; height: 12px; top: 1px; margin-left: -6px; border-radius: 50%; }
.ours .name, .ours .value { color: var(--blue); font-weight: 600; } .ours .track i { background: var(--blue); }
.pictures { display: grid; grid-template-columns: repeat(auto-fill, minmax(92px, 1fr)); gap: 10px; margin: 8px 0 16px; }
.pictures.fives { grid-template-columns: repeat(10, minmax(0, 1fr)); }
.pictures div { font-size: 12px; color: var(--soft); line-height: 1.3; }
.pictures img { width: 100%; image-rendering: pixelated; display: block; border-radius: 6px; margin-bottom: 3px; }
.pictures .right { color: var(--blue); font-weight: 600; } .pictures .wrong { color: var(--orange); }
details { margin: 10px 0; } summary { cursor: pointer; color: var(--soft); }
@media (max-width: 560px) { .dot-row { grid-template-columns: 118px 1fr 58px; gap: 8px; font-size: 13px; }
  .pictures { gap: 6px; grid-template-columns: repeat(5, 1fr); }
  .pictures.fives { grid-template-columns: repeat(5, 1fr); } .pictures div { font-size: 10.5px; }
  th, td { padding: 4px 6px; font-size: 12.5px; } }
"""


def page(acts: list[Act], seconds: float, seed: int) -> bytes:
    """The acts as one page of HTML."""
    lead = "Non-linear kernels at linear cost. Every number on this page was computed on this computer, in this run."
    how = f"The run took {seconds:.0f} s with seed {seed}; mercer demo --seed {seed + 1} draws other rows. {HOW}"
    parts = [
        f'<h1>Mercer in a minute</h1>\n<p class="soft">{lead} {escape(how)}</p>\n',
        cards(act.headline for act in acts if act.headline),
        *(_act(number, act) for number, act in enumerate(acts, start=1)),
    ]
    return document("Mercer in a minute", parts, __version__, _STYLE)


def _act(number: int, act: Act) -> str:
    claims = "".join(f"<li>{escape(claim)}</li>" for claim in act.claims)
    content = [f'<ul class="claims">{claims}</ul>'] if claims else []
    content += [_dots(data, list(lines)) for data, lines in groupby(act.lines, key=lambda line: line.data)]
    content += [_pictures(caption, pairs) for caption, pairs in act.pictures]
    if act.lines:
        rows = [[escape(cell) for cell in row] for row in act.rows()]
        numbers = f"<details><summary>All numbers</summary>{table(act.columns, rows, left=(0, 1))}</details>"
        content.append(numbers)
    content.append(f"<pre>{escape(act.snippet)}</pre>")
    return section(f"{number}. {escape(act.title)}", escape(act.about), "\n".join(content))


def _dots(data: str, lines: list[Line]) -> str:
    """A dot for each line: the share that is right with its interval, or the time where all are right alike."""
    shares = [line.share for line in lines]
    by_time = max(shares) - min(shares) < _ALIKE
    rows = _times(lines) if by_time else _shares(lines)
    measure = "time of a query, logarithmic scale" if by_time else "share right, with 95 % intervals"
    title = f"{escape(capital(data))}: {measure}"
    return f'<h3>{title}</h3><div class="dots">{"".join(rows)}</div>'


def _shares(lines: list[Line]) -> list[str]:
    ends = [interval(line) for line in lines]
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    low, high = max(0.0, low - 0.05 * (high - low)), high + 0.02 * (high - low)
    made = []
    for line, (least, most) in zip(lines, ends, strict=True):
        left, right, middle = (100 * (value - low) / (high - low) for value in (least, most, line.share))
        whisker = f'<i class="whisker" style="left:{left:.1f}%;width:{right - left:.1f}%"></i>'
        made.append(_row(line, whisker, middle, f"{100 * line.share:.1f} %"))
    return made


def _times(lines: list[Line]) -> list[str]:
    logs = [math.log10(max(line.seconds, 1e-9)) for line in lines]
    low, high = math.floor(min(logs)), math.ceil(max(logs) + 1e-9)
    return [
        _row(line, "", 100 * (log - low) / max(1, high - low), milliseconds(line.seconds))
        for line, log in zip(lines, logs, strict=True)
    ]


def _row(line: Line, whisker: str, middle: float, value: str) -> str:
    return (
        f'<div class="dot-row{" ours" if line.ours else ""}"><span class="name">{escape(line.method)}</span>'
        f'<span class="track">{whisker}<i class="dot" style="left:{middle:.1f}%"></i></span>'
        f'<span class="value">{value}</span></div>'
    )


def _pictures(caption: str, pairs: list[tuple[str, str]]) -> str:
    fives = " fives" if any(words == "query" for _, words in pairs) else ""
    boxes = (
        f'<div class="{words.rpartition(": ")[2] if words.endswith(("right", "wrong")) else ""}">'
        f'<img src="{picture}" alt="{escape(words)}">{escape(words)}</div>'
        for picture, words in pairs
    )
    return f'<h3>{escape(caption)}</h3><div class="pictures{fives}">{"".join(boxes)}</div>'
