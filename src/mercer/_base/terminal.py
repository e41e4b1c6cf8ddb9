"""Text of strangers on a terminal: what would move the cursor, change colors or turn the line around is escaped.

Labels, ids and names of columns come out of files, and a terminal obeys the control characters in them. Files and pipes
get the data as it is.
"""

__all__ = ["TerminalWriter", "escaped"]

import re

# C0 and C1 controls, marks that reverse the direction of a line, and surrogates, which no encoding has
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def escaped(text: str, keep: str = "") -> str:
    r"""The text with control characters as Python writes them, but for those to keep.

    >>> escaped("red \x1b[31m, and\nmore", keep="\n")
    'red \\x1b[31m, and\nmore'
    """
    return _CONTROLS.sub(lambda found: found[0] if found[0] in keep else ascii(found[0])[1:-1], text)


class TerminalWriter:
    """A binary stream to a terminal that escapes what is written; lines stay lines."""

    def __init__(self, stream):
        self._stream = stream

    def write(self, data) -> int:
        """Write bytes of UTF-8 text."""
        self._stream.write(escaped(bytes(data).decode("utf-8", "backslashreplace"), keep="\n\t").encode())
        return len(data)
