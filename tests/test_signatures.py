"""Signatures of all public names against ``signatures.json``: none changes unseen; and what type checkers see of them.

After a change on purpose, ``PYTHONPATH=src:. python -m tests.test_signatures`` writes the file anew.
"""

import ast
import inspect
import json
from pathlib import Path

import mercer

FILE = Path(__file__).with_name("signatures.json")


def described(value):
    """The signature of a function, or of a class with its own public methods and properties."""
    if not inspect.isclass(value):
        return str(inspect.signature(value))
    found = {"": _signature(value)}
    for name, member in sorted(vars(value).items()):
        if name.startswith("_"):
            continue
        if isinstance(member, property):
            found[name] = "property"
        elif inspect.isfunction(member) or isinstance(member, classmethod | staticmethod):
            found[name] = _signature(getattr(value, name))
    return found


def _signature(value):
    try:
        return str(inspect.signature(value))
    except ValueError:  # of an exception
        return "(*args)"


def signatures():
    return {name: described(getattr(mercer, name)) for name in sorted(mercer._NAMES)}


def test_signatures_are_those_that_are_written_down():
    known = json.loads(FILE.read_text(encoding="utf-8"))
    found = signatures()
    assert sorted(found) == sorted(known)
    for name, signature in found.items():
        assert signature == known[name], f"{name} has changed. If that is meant, write signatures.json anew."


def test_type_checkers_see_every_lazy_name_and_no_other():
    tree = ast.parse(Path(mercer.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    seen = {alias.asname: node.module for node in block.body for alias in node.names if alias.asname == alias.name}
    assert seen == mercer._NAMES


def test_the_package_says_that_it_has_types():
    assert Path(mercer.__file__).with_name("py.typed").exists()


if __name__ == "__main__":
    FILE.write_text(json.dumps(signatures(), indent=1) + "\n", encoding="utf-8")
