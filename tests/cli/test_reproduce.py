"""``mercer reproduce``, on a small registry of its own and on the project's."""

import json

import pytest

REGISTRY = """
import json
from dataclasses import dataclass, field

@dataclass
class Benchmark:
    name: str
    title: str
    paper: str = None
    needs: list = field(default_factory=list)

    def run(self, quick=False, out_dir=None):
        path = out_dir / f"{self.name}.json"
        path.write_text(json.dumps({"name": self.name, "quick": quick}))
        return path

def all_benchmarks():
    made = [Benchmark("maps", "maps against kernels"), Benchmark("codes", "codes", "key12", ["sift"])]
    return {benchmark.name: benchmark for benchmark in made}
"""
REPORT = "def render(path):\n    return '| result |\\n' + path.read_text()\n"


@pytest.fixture
def checkout(tmp_path):
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "registry.py").write_text(REGISTRY)
    (folder / "report.py").write_text(REPORT)
    return folder


def test_benchmarks_are_listed_and_run(process, checkout, tmp_path):
    where = ("--benchmarks", checkout)
    code, out, err = process("reproduce", "list", "--json", *where)
    assert (code, err) == (0, "")
    assert json.loads(out)[1] == {"name": "codes", "title": "codes", "paper": "key12", "needs": ["sift"]}
    assert process("reproduce", "list", "--quiet", *where) == (0, b"maps\ncodes\n", "")
    code, out, err = process("reproduce", "maps", "--quick", "--quiet", "--out", tmp_path, *where)
    assert (code, out, err) == (0, b'| result |\n{"name": "maps", "quick": true}\n', "")
    code, out, err = process("reproduce", "all", "--json", "--out", tmp_path, *where)
    assert json.loads(out) == [{"name": "maps", "quick": False}, {"name": "codes", "quick": False}]


def test_an_unknown_benchmark_is_answered_with_the_nearest(process, checkout):
    code, _, err = process("reproduce", "map", "--benchmarks", checkout)
    assert (code, err) == (2, "mercer: There is no benchmark 'map'. Did you mean 'maps'?\n")
    code, _, err = process("reproduce", "zzz", "--benchmarks", checkout)
    assert (code, err) == (2, "mercer: There is no benchmark 'zzz'. 'mercer reproduce list' names them all.\n")


def test_a_directory_without_benchmarks_is_refused(fails, tmp_path):
    fails(2, [str(tmp_path), "no registry.py"], "reproduce", "list", "--benchmarks", tmp_path)


def test_the_source_checkout_is_found_from_any_directory(process, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = process("reproduce", "list")
    assert (code, err) == (0, "")
    assert b"kernels-speed" in out
