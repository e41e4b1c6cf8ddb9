"""Rules of the house: what must hold across the whole repository, whichever part is changed."""

import ast
import functools
import inspect
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

import mercer
import outputs
from tests.mutants.faults import FAULTS

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "mercer"
MODULES = sorted(SOURCE.rglob("*.py"))
CITATION = re.compile(r"\[([a-z]+\d{2}[a-z]+)\]")
BUILT = {"_build", "generated", "gallery"}  # folders of docs that are made
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if not BUILT & set(page.parts)),
]
# The example of docs/benchmarks.md is a file of benchmarks/: running it would register a benchmark that does not exist.
PAGES_WITH_CODE = [
    page for page in PAGES if "\n```python\n" in page.read_text(encoding="utf-8") and page.name != "benchmarks.md"
]
# pages whose blocks need not show what they print
SILENT = {"docs/searching.md", "docs/learning.md"}
PIECES = {"jit.py", "byte_lanes.py", "lanes.py", "sweep.py"}  # of _native: what loops are made of, tested through them
SERVERS = {"postgresql.md": "postgres", "milvus.md": "milvus"}  # pages that need one, and its fixture


def relative(path):
    return path.relative_to(ROOT).as_posix()


@functools.cache
def parse(path):
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def public_functions(path):
    names = {node.name for node in parse(path).body if isinstance(node, ast.FunctionDef)}
    return {name for name in names if not name.startswith("_")}


def twins():
    """Functions of tests/reference, with the further names that are given to them (``f_single = f_double``)."""
    names = set()
    for path in sorted((ROOT / "tests/reference").rglob("*.py")):
        names |= public_functions(path)
        for node in parse(path).body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id in names:
                names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def bibliography_keys():
    return set(re.findall(r"^@\w+\{(\w+),", (ROOT / "docs/references.bib").read_text(encoding="utf-8"), re.MULTILINE))


def repository_files():
    """Files that are in git or would be added to it."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listing.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_the_library_never_prints():
    prints = [
        f"{relative(path)}:{node.lineno}"
        for path in MODULES
        if SOURCE / "cli" not in path.parents and "print(" in path.read_text(encoding="utf-8")
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert not prints, "Use logging.getLogger('mercer') or mercer._base.progress instead of print()."


def test_every_citation_is_in_the_bibliography():
    keys = bibliography_keys()
    unknown = [
        f"{relative(path)}: [{key}]"
        for path in [*MODULES, *PAGES]
        for key in CITATION.findall(path.read_text(encoding="utf-8"))
        if key not in keys
    ]
    assert not unknown, "Add these to docs/references.bib."


@pytest.mark.parametrize("name", mercer.__all__)
def test_every_public_name_loads_and_is_documented(name):
    value = getattr(mercer, name)
    if name == "__version__":
        return
    assert inspect.getdoc(value), f"mercer.{name} has no docstring."
    # a class without a docstring of its own would show its parent's
    assert value.__doc__, f"mercer.{name} only inherits a docstring."
    listed = (ROOT / "docs/api.md").read_text(encoding="utf-8").split()
    assert name in listed, f"docs/api.md does not list {name}."


def test_importing_mercer_loads_nothing_heavy():
    heavy = ["numpy", "scipy", "sklearn", "numba", "faiss", "typer", "rich"]
    code = f"import sys, mercer; print([name for name in {heavy} if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], cwd=SOURCE.parent, capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


@functools.cache
def imported_names():
    """(path, module, name) of every ``from mercer... import name`` and ``import mercer.module.name`` of the source."""
    found = []
    for path in MODULES:
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "mercer":
                found += [(path, node.module, alias.name) for alias in node.names]
            if isinstance(node, ast.Import):
                names = [alias.name.rpartition(".") for alias in node.names if alias.name.startswith("mercer.")]
                found += [(path, module, name) for module, _, name in names]
    return found


def test_no_module_imports_a_private_name_of_another():
    private = [
        f"{relative(path)}: {module}.{name}"
        for path, module, name in imported_names()
        if name.startswith("_") and not name.startswith("__") and SOURCE / "_native" not in path.parents
    ]
    assert not private, "Give what others use a public name."


def test_what_is_imported_from_the_lazy_root_keeps_to_the_layers():
    # import-linter sees `from mercer import KernelIndex` as an import of the root, which everybody may have
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = [set(re.findall(r"\w+", layer)) for layer in contract["contracts"][0]["layers"]]
    rank = {package: number for number, layer in enumerate(layers) for package in layer}
    for path, module, name in imported_names():
        if module == "mercer" and name in mercer._NAMES:
            importer = path.relative_to(SOURCE).parts[0]
            imported = mercer._NAMES[name].split(".")[1]
            assert importer == imported or rank[importer] < rank[imported], f"{relative(path)} imports {name}."


@pytest.mark.parametrize("package", ["cli", "serving"])
def test_the_command_line_and_the_service_use_what_the_packages_offer(package):
    inside = [
        f"{relative(path)}: from {module} import {name}"
        for path, module, name in imported_names()
        if path.relative_to(SOURCE).parts[0] == package and not is_offered(module, name, package)
    ]
    assert not inside, "Import it from mercer or a package, whose __init__.py offers and documents it."


def is_offered(module, name, package):
    """Whether a module of the package may import a name: its own and those of _base, else what is offered."""
    parts = module.split(".")
    if len(parts) > 1 and parts[1] in (package, "_base"):
        return True
    return len(parts) <= 2 and name in import_module(module).__all__


def test_every_hot_loop_has_a_numpy_twin():
    loops = {
        name: path
        for path in sorted((SOURCE / "_native").rglob("*.py"))
        if path.name not in PIECES
        for name in public_functions(path)
    }
    assert loops, "src/mercer/_native has no public function: this test looks in the wrong place."
    known = twins()
    missing = [f"{relative(path)}: {name}" for name, path in loops.items() if name not in known]
    assert not missing, "Add a function of the same name to tests/reference."


@pytest.mark.process
@pytest.mark.parametrize("page", PAGES_WITH_CODE, ids=relative)
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch, request):
    monkeypatch.chdir(tmp_path)
    if page.name in SERVERS:  # the page says DATABASE_URL, as its reader has it
        monkeypatch.setenv("DATABASE_URL", request.getfixturevalue(SERVERS[page.name]))
    for block in outputs.run(page, run_sql if page.name in SERVERS else None):
        shown = block.said is not None or (page in outputs.pages() and relative(page) not in SILENT)
        assert block.agrees or not shown, f"python tools/outputs.py {relative(page)} writes: {block.printed}"


def run_sql(text):
    import psycopg

    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        connection.execute(text)


def test_no_file_holds_a_path_of_somebodys_machine():
    machine_path = re.compile(rb"(?<![\w.:/-])/(?:home|root|Users|work)/\w")
    found = [relative(path) for path in repository_files() if machine_path.search(path.read_bytes())]
    assert not found


def test_the_architecture_page_names_only_what_exists():
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:src|tests|docs|benchmarks|\.ci)/[\w./-]*)`", page)
    assert named
    assert not [name for name in named if not (ROOT / name).exists()]


def test_the_walks_of_the_architecture_page_find_what_they_name():
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert page.count("\n") <= 150
    walks = re.findall(r"`(\w+)`\s+in\s+`(src/[\w./]*\.py)`", page)
    assert len(walks) > 20
    for name, path in walks:
        defined = {node.name for node in ast.walk(parse(ROOT / path)) if hasattr(node, "name")}
        assert name in defined, f"{path} defines no {name}."


def folders_of_modules():
    """Folder of the source -> names of its modules."""
    found = {}
    for path in MODULES:
        found.setdefault(path.parent, []).extend([path.stem] if path.stem != "__init__" else [])
    return found


def test_folders_are_small_and_do_the_work_of_prefixes():
    for folder, names in folders_of_modules().items():
        assert len(names) <= 12, f"{relative(folder)} has {len(names)} modules: which of them belong together?"
        prefixes = Counter(name.partition("_")[0] for name in names)
        shared = [prefix for prefix, count in prefixes.items() if count >= 3]
        assert not shared, f"{relative(folder)}: {shared} should be folders."
        private = [name for name in names if name.startswith("_")]
        assert not private, f"{relative(folder)}: {private}; what is public is said by __init__.py."


def test_every_fault_of_the_mutants_still_fits_its_file():
    if ROOT.parent.name == "build":
        pytest.skip("this is the copy that faults are put into")
    for fault in FAULTS:
        fault.mutated((ROOT / fault.path).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/install.md"])
def test_every_make_target_that_is_mentioned_exists(name):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    mentioned = set(re.findall(r"(?:^|`)make ([a-z-]+)", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE))
    assert mentioned <= targets


def test_the_version_is_the_same_everywhere():
    version, changes = mercer.__version__, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## [{version}]" in changes or f"\n## [Unreleased]\n\nThis becomes {version}." in changes
    assert f'\nversion = "{version}"' in (ROOT / "clients/python/pyproject.toml").read_text(encoding="utf-8")


def test_the_constraints_pin_every_direct_dependency_and_nothing_but_versions():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert not [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.!+]+", line)]
    pinned = {line.partition("==")[0].lower().replace("_", "-") for line in lines}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = sum(project["optional-dependencies"].values(), project["dependencies"])
    names = {re.match(r"[\w-]+", need)[0].lower() for need in wanted} - {"mercer"}
    assert names <= pinned
