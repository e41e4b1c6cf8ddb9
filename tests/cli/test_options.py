"""Every option of every verb against ``options.json``: none gets lost, and none changes unseen.

After a change on purpose, ``PYTHONPATH=src:. python -m tests.cli.test_options`` writes the file anew.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import typer

from mercer.cli.app import app

FILE = Path(__file__).with_name("options.json")
NOT_OURS = {"--help", "--install-completion", "--show-completion"}


def verbs(command: Any, path: str = "mercer") -> dict[str, Any]:
    """All commands and groups, by their words."""
    found = {path: command}
    for name, verb in getattr(command, "commands", {}).items():
        found |= verbs(verb, f"{path} {name}")
    return found


def described(command: Any) -> dict[str, dict[str, Any]]:
    """What can be said to a command: names, type, choices, range, default, and where and how the help shows it."""
    return {" ".join(each.opts): _described(each) for each in command.params if not NOT_OURS & set(each.opts)}


def _described(each: Any) -> dict[str, Any]:
    shown = getattr(each, "show_default", None)
    kind = each.type_descriptor
    facts = {
        "negated": each.secondary_opts,
        "metavar": each.metavar,
        "type": None if kind.choices else each.bare_type(),
        "choices": list(kind.choices or ()),
        "least": each.min,
        "most": each.max,
        "default": str(each.default) if isinstance(each.default, Path) else each.default,
        "shown_default": shown if isinstance(shown, str) else None,
        "required": each.required,
        "several": bool(each.multiple or each.nargs != 1),
        "flag": bool(getattr(each, "is_flag", False)),
        "panel": getattr(each, "rich_help_panel", None),
    }
    return {
        name: value
        for name, value in facts.items()
        if value is not None and value is not False and value not in ("", [])
    }


COMMANDS = verbs(typer.main.get_command(app))
KNOWN = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def test_no_verb_is_lost_and_none_is_unknown():
    assert list(COMMANDS) == list(KNOWN)


@pytest.mark.parametrize("words", COMMANDS)
def test_the_options_of_a_verb_are_those_of_the_file(words):
    found = json.loads(json.dumps(described(COMMANDS[words])))
    assert list(found) == list(KNOWN[words])  # the help lists them in this order
    assert found == KNOWN[words]


def written() -> str:
    """The file: an option on a line."""
    parts = []
    for words, command in COMMANDS.items():
        lines = [f"  {json.dumps(name)}: {json.dumps(facts)}" for name, facts in described(command).items()]
        parts.append(f" {json.dumps(words)}: {{\n" + ",\n".join(lines) + "\n }")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(written(), encoding="utf-8")
