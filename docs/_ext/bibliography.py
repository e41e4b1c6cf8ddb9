"""References from references.bib: the ``bibliography`` directive lists them, citations link to them."""

import re
import unicodedata
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

BIB_FILE = Path(__file__).parent.parent / "references.bib"
ENTRY = re.compile(r"^@\w+\{(?P<key>[\w-]+),\n(?P<fields>.*?)^\}", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r"^\s*(?P<name>\w+) = \{(?P<value>.*)\},?$", re.MULTILINE)
LITERAL = re.compile(r"(``.*?``)")
CITATION = re.compile(r"\[([a-z-]+\d{2}[a-z]+)\](?!_)")
ACCENT = re.compile(r"""\{\\(['"`^~])(\w)\}|\\(['"`^~])\{(\w)\}""")
COMBINING = {"'": "\u0301", '"': "\u0308", "`": "\u0300", "^": "\u0302", "~": "\u0303"}
LINKS = (nodes.reference, addnodes.pending_xref, nodes.inline)  # what a link of Sphinx is made of


def read_entries():
    """The bibliography as {key: {field: value}}, in the order of the file."""
    text = BIB_FILE.read_text(encoding="utf-8")
    return {match["key"]: dict(FIELD.findall(match["fields"])) for match in ENTRY.finditer(text)}


def plain(value):
    """A field without the markup of BibTeX: accents are letters, and the braces that keep capitals are gone."""

    def letter(match):
        return unicodedata.normalize("NFC", (match[2] or match[4]) + COMBINING[match[1] or match[3]])

    return ACCENT.sub(letter, value).replace("{", "").replace("}", "")


def describe(entry):
    """One entry as (authors, title, the rest), ready to print."""
    entry = {name: plain(value) for name, value in entry.items()}
    authors = entry["author"].replace(" and ", ", ")
    where = entry.get("booktitle") or entry.get("journal") or entry.get("publisher") or ""
    if "volume" in entry:
        issue = f"({entry['number']})" if "number" in entry else ""
        where += f" {entry['volume']}{issue}"
    if "pages" in entry:
        where += ", " + entry["pages"].replace("--", "–")
    return authors, entry["title"], f"{where}, {entry['year']}".removeprefix(", ")


class Bibliography(SphinxDirective):
    """List every entry of references.bib, each with its key as a link target."""

    def run(self):
        self.env.note_dependency(str(BIB_FILE))
        items = nodes.definition_list()
        for key, entry in read_entries().items():
            authors, title, rest = describe(entry)
            term = nodes.term("", "", nodes.literal("", key), names=[key])
            self.state.document.note_explicit_target(term)
            text = nodes.paragraph("", f"{authors}: ", nodes.emphasis("", title), nodes.Text(f". {rest}."))
            if "doi" in entry:
                text += [nodes.Text(" "), nodes.Text(f"doi:{entry['doi']}")]
            items += nodes.definition_list_item("", term, nodes.definition("", text))
        return [items]


def prepare_docstring(app, what, name, obj, options, lines):
    """Docstrings are written for readers of code; here they become reStructuredText, examples excepted.

    [key] becomes a link to the entry, and the bars of |x| in an equation are kept from naming a substitution.
    """
    known = read_entries()

    def link(match):
        key = match[1]
        return f":ref:`[{key}] <{key}>`" if key in known else match[0]

    for number, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            parts = LITERAL.split(line)
            parts[::2] = [CITATION.sub(link, part.replace("|", r"\|")) for part in parts[::2]]
            lines[number] = "".join(parts)


def link_citations(app, doctree):
    """[key] in the text of a page becomes a link to the entry; not in code, links and headings."""
    known = read_entries()
    for text in list(doctree.findall(nodes.Text)):
        parts = CITATION.split(text.astext())  # text, key, text, key, ..., text
        if len(parts) > 1 and not isinstance(text.parent, (nodes.FixedTextElement, nodes.literal, *LINKS, nodes.title)):
            linked = [_link(part, app.env.docname) if number % 2 and part in known else nodes.Text(part)
                      for number, part in enumerate(parts)]  # fmt: skip
            text.parent.replace(text, linked)


def _link(key, page):
    target = {"refdomain": "std", "reftype": "ref", "reftarget": key, "refdoc": page}
    return addnodes.pending_xref("", nodes.inline("", f"[{key}]"), refexplicit=True, refwarn=True, **target)


def setup(app):
    """Register the directive and the hooks."""
    app.add_directive("bibliography", Bibliography)
    app.connect("autodoc-process-docstring", prepare_docstring)
    app.connect("doctree-read", link_citations)
    return {"version": "1", "parallel_read_safe": True}
