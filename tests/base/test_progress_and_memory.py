"""Progress reaches a display only when one is there; chunks of rows respect the working memory."""

import numpy as np
import pytest
from sklearn import config_context

from mercer import KernelClassifier, KernelClassifierCV, KernelIndex, UniversalEmbedding, WireClassifier
from mercer._base import progress
from mercer._base.memory import row_chunks
from mercer._base.progress import LineProgress, show_progress, told, track


class Recorder:
    def __init__(self):
        self.calls = []

    def add_task(self, description, *, total):
        self.calls.append(("add", description, total))
        return 7

    def advance(self, task, advance=1):
        self.calls.append(("advance", task))

    def remove_task(self, task):
        self.calls.append(("remove", task))


def test_a_display_sees_every_step_and_is_tidied_up_when_the_loop_is_left():
    display = Recorder()
    with show_progress(display):
        assert list(track("ab", "letters")) == ["a", "b"]
        for _ in track(range(5), "numbers"):
            break
    assert list(track("cd", "unseen")) == ["c", "d"]
    letters = [("add", "letters", 2), ("advance", 7), ("advance", 7), ("remove", 7)]
    assert display.calls[:4] == letters
    assert ("add", "unseen", 2) not in display.calls


def test_rich_is_a_display():
    from rich.console import Console
    from rich.progress import Progress

    progress = Progress(console=Console(quiet=True))
    with show_progress(progress):
        assert list(track(range(3), "steps")) == [0, 1, 2]
    assert not progress.tasks


class Clock:
    """A clock that is set by hand."""

    now = 0.0

    def __call__(self):
        return self.now


def test_a_line_every_few_seconds_says_what_is_done_and_what_is_left():
    lines, clock = [], Clock()
    with show_progress(LineProgress(lines.append, clock)):
        for _ in track(range(10), "Folds"):
            clock.now += 2
    assert lines == [
        "mercer: Folds 30% (3 of 10); 0:14 left\n",
        "mercer: Folds 60% (6 of 10); 0:08 left\n",
        "mercer: Folds 90% (9 of 10); 0:02 left\n",
    ]


def test_loops_inside_loops_share_a_line_and_quick_ones_are_silent():
    lines, clock = [], Clock()
    with show_progress(LineProgress(lines.append, clock)):
        for _ in track(range(4), "Folds"):
            for _ in track(iter(range(3)), "Steps"):
                clock.now += 700
        for _ in track(range(2), "Quick"):
            clock.now += 2
    assert len(lines) == 12
    assert lines[0] == "mercer: Folds 0% (0 of 4), Steps 1 step; 11:40 elapsed\n"
    assert lines[-1] == "mercer: Folds 75% (3 of 4), Steps 3 steps; 52:30 left\n"
    assert not any("Quick" in line for line in lines)


def test_a_first_step_that_compiles_says_nothing_of_the_time_left():
    lines, clock = [], Clock()
    with show_progress(LineProgress(lines.append, clock)):
        for step in track(range(1000), "Exact machine"):
            clock.now += 7.8 if step == 0 else 0.05
    assert lines[0] == "mercer: Exact machine 0% (1 of 1000); 0:08 elapsed\n"
    assert lines[1].endswith("10% (101 of 1000); 0:45 left\n")
    lines.clear()
    with show_progress(LineProgress(lines.append, clock)):
        for _ in track(range(1000), "Slow"):
            clock.now += 6
    assert [line.partition("; ")[2] for line in lines[:3]] == ["0:06 elapsed\n", "0:12 elapsed\n", "1:39:42 left\n"]


def test_verbose_writes_lines_where_there_is_no_terminal(capsys, monkeypatch):
    monkeypatch.setattr(progress, "SECONDS", 0.0)
    X = np.random.default_rng(0).random((60, 4))
    y = np.arange(60) % 2
    KernelClassifierCV(Cs=[1.0, 2.0], cv=2, verbose=1).fit(X, y)
    assert "mercer: Cross-validation 50% (1 of 2)" in capsys.readouterr().err
    KernelIndex("chi2", bytes_per_item=4, n_landmarks=16, random_state=0, verbose=1).fit(X).add(X)
    error = capsys.readouterr().err
    assert "mercer: training words" in error
    assert "mercer: Adding rows 100% (1 of 1)" in error
    wire = WireClassifier(UniversalEmbedding(32, delta=1.0, random_state=0), rates=[16], Cs=[1.0], cv=2, verbose=1)
    wire.fit(X, y)
    assert "mercer: rates" in capsys.readouterr().err
    for quiet in (KernelClassifier("chi2"), KernelIndex("chi2", bytes_per_item=4, n_landmarks=16)):
        quiet.fit(X, y)
        assert capsys.readouterr().err == ""


def test_a_display_that_is_there_stays():
    display = Recorder()
    with show_progress(display), told(verbose=1):
        list(track("ab", "letters"))
    assert ("add", "letters", 2) in display.calls


@pytest.mark.parametrize(("n_rows", "bytes_per_row"), [(0, 8), (1, 8), (1000, 2**12), (3, 2**40)])
def test_chunks_cover_all_rows_within_the_limit(n_rows, bytes_per_row):
    with config_context(working_memory=1):
        chunks = list(row_chunks(n_rows, bytes_per_row))
    assert [row for chunk in chunks for row in range(chunk.start, chunk.stop)] == list(range(n_rows))
    assert all((chunk.stop - chunk.start) * bytes_per_row <= 2**20 or chunk.stop - chunk.start == 1 for chunk in chunks)


def test_chunks_can_be_multiples():
    with config_context(working_memory=1):
        assert next(iter(row_chunks(10**6, 1000, multiple_of=64))).stop % 64 == 0
