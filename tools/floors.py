"""Print the lowest versions that pyproject.toml declares, as constraints for pip: numpy>=2.0 becomes numpy==2.0.

``make test-lowest`` installs these, so that a floor which nothing has been run with cannot stand there for long.
"""

import re
import sys
import tomllib
from pathlib import Path

# a name, extras in brackets, the floor, and perhaps a marker: uvloop>=0.21; sys_platform != 'win32'
NEED = re.compile(r"(?P<name>[\w-]+)(?:\[[\w,]+\])?>=(?P<floor>[\w.]+)(?P<marker>;.*)?")


def floors(project):
    """One line ``name==version`` for each need of a ``[project]`` table, its own extras left out."""
    needs = sum(project["optional-dependencies"].values(), project["dependencies"])
    lines = set()
    for need in needs:
        if need.startswith(f"{project['name']}["):
            continue
        found = NEED.fullmatch(need)
        if found is None:
            raise ValueError(f"pyproject.toml: {need!r} declares no lowest version. Write it as 'name>=version'.")
        lines.add(f"{found['name']}=={found['floor']}{found['marker'] or ''}")
    return sorted(lines)


if __name__ == "__main__":
    path = Path(__file__).parent.parent / "pyproject.toml"
    sys.stdout.write("\n".join(floors(tomllib.loads(path.read_text(encoding="utf-8"))["project"])) + "\n")
