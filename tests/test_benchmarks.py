"""The measuring harness: it alternates, computes, judges and prints as it says. Nothing here depends on a real time."""

import ast
import gc
import inspect
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mercer
from benchmarks import environment, registry, report
from benchmarks.checks import Matches, WrongResult
from benchmarks.memory import peak_memory
from benchmarks.published import all_published
from benchmarks.record import Record
from benchmarks.registry import GROUPS, RESULTS, Bar, Benchmark, all_benchmarks
from benchmarks.reproduce import PAGE, render_page
from benchmarks.runner import Comparison, Timing, compare
from benchmarks.sheet import Sheet, laid_out, title_of
from benchmarks.state import unmarked, without_marks
from benchmarks.stored import Stored
from mercer._base.files.renames import RENAMED

ROOT = Path(__file__).parents[1]


class FakeClock:
    """Time passes only when a side says so."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def sides_that_take(clock, log, **durations):
    """Callables that write their name into the log and let the next of their durations pass."""

    def side(name, remaining):
        def run():
            log.append(name)
            clock.now += remaining.pop(0)
            return name

        return run

    return {name: side(name, list(seconds)) for name, seconds in durations.items()}


def test_sides_run_alternately_and_every_round_begins_with_another_one():
    clock, log = FakeClock(), []
    sides = sides_that_take(clock, log, a=[1] * 4, b=[1] * 4, c=[1] * 4)
    compare(sides, repeats=3, warmup=1, clock=clock)
    assert "".join(log) == "abc" + "abc" + "bca" + "cab"


def test_warm_up_is_not_timed_and_every_timed_round_is_kept():
    clock = FakeClock()
    found = compare(sides_that_take(clock, [], a=[100, 3, 1, 2], b=[100, 8, 4, 6]), repeats=3, warmup=1, clock=clock)
    assert found.timings["a"].times == (3, 1, 2)
    assert found.timings["b"].times == (8, 4, 6)
    assert (found.timings["b"].best, found.timings["b"].median, found.timings["b"].spread) == (4, 6, 1.0)
    assert found.ratio(slow="b", fast="a") == 4


def test_a_slow_side_is_repeated_as_often_as_asked_and_never_warmed_up():
    clock, log = FakeClock(), []
    found = compare(
        sides_that_take(clock, log, a=[1] * 4, slow=[50, 60]), repeats=3, warmup=1, slow={"slow": 2}, clock=clock
    )
    assert log == ["a", "a", "slow", "slow", "a", "a"]
    assert found.timings["slow"].times == (50, 60)


def test_the_clock_is_stopped_while_a_result_is_checked():
    clock = FakeClock()

    def check(result):
        clock.now += 1000
        return 0.25

    found = compare(sides_that_take(clock, [], a=[1, 1]), repeats=1, clock=clock, checks={"a": check})
    assert found.timings["a"].times == (1,)
    assert found.errors == {"a": 0.25}


def test_a_fast_side_that_is_wrong_stops_the_comparison():
    expected = np.eye(3)
    checks = {"wrong": Matches(expected, slice(None), tolerance=1e-6)}
    for wrong in (2 * expected, np.full((3, 3), np.nan)):
        with pytest.raises(WrongResult, match="largest error"):
            compare({"right": lambda: expected, "wrong": lambda wrong=wrong: wrong}, repeats=1, checks=checks)


def test_a_rival_that_returns_another_form_is_read_before_it_is_checked():
    check = Matches(np.array([[3.0]]), rows=[1], tolerance=0, read=lambda negated: -negated)
    assert check(np.array([[99.0], [-3.0]])) == 0


def test_a_check_for_a_side_that_does_not_exist_is_refused():
    with pytest.raises(KeyError, match="'tpyo'"):
        compare({"a": lambda: 0}, checks={"tpyo": lambda result: 0.0})


def test_garbage_collection_is_off_while_timing_and_as_before_afterwards():
    seen = []
    compare({"a": lambda: seen.append(gc.isenabled())}, repeats=2, warmup=0)
    assert seen == [False, False]
    assert gc.isenabled()


def test_all_sides_run_under_the_thread_limit():
    from mercer._base.threads import effective_threads

    seen = []
    found = compare({"a": lambda: seen.append(effective_threads())}, repeats=2, warmup=1, threads=1)
    assert seen == [1, 1, 1]
    assert found.threads == 1
    assert all(pool["threads"] == 1 for pool in found.pools)


@pytest.mark.skipif(sys.platform == "win32", reason="the resource module is not offered on Windows")
def test_peak_memory_counts_what_one_call_needs():
    assert peak_memory(len, setup=tuple_of_nothing) < 8 * 2**20
    assert 39 <= peak_memory(np.ones, setup=five_million_doubles) / 2**20 <= 48


def tuple_of_nothing():
    return ((),)


def five_million_doubles():
    return (5 * 2**20,)


@pytest.mark.parametrize(
    ("target", "met", "missed"),
    [(">= 15", 15, 14.9), ("<= 2e-6", 2e-6, 2.1e-6), ("> 1", 1.1, 1), ("< 0.2", 0.19, 0.2)],
)
def test_a_bar_is_met_exactly_from_its_target_on(target, met, missed):
    assert Bar("claim", target).is_met(met)
    assert not Bar("claim", target).is_met(missed)


def test_a_bar_without_a_readable_target_is_refused():
    with pytest.raises(ValueError, match=r"'claim'.*'about 15'"):
        Bar("claim", "about 15")


def synthetic(measure, bars):
    return Benchmark("made-up", "a against b", measure, tuple(bars), "speed", None, [], threads=2)


def three_bars(record):
    record.measured("reached", 20.04, "40 s / 2 s")
    record.measured("missed", 0.5)
    timings = {"ours": Timing((2.0, 2.5)), "theirs": Timing((40.0, 41.0))}
    record.comparison("a job", Comparison(timings, errors={"ours": 1e-7}, threads=2), baseline="ours")
    record.table("sizes", ["n", "bytes"], [[1, 4.0], [1000, 1234567.0]])
    record.note("A thing to know.")


BARS = [Bar("reached", ">= 15", "x"), Bar("missed", "<= 0.2", "s", published="0.1 s"), Bar("forgotten", "< 1")]


def test_a_result_says_plainly_what_was_met_missed_and_not_measured(tmp_path):
    path = synthetic(three_bars, BARS).run(out_dir=tmp_path)
    assert path == tmp_path / "made-up.json"
    lines = report.render(path).splitlines()
    assert "| reached |  | >= 15x | 20x | met | 40 s / 2 s |" in lines
    assert "| missed | 0.1 s | <= 0.2 s | 0.5 s | **NOT met** |  |" in lines
    assert "| forgotten |  | < 1 |  | not measured |  |" in lines
    assert "| ours | 2 | 2.25 | 25% | 2 | 1 | 1.0e-07 |" in lines
    assert "| theirs | 40 | 40.5 | 2% | 2 | 20 |  |" in lines
    assert "| 1000 | 1.23e+06 |" in lines
    assert "- A thing to know." in lines
    assert json.loads(path.read_text())["comparisons"][0]["sides"]["theirs"]["times"] == [40.0, 41.0]


def test_a_quick_run_is_not_judged(tmp_path):
    path = synthetic(three_bars, BARS).run(quick=True, out_dir=tmp_path)
    assert [bar["met"] for bar in json.loads(path.read_text())["bars"]] == [None] * 3
    assert "**NOT met**" not in report.render(path)
    assert "`python -m benchmarks made-up --quick`" in report.render(path)


def test_a_measurement_for_a_bar_that_was_never_declared_is_refused(tmp_path):
    with pytest.raises(KeyError, match="'reched'"):
        Record(synthetic(three_bars, BARS), quick=False, out_dir=tmp_path).measured("reched", 1)


def test_the_page_of_results_keeps_what_is_written_around_the_generated_part(tmp_path):
    synthetic(three_bars, BARS).run(out_dir=tmp_path)
    page = report.write_results(tmp_path / "RESULTS.md", tmp_path)
    page.write_text("Before.\n" + page.read_text().replace("20x", "2000x") + "After.\n")
    text = report.write_results(page, tmp_path).read_text()
    assert text.startswith("Before.\n")
    assert text.endswith("After.\n")
    assert "2000x" not in text
    assert "| reached |  | >= 15x | 20x | met | `python -m benchmarks made-up` |" in without_marks(text).splitlines()
    assert "do not edit" in text


def test_a_result_of_another_schema_is_refused_by_name(tmp_path):
    path = tmp_path / "old.json"
    path.write_text('{"schema": 0}')
    with pytest.raises(ValueError, match=r"old\.json has schema 0"):
        report.render(path)


def test_the_committed_page_of_results_is_what_the_committed_results_say():
    text = report.RESULTS_PAGE.read_text()
    generated = text.split(report.BEGIN)[1].split(report.END)[0].strip()
    assert without_marks(generated).strip() == without_marks(report.render_all(marked=unmarked)).strip(), (
        "run `python -m benchmarks report`"
    )


def test_the_committed_page_of_published_tables_is_what_the_committed_results_say():
    sheets = [Sheet(item, RESULTS, draw=False) for item in all_published().values()]
    assert without_marks(PAGE.read_text()) == render_page(sheets, marked=unmarked), "run `python -m benchmarks report`"
    for sheet in sheets:
        made = sheet.as_dict()
        assert json.loads((RESULTS / "paper" / f"{made['name']}.json").read_text()) == made
        assert all((RESULTS / figure["file"]).exists() for figure in made["figures"])


@pytest.mark.parametrize("item", all_published().values(), ids=lambda item: item.name)
def test_every_published_table_names_benchmarks_that_exist(item):
    assert item.title
    assert item.source
    assert item.name.startswith(f"{item.paper}-")
    assert set(item.benchmarks) <= set(all_benchmarks())
    assert f"{{{item.paper}," in (ROOT / "docs" / "references.bib").read_text()


def test_a_result_lacks_only_what_a_quick_run_may_lack(tmp_path):
    path = synthetic(three_bars, BARS).run(out_dir=tmp_path)
    stored = Stored("made-up", tmp_path)
    assert stored.cell("sizes", (1000,), "bytes") == 1234570.0  # six digits are kept
    assert stored.best("a job", "theirs") == 40.0
    assert stored.bar("reached") == 20.04
    with pytest.raises(KeyError, match="'bits'"):
        stored.cell("sizes", (1,), "bits")
    path.write_text(json.dumps({**json.loads(path.read_text()), "quick": True}))
    assert Stored("made-up", tmp_path).cell("sizes", (1,), "bits") is None
    assert Stored("never-run", tmp_path).bar("reached") is None


def test_a_grid_shows_both_sides_and_leaves_out_what_nobody_measured():
    rows = [{"name": "a", "published": [0.5, None], "ours": [0.25, 3]}]
    grid = {"title": "shares", "unit": "%", "digits": 1, "corner": "", "columns": ["x", "y"], "rows": rows}
    assert laid_out(grid) == (["", "x, published", "x, ours", "y, ours"], [["a", "0.5", "0.2", "3"]])
    assert title_of(grid) == "shares, %"
    rows[0]["published"] = [None, None]
    assert laid_out(grid)[0] == ["", "x", "y"]
    assert title_of(grid) == "shares, % (ours)"


def test_the_environment_names_neither_this_machine_nor_its_folders():
    import platform

    found = environment.Watch(threads=2).describe()
    assert {"numpy", "scipy", "scikit-learn", "numba", "faiss-cpu", "mercer", "python"} <= set(found["versions"])
    assert found["threads"] == 2
    text = json.dumps(found)
    assert str(ROOT) not in text
    assert str(Path.home()) not in text
    assert platform.node() not in text


@pytest.mark.process
def test_listing_the_benchmarks_imports_nothing_heavy():
    heavy = ["numba", "sklearn", "scipy", "numpy", "matplotlib", "faiss"]
    code = f"""
import sys
from benchmarks.published import all_published
from benchmarks.registry import all_benchmarks
all_published()
print(*all_benchmarks())
print([name for name in {heavy} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    names, imported = done.stdout.splitlines()
    assert {"kernels-speed", "start-time"} <= set(names.split())
    assert imported == "[]"


@pytest.mark.parametrize("benchmark", all_benchmarks().values(), ids=lambda benchmark: benchmark.name)
def test_every_benchmark_declares_what_it_shows(benchmark):
    assert benchmark.title
    assert benchmark.bars
    assert benchmark.group in GROUPS
    assert benchmark.name == benchmark.name.lower()
    if benchmark.paper is not None:
        assert f"{{{benchmark.paper}," in (ROOT / "docs" / "references.bib").read_text()


def test_the_example_in_the_documentation_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})
    code = (ROOT / "docs" / "benchmarks.md").read_text().split("```python\n")[1].split("```")[0]
    names = {"__name__": "benchmarks.speed.roots"}
    exec(code, names)
    path = registry._registered["roots"].run(quick=True, out_dir=tmp_path)
    assert json.loads(path.read_text())["bars"][0]["measured"] > 0


@pytest.mark.process
def test_an_unknown_benchmark_is_refused_with_the_names_there_are():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "nonsense"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "'nonsense'" in done.stderr
    assert "kernels-speed" in done.stderr


def test_a_peer_that_is_not_installed_is_said_to_be_missing():
    from benchmarks.compare._peers import MISSING, measure

    found = measure(print, "a-package-that-nobody-has")
    assert (found.problem, found.answers) == (MISSING, None)


def test_a_verdict_follows_from_the_numbers_and_is_open_without_them(tmp_path):
    from benchmarks.verdicts import Verdicts, by_points, clearly

    class Kept:
        def grid(self, title, columns, rows, corner):
            self.rows = {name: [ours for _, ours in pairs] for name, pairs in rows}

        def remark(self, sentence):
            pass

    found, kept = Verdicts(), Kept()
    found.claim("faster", "3x", "{:.1f}x", (2.0,), clearly, "ours")
    found.claim("as fast", "1x", "{:.2f}x", (1.05,), clearly)
    found.claim("slower", "3x", "{:.1f}x", (0.5,), clearly)
    found.claim("better", "+3", "{:+.1f}", (0.2,), by_points(0.5))
    found.claim("never run", "3x", "{:.1f}x", (None,), lambda ratio: ratio > 1)
    found.claim("not at hand", "3x", "–")
    found.lay_out(kept)
    assert kept.rows == {
        "faster": ["3x", "2.0x", "held", "ours"],
        "as fast": ["1x", "1.05x", "open", ""],
        "slower": ["3x", "0.5x", "**not held**", ""],
        "better": ["+3", "+0.2", "open", ""],
        "never run": ["3x", "not measured", "open", ""],
        "not at hand": ["3x", "–", "open", ""],
    }


def test_every_paper_ends_with_its_verdicts_which_can_be_made_without_results(tmp_path):
    from benchmarks.published import PAPERS

    last = {item.paper: item for item in all_published().values()}
    assert [item.name for item in last.values()] == [f"{paper}-verdicts" for paper in PAPERS]
    for item in last.values():
        sheet = Sheet(item, tmp_path, draw=False).as_dict()
        assert all(row["ours"][2] in ("open", "held", "**not held**") for row in sheet["grids"][0]["rows"])
        full = Sheet(item, RESULTS, draw=False).as_dict()
        assert len(full["grids"][0]["rows"]) == len(sheet["grids"][0]["rows"])


def test_benchmarks_give_estimators_and_functions_parameters_that_they_have():
    """A benchmark that takes an hour is not run when a parameter gets another name."""
    unknown, old = [], {name for names in RENAMED.values() for name in names}
    for path in sorted((ROOT / "benchmarks").rglob("*.py")):
        tree = ast.parse(path.read_text())
        names = {alias.asname or alias.name: getattr(mercer, alias.name)
                 for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module == "mercer"
                 for alias in node.names if callable(getattr(mercer, alias.name, None))}  # fmt: skip
        for node in ast.walk(tree):
            if isinstance(node, ast.Dict):
                unknown += [f"{path.name}: {key.value!r}" for key in node.keys
                            if isinstance(key, ast.Constant) and key.value in old]  # fmt: skip
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
                known = inspect.signature(names[node.func.id]).parameters
                if not any(one.kind is one.VAR_KEYWORD for one in known.values()):
                    unknown += [f"{path.name}: {node.func.id}({keyword.arg}=)" for keyword in node.keywords
                                if keyword.arg not in (None, *known)]  # fmt: skip
    assert not unknown
