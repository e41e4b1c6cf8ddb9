"""Run the Python blocks of a page in turn and compare what they print with the text below them.

``python tools/outputs.py`` writes what is missing or has changed into all pages, with names of pages into those alone.
A block of ```` ```text ```` right after a block of Python is its output; ``...`` in it stands for what differs between
runs, such as times.
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

ROOT = Path(__file__).parent.parent
MADE = {"_build", "generated", "gallery"}  # folders of docs/
# Not run here: pages that need a database, and an example that is a file of benchmarks/.
ELSEWHERE = {"postgresql.md", "milvus.md", "benchmarks.md"}
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


def pages():
    """The README and the pages of the manual whose blocks of Python run without anything else."""
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    paths = [path for path in paths if not MADE & set(path.parts) and path.name not in ELSEWHERE]
    return [path for path in paths if "\n```python\n" in path.read_text(encoding="utf-8")]


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
    for path in [Path(name).resolve() for name in sys.argv[1:]] or pages():
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)  # what the examples write stays there
            path.write_text(updated(path), encoding="utf-8")
            os.chdir(ROOT)
