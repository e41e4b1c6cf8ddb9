"""``mercer reproduce``, on a small checkout of its own and on the project's."""

import json
import shutil

import pytest

from benchmarks.published import all_published
from benchmarks.registry import ROOT as BENCHMARKS

TABLE = """
from benchmarks.published import StandIn, published

@published("words and their squares", source="Table 1", benchmarks=["squares"],
           stand_ins=[StandIn("three numbers", "a million", "they are enough.")])
def table_1(sheet):
    found = sheet["squares"]
    sheet.grid("squares", ["of 2", "of 3"], [("numbers", [(4, found.cell("squares", (2,), "square")),
                                                            (9, found.cell("squares", (3,), "square"))])])
"""
BENCHMARK = """
from benchmarks.registry import Bar, benchmark

@benchmark("squares", "squares of numbers", bars=[Bar("the square of 2", ">= 4")])
def squares(record):
    record.measured("the square of 2", 4.0)
    record.table("squares", ["number", "square"], [[n, n * n] for n in ((2,) if record.quick else (2, 3))])

@benchmark("unread", "reads a file that is not there", bars=[Bar("nothing", "> 0")])
def unread(record):
    raise FileNotFoundError("There is no folder 'lost'.")
"""
UNREAD = """
from benchmarks.published import published

@published("what cannot be measured", source="Fig. 1", benchmarks=["unread"])
def figure_1(sheet):
    sheet.grid("nothing", [""], [("nothing", [(1, None)])])
"""


@pytest.fixture
def checkout(tmp_path):
    """The harness of the project with two published things and two benchmarks."""
    root = tmp_path / "checkout"
    folder = root / "benchmarks"
    (folder / "paper" / "wu10fast").mkdir(parents=True)
    for path in BENCHMARKS.glob("*.py"):
        shutil.copy(path, folder)
    (root / "docs").mkdir()
    shutil.copy(BENCHMARKS.parent / "docs" / "references.bib", root / "docs")
    (folder / "paper" / "__init__.py").touch()
    (folder / "paper" / "squares.py").write_text(BENCHMARK)
    (folder / "paper" / "wu10fast" / "__init__.py").touch()
    (folder / "paper" / "wu10fast" / "table_1.py").write_text(TABLE)
    (folder / "paper" / "wu10fast" / "figure_1.py").write_text(UNREAD)
    return folder


def test_a_published_table_is_listed_measured_stored_and_printed_again(process, checkout, tmp_path):
    where, out = ("--benchmarks", checkout), ("--out", tmp_path / "results")
    assert process("reproduce", "list", "--quiet", *where) == (0, b"wu10fast-figure-1\nwu10fast-table-1\n", "")
    code, printed, _ = process("reproduce", "wu10fast-table-1", "--json", *out, *where)
    assert code == 0
    (sheet,) = json.loads(printed)
    assert sheet["grids"][0]["rows"] == [{"name": "numbers", "published": [4, 9], "ours": [4, 9]}]
    assert json.loads((tmp_path / "results" / "paper" / "wu10fast-table-1.json").read_text()) == sheet
    code, printed, err = process("reproduce", "wu10fast-table-1", "--stored", *out, *where)
    assert code == 0
    assert "of 2, published" in printed.decode()
    assert "Three numbers, in place of a million: they are enough." in err


def test_a_quick_run_says_so_and_may_lack_what_only_a_full_one_has(process, checkout, tmp_path):
    code, printed, err = process(
        "reproduce", "wu10fast-table-1", "--quick", "--out", tmp_path / "q", "--benchmarks", checkout
    )
    assert code == 0
    assert "of 3, published" in printed.decode()
    assert "of 3, ours" not in printed.decode()
    assert "quick run" in err


def test_what_cannot_be_measured_does_not_stop_the_others(process, checkout, tmp_path):
    code, printed, err = process("reproduce", "all", "--json", "--quiet", "--out", tmp_path, "--benchmarks", checkout)
    assert code == 1
    assert [sheet["name"] for sheet in json.loads(printed)] == ["wu10fast-table-1"]
    assert "1 of the benchmarks could not be run. unread: There is no folder 'lost'." in json.loads(err)["error"]


def test_without_a_stored_result_the_way_to_one_is_told(fails, tmp_path):
    words = ["no stored result", "'mercer reproduce wu10fast-table-5' without --stored"]
    fails(1, words, "reproduce", "wu10fast-table-5", "--stored", "--out", tmp_path)


def test_an_unknown_name_is_answered_with_the_nearest_or_with_what_it_is(fails):
    fails(2, ["'wu10fast-tabel-5'", "Did you mean 'wu10fast-table-5'?"], "reproduce", "wu10fast-tabel-5")
    fails(2, ["'zzz'", "Run 'mercer reproduce list' to list them."], "reproduce", "zzz")
    fails(2, ["'python -m benchmarks pq-cost'", "vedaldi12sparse-equation-16"], "reproduce", "pq-cost")


def test_a_directory_without_benchmarks_is_refused(fails, tmp_path):
    fails(2, [str(tmp_path), "no published.py"], "reproduce", "list", "--benchmarks", tmp_path)


def test_an_installed_package_without_a_checkout_says_where_the_benchmarks_are(fails, tmp_path, monkeypatch):
    import mercer.cli.reproduce as module

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "__file__", str(tmp_path / "site-packages" / "mercer" / "cli" / "reproduce.py"))
    fails(2, ["source checkout, not of the installed package", "--benchmarks"], "reproduce", "list")


def test_the_source_checkout_is_found_from_any_directory(process, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = process("reproduce", "list", "--json")
    assert (code, err) == (0, "")
    assert [item["name"] for item in json.loads(out)] == list(all_published())
