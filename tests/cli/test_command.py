"""What holds for every verb: help, common options, exit codes, errors."""

import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from mercer import __version__
from mercer._base.errors import InputError
from mercer.cli import inspect as inspect_verb
from mercer.cli import main
from mercer.cli.app import app
from mercer.cli.framework.errors import explain
from mercer.cli.framework.options import Settings

VERBS = [command.name for command in app.registered_commands]
GROUPS = {
    group.name: [command.name for command in group.typer_instance.registered_commands]
    for group in app.registered_groups
}
PARTS = [f"{group} {part}" for group, parts in GROUPS.items() for part in parts]
COMMON = ["--json", "--quiet", "-q", "--log-level", "--threads", "--seed", "--debug"]
HEAVY = {"numpy", "scipy", "sklearn", "numba", "matplotlib", "pyarrow", "pandas", "faiss"}


def test_the_verbs_are_all_there():
    assert VERBS == [
        "demo",
        "kernel",
        "fit",
        "predict",
        "evaluate",
        "encode",
        "export",
        "inspect",
        "datasets",
        "reproduce",
        "serve",
    ]
    assert GROUPS == {
        "map": ["fit", "apply", "report"],
        "index": ["build", "add", "remove", "search", "exact", "graph", "stats", "compact", "evaluate", "push"],
        "wire": ["fit", "rates", "specification", "ask", "distances"],
        "images": ["train", "predict", "explain", "evaluate", "rows"],
        "detect": ["train", "run", "evaluate"],
        "spectra": ["build", "add", "search", "mirror", "pairs", "network", "info"],
        "molecules": ["build", "add", "search", "pairs", "cluster", "pick", "info"],
    }


@pytest.mark.parametrize("arguments", [["--help"], *([verb, "--help"] for verb in VERBS)])
def test_help_shows_the_common_options_and_examples(succeeds, arguments):
    text = succeeds(*arguments)
    assert all(option in text for option in COMMON)
    assert "Examples" in text
    assert "mercer " + (arguments[0] if len(arguments) > 1 else "demo") in text.split("Examples")[1]
    assert "<bool>" not in text


@pytest.mark.parametrize(
    ("option", "word", "hint"),
    [
        ("--multi-class", "ovrr", "'crammer_singer'; got 'ovrr'. Did you mean 'ovr'? See 'mercer fit --help'."),
        ("--solver", "bundles", "Did you mean 'bundle'?"),
        ("--format", "cvs", "Did you mean 'csv'?"),
        ("--log-level", "infos", "Did you mean 'info'?"),
        ("--loss", "hing", "Did you mean 'hinge'?"),
        ("--multi-class", "o'vr", "Did you mean 'ovr'?"),
        ("--multi-class", "zzz", "'crammer_singer'; got 'zzz'. See 'mercer fit --help'."),
    ],
)
def test_a_word_that_is_nearly_a_choice_is_answered_by_the_choice(fails, tmp_path, option, word, hint):
    (tmp_path / "t.csv").write_text("a,b,kind\n1,2,x\n2,1,y\n")
    fails(2, [hint], "fit", tmp_path / "t.csv", "--label", "kind", "--out", tmp_path / "m.mercer", option, word)


def test_the_bare_command_prints_the_help(succeeds):
    assert succeeds().strip() == succeeds("--help").strip()


def test_the_version_is_one_line_and_with_json_names_the_dependencies(succeeds):
    assert succeeds("--version") == f"mercer {__version__}\n"
    versions = succeeds("--json", "--version")
    assert versions["mercer"] == __version__
    assert versions["numpy"] == np.__version__


def test_help_and_version_import_nothing_heavy(process):
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom mercer.cli.app import app\n"
        "results = [CliRunner().invoke(app, line.split()).exit_code for line in "
        f"['--version', '--help', {', '.join(repr(verb + ' --help') for verb in [*VERBS, *GROUPS, *PARTS])}]]\n"
        "assert not any(results), results\n"
        f"print(sorted({HEAVY} & set(sys.modules)))"
    )
    assert process(python=("-c", code)) == (0, b"[]\n", "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["kernal"], ["'kernal'", "Did you mean 'kernel'?"]),
        (["kernel"], ["Missing argument 'X'", "mercer kernel --help"]),
        (["kernel", "a.npy", "--tpo", "3"], ["--tpo", "--top"]),
        (["kernel", "a.npy", "--top", "many"], ["--top", "integer"]),
        (["kernel", "a.npy", "--top", "0"], ["--top"]),
        (["inspect"], ["Missing argument 'FILE'"]),
        (["reproduce"], ["Missing argument", "list|all|NAME"]),
        (["demo", "surplus"], ["surplus"]),
        (["demo", "--threads", "0"], ["--threads", "-1 for all cores"]),
        (["--threads", "two", "demo"], ["--threads"]),
        (["demo", "--seed", "-1"], ["--seed"]),
        (["demo", "--log-level", "loud"], ["--log-level", "'warning'"]),
    ],
)
def test_a_wrong_command_line_is_one_sentence_and_code_2(fails, arguments, words):
    fails(2, words, *arguments)


@pytest.fixture
def seen(monkeypatch):
    """The settings that a verb receives, recorded by a describe() that has nothing else to do."""
    recorded = []

    def describe(path, verify):
        import logging

        from mercer._base.threads import effective_threads

        recorded.append((effective_threads(), logging.getLogger("mercer").level))
        return {"file": path, "arrays": []}

    import mercer._base.files.models

    monkeypatch.setattr(mercer._base.files.models, "describe", describe)
    monkeypatch.setattr(inspect_verb, "answer_json", lambda settings, found: recorded.append("json") or True)
    return recorded


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (["--threads", "1", "--log-level", "info"], [], (1, 20)),
        ([], ["--threads", "1", "--log-level", "info"], (1, 20)),
        (["--threads", "1", "--log-level", "info"], ["--threads", "3", "--log-level", "warning"], (3, 30)),
    ],
)
def test_common_options_hold_before_and_after_the_verb_and_the_later_one_wins(
    command, seen, tmp_path, before, after, expected
):
    from mercer._base.threads import effective_threads

    (tmp_path / "f").touch()
    state_before = effective_threads(), os.environ.get("OMP_NUM_THREADS")
    assert command(*before, "--json", "inspect", tmp_path / "f", *after).exit_code == 0
    assert seen == [expected, "json"]
    assert (effective_threads(), os.environ.get("OMP_NUM_THREADS")) == state_before


def test_settings_have_quiet_defaults():
    assert Settings() == Settings(json=False, quiet=False, log_level="warning", threads=None, seed=0, debug=False)


def test_with_json_an_error_is_a_json_object(command):
    result = command("inspect", "nowhere.mercer", "--json")
    assert result.exit_code == 2
    assert json.loads(result.stderr) == {"error": "There is no file nowhere.mercer.", "exit_code": 2}


def test_only_debug_shows_a_traceback(command):
    assert "Traceback" not in command("inspect", "nowhere.mercer").stderr
    shown = command("inspect", "nowhere.mercer", "--debug").stderr
    assert "Traceback" in shown
    assert shown.endswith("mercer: There is no file nowhere.mercer.\n")


def test_what_nobody_foresaw_is_still_one_sentence(command, monkeypatch, tmp_path):
    import mercer._base.files.models

    def describe(path, verify):
        raise ZeroDivisionError("over\nlines")

    monkeypatch.setattr(mercer._base.files.models, "describe", describe)
    (tmp_path / "f").touch()
    result = command("inspect", tmp_path / "f")
    assert result.exit_code == 1
    advice = "Run again with --debug to see the traceback."
    assert result.stderr == f"mercer: Unexpected ZeroDivisionError: over lines. {advice}\n"


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (InputError("Row 3 is negative"), "Row 3 is negative."),
        (PermissionError(13, "Permission denied", "K.npy"), "K.npy: permission denied."),
        (MemoryError(), "Out of memory. Use fewer rows, or --dtype float32."),
    ],
)
def test_failures_have_code_1(error, sentence):
    assert explain(error) == (sentence, 1)


def test_a_closed_pipe_ends_quietly(start, tmp_path):
    np.save(tmp_path / "X.npy", np.eye(700, dtype=np.float32))
    with start("kernel", tmp_path / "X.npy", "--kernel", "linear", "--out", "-") as running:
        assert running.stdout.readline().startswith(b"1.0,0.0,")
        running.stdout.close()
        assert running.wait(timeout=60) == 1
        assert running.stderr.read() == b""


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_ctrl_c_gives_130_and_no_traceback(start, tmp_path):
    os.mkfifo(tmp_path / "slow.npy")
    with start("kernel", tmp_path / "slow.npy", "--kernel", "linear") as running:
        writer = _open_when_read(tmp_path / "slow.npy", running)
        _wait_until_it_waits(running.pid)
        running.send_signal(signal.SIGINT)
        try:
            _, stderr = running.communicate(timeout=60)
        finally:
            os.close(writer)  # whatever went wrong, the reader sees the end of the file and nobody waits for ever
    assert running.returncode == 130
    assert stderr == b"mercer: interrupted.\n"


def test_ctrl_c_while_modules_are_imported_gives_130_too(monkeypatch, capsys):
    class Interrupted:
        __path__ = ()

        def __getattr__(self, name):
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "mercer.cli.app", Interrupted())
    with pytest.raises(SystemExit) as ended:
        main.run()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "mercer: interrupted.\n"


def test_a_negative_value_is_named_by_its_line_with_the_option_that_allows_it(fails, succeeds, command, tmp_path):
    X = np.random.default_rng(0).random((60, 3))
    X[1, 2] = -0.5
    lines = [f"{a:.4f},{b:.4f},{c:.4f},{'xy'[i % 2]}" for i, (a, b, c) in enumerate(X)]
    (tmp_path / "signs.csv").write_text("\n".join(["a,b,c,kind", *lines]))
    (tmp_path / "plain.csv").write_text("\n".join(["a,b,c,kind", *lines[2:]]))
    place, fit = ["signs.csv, line 3, column 2 ('c') holds -0.5"], ["fit", "--label", "kind", "-k", "chi2"]
    signed = [*place, "-p kernel__signed=true"]
    fails(1, signed, *fit, tmp_path / "signs.csv", "--out", tmp_path / "m")
    fails(1, signed, "index", "build", tmp_path / "signs.csv", "--drop", "kind", "--out", tmp_path / "i")
    fails(1, [*place, "--signed"], "kernel", tmp_path / "plain.csv", tmp_path / "signs.csv", "--drop", "kind",
          "-k", "chi2")  # fmt: skip
    for number, said in enumerate(["signed=true", "kernel__signed=true"]):
        succeeds(*fit, tmp_path / "signs.csv", "-p", said, "--no-evaluate", "--out", tmp_path / f"m{number}")
        built = ("index", "build", tmp_path / "signs.csv", "--drop", "kind", "-p", said, "--json")
        assert succeeds(*built, "--out", tmp_path / f"i{number}")["kernel"] == "Chi2(signed=True)"


def _wait_until_it_waits(pid):
    """A signal between Python's last look and the system call that waits would only be seen after the wait.

    So the process must be asleep without having run for a while; on a busy machine half a second is not enough.
    """
    stat, before = Path(f"/proc/{pid}/stat"), None
    for _ in range(120):
        time.sleep(0.5)
        if not stat.exists():  # no Linux: hope
            return
        fields = stat.read_text().rsplit(")", 1)[1].split()
        now = fields[0], fields[11], fields[12]  # state, time in user and system mode
        if now == before and now[0] == "S":
            return
        before = now


def _open_when_read(pipe, running):
    """Open the writing end as soon as someone reads; that reader then waits for what never comes."""
    while running.poll() is None:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # nobody reads yet
            time.sleep(0.02)
    return pytest.fail(running.stderr.read().decode())
