import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from tests.command import invoke

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def no_lines_of_progress(monkeypatch):
    """On a slow machine a command may take so long that it tells how far it is; tests compare what else it says."""
    monkeypatch.setattr("mercer._base.progress.SECONDS", float("inf"))


@pytest.fixture
def command():
    """Run the command in this process: ``command("kernel", path, "--top", 3)``."""
    return invoke


@pytest.fixture
def succeeds(command):
    """Run, demand success, and return what was printed, as a document if it was JSON."""

    def run(*arguments, input=None):
        result = command(*arguments, input=input)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout) if "--json" in arguments else result.stdout

    return run


@pytest.fixture
def fails(command):
    """Run, demand the exit code, one sentence on the standard error that holds the words, and nothing else."""

    def run(code, words, *arguments, input=None):
        result = command(*arguments, input=input)
        assert result.exit_code == code, result.output
        assert result.stdout == ""
        assert result.stderr.startswith("mercer: ")
        assert result.stderr.count("\n") == 1, result.stderr
        assert "Unexpected" not in result.stderr
        assert "Traceback" not in result.stderr
        for word in words:
            assert word in result.stderr
        return result.stderr

    return run


@pytest.fixture
def start():
    """Start the command, or other Python code, in a process of its own."""

    def popen(*arguments, python=("-m", "mercer.cli.main")):
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
        with _heeding_interrupts():
            return subprocess.Popen([sys.executable, *python, *map(str, arguments)], env=environment, **pipes)

    return popen


@contextmanager
def _heeding_interrupts():
    """Processes started here heed Ctrl-C, even if a shell started the tests in the background, where it is ignored."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.fixture
def process(start):
    """Run the command in a process of its own; returns exit code, standard output and standard error."""

    def run(*arguments, input=None, **options):
        with start(*arguments, **options) as running:
            out, err = running.communicate(input, timeout=60)
        return running.returncode, out, err.decode()

    return run


@pytest.fixture
def histograms():
    """Six rows of counts in float32; the last equals the first."""
    X = np.random.default_rng(0).integers(0, 9, size=(6, 4)).astype(np.float32)
    X[5] = X[0]
    return X
