"""``mercer serve`` as a process of its own: address, signals, exit codes, several processes, missing parts."""

import http.client
import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

import mercer
from mercer._base.errors import MissingExtraError
from mercer.cli.app import app
from mercer.molecules import MoleculeIndex
from mercer.spectra import Spectra, SpectrumIndex
from tests.serving.running import kept_logging, until
from tests.serving.samples import bits_model, digits, ladder

X, _ = digits()
ROOT = Path(__file__).parents[3]
TOKEN = "a-token-of-the-tests"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("serve")
    mercer.save(bits_model(1), folder / "1.mercer")
    mercer.save(ladder(), folder / "2.mercer")
    with mercer.KernelIndex("linear").fit(X[:20]).add(X[:20]).persist(folder / "rows.index"):
        pass
    with SpectrumIndex().add(Spectra.from_peaks([[[50.0, 1.0]]])).persist(folder / "peaks.index"):
        pass
    library = MoleculeIndex("tanimoto", fingerprint="given").add(None, fingerprints=X[:20])
    with library.persist(folder / "molecules.index"):
        pass
    (folder / "token").write_text(TOKEN + "\n")
    (folder / "token").chmod(0o600)
    return folder


@contextmanager
def serving(*arguments, **variables):
    """The process, its address, and its standard error as it ended."""
    paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **variables}
    command = [sys.executable, "-m", "mercer.cli.main", "serve", *map(str, arguments), "--port", "0"]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        address = process.stdout.readline().strip()
        yield process, address
    finally:
        if process.poll() is None:
            process.terminate()
        process.told = process.communicate(timeout=60)[1]


def ask(address, method, path, content=None):
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=30)
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"}
    connection.request(method, path, None if content is None else json.dumps(content), headers)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, json.loads(body)


def replace(place, source):
    shutil.copy(source, place.with_suffix(".new"))
    place.with_suffix(".new").replace(place)


@pytest.mark.process
def test_it_serves_reloads_on_sighup_and_ends_in_order(files, tmp_path):
    place = tmp_path / "model.mercer"
    shutil.copy(files / "1.mercer", place)
    with serving(place, "--token-file", files / "token") as (process, address):
        assert address.startswith("http://127.0.0.1:")
        command_line = Path(f"/proc/{process.pid}/cmdline")
        if command_line.exists():
            assert TOKEN.encode() not in command_line.read_bytes()
        expected = mercer.load(place).predict(X[:5]).tolist()
        status, answer = ask(address, "POST", "/v1/classify", {"rows": X[:5].tolist()})
        assert (status, answer["labels"]) == (200, expected)
        before = answer["model"]
        replace(place, files / "2.mercer")
        process.send_signal(signal.SIGHUP)
        until(lambda: ask(address, "GET", "/health/ready")[1]["model"] != before)
        place.write_bytes(b"nothing")
        process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        assert ask(address, "POST", "/v1/classify", {"rows": X[:5].tolist()})[0] == 200
        process.terminate()
        assert process.wait(30) == 0
    lines = [json.loads(line) for line in process.told.splitlines()]
    assert [line["path"] for line in lines if line.get("event") == "request"] == ["/v1/classify"] * 2
    assert [line["level"] for line in lines if line.get("event") == "reload"] == ["error"]  # successes are info
    assert TOKEN not in process.told


def maps_of(pid):
    """What a process has mapped, nothing if it has just ended."""
    try:
        return Path(f"/proc/{pid}/maps").read_text().splitlines()
    except OSError:
        return []


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_several_processes_share_one_mapped_file_count_and_reload_together_and_are_replaced(files, tmp_path):
    place = tmp_path / "model.mercer"
    shutil.copy(files / "1.mercer", place)
    with serving(place, "--workers", "2", MERCER_TOKEN=TOKEN) as (process, address):

        def children():
            return Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()

        def mapping():
            """Processes that map the present file."""
            inode = str(os.stat(place).st_ino)
            return [pid for pid in children() if any(inode in line.split() for line in maps_of(pid))]

        until(lambda: len(mapping()) == 2)
        for _ in range(10):
            assert ask(address, "POST", "/v1/classify", {"rows": X[:1].tolist()})[0] == 200
        with urllib.request.urlopen(f"{address}/metrics") as response:
            assert b'mercer_requests_total{route="/v1/classify",status="200"} 10.0' in response.read()
        before = ask(address, "GET", "/v1/model")[1]["sha256"]
        replace(place, files / "2.mercer")
        status, answer = ask(address, "POST", "/v1/reload", {})
        assert (status, answer["model"] != before) == (200, True)
        until(lambda: len(mapping()) == 2)
        victim = mapping()[0]
        os.kill(int(victim), signal.SIGKILL)
        until(lambda: len(set(mapping()) - {victim}) == 2)
        seen = children()
        process.terminate()
        assert process.wait(30) == 0
    until(lambda: not [pid for pid in seen if Path(f"/proc/{pid}").exists()])


@pytest.mark.parametrize(
    ("arguments", "words", "code"),
    [
        (["none.mercer"], "There is no file none.mercer.", 2),
        (["."], ". is a directory. Name a model file. Use --index for the directory of an index.", 2),
        (["1.mercer", "--token-file", "."], ". is a directory. Name the file of the token.", 2),
        (["1.mercer", "--index", "none"], "There is no index none.", 2),
        (["1.mercer", "--token-file", "lines"], "must contain the token", 1),
        (["1.mercer", "--token-file", "none"], "There is no file none.", 2),
        (["1.mercer", "--token-file", "short"], "8 or more printable ASCII characters", 2),
        (["1.mercer", "--allow-origin", "host"], "https://host", 2),
        (["1.mercer", "--index-labels", "short"], "requires --index", 2),
        (["1.mercer", "--host", "192.0.2.1"], "Choose another with --host", 1),
        (["kernel.mercer"], "fitted classifier, regressor or detector, not Chi2", 1),
        (["kernel.mercer", "--workers", "2"], "fitted classifier, regressor or detector, not Chi2", 1),
        (["broken.mercer"], "broken.mercer", 1),
        (["--index", "token"], "token is a file, not a directory. Build one with mercer index build.", 2),
        (["--index", "a=1.mercer"], "1.mercer is a model file. Serve it without an option: mercer serve 1.mercer.", 2),
        (["--spectra", "rows.index"], "rows.index is an index of rows. Serve it with --index rows.index.", 2),
        (["rows.index"], "rows.index is an index of rows. Serve it with --index rows.index.", 2),
        (["--index", "peaks.index"], "peaks.index is a library of spectra. Serve it with --spectra peaks.index.", 2),
        (["1.mercer", "m=molecules.index"], "is a library of molecules. Search it with mercer molecules search.", 2),
    ],
)
def test_what_cannot_be_served_is_one_sentence(files, monkeypatch, arguments, words, code):
    monkeypatch.chdir(files)
    monkeypatch.delenv("MERCER_TOKEN", raising=False)
    mercer.save(mercer.Chi2(), "kernel.mercer")
    Path("lines").write_text("one\ntwo\n")
    Path("short").write_text("short")
    Path("broken.mercer").write_bytes(Path("1.mercer").read_bytes()[:-9])
    with kept_logging():
        result = CliRunner().invoke(app, ["serve", "--port", "0", "--quiet", *arguments])
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    (sentence,) = result.stderr.splitlines()
    assert sentence.startswith("mercer: ")
    assert words in sentence


def test_without_the_extra_it_says_how_to_get_it(files, monkeypatch):
    monkeypatch.setitem(sys.modules, "fastapi", None)
    monkeypatch.chdir(files)
    result = CliRunner().invoke(app, ["serve", "1.mercer"])
    assert result.exit_code == 1
    assert "pip install 'mercer[serve]'" in result.stderr
    serving = importlib.import_module("mercer.serving")
    monkeypatch.delitem(vars(serving), "create_app", raising=False)  # as it is before its first use
    with pytest.raises(MissingExtraError, match="create_app needs the package 'fastapi'"):
        _ = serving.create_app


@pytest.mark.process
def test_an_index_alone_is_served_and_opened_again(tmp_path):
    made = mercer.KernelIndex("chi2", effort="low", bytes_per_item=8, random_state=0).fit(X)
    made.add(X[:50], data={"n": range(50)}).persist(tmp_path / "index").close()
    question = "POST", "/v1/neighbors?where=n%20%3E%3D%2048", {"rows": X[:1].tolist()}
    with serving("--index", tmp_path / "index") as (process, address):
        assert sorted(ask(address, *question)[1]["ids"][0]) == [48, 49]
        with mercer.KernelIndex.open(tmp_path / "index", "w") as index:
            index.add(X[50:51], data={"n": [50]})
        os.kill(process.pid, signal.SIGHUP)
        until(lambda: sorted(ask(address, *question)[1]["ids"][0]) == [48, 49, 50])
