"""Records of another code, machine or day: which they are, that they are marked, and that they are measured again."""

import dataclasses
import json
import os
import subprocess
import sys
import textwrap

import pytest

from benchmarks import campaign, environment, load
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
    monkeypatch.setattr(load, "busy_elsewhere", lambda: (0.0, []))
    monkeypatch.setattr(environment, "committed_code", lambda: "c" * 40)
    monkeypatch.setattr(environment, "code_commit", lambda: "c" * 40)
    monkeypatch.setattr(environment, "_is_dirty", lambda: False)
    monkeypatch.setattr("benchmarks.state.is_in_history", lambda commit: True)
    monkeypatch.setattr("benchmarks.state.code_commit", lambda: "c" * 40)
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


def test_the_plan_has_new_ones_first_then_other_code_then_other_machines_and_of_each_the_short_ones(known, tmp_path):
    known["brief"] = dataclasses.replace(known["short"], name="brief")
    stored(tmp_path, known["long"], seconds=600.0, code="another")
    stored(tmp_path, known["brief"], seconds=30.0, code="another")
    stored(tmp_path, known["short"], seconds=5.0, busy=1.0, cpu="an abacus")
    plan = planned(known, tmp_path)
    assert [one.name for one in plan] == ["new", "brief", "long", "short"]
    lines = [line.split() for line in listed(plan).splitlines()]
    assert lines[0] == ["takes", "ready", "at"]
    assert lines[1] == [">0", "s", "new", "never", "run"]
    assert lines[2] == ["30", "s", ">30", "s", "brief", "out", "of", "date"]
    assert lines[3] == ["10.0", "min", ">10.5", "min", "long", "out", "of", "date"]
    assert lines[4] == ["5", "s", ">10.6", "min", "short", "disturbed,", "another", "machine"]
    assert "10.6 min for 3 records, and 1 that were never run; 0 are current." in listed(plan)


def test_all_that_is_due_is_run_once_and_a_second_time_nothing_is(known, tmp_path):
    ran = []

    def run(name, seconds):
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

    def run(name, seconds):
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

    def run(name, seconds):
        ran.append(name)
        stored(tmp_path, known[name])
        now[0] += 70.0
        return 0

    assert run_all(known, tmp_path, run, limit=2) == 0
    assert ran == ["long", "new"]
    assert "2 minutes are over or too few for what is left: short. What was" in capsys.readouterr().err
    assert run_all(known, tmp_path, run, limit=2) == 0
    assert ran == ["long", "new", "short"]


def test_a_limit_begins_nothing_that_takes_longer_and_stops_what_nobody_knew_to(known, tmp_path, monkeypatch, capsys):
    now, ran = [0.0], []
    monkeypatch.setattr(campaign.time, "monotonic", lambda: now[0])
    takes = {"new": 500.0, "short": 20.0, "long": 400.0}
    stored(tmp_path, known["short"], seconds=20.0, code="another")
    stored(tmp_path, known["long"], seconds=400.0, code="another")

    def run(name, seconds):
        ran.append(name)
        now[0] += min(takes[name], seconds)
        if takes[name] > seconds:
            raise subprocess.TimeoutExpired(name, seconds)
        stored(tmp_path, known[name], seconds=takes[name])
        return 0

    assert run_all(known, tmp_path, run, limit=5) == 0
    assert (ran, now) == (["new"], [300.0])
    assert "too few for what is left: new, short, long" in capsys.readouterr().err
    assert run_all(known, tmp_path, run, limit=5) == 0
    assert ran == ["new", "short"]
    assert run_all(known, tmp_path, run) == 0
    assert ran == ["new", "short", "new", "long"]
    assert [one.stopped_after for one in planned(known, tmp_path)] == [0.0, 0.0, 0.0]


def test_only_what_is_named_is_run(known, tmp_path):
    ran = []

    def run(name, seconds):
        ran.append(name)
        stored(tmp_path, known[name])
        return 0

    assert run_all(known, tmp_path, run, only=["new"]) == 0
    assert ran == ["new"]
    assert [one.name for one in planned(known, tmp_path, ["long"])] == ["long"]


def test_what_others_disturbed_is_run_again_and_then_left_with_its_mark(known, tmp_path, capsys):
    ran, busy = [], {"short": [0.5, 0.0], "long": [0.5, 0.5, 0.5], "new": [0.0]}

    def run(name, seconds):
        ran.append(name)
        stored(tmp_path, known[name], busy=busy[name].pop(0))
        return 0

    assert run_all(known, tmp_path, run) == 1
    assert ran == ["long", "new", "short", "long", "short", "long"]
    assert "Still disturbed and marked so: long." in capsys.readouterr().err


def test_a_benchmark_that_fails_does_not_stop_the_others(known, tmp_path, capsys):
    def run(name, seconds):
        if name == "new":
            return 1
        stored(tmp_path, known[name])
        return 0

    assert run_all(known, tmp_path, run) == 1
    assert "1 failed, their older records are kept: new." in capsys.readouterr().err
    assert [one.name for one in planned(known, tmp_path) if one.reasons] == ["new"]


def test_a_busy_machine_is_refused_by_the_names_of_its_processes(known, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(load, "busy_elsewhere", lambda: (1.3, [("compiler (77)", 0.9)]))
    assert run_all(known, tmp_path, pytest.fail) == 1
    assert "The machine is busy (cores: 1.30 in all, compiler (77) 0.90)" in capsys.readouterr().err


def test_uncommitted_code_is_refused_and_a_change_on_the_way_stops(known, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(environment, "committed_code", lambda: None)
    assert run_all(known, tmp_path, pytest.fail) == 1
    assert "Commit first" in capsys.readouterr().err
    commits = iter(["a" * 40, "a" * 40, "b" * 40])
    monkeypatch.setattr(environment, "committed_code", lambda: next(commits))
    ran = []
    assert run_all(known, tmp_path, lambda name, _: ran.append(name) or stored(tmp_path, known[name]) is None) == 1
    assert ran == ["long"]
    assert "no longer that of aaaaaaaaaaaa" in capsys.readouterr().err


LINUX = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="only Linux tells what other processes use")
HEAD = textwrap.dedent("""
    import json, os, subprocess, sys, time
    from pathlib import Path
    from benchmarks import load
    BUSY = "import time\\nwhile time.process_time() < {}: pass"

    def detached(code):
        # the id of a process that nobody waits for, as of a server
        command = ["sh", "-c", '"$0" -c "$1" >/dev/null 2>&1 & echo $!', sys.executable, code]
        return int(subprocess.run(command, capture_output=True, text=True).stdout)
""")


def printed_by(code):
    """What a process of its own prints that runs HEAD and this code."""
    command = [sys.executable, "-c", HEAD + textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@LINUX
@pytest.mark.process
def test_a_process_that_computes_is_found_by_its_id_and_one_below_this_process_is_not():
    alien, child, cores, names = printed_by("""
        alien = detached(BUSY.format(4))
        child = subprocess.Popen([sys.executable, "-c", BUSY.format(4)])
        time.sleep(0.3)
        cores, found = load.busy_elsewhere(1.0)
        child.kill()
        os.kill(alien, 9)
        print(json.dumps([alien, child.pid, cores, [name for name, _ in found]]))
    """)
    assert any(f"({alien})" in name for name in names)
    assert not any(f"({child})" in name for name in names)
    assert cores > 0.1  # half a core and more where only these two compute


@LINUX
@pytest.mark.process
def test_servers_that_a_benchmark_leaves_behind_count_as_its_own_and_are_ended_with_it():
    """One that computes for a second and ends, and one that would run on."""
    code, own, there = printed_by(f"""
        job = {HEAD!r} + '''
        before = load._own_seconds()
        pids = [detached(BUSY.format(1)), detached("import time; time.sleep(60)")]
        while Path(f"/proc/{{pids[0]}}").exists():
            time.sleep(0.1)
        print(json.dumps([load._own_seconds() - before, pids]))
        '''.replace("\\n        ", "\\n")
        read, write = os.pipe()
        printed = os.dup(1)
        os.dup2(write, 1)
        code = load.Family([sys.executable, "-c", job], Path.cwd()).wait(40)
        os.dup2(printed, 1)
        own, pids = json.loads(os.read(read, 1000))
        print(json.dumps([code, own, [Path(f"/proc/{{pid}}").exists() for pid in pids]]))
    """)
    assert (code, there) == (0, [False, False])
    assert own >= 0.99


@LINUX
@pytest.mark.process
def test_a_command_is_ended_when_its_time_is_over():
    left = printed_by("""
        family = load.Family([sys.executable, "-c", "import time; time.sleep(60)"], Path.cwd())
        try:
            family.wait(0.5)
        except subprocess.TimeoutExpired:
            print(len(load._below(os.getpid(), load._processes())))
    """)
    assert left == 0


@pytest.mark.process
def test_a_commit_of_records_and_words_leaves_code_and_commit_as_they_were_and_one_of_code_does_not(
    tmp_path, monkeypatch
):
    def git(*arguments):
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    def commit(path, text):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
        dirty = environment.committed_code() is None
        git("add", ".")
        git("commit", "-q", "-m", path)
        here = Sources(lambda name: (tmp_path / name).read_text() if (tmp_path / name).is_file() else None)
        return dirty, environment.committed_code(), here.hash_of("benchmarks.speed.job")

    monkeypatch.setattr(environment, "_ROOT", tmp_path)
    git("init", "-q")
    for path, text in FILES.items():
        _, *frozen = commit(path, text)
    for path in ("benchmarks/results/job.json", "benchmarks/results/paper/table.json", "benchmarks/RESULTS.md",
                 "docs/results.md", "docs/_ext/measured.py", "CHANGELOG.md"):  # fmt: skip
        assert commit(path, "{}") == (False, *frozen)
        assert environment.is_in_history(frozen[0])
    dirty, *other = commit("src/mercer/kernels/_loops.py", "def run(x):\n    return x + 2\n")
    assert dirty
    assert not set(other) & set(frozen)


def test_the_overview_counts_by_commit_processor_and_day(known, tmp_path):
    results = [stored(tmp_path, known["long"], code="another"), stored(tmp_path, known["short"])]
    there = results[0]["environment"]
    text = overview(results, marks)
    assert f"| cccccccccccc | {there['cpu']} | {there['date']} | 2 | 1 |" in text
    assert "- Out of date: `long`." in text
    assert "2 records of 1 commits" in text
    assert "1 of 2 records measured the code of commit cccccccccccc" in text
    assert without_marks(text).strip() == ""


def test_a_page_without_its_marks_does_not_depend_on_the_code():
    page = textwrap.dedent("""
        - {}`a` in 3 s, **[not a mark 3]** and **bold**
    """)
    assert without_marks(page.format(in_bold(["out of date", "disturbed"]))) == page.format(in_bold(unmarked({})))


def test_waiting_for_an_idle_machine_ends(known, tmp_path, monkeypatch):
    answers = iter([(0.0, []), (0.9, [("compiler (77)", 0.9)])])
    monkeypatch.setattr(load, "busy_elsewhere", lambda: next(answers, (0.0, [])))
    monkeypatch.setattr(campaign.time, "sleep", lambda seconds: None)
    assert run_all(known, tmp_path, lambda name, _: stored(tmp_path, known[name]) is None) == 0
