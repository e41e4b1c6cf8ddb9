"""A graph as files: GraphML, or lines of its edges and of its rows. Written piece by piece: text takes no memory.

GraphML (http://graphml.graphdrawing.org) is what networkx, igraph, Cytoscape, Gephi and yEd read: a node for each row,
called by its id, with its component and the columns beside it; an edge for each pair, with its value.
"""

__all__ = ["edge_format", "row_format", "write_edges", "write_graphml", "write_rows"]

import csv
import io
import re
from contextlib import contextmanager
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from mercer._base.errors import InputError
from mercer._base.tables import ArgumentError

_SEPARATORS = {"csv": ",", "tsv": "\t"}
_EDGES_AT_ONCE = 2**16
_COMPONENT = "component"  # of every row
_TYPES = {bool: "boolean", int: "long", float: "double"}  # of Python's values; everything else is told as text
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # no escape helps these in XML 1.0


def edge_format(path, format=None):
    """The format of a file of a graph, as said or as the suffix tells."""
    return _format(path, format, ("graphml", *_SEPARATORS), "A graph is")


def row_format(path, format=None):
    """The format of a file of the rows of a graph."""
    return _format(path, format, tuple(_SEPARATORS), "Components are")


def _format(path, format, known, what):
    if format is None:
        format = "csv" if str(path) == "-" else Path(path).suffix.lower().removeprefix(".")
    if format not in known:
        raise ArgumentError(
            f"{what} written as {', '.join(known[:-1])} or {known[-1]}; {path} has none of these suffixes."
        )
    return format


def _edges(graph):
    """(source ids, target ids, values) as lists, some at a time."""
    for start in range(0, len(graph.values), _EDGES_AT_ONCE):
        part = slice(start, start + _EDGES_AT_ONCE)
        yield (
            graph.ids[graph.sources[part]].tolist(),
            graph.ids[graph.targets[part]].tolist(),
            graph.values[part].tolist(),
        )


# ------------------------------------------------------------------------------------------------------------- lines


def write_edges(stream, graph, format):
    """A line for each edge: the ids of its rows, and its value."""
    with _writer(stream, format) as lines:
        lines.writerow(["source", "target", graph.measure])
        for sources, targets, values in _edges(graph):
            lines.writerows(zip(sources, targets, values, strict=True))


def write_rows(stream, graph, format, data):
    """A line for each row: its id, its component, and the columns beside it, empty where they have no value."""
    columns = _columns(data, len(graph.ids))
    with _writer(stream, format) as lines:
        lines.writerow(["id", _COMPONENT, *columns])
        cells = ([_cell(value) for value in values] for values in columns.values())
        lines.writerows(zip(graph.ids.tolist(), graph.components.tolist(), *cells, strict=True))


def _cell(value):
    return ("true" if value else "false") if isinstance(value, bool) else value


def _columns(data, n_rows):
    """Columns beside the rows, checked."""
    if _COMPONENT in data:
        raise InputError(
            f"The {_COMPONENT} of each row is always written. Remove the column {_COMPONENT!r} from `data`."
        )
    for name, values in data.items():
        if len(values) != n_rows:
            raise InputError(
                f"`data` needs one value for each of {n_rows} rows, but column {name!r:.80} has {len(values)}."
            )
    return data


@contextmanager
def _writer(stream, format):
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
    yield csv.writer(text, delimiter=_SEPARATORS[format], lineterminator="\n")
    text.detach()


# ----------------------------------------------------------------------------------------------------------- GraphML


def write_graphml(stream, graph, data):
    """The whole graph, with columns beside the rows."""
    names = _names(graph.ids.tolist())
    _check_texts(data)
    columns = {_COMPONENT: graph.components.tolist(), **_columns(data, len(names))}
    stream.write(_head(graph, columns).encode())
    for node, values in zip(names, zip(*columns.values(), strict=True), strict=True):
        told = "".join(f'<data key="n{i}">{_text(value)}</data>' for i, value in enumerate(values) if value is not None)
        stream.write(f"<node id={node}>{told}</node>\n".encode())
    for sources, targets, values in _edges(graph):
        edges = zip(sources, targets, values, strict=True)
        lines = (
            f'<edge source={_quoted(left)} target={_quoted(right)}><data key="e0">{_text(value)}</data></edge>\n'
            for left, right, value in edges
        )
        stream.write("".join(lines).encode())
    stream.write(b"</graph>\n</graphml>\n")


def _names(ids):
    """The ids as names of nodes, in quotes. What two rows would share, or XML cannot hold, is refused."""
    bad = next((value for value in ids if isinstance(value, str) and _NO_XML.search(value)), None)
    if bad is not None:
        raise InputError(f"GraphML cannot represent the id {bad!r:.80}. Write csv instead.")
    names = [_quoted(value) for value in ids]
    if len(set(names)) < len(names):
        seen = set()
        twice = next(name for name in names if name in seen or seen.add(name))
        raise InputError(
            f"GraphML does not distinguish numbers from strings, but the index has the id {twice:.80} as both. Write "
            "csv instead."
        )
    return names


def _check_texts(data):
    for name, values in data.items():
        for text in (str(name), *(value for value in values if isinstance(value, str))):
            if _NO_XML.search(text):
                raise InputError(
                    f"GraphML cannot represent {text!r:.80}, of the column {name!r:.80}. Remove the column."
                )


def _head(graph, columns):
    keys = [
        f'<key id="n{i}" for="node" attr.name={_quoted(name)} attr.type="{_type(values)}"/>\n'
        for i, (name, values) in enumerate(columns.items())
    ]
    edge = f'<key id="e0" for="edge" attr.name="{graph.measure}" attr.type="double"/>\n'
    start = '<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
    return start + "".join(keys) + edge + '<graph edgedefault="undirected">\n'


def _type(values):
    kinds = {type(value) for value in values if value is not None}
    return _TYPES.get(kinds.pop(), "string") if len(kinds) == 1 else "string"


def _quoted(value):
    return quoteattr(str(value))


def _text(value):
    """A value between tags; a carriage return would be read as a line break."""
    value = _cell(value)
    if isinstance(value, float):
        return {"inf": "INF", "-inf": "-INF", "nan": "NaN"}.get(str(value), repr(value))
    return escape(str(value), {"\r": "&#13;"})
