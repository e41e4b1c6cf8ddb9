"""Which code a benchmark measures, and one hash of it.

The code is that of the benchmark's own module and of every module of `mercer`, `benchmarks` and `tests` that it
imports, directly or not, at the top of a file, inside a function, or by its name in a string (`-m mercer.cli.main`). A
name that is taken from a package is followed through the package's `__init__`, lazy ones included, to the module that
defines it. What only registers and prints (the modules in `_HARNESS`) is left out: it does not change what is measured.

The hash is of syntax trees without docstrings, so comments, formatting and documentation change nothing. A record keeps
the hash of its code; where today's differs, its numbers are out of date.
"""

from __future__ import annotations

import ast
import hashlib
import io
import re
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
_PACKAGES = {"mercer": "src/mercer", "benchmarks": "benchmarks", "tests": "tests"}
_HARNESS = {
    f"benchmarks.{name}" for name in ("registry", "record", "report", "plotting", "environment", "load", "stored")
}
_DOTTED = re.compile(r"(mercer|benchmarks|tests)(\.\w+)+")
_UNSEEN = {
    "ctx",
    "type_comment",
    "type_params",
    "kind",
}  # says nothing of what is run, or not in every version of Python


@dataclass
class _Module:
    """What one file imports: (module, name) pairs, name None for the module itself; and its hash."""

    digest: bytes
    imports: list[tuple[str, str | None]]
    offers: dict[str, tuple[str, str]]


@dataclass
class Sources:
    """The files of one state of the code.

    Parameters
    ----------
    read : path relative to the root of the checkout -> the text, None if there is no such file
    """

    read: Callable[[str], str | None]
    _parsed: dict[str, _Module | None] = field(default_factory=dict)

    def hash_of(self, module: str) -> str | None:
        """The hash of the code that this module runs; None if there is no such module."""
        if self._module(module) is None:
            return None
        found = hashlib.sha256()
        for name in sorted(self.modules_of(module)):
            found.update(name.encode() + b"\0" + self._module(name).digest)
        return found.hexdigest()[:16]

    def modules_of(self, module: str) -> set[str]:
        """The module and all that it imports, as far as they are ours."""
        seen, waiting = set(), [module]
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting += filter(None, (self._defining(*one) for one in self._module(name).imports))
        return seen

    def _defining(self, module: str, name: str | None) -> str | None:
        """The module that defines a name of a module."""
        if name is not None and self._module(f"{module}.{name}") is not None:
            return _counted(f"{module}.{name}")
        here = self._module(module)
        if here is None:
            return None
        if name in here.offers and here.offers[name][0] != module:
            return self._defining(*here.offers[name])
        return _counted(module)

    def _module(self, name: str) -> _Module | None:
        if name not in self._parsed:
            self._parsed[name] = self._parse(name)
        return self._parsed[name]

    def _parse(self, name: str) -> _Module | None:
        package, *rest = name.split(".")
        if package not in _PACKAGES:
            return None
        place = "/".join([_PACKAGES[package], *rest])
        for path, home in ((f"{place}/__init__.py", name), (f"{place}.py", name.rpartition(".")[0])):
            text = self.read(path)
            if text is not None:
                tree = ast.parse(text)
                is_package = home == name
                imports = [*_imports(tree, home), *(() if is_package else _strings(tree))]
                return _Module(_digest(tree), imports, _offers(tree, home) if is_package else {})
        return None


@cache
def code_today(module: str) -> str | None:
    """The hash of the code that this module runs, of the files as they are."""
    return _today().hash_of(module)


@cache
def _today() -> Sources:
    return Sources(_read)


def _read(path: str) -> str | None:
    place = ROOT / path
    return place.read_text(encoding="utf-8") if place.is_file() else None


def code_at(commit: str) -> Sources | None:
    """The files of a commit; None if the history does not have it, as in a shallow clone."""
    folders = list(_PACKAGES.values())
    done = subprocess.run(["git", "archive", commit, *folders], cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        return None
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        files = {one.name: archive.extractfile(one).read() for one in archive if one.name.endswith(".py")}
    return Sources(lambda path: files[path].decode() if path in files else None)


def _counted(module: str) -> str | None:
    return None if module in _HARNESS else module


def _imports(tree: ast.AST, home: str) -> Iterator[tuple[str, str | None]]:
    """What a file imports, wherever it does; names of a lazy root that are read as attributes, too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names if alias.name.split(".")[0] in _PACKAGES
                        and alias.name != "mercer")  # fmt: skip
        elif isinstance(node, ast.ImportFrom):
            source = _source(node, home)
            if source.split(".")[0] in _PACKAGES:
                yield from ((source, alias.name) for alias in node.names)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "mercer":
            yield "mercer", node.attr


def _strings(tree: ast.AST) -> Iterator[tuple[str, str | None]]:
    """Modules that are named in strings, to be run in another process or loaded on first use."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _DOTTED.fullmatch(node.value):
            yield node.value, None


def _source(node: ast.ImportFrom, home: str) -> str:
    if not node.level:
        return node.module or ""
    parts = home.split(".")
    return ".".join([*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])])


def _offers(tree: ast.Module, home: str) -> dict[str, tuple[str, str]]:
    """name -> (module, its name there), of a package: what its `__init__` imports, or loads on first use."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            found.update({alias.asname or alias.name: (_source(node, home), alias.name) for alias in node.names})
        elif isinstance(node, ast.Assign) and [getattr(target, "id", "") for target in node.targets] == ["_NAMES"]:
            found.update({name: (module, name) for name, module in ast.literal_eval(node.value).items()})
    return found


def _digest(tree: ast.AST) -> bytes:
    found: list[str] = []
    _write(tree, found.append)
    return hashlib.sha256("".join(found).encode("utf-8", "surrogatepass")).digest()


def _write(node: ast.AST, put: Callable[[str], None]) -> None:
    """A syntax tree in words that are the same in every version of Python, docstrings left out."""
    put(f"({type(node).__name__}")
    for name in node._fields:
        value = getattr(node, name, None)
        if value is None or value == [] or name in _UNSEEN:
            continue
        if name == "body" and isinstance(value, list) and _is_docstring(value[0]):
            value = value[1:]
        put(f" {name}=")
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, ast.AST):
                _write(one, put)
            else:
                put(f"{one!r},")
    put(")")


def _is_docstring(node: ast.AST) -> bool:
    """Any string that stands alone does nothing."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
