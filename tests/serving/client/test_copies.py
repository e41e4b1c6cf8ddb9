"""The clients as they are given away: links to the sources, and a package of its own for the Python client."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import mercer
from mercer.serving import client

ROOT = Path(__file__).parents[3]
SOURCE = Path(client.__file__)
COPIES = {
    "clients/python/mercer_client.py": SOURCE,
    "clients/js/mercer-client.js": SOURCE.parent / "page" / "mercer-client.js",
}


@pytest.fixture(autouse=True)
def in_a_checkout():
    if not (ROOT / "clients").is_dir():
        pytest.skip("clients/ is not part of this copy of Mercer")


@pytest.mark.parametrize("name", COPIES)
def test_a_copy_is_its_source(name):
    assert (ROOT / name).read_bytes() == COPIES[name].read_bytes()


def test_the_package_has_mercers_version_and_needs_numpy_only():
    project = tomllib.loads((ROOT / "clients/python/pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == mercer.__version__
    assert [re.match(r"\w+", need)[0] for need in project["dependencies"]] == ["numpy"]


@pytest.mark.process
def test_wheel_and_source_archive_hold_the_file_itself(tmp_path):
    pytest.importorskip("hatchling", reason="hatchling is not installed, so nothing can be built")
    code = "import hatchling.build as b, sys; print(b.build_wheel(sys.argv[1]), b.build_sdist(sys.argv[1]))"
    command = [sys.executable, "-c", code, str(tmp_path)]
    built = subprocess.run(command, cwd=ROOT / "clients/python", capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    wheel, archive = built.stdout.split()
    with zipfile.ZipFile(tmp_path / wheel) as content:
        assert content.read("mercer_client.py") == SOURCE.read_bytes()
    with tarfile.open(tmp_path / archive) as content:
        (member,) = [name for name in content.getnames() if name.endswith("/mercer_client.py")]
        assert content.getmember(member).isreg()
        assert content.extractfile(member).read() == SOURCE.read_bytes()
