"""The command line in this process; its parser is made once, which takes longer than most verbs."""

import functools

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from mercer.cli.app import app


@functools.cache
def parser(app):
    return get_command(app)


def invoke(*arguments, input=None):
    """What ``mercer ARGUMENTS`` came to."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("typer.testing._get_command", parser)
        return CliRunner().invoke(app, [str(argument) for argument in arguments], input=input)
