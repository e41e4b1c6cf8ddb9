"""Progress reaches a display only when one is there; chunks of rows respect the working memory."""

import pytest
from sklearn import config_context

from mercer._base.memory import row_chunks
from mercer._base.progress import show_progress, track


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


@pytest.mark.parametrize(("n_rows", "bytes_per_row"), [(0, 8), (1, 8), (1000, 2**12), (3, 2**40)])
def test_chunks_cover_all_rows_within_the_limit(n_rows, bytes_per_row):
    with config_context(working_memory=1):
        chunks = list(row_chunks(n_rows, bytes_per_row))
    assert [row for chunk in chunks for row in range(chunk.start, chunk.stop)] == list(range(n_rows))
    assert all((chunk.stop - chunk.start) * bytes_per_row <= 2**20 or chunk.stop - chunk.start == 1 for chunk in chunks)


def test_chunks_can_be_multiples():
    with config_context(working_memory=1):
        assert next(iter(row_chunks(10**6, 1000, multiple_of=64))).stop % 64 == 0
