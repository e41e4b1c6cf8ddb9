"""Pieces of a page: every one takes text, escapes it, and returns HTML; what is HTML already is named so."""

__all__ = [
    "bar",
    "bars",
    "bold",
    "cards",
    "escape",
    "facts",
    "figure",
    "image",
    "percent",
    "pixels_uri",
    "section",
    "table",
    "uri",
]

import base64
import html
import struct
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any


def escape(value: Any) -> str:
    """The text of a value, safe in HTML and between quotes."""
    return html.escape(str(value))


def percent(share: float | None) -> str:
    """A share for people.

    >>> percent(0.9876), percent(None)
    ('98.8 %', '–')
    """
    return "–" if share is None else f"{100 * share:.1f} %"


def bold(value: Any) -> str:
    """Text that stands out."""
    return f"<b>{escape(value)}</b>"


def section(title: str, text: str, content_html: str) -> str:
    """A box with a title, a line of text and what it is about."""
    said = f'<p class="soft small">{text}</p>' if text else ""
    return f"<section>\n<h2>{title}</h2>\n{said}{content_html}\n</section>\n"


def cards(pairs: Iterable[tuple[str, str]]) -> str:
    """Large figures, each with what it means."""
    boxes = (f'<div class="card"><b>{escape(value)}</b><span class="soft small">{escape(text)}</span></div>'
             for value, text in pairs)  # fmt: skip
    return f'<div class="cards">{"".join(boxes)}</div>\n'


def table(titles: Sequence[str], rows_html: Iterable[Sequence[str]], left: Collection[int] = (0,)) -> str:
    """A table whose cells are HTML; columns are set to the right unless they are among those of ``left``."""

    def line(cells: Sequence[str], tag: str) -> str:
        made = (f"<{tag}{' class=t' if i in left else ''}>{cell}</{tag}>" for i, cell in enumerate(cells))
        return f"<tr>{''.join(made)}</tr>"

    lines = "".join(line(row, "td") for row in rows_html)
    return f'<div class="wide"><table>{line([escape(title) for title in titles], "th")}{lines}</table></div>'


def facts(title: str, pairs: Mapping[str, Any]) -> str:
    """A small table of names and values with styles of its own, for an object in a notebook.

    >>> "&lt;3" in facts("Plan", {"rows": "<3"})
    True
    """
    cell = 'style="text-align:left"'
    lines = "".join(
        f"<tr><th {cell}>{escape(name)}</th><td {cell}>{escape(value)}</td></tr>" for name, value in pairs.items()
    )
    return f'<table><caption style="text-align:left;font-weight:600">{escape(title)}</caption>{lines}</table>'


def bars(title: str, lines: Sequence[tuple[str, float, str]]) -> str:
    """Horizontal bars as SVG: a name, a number from 0 on and the text that says it.

    It takes the colors of the page around it, and is as wide as this allows.

    >>> drawn = bars("Accuracy", [("rbf <a>", 0.5, "50 %"), ("chi2", 1.0, "100 %")])
    >>> drawn.count("<rect"), "rbf &lt;a&gt;" in drawn
    (2, True)
    """
    largest = max((value for _, value, _ in lines), default=0.0) or 1.0
    drawn = [
        f'<text x="0" y="{20 * i + 14}">{escape(_cut(name))}</text>'
        f'<rect x="320" y="{20 * i + 4}" width="{220 * value / largest:.1f}" height="12" rx="2" fill="#3f8fc8"/>'
        f'<text x="{326 + 220 * value / largest:.1f}" y="{20 * i + 14}">{escape(text)}</text>'
        for i, (name, value, text) in enumerate(lines)
    ]
    return (
        f'<svg viewBox="0 0 640 {20 * len(lines) + 4}" role="img" aria-label="{escape(title)}" '
        'xmlns="http://www.w3.org/2000/svg" style="max-width:640px;width:100%" font-family="sans-serif" '
        f'font-size="12" fill="currentColor"><title>{escape(title)}</title>{"".join(drawn)}</svg>'
    )


def _cut(name: str, most: int = 50) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def figure(picture: str, text: str, widest: int = 1030) -> str:
    """A picture across the page."""
    return f'<figure><img src="{picture}" alt="{escape(text)}" style="width:{widest}px"></figure>'


def image(picture: str | None, text: str) -> str:
    """A picture, if there is one."""
    return "" if picture is None else f'<img src="{picture}" alt="{escape(text)}">'


def bar(share: float | None) -> str:
    """A share as a bar with its number."""
    if share is None:
        return "–"
    return f'<span class="bar"><i style="width:{100 * share:.1f}%"></i></span><span>{percent(share)}</span>'


def uri(content: bytes, kind: str) -> str:
    """A picture as part of the page."""
    return f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"


def pixels_uri(pixels) -> str:
    """Pixels of uint8, (height, width) or (height, width, 3), as a PNG in the page; needs no other library."""
    height, width = pixels.shape[:2]
    kind = 2 if pixels.ndim == 3 else 0  # of PNG: colors, or shades of gray
    lines = pixels.reshape(height, -1)
    raw = b"".join(b"\0" + line.tobytes() for line in lines)  # 0: the line is not filtered

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    parts = chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(raw, 9)), chunk(b"IEND", b"")
    return uri(b"\x89PNG\r\n\x1a\n" + b"".join(parts), "png")
