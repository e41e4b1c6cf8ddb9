"""``parameters NAME`` puts the table of an estimator's parameters: what checks them also describes them."""

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

import mercer


def table_of(estimator):
    """The parameters of an estimator as a table in Markdown: name, what it may be, default, one sentence."""
    lines = ["| parameter | must be | default | |", "|---|---|---|---|"]
    for each in estimator._table:
        default = "" if each.default is ... else f"`{each.default!r}`"
        lines.append(f"| `{each.name}` | {each.domain} | {default} | {each.help} |")
    return "\n".join(lines)


class Parameters(SphinxDirective):
    """The table of the parameters of a public estimator."""

    required_arguments = 1

    def run(self):
        estimator = getattr(mercer, self.arguments[0], None)
        if not hasattr(estimator, "_table"):
            raise self.error(f"parameters {self.arguments[0]}: mercer has no estimator with a table of this name.")
        return [nodes.container("", *self.parse_text_to_nodes(table_of(estimator)), classes=["parameters"])]


def setup(app):
    app.add_directive("parameters", Parameters)
    return {"version": "1", "parallel_read_safe": True}
