"""One way to say it: these bytes are refused, for this reason."""

from contextlib import suppress

import pytest

import mercer
from mercer._base.files.models import describe
from tests.base.toys import register


@pytest.fixture(autouse=True)
def toys(monkeypatch):
    register(monkeypatch)


@pytest.fixture
def assert_refused(tmp_path):
    """Loading these bytes, in memory or mapped, raises a ModelFileError that names the file and matches the reason."""
    path = tmp_path / "bad.mercer"

    def check(content, reason=""):
        path.write_bytes(content)
        for mmap in (False, True):
            with pytest.raises(mercer.ModelFileError, match=f"(?s)bad.mercer' .*{reason}"):
                mercer.load(path, mmap=mmap)
        with suppress(mercer.ModelFileError):
            describe(path)  # may succeed, since it reads the header only, but must not fail in another way

    return check
