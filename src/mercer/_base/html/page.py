"""A page of HTML that needs nothing beside it: no files, no scripts, no network. It follows the reader's dark mode."""

__all__ = ["document"]

from datetime import datetime

from mercer._base.html.pieces import escape

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2733; --soft: #5d6b7a; --line: #e3e8ee; --blue: #0072b2; --orange: #d55e00;
  --paper: #f6f8fa; --box: #fff; --faint: #eef2f6; --on-blue: #d7ebf7;
  --card: #0072b2; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9ee; --soft: #9aa7b4; --line: #303a45; --blue: #3f9fd8;
  --orange: #f0883e; --paper: #12171d; --box: #1a2129; --faint: #252e38; --on-blue: #e3f2fb;
  --card: #14567f; }
  figure img { background: #fff; border-radius: 6px; } }
* { box-sizing: border-box; }
body { margin: 0; font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  color: var(--ink); background: var(--paper); }
main { max-width: 1080px; margin: 0 auto; padding: 32px 24px 64px; }
h1 { font-size: 30px; line-height: 1.2; margin: 0 0 4px; letter-spacing: -0.01em; }
h2 { font-size: 19px; margin: 0 0 4px; } h3 { font-size: 15px; margin: 18px 0 4px; }
p { margin: 4px 0 12px; } .soft { color: var(--soft); } .small { font-size: 13px; }
section { background: var(--box); border: 1px solid var(--line); border-radius: 10px; padding: 20px 24px;
  margin: 18px 0; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin: 22px 0 4px; }
.card { background: var(--box); border: 1px solid var(--line); border-radius: 10px; padding: 14px 16px; }
.card b { display: block; font-size: 25px; line-height: 1.2; font-weight: 650; }
.card:first-child { background: var(--card); border-color: var(--card); color: #fff; }
.card:first-child .soft { color: var(--on-blue); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: right; font-weight: 600; color: var(--soft); font-size: 13px; padding: 6px 10px;
  border-bottom: 1px solid var(--line); }
td { text-align: right; padding: 5px 10px; border-bottom: 1px solid var(--line); }
tr:last-child td { border-bottom: 0; }
th.t, td.t { text-align: left; } td img { height: 40px; width: 56px; object-fit: cover; border-radius: 4px;
  display: block; }
.bar { display: inline-block; width: 96px; height: 9px; background: var(--faint); border-radius: 5px; margin-right: 9px;
  overflow: hidden; vertical-align: 1px; }
.bar + span { display: inline-block; min-width: 58px; }
.bar i { display: block; height: 100%; background: var(--blue); border-radius: 5px; }
figure { margin: 8px 0 0; } figure img { max-width: 100%; height: auto; display: block; margin: 0 auto; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 20px; margin: 10px 0 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
pre { background: var(--faint); border-radius: 8px; padding: 12px 14px; overflow-x: auto; white-space: pre-wrap;
  overflow-wrap: anywhere; margin: 8px 0 0; font-size: 13px; }
ul { margin: 8px 0 0; padding-left: 20px; } li { overflow-wrap: anywhere; }
footer { color: var(--soft); font-size: 13px; margin-top: 26px; }
@media (max-width: 560px) { main { padding: 20px 12px 40px; } section { padding: 16px 14px; } h1 { font-size: 25px; } }
@media print { body { background: #fff; } section, .card { break-inside: avoid; } }
"""


def document(title: str, parts_html: list[str], version: str, style: str = "") -> bytes:
    """The page: a title of the window, parts one below the other, and when it was made by which version."""
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{_STYLE}{style}</style>\n</head>\n<body>\n<main>\n{''.join(parts_html)}"
        f"<footer>Mercer {escape(version)}, {datetime.now().astimezone():%d %B %Y, %H:%M %Z}</footer>\n"
        "</main>\n</body>\n</html>\n"
    ).encode("utf-8", "replace")
