"""The examples of docstrings run in a folder of their own, where what they write stays."""

import pytest


@pytest.fixture(autouse=True)
def elsewhere(request):
    """No file of an example is left in the folder that pytest was started in."""
    if isinstance(request.node, pytest.DoctestItem):
        request.getfixturevalue("monkeypatch").chdir(request.getfixturevalue("tmp_path"))
