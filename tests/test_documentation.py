"""Tables and figures of the pages come from stored results: what is stored shows, what is missing is not hidden."""

import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import mercer
import picture
from benchmarks.registry import RESULTS
from bibliography import describe, read_entries
from gallery_order import STORY
from made_up import is_made_up, with_thumbnails, with_title
from measured_figures import FIGURES
from measured_tables import TABLES
from mercer.kernels import Kernel
from parameters import table_of
from stored_results import MISSING, Results, shown

DOCS = Path(__file__).parent.parent / "docs"
PACKAGES = ("datasets", "detection", "features", "search", "search.stores", "serving", "vision")
USED = re.compile(r"^```\{(measured|measured-figure)\} (\S+)$", re.MULTILINE)


def changed(folder, name, change):
    """A copy of a stored result in a folder, with a change."""
    result = json.loads((RESULTS / f"{name}.json").read_text())
    change(result)
    (folder / f"{name}.json").write_text(json.dumps(result))
    return Results(folder)


def test_a_table_shows_what_is_stored(tmp_path):
    def another_error(result):
        (row,) = (row for row in result["tables"][0]["rows"] if row[0] == "HomogeneousMap, order 1")
        row[2] = 0.4321

    before, after = (
        TABLES["map-choices"](Results()),
        TABLES["map-choices"](changed(tmp_path, "maps-table", another_error)),
    )
    assert "43 %".replace(" ", "\N{NO-BREAK SPACE}") in after
    assert sum(a != b for a, b in zip(before.splitlines(), after.splitlines(), strict=True)) == 1


@pytest.mark.parametrize("name", TABLES)
def test_a_table_without_results_says_so(name, tmp_path):
    results = Results(tmp_path)
    assert MISSING in TABLES[name](results)
    assert results.provenance().endswith(f"{MISSING}.")


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_drawn_with_and_without_results(name, tmp_path):
    results = Results()
    full, empty = FIGURES[name](results), FIGURES[name](Results(tmp_path))
    assert len(full.axes[0].lines) > len(empty.axes[0].lines) or not all(results.used.values())


def test_a_row_that_is_no_longer_measured_is_an_error(tmp_path):
    results = changed(tmp_path, "maps-table", lambda result: result["tables"][0]["rows"].clear())
    with pytest.raises(KeyError, match="The result of maps-table has no 'dimensions'"):
        TABLES["map-choices"](results)


def test_a_benchmark_that_does_not_exist_is_an_error():
    with pytest.raises(KeyError, match="There is no benchmark 'maps-tabel'"):
        Results()["maps-tabel"]


def test_a_number_without_its_other_half_is_missing():
    assert shown("{:.1f} of {:.1f}", 1.0, 2.0) == "1.0 of 2.0"
    assert shown("{:.1f} of {:.1f}", 1.0, None) == MISSING


def test_pages_use_every_table_and_figure_and_no_other():
    found = [match for page in DOCS.rglob("*.md") for match in USED.findall(page.read_text(encoding="utf-8"))]
    assert {name for kind, name in found if kind == "measured"} == set(TABLES)
    assert {name for kind, name in found if kind == "measured-figure"} == set(FIGURES)


@pytest.mark.process
@pytest.mark.parametrize(
    ("kind", "name", "shown", "says"),
    [
        ("measured", "front", "exact kernel", None),
        ("measured", "no-such-table", None, "no-such-table"),
        ("parameters", "KernelRegressor", "Largest error that epsilon_insensitive ignores", None),
        ("parameters", "KernelRegression", None, "no estimator with a table"),
    ],
)
def test_a_page_is_built_from_stored_results_and_tables_or_not_at_all(kind, name, shown, says, tmp_path):
    pytest.importorskip("myst_parser")
    paths = [str(DOCS / "_ext"), str(DOCS.parent)]
    (tmp_path / "conf.py").write_text(f"import sys\nsys.path[:0] = {paths}\nextensions = ['myst_parser', '{kind}']\n")
    (tmp_path / "index.md").write_text(f"# Page\n\n```{{{kind}}} {name}\n```\n")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", str(tmp_path), str(tmp_path / "out")]
    built = subprocess.run(command, capture_output=True, text=True)
    if says:
        assert built.returncode
        assert says in built.stderr
    else:
        assert not built.returncode, built.stderr
        assert shown in (tmp_path / "out" / "index.html").read_text()


def test_a_table_of_parameters_says_what_is_accepted_and_what_is_the_default():
    assert "| `tol` | a number > 0 | `0.001` | Relative duality gap at which" in table_of(mercer.KernelRegressor)


@pytest.mark.parametrize("name", sorted(set(mercer.__all__) - {"__version__"}))
def test_whatever_computes_something_has_an_example_that_runs(name):
    value = getattr(mercer, name)
    if hasattr(value, "fit") or (isinstance(value, type) and issubclass(value, Kernel)):
        assert ">>>" in value.__doc__, f"mercer.{name} has no example in its docstring."


@pytest.mark.parametrize("package", PACKAGES)
def test_the_reference_lists_what_a_package_offers(package):
    listed = (DOCS / "api.md").read_text(encoding="utf-8").split()
    offered = import_module(f"mercer.{package}").__all__
    assert not [name for name in offered if name not in listed]


def test_the_picture_of_the_readme_is_made_of_the_stored_results():
    assert picture.picture(picture.NAME) == picture.PLACE.read_bytes(), "Run python tools/picture.py."
    assert f"docs/_static/{picture.NAME}.svg" in (DOCS.parent / "README.md").read_text(encoding="utf-8")


def example_page(printed):
    heading = "Mass spectra\n============\n\nText about made-up rows."
    return f".. _label:\n\n\n{heading}\n\n\n .. code-block:: none\n\n    {printed}\n\n"


def test_an_example_on_made_up_rows_says_so_in_its_title_and_on_the_overview():
    page, real = example_page("MERCER_DATA has no MassBank: 200 made-up spectra."), example_page("Real spectra")
    assert is_made_up(page)
    assert "\nMass spectra (made-up rows)\n===========================\n" in with_title(page)
    assert "its numbers allow no conclusions" in with_title(page)
    assert with_title(real) == real
    overview = '<div class="sphx-glr-thumbnail-title">Mass spectra</div>'
    assert "Mass spectra (made-up rows)<" in with_thumbnails(overview, [page])
    assert with_thumbnails(overview, [real]) == overview


def test_every_example_has_made_up_rows_that_its_output_names():
    for path in (DOCS.parent / "examples").glob("plot_*.py"):
        printed = re.findall(r"print\(f?\".*made-up", path.read_text(encoding="utf-8"))
        assert printed, path.name


def test_every_entry_of_the_bibliography_can_be_described():
    for key, entry in read_entries().items():
        assert all(describe(entry)), key


def test_the_gallery_knows_the_place_of_every_example():
    assert set(STORY) == {path.name for path in (DOCS.parent / "examples").glob("plot_*.py")}
