"""The pages of docs/commands against the command: every option is described, with its default, and no other."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typer

from mercer.cli.app import app

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "commands"
COMMON, INPUT = "Common options (before or after the command)", "Input"
OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")


def walk(command, path=()):
    """All commands that do something, by their words."""
    verbs = getattr(command, "commands", None)
    if not verbs:
        return {path: command}
    return {words: each for name, verb in verbs.items() for words, each in walk(verb, (*path, name)).items()}


ROOT_COMMAND = typer.main.get_command(app)
COMMANDS = walk(ROOT_COMMAND)


def options(command, *panels):
    """Its options, without those of the panels."""
    return [
        each
        for each in command.params
        if each.param_type_name == "option" and "--help" not in each.opts and panel(each) not in panels
    ]


def panel(option):
    return getattr(option, "rich_help_panel", None)


def names(command):
    """Everything that may be written after it."""
    return {name for each in command.params for name in each.opts + each.secondary_opts} | {"--help", "-h"}


def page(words):
    return PAGES / f"mercer-{words[0]}.md"


def section(words):
    """The part of a page that is about a verb: its section, or the whole page of a command without verbs."""
    text = page(words).read_text(encoding="utf-8")
    if len(words) == 1:
        return text
    parts = re.split(r"(?m)^## (.*)\n", text)
    found = [
        body for title, body in zip(parts[1::2], parts[2::2], strict=True) if words[1] in re.split(r"[, ]+", title)
    ]
    assert found, f"{page(words).name} has no section '## {words[1]}'."
    return "\n".join(found)


def default_of(option):
    """The default as it is shown, if it is a number or a word."""
    shown = option.show_default
    if isinstance(shown, str) or not shown or option.default is None or isinstance(option.default, bool):
        return None
    return f"{option.default:g}" if isinstance(option.default, float) else str(option.default)


def rows(text):
    """Rows of tables of options: the names in the first cell, and the last cell."""
    for table in re.findall(r"(?m)^\| option[^|]*\|[^|]*\| default \|\n\|[-|]+\|\n((?:\|.*\n)+)", text):
        for line in table.splitlines():
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            yield OPTION.findall(cells[0]), cells[-1].replace("`", "").replace(",", "")


def lines_of_pages():
    """Every command line that a page of the manual, or the README, shows."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for path in pages:
        if {"_build", "generated", "gallery"} & set(path.parts):
            continue
        for block in re.findall(r"(?ms)^```(?:console|sh)\n(.*?)^```", path.read_text(encoding="utf-8")):
            for line in re.findall(r"(?m)^(?:\$ )?(?:\w[^|\n]*\| )?(mercer [a-z].*)$", block):
                yield pytest.param(line, id=f"{path.relative_to(ROOT)}: {line[:60]}")


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_option_is_described_on_the_page_of_its_command(words):
    text = section(words)
    missing = [
        each.opts[0]
        for each in options(COMMANDS[words], COMMON, INPUT)
        if not {*each.opts, *each.secondary_opts} & set(OPTION.findall(text))
    ]
    assert not missing, f"{page(words).name} says nothing about them."


def test_the_options_of_all_commands_are_described_on_the_first_page():
    text = (PAGES / "index.md").read_text(encoding="utf-8")
    shared = [each for command in COMMANDS.values() for each in command.params if panel(each) in (COMMON, INPUT)]
    missing = {each.opts[0] for each in shared} - set(OPTION.findall(text)) - {"--labels"}
    assert not missing
    assert "--labels" in section(("fit",))  # of a few commands only


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_defaults_on_the_page_are_those_of_the_command(words):
    known = {name: each for each in COMMANDS[words].params for name in each.opts}
    for named, cell in rows(section(words)):
        for name in named:
            default = default_of(known[name]) if name in known else None
            assert default is None or default.replace(",", "") in re.split(r"[\s:;]+", cell), (name, cell)


def test_every_command_has_a_page_and_every_page_a_command():
    assert {path.name for path in PAGES.glob("mercer-*.md")} == {page(words).name for words in COMMANDS}
    index = (PAGES / "index.md").read_text(encoding="utf-8")
    for words in COMMANDS:
        assert f"](mercer-{words[0]}.md)" in index
        assert f"\nmercer-{words[0]}\n" in index  # the table of contents


@pytest.mark.parametrize("line", list(lines_of_pages()))
def test_command_lines_of_the_manual_have_options_that_there_are(line):
    line = re.split(r" [|&>]( |$)|\s+#", line)[0].replace("...", "")
    words = shlex.split(line)[1:]
    if words[0] not in {verb for verb, *_ in COMMANDS}:
        assert words[0] in ("kernal", "COMMAND"), line  # the page shows what an unknown verb is answered
        return
    verb = next(each for each in COMMANDS if words[: len(each)] == list(each))
    given = {word.partition("=")[0] for word in words if OPTION.fullmatch(word.partition("=")[0])}
    assert given <= names(COMMANDS[verb])


# Outputs that depend on nothing but the rows: no time, no plot, no last digit of a solver.
REPEATED = {
    "index.md": "all",
    "mercer-kernel.md": "all",
    "mercer-map.md": ("mercer map fit", "mercer map apply"),
    "mercer-fit.md": (
        "mercer fit train.npz --kernel chi2 --dry-run",
        "mercer fit train.npz --kernel chi2 --budget 5",
        "mercer fit train.npz --bins 50",
    ),
    "mercer-encode.md": "all",
}
SECONDS = re.compile(r"\b\d[\d.e-]*(?= s\b)|(?<=\"seconds\": )[\d.e-]+")


def examples(name):
    """Commands that a page shows, each with what it prints."""
    for block in re.findall(r"(?ms)^```console\n(.*?)^```", (PAGES / name).read_text(encoding="utf-8")):
        for command, output in re.findall(r"(?ms)^\$ (.*?)\n(.*?)(?=^\$ |\Z)", block):
            if REPEATED[name] == "all" or command.startswith(REPEATED[name]):
                yield command, output


@pytest.fixture
def folder_of_examples(tmp_path):
    """The files that the first page describes."""
    from sklearn.datasets import load_digits, load_iris

    X, y = load_digits(return_X_y=True)
    X = (X / 16).astype("float32")
    np.save(tmp_path / "digits.npy", X)
    np.savez(tmp_path / "train.npz", X=X[:1000], y=y[:1000])
    flowers = load_iris()
    lines = ["sepal_length,sepal_width,petal_length,petal_width,species"]
    for row, kind in zip(flowers.data.tolist(), flowers.target_names[flowers.target], strict=True):
        lines.append(",".join([*map(str, row), kind]))
    (tmp_path / "iris.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("name", REPEATED)
def test_outputs_on_the_page_are_those_of_the_command(name, folder_of_examples):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "COLUMNS": "120"}
    for command, output in examples(name):
        run = subprocess.run(
            command,
            shell=True,
            cwd=folder_of_examples,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        printed, shown = ("".join(SECONDS.sub("T", text).split()) for text in (run.stdout, output))
        assert printed == shown, f"$ {command}\n{run.stdout}"
