"""What is checked before anything is computed: files that must be there, places to write to, options that exclude."""

__all__ = [
    "as_argument",
    "check_file",
    "check_folder",
    "check_output",
    "check_plot",
    "check_standard_output",
    "exclude",
    "first_said",
]

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mercer._base.errors import InputError, require_extra
from mercer._base.tables import ArgumentError
from mercer.cli.framework.options import Settings


@contextmanager
def as_argument() -> Iterator[None]:
    """What the library refuses here was said on the command line."""
    try:
        yield
    except ArgumentError:
        raise
    except InputError as error:
        raise ArgumentError(str(error)) from error


def check_file(path: str | Path, advice: str = "Name a file.") -> None:
    """Refuse a file that is not there."""
    if Path(path).is_dir():
        raise ArgumentError(f"{path} is a directory. {advice}")
    if not Path(path).exists():
        raise ArgumentError(f"There is no file {path}.")


def check_folder(path: Path | None) -> None:
    """Refuse a file whose folder does not exist, or that is a folder."""
    if path is None:
        return
    if path.is_dir():
        raise ArgumentError(f"{path} is a directory. Name a file in it.")
    if not path.parent.is_dir():
        raise ArgumentError(f"There is no directory {path.parent} to write {path.name} into.")


def check_output(out: Path | None, *inputs: str | Path) -> None:
    """Refuse a file that cannot be written, or that would replace one that is read."""
    check_folder(out)
    for name in inputs:
        if out is not None and out.exists() and Path(name).exists() and out.samefile(name):
            raise ArgumentError(f"{name} is also an input file and would be overwritten. Name another output file.")


def check_plot(plot: Path | None, *inputs: str | Path) -> None:
    """Refuse a plot that cannot be drawn or written."""
    check_output(plot, *inputs)
    if plot is not None:
        require_extra("matplotlib", "plot", "--plot")


def check_standard_output(out: str | None, settings: Settings) -> None:
    """Refuse two results on one output."""
    if out == "-" and settings.json:
        raise ArgumentError("--out - and --json both write to standard output. Use only one of them.")


def exclude(**said: Any) -> None:
    """Refuse two options that are both said; keywords are their names.

    >>> exclude(scores=True, proba=False)
    """
    names = [f"--{name.replace('_', '-')}" for name, value in said.items() if value not in (None, False)]
    if len(names) > 1:
        raise ArgumentError(f"{' and '.join(names)} cannot be combined. Use only one of them.")


def first_said(options: dict[str, Any]) -> str | None:
    """The first option that has a value."""
    return next((option for option, value in options.items() if value), None)
