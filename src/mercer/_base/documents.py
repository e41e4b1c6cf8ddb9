"""Reports as one page of HTML that needs nothing beside it, neither files nor scripts."""

__all__ = ["escaped", "section", "table", "write_document"]

import html
from datetime import datetime
from typing import Any

from mercer import __version__
from mercer._base.tables import open_for_writing

_STYLE = """
:root { --ink: #1d2733; --soft: #5d6b7a; --line: #e3e8ee; --blue: #0072b2; --orange: #d55e00; --paper: #f6f8fa; }
* { box-sizing: border-box; }
body { margin: 0; font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  color: var(--ink); background: var(--paper); }
main { max-width: 1080px; margin: 0 auto; padding: 32px 24px 64px; }
h1 { font-size: 30px; line-height: 1.2; margin: 0 0 4px; letter-spacing: -0.01em; }
h2 { font-size: 19px; margin: 0 0 4px; }
p { margin: 4px 0 12px; } .soft { color: var(--soft); } .small { font-size: 13px; }
section { background: #fff; border: 1px solid var(--line); border-radius: 10px; padding: 20px 24px; margin: 18px 0; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin: 22px 0 4px; }
.card { background: #fff; border: 1px solid var(--line); border-radius: 10px; padding: 14px 16px; }
.card b { display: block; font-size: 25px; line-height: 1.2; font-weight: 650; }
.card:first-child { background: var(--blue); border-color: var(--blue); color: #fff; }
.card:first-child .soft { color: #d7ebf7; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: right; font-weight: 600; color: var(--soft); font-size: 13px; padding: 6px 10px;
  border-bottom: 1px solid var(--line); }
td { text-align: right; padding: 5px 10px; border-bottom: 1px solid var(--line); }
tr:last-child td { border-bottom: 0; }
th.t, td.t { text-align: left; } td img { height: 40px; width: 56px; object-fit: cover; border-radius: 4px;
  display: block; }
.bar { display: inline-block; width: 96px; height: 9px; background: #e8edf2; border-radius: 5px; margin-right: 9px;
  overflow: hidden; vertical-align: 1px; }
.bar + span { display: inline-block; min-width: 58px; }
.bar i { display: block; height: 100%; background: var(--blue); border-radius: 5px; }
figure { margin: 8px 0 0; } figure img { max-width: 100%; height: auto; display: block; margin: 0 auto; }
.mistakes { display: grid; grid-template-columns: repeat(auto-fill, minmax(148px, 1fr)); gap: 14px; margin-top: 12px; }
.mistakes div { border: 1px solid var(--line); border-radius: 8px; overflow: hidden; background: #fff; }
.mistakes img { width: 100%; height: 108px; object-fit: cover; display: block; background: #eef1f4; }
.mistakes p { margin: 6px 10px 8px; font-size: 13px; line-height: 1.35; overflow-wrap: anywhere; }
.was { color: var(--soft); } .said { color: var(--orange); font-weight: 600; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 20px; margin: 10px 0 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
pre { background: #f1f4f7; border-radius: 8px; padding: 12px 14px; overflow-x: auto; white-space: pre-wrap;
  overflow-wrap: anywhere; margin: 8px 0 0; font-size: 13px; }
ul { margin: 8px 0 0; padding-left: 20px; } li { overflow-wrap: anywhere; }
footer { color: var(--soft); font-size: 13px; margin-top: 26px; }
@media print { body { background: #fff; } section, .card { break-inside: avoid; } }
"""


def write_document(path, title: str, body: str, style: str = "") -> None:
    """Write a page; ``style`` is added to that of all reports."""
    document = (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escaped(title)}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{_STYLE}{style}</style>\n</head>\n<body>\n<main>\n{body}"
        f"<footer>Mercer {__version__}, {datetime.now().astimezone():%d %B %Y, %H:%M %Z}</footer>\n"
        "</main>\n</body>\n</html>\n"
    )
    with open_for_writing(path) as stream:
        stream.write(document.encode("utf-8", "replace"))


def escaped(value: Any) -> str:
    """A value as text of a page."""
    return html.escape(str(value))


def section(title: str, text: str, content: str) -> str:
    """A part of a page with a heading; what it says is HTML."""
    said = f'<p class="soft small">{text}</p>' if text else ""
    return f"<section>\n<h2>{title}</h2>\n{said}{content}\n</section>\n"


def table(titles: list[str], rows: list[list[str]], left: set[int]) -> str:
    """Rows of cells, which are HTML; the columns ``left`` hold words."""

    def line(cells: list[str], tag: str) -> str:
        made = (f"<{tag}{' class=t' if i in left else ''}>{cell}</{tag}>" for i, cell in enumerate(cells))
        return f"<tr>{''.join(made)}</tr>"

    lines = "".join(line(row, "td") for row in rows)
    return f'<div class="wide"><table>{line(titles, "th")}{lines}</table></div>'
