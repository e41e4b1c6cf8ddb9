"""Tables and figures that are made from stored results while the site is built: nobody types a measurement.

``measured NAME`` puts the table NAME of measured_tables.py, ``measured-figure NAME`` the figure NAME of
measured_figures.py with the text of the directive below it. Both end with where the numbers come from.
"""

from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from benchmarks.published import all_published
from benchmarks.registry import RESULTS
from benchmarks.reproduce import PAGE, render_page
from benchmarks.sheet import Sheet
from measured_figures import FIGURES
from measured_tables import TABLES
from stored_results import MISSING, Results

DRAWN = "generated/measured"  # below docs/, with everything else that is made


class _FromResults(SphinxDirective):
    required_arguments = 1

    def made(self, makers):
        """(what the named maker makes, the results that it read)"""
        name, results = self.arguments[0], Results()
        try:
            return makers[name](results), results
        except KeyError as error:
            raise self.error(f"{self.name} {name}: {error.args[0]}") from error

    def origin(self, results):
        """A paragraph that says how, when and where the numbers were measured; the page depends on their files."""
        for path in results.paths:
            self.env.note_dependency(str(path))
        paragraph = nodes.paragraph("", "", classes=["measured-by"])
        paragraph += self.parse_inline(f"{results.provenance()} `python -m benchmarks NAME` measures again.")[0]
        return paragraph


class Measured(_FromResults):
    """A table from stored results."""

    def run(self):
        text, results = self.made(TABLES)
        return [nodes.container("", *self.parse_text_to_nodes(text), self.origin(results), classes=["measured"])]


class MeasuredFigure(_FromResults):
    """A figure from stored results; the first line of the directive's text is read out where nothing is seen."""

    has_content = True

    def run(self):
        figure, results = self.made(FIGURES)
        place = Path(self.env.srcdir) / DRAWN / f"{self.arguments[0]}.svg"
        place.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(place, metadata={"Date": None})
        if not any(results.used.values()):
            return [nodes.paragraph("", MISSING), self.origin(results)]
        image = nodes.image(uri=f"/{DRAWN}/{place.name}", alt=self.content[0])
        caption = nodes.caption("", "", *self.parse_inline(" ".join(self.content))[0])
        return [nodes.figure("", image, caption, align="center"), self.origin(results)]


def with_marks_of_today(app, name, source):
    """The page of published tables as it is with the code of today: the file has the marks of when it was written."""
    if name == PAGE.stem:
        source[0] = render_page([Sheet(item, RESULTS, draw=False) for item in all_published().values()])


def setup(app):
    app.connect("source-read", with_marks_of_today)
    app.add_directive("measured", Measured)
    app.add_directive("measured-figure", MeasuredFigure)
    return {"version": "1", "parallel_read_safe": True}
