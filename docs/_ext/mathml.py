"""Formulas as MathML, which browsers draw by themselves: pages need nothing from elsewhere to show them."""

import re

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util.math import get_node_equation_number

# The converter knows sizes of delimiters that are letters, but not of those that are commands, and writes tags inside.
DELIMITERS = {"langle": "⟨", "rangle": "⟩", "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉", "|": "‖"}
SIZED = re.compile(r"(\\[bB]igg?[lrm]?)\s*\\(" + "|".join(map(re.escape, DELIMITERS)) + r")(?![a-zA-Z])")
TAG = re.compile(r"\\tag\{(.*?)\}")
UNKNOWN = re.compile(r">(\\[^<]+)<")


def _mathml(text, display):
    made = convert(SIZED.sub(lambda match: match[1] + DELIMITERS[match[2]], text), display=display)
    if unknown := UNKNOWN.search(made):
        raise ValueError(f"{unknown[1]} has no MathML in the formula {text}")
    return made


def _inline(self, node):
    self.body.append(_mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def _block(self, node):
    self.body.append(self.starttag(node, "div", CLASS="formula"))
    text = node.astext()
    tag = TAG.search(text)
    if number := get_node_equation_number(self, node) if node["number"] else tag and tag[1]:
        self.body.append(f'<span class="eqno">({number})</span>')
    self.body.append(_mathml(TAG.sub("", text), "block"))
    self.body.append("</div>")
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    return {"parallel_read_safe": True}
