"""The notebooks of ``examples/notebooks`` run from the first cell to the last, and are kept without outputs."""

import ast
import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parent.parent / "examples/notebooks").glob("*.ipynb"))


def cells(path):
    """The code of each cell."""
    document = json.loads(path.read_text(encoding="utf-8"))
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    return [cell for cell in document["cells"] if cell["cell_type"] == "code"]


def run(source, names):
    """Execute a cell; what its last expression shows in a notebook, None if there is none."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if last is None:
        return None
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    return value._repr_html_() if hasattr(value, "_repr_html_") else repr(value)


def test_there_is_a_notebook_for_each_act_of_the_demo():
    assert [path.stem for path in NOTEBOOKS] == ["classify", "compress", "search"]


@pytest.mark.process
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_something(path, tmp_path, monkeypatch):
    pytest.importorskip("PIL")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    shown = [run("".join(cell["source"]), names) for cell in cells(path)]
    assert any(text and "<table" in text for text in shown)  # a plan, a certificate or a frame


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path):
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in cells(path))
