"""Records of another code, machine or day: which they are, that they are marked, and that they are measured again."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

from benchmarks import campaign, environment
from benchmarks.campaign import listed, planned, run_all
from benchmarks.code import Sources, code_today
from benchmarks.registry import Bar, Benchmark
from benchmarks.state import in_bold, marks, overview, to_measure, unmarked, without_marks

ROOT = "src/mercer/__init__.py"
FILES = {
    "benchmarks/speed/job.py": "def job():\n    from mercer import Kernel\n    return Kernel(1)\n",
    ROOT: '_NAMES = {"Kernel": "mercer.kernels", "Map": "mercer.maps"}\n',
    "src/mercer/kernels/__init__.py": "from mercer.kernels.one import Kernel\nfrom mercer.kernels.two import Other\n",
    "src/mercer/kernels/one.py": '"""Doc."""\nfrom ._loops import run\n\n\ndef Kernel(x):\n    return run(x)\n',
    "src/mercer/kernels/_loops.py": "def run(x):\n    return x + 1\n",
    "src/mercer/kernels/two.py": "Other = 2\n",
    "src/mercer/maps.py": "Map = 3\n",
}


BEFORE = Sources(FILES.get).hash_of("benchmarks.speed.job")


def with_file(path, text):
    return Sources((FILES | {path: text}).get).hash_of("benchmarks.speed.job")


def test_a_name_is_followed_to_the_module_that_defines_it_and_to_all_that_this_one_imports():
    found = Sources(FILES.get).modules_of("benchmarks.speed.job")
    assert found == {"benchmarks.speed.job", "mercer.kernels.one", "mercer.kernels._loops"}


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (
            "src/mercer/kernels/_loops.py",
            '"""New words."""\n\n\ndef run(x):\n    """Adds."""\n    return x + 1  # one\n',
        ),
        ("src/mercer/kernels/two.py", "Other = 3\n"),
        ("src/mercer/maps.py", "Map = 4\n"),
        (ROOT, FILES[ROOT] + "\n__version__ = 2\n"),
    ],
)
def test_words_and_what_is_not_used_do_not_change_the_hash(path, text):
    assert with_file(path, text) == BEFORE


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("src/mercer/kernels/_loops.py", "def run(x):\n    return x + 2\n"),
        ("benchmarks/speed/job.py", FILES["benchmarks/speed/job.py"].replace("Kernel(1)", "Kernel(2)")),
        (ROOT, '_NAMES = {"Kernel": "mercer.kernels.two"}\n'),
    ],
)
def test_what_is_used_changes_the_hash(path, text):
    assert with_file(path, text) != BEFORE


def test_lazy_attributes_and_modules_named_in_strings_are_followed():
    lazy = {"benchmarks/speed/job.py": "import mercer\n\nX = mercer.Map\nRUN = ['-m', 'mercer.kernels.two']\n"}
    found = Sources((FILES | lazy).get).modules_of("benchmarks.speed.job")
    assert found == {"benchmarks.speed.job", "mercer.maps", "mercer.kernels.two"}


def test_a_module_that_is_not_there_has_no_hash():
    assert Sources(FILES.get).hash_of("benchmarks.speed.lost") is None


@pytest.fixture
def made():
    """Three benchmarks of one module, whose function does nothing."""

    def benchmark(name):
        def function(record):
            record.measured("ran", 1.0)

        function.__module__ = "benchmarks.speed.one_row"
        return Benchmark(name, name, function, (Bar("ran", ">= 1"),), "speed", None, [], threads=1)

    return {name: benchmark(name) for name in ("long", "short", "new")}


@pytest.fixture
def known(made, monkeypatch):
    """These are all benchmarks there are, on a machine that is idle, of code that is committed."""
    monkeypatch.setattr("benchmarks.state.all_benchmarks", lambda: made)
    monkeypatch.setattr(environment, "busy_processes", lambda: [])
    monkeypatch.setattr(environment, "committed_code", lambda: "c" * 40)
    monkeypatch.setattr(environment, "code_commit", lambda: "c" * 40)
    monkeypatch.setattr(environment, "_is_dirty", lambda: False)
    monkeypatch.setattr("benchmarks.state.is_in_history", lambda commit: True)
    return made


def stored(folder, benchmark, seconds=1.0, busy=0.0, **changes):
    """A record on this machine as it would be without other processes."""
    path = benchmark.run(out_dir=folder)
    result = json.loads(path.read_text())
    result["seconds"] = seconds
    result["environment"]["cores_busy_elsewhere"] = busy
    result["environment"] |= {name: value for name, value in changes.items() if name in result["environment"]}
    path.write_text(json.dumps(result | {name: value for name, value in changes.items() if name in result}))
    return json.loads(path.read_text())


def test_a_record_keeps_the_hash_of_its_code_and_is_current_on_the_same_machine(known, tmp_path):
    result = stored(tmp_path, known["short"])
    assert result["code"] == code_today("benchmarks.speed.one_row")
    assert (marks(result), to_measure(known["short"], result, environment.machine())) == ([], [])


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"code": "of another day"}, "out of date"),
        ({"code": None}, "unknown code"),
        ({"busy": 0.9}, "disturbed"),
        ({"cpu": "an abacus"}, "another machine"),
        ({"versions": {"numpy": "0.1"}}, "other versions"),
        ({"dirty": True}, "uncommitted code"),
    ],
)
def test_each_reason_to_measure_again_is_named(known, tmp_path, change, word):
    result = stored(tmp_path, known["short"], **change)
    assert to_measure(known["short"], result, environment.machine()) == [word]


def test_the_plan_has_the_short_ones_first_and_says_why_and_how_long(known, tmp_path):
    stored(tmp_path, known["long"], seconds=600.0, code="another")
    stored(tmp_path, known["short"], seconds=5.0, busy=1.0)
    plan = planned(known, tmp_path)
    assert [one.name for one in plan] == ["short", "long", "new"]
    lines = [line.split() for line in listed(plan).splitlines()]
    assert lines[0] == ["takes", "ready", "at"]
    assert lines[1] == ["5", "s", "5", "s", "short", "disturbed"]
    assert lines[2] == ["10.0", "min", "10.1", "min", "long", "out", "of", "date"]
    assert lines[3] == ["never", "new", "never", "run"]
    assert "10.1 min for 2 records, and 1 that were never run; 0 are current." in listed(plan)


def test_all_that_is_due_is_run_once_and_a_second_time_nothing_is(known, tmp_path):
    ran = []

    def run(name):
        ran.append(name)
        stored(tmp_path, known[name])
        return 0

    stored(tmp_path, known["long"])
    assert run_all(known, tmp_path, run) == 0
    assert ran == ["new", "short"]
    assert run_all(known, tmp_path, run) == 0
    assert len(ran) == 2


def test_it_goes_on_where_it_was_stopped(known, tmp_path, capsys):
    ran, stops = [], ["new"]

    def run(name):
        if name in stops:
            raise KeyboardInterrupt
        ran.append(name)
        stored(tmp_path, known[name])
        return 0

    assert run_all(known, tmp_path, run) == 130
    assert "goes on" in capsys.readouterr().err
    stops.clear()
    assert run_all(known, tmp_path, run) == 0
    assert ran == ["long", "new", "short"]


def test_a_limit_ends_the_run_after_the_record_that_exceeds_it(known, tmp_path, monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(campaign.time, "monotonic", lambda: now[0])
    ran = []

    def run(name):
        ran.append(name)
        stored(tmp_path, known[name])
        now[0] += 70.0
        return 0

    assert run_all(known, tmp_path, run, limit=2) == 0
    assert ran == ["long", "new"]
    assert "2 minutes are over, 1 are left. What was measured is kept" in capsys.readouterr().err
    assert run_all(known, tmp_path, run, limit=2) == 0
    assert ran == ["long", "new", "short"]


def test_only_what_is_named_is_run(known, tmp_path):
    ran = []

    def run(name):
        ran.append(name)
        stored(tmp_path, known[name])
        return 0

    assert run_all(known, tmp_path, run, only=["new"]) == 0
    assert ran == ["new"]
    assert [one.name for one in planned(known, tmp_path, ["long"])] == ["long"]


def test_what_others_disturbed_is_run_again_and_then_left_with_its_mark(known, tmp_path, capsys):
    ran, busy = [], {"short": [0.5, 0.0], "long": [0.5, 0.5, 0.5], "new": [0.0]}

    def run(name):
        ran.append(name)
        stored(tmp_path, known[name], busy=busy[name].pop(0))
        return 0

    assert run_all(known, tmp_path, run) == 1
    assert ran == ["long", "new", "short", "long", "short", "long"]
    assert "Still disturbed and marked so: long." in capsys.readouterr().err


def test_a_benchmark_that_fails_does_not_stop_the_others(known, tmp_path, capsys):
    def run(name):
        if name == "new":
            return 1
        stored(tmp_path, known[name])
        return 0

    assert run_all(known, tmp_path, run) == 1
    assert "1 failed, their older records are kept: new." in capsys.readouterr().err
    assert [one.name for one in planned(known, tmp_path) if one.reasons] == ["new"]


def test_a_busy_machine_is_refused_by_the_names_of_its_processes(known, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(environment, "busy_processes", lambda: [("compiler (77)", 0.9)])
    assert run_all(known, tmp_path, pytest.fail) == 1
    assert "The machine is busy (cores: compiler (77) 0.90)" in capsys.readouterr().err


def test_uncommitted_code_is_refused_and_a_change_on_the_way_stops(known, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(environment, "committed_code", lambda: None)
    assert run_all(known, tmp_path, pytest.fail) == 1
    assert "Commit first" in capsys.readouterr().err
    commits = iter(["a" * 40, "a" * 40, "b" * 40])
    monkeypatch.setattr(environment, "committed_code", lambda: next(commits))
    ran = []
    assert run_all(known, tmp_path, lambda name: ran.append(name) or stored(tmp_path, known[name]) is None) == 1
    assert ran == ["long"]
    assert "no longer that of aaaaaaaaaaaa" in capsys.readouterr().err


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="only Linux tells what other processes use")
@pytest.mark.process
def test_a_process_that_computes_is_found_by_its_id():
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        found = dict(environment.busy_processes(1.0))
        assert any(f"({busy.pid})" in who for who in found)
    finally:
        busy.kill()
        busy.wait()


def test_the_overview_counts_by_commit_processor_and_day(known, tmp_path):
    results = [stored(tmp_path, known["long"], code="another"), stored(tmp_path, known["short"])]
    there = results[0]["environment"]
    text = overview(results, marks)
    assert f"| cccccccccccc | {there['cpu']} | {there['date']} | 2 | 1 |" in text
    assert "- Out of date: `long`." in text
    assert "2 records of 1 commits" in text
    assert without_marks(text).strip() == ""


def test_a_page_without_its_marks_does_not_depend_on_the_code():
    page = textwrap.dedent("""
        - {}`a` in 3 s, **[not a mark 3]** and **bold**
    """)
    assert without_marks(page.format(in_bold(["out of date", "disturbed"]))) == page.format(in_bold(unmarked({})))


def test_waiting_for_an_idle_machine_ends(known, tmp_path, monkeypatch):
    answers = iter([[], [("compiler (77)", 0.9)], []])
    monkeypatch.setattr(environment, "busy_processes", lambda: next(answers, []))
    monkeypatch.setattr(campaign.time, "sleep", lambda seconds: None)
    assert run_all(known, tmp_path, lambda name: stored(tmp_path, known[name]) is None) == 0
