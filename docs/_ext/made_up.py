"""Worked examples that ran on made-up rows say so: in the title of their page, below it, and on the overview."""

import re
from pathlib import Path

PRINTED = re.compile(r"^ \.\. code-block:: none\n\n((?:    .*\n|\n)+)", re.MULTILINE)
HEADING = re.compile(r"^(?P<title>\S.*)\n=+\n", re.MULTILINE)
THUMBNAIL = re.compile(r'<div class="sphx-glr-thumbnail-title">(?P<title>.*?)</div>')
ADDED = " (made-up rows)"
NOTE = """
.. note::

   The data set was missing when this page was built, and made-up rows took its place. The page shows how the code
   works; its numbers allow no conclusions.

"""


def is_made_up(page):
    """Whether an example, as the gallery has written its page, says in its output that rows are made up."""
    return any("made-up" in printed for printed in PRINTED.findall(page))


def with_title(page):
    """The page of such an example with its title changed and a note below; any other page as it is."""
    if not is_made_up(page):
        return page

    def changed(match):
        title = match["title"] + ADDED
        return f"{title}\n{'=' * len(title)}\n{NOTE}"

    return HEADING.sub(changed, page, count=1)


def with_thumbnails(overview, pages):
    """The overview with the titles of such examples changed."""
    titles = {match["title"] for page in pages if is_made_up(page) and (match := HEADING.search(page))}

    def changed(match):
        title = match["title"]
        return match[0].replace(title, title + ADDED) if title in titles else match[0]

    return THUMBNAIL.sub(changed, overview)


def _read(app, name, source):
    if name == "gallery/index":
        pages = sorted((Path(app.srcdir) / "gallery").glob("plot_*.rst"))
        source[0] = with_thumbnails(source[0], [page.read_text(encoding="utf-8") for page in pages])
    elif name.startswith("gallery/"):
        source[0] = with_title(source[0])


def setup(app):
    app.connect("source-read", _read)
    return {"version": "1", "parallel_read_safe": True}
