"""Run the Python blocks of a page in turn and compare what they print with the text below them.

``python tools/outputs.py README.md docs/start.md`` writes what is missing or has changed into the pages. A block of
```` ```text ```` right after a block of Python is its output; ``...`` in it stands for whatever differs between runs, such as
times.
"""

import contextlib
import doctest
import io
import os
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(
    r"^```(?P<language>python|sql)\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```\n)?", re.MULTILINE | re.DOTALL
)
TIMES = re.compile(r"\b\d[\d.,]*(?= (?:s|ms|μs)\b)")
LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A block of Python: where it stands, what it has printed, and the output on the page (None: there is none)."""

    start: int
    end: int
    code: str
    printed: str
    said: str | None

    @property
    def agrees(self):
        """Whether the page says what was printed."""
        return doctest.OutputChecker().check_output(self.said or "", self.printed, LOOSE)


def run(path, run_sql=None):
    """The blocks of a page, run in one namespace; those of SQL go to a function."""
    text, namespace = Path(path).read_text(encoding="utf-8"), {}
    for match in BLOCK.finditer(text):
        if match["language"] == "sql":
            if run_sql is not None:
                run_sql(match["code"])
            continue
        lines = text.count("\n", 0, match.start("code"))
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            # blank lines in front make a traceback show the line of the page
            exec(compile("\n" * lines + match["code"], str(path), "exec"), namespace)
        yield Block(match.start(), match.end(), match["code"], printed.getvalue(), match["output"])


def updated(path):
    """The text of a page with the outputs of its blocks."""
    text, parts, done = Path(path).read_text(encoding="utf-8"), [], 0
    for block in run(path):
        parts.append(text[done : block.start])
        below = block.said if block.agrees else TIMES.sub("...", block.printed)
        output = f"\n```text\n{below.rstrip()}\n```\n" if below and below.strip() else ""
        parts.append(f"```python\n{block.code}```\n{output}")
        done = block.end
    return "".join([*parts, text[done:]])


if __name__ == "__main__":
    paths = [Path(name).resolve() for name in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # what the examples write stays there
        for path in paths:
            path.write_text(updated(path), encoding="utf-8")
