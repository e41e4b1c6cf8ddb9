"""Another model takes over while requests are in work, and a broken one does not."""

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import mercer
from mercer.serving.wire.messages import pack_message
from tests.serving.running import Running, until
from tests.serving.samples import bits_model, digits

X, _ = digits()
TOKEN = "a-token-of-the-tests"
BEARER = f"Bearer {TOKEN}"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two models that differ in their embedding, and two files that cannot be served."""
    folder = tmp_path_factory.mktemp("reload")
    for seed in (1, 2):
        mercer.save(bits_model(seed), folder / f"{seed}.mercer")
    (folder / "broken.mercer").write_bytes((folder / "2.mercer").read_bytes()[:-20])
    mercer.save(mercer.Chi2(), folder / "kernel.mercer")
    return folder


@pytest.fixture
def place(files, tmp_path):
    shutil.copy(files / "1.mercer", tmp_path / "model.mercer")
    return tmp_path / "model.mercer"


def replace(place, source):
    """As ``mercer.save`` does it: beside, then renamed."""
    shutil.copy(source, place.with_suffix(".new"))
    place.with_suffix(".new").replace(place)


def test_the_new_file_answers_after_a_reload(files, place):
    with Running(place, token=TOKEN) as running:
        before = running.get("/v1/model").json["sha256"]
        replace(place, files / "2.mercer")
        assert running.get("/v1/model").json["sha256"] == before
        answer = running.post("/v1/reload", {}, Authorization=BEARER)
        after = running.get("/v1/model").json["sha256"]
        assert answer.status == 200
        assert answer.json["model"] == after != before
        assert running.get("/health/ready").json["model"] == after


@pytest.mark.parametrize("name", ["broken", "kernel", "missing"])
def test_a_file_that_cannot_be_used_leaves_the_old_model(files, place, name):
    with Running(place, token=TOKEN) as running:
        before = running.get("/v1/model").json
        if name == "missing":
            place.unlink()
        else:
            replace(place, files / f"{name}.mercer")
        answer = running.post("/v1/reload", {}, Authorization=BEARER)
        assert (answer.status, answer.code) == (409, "reload-failed")
        assert "The service keeps the old model." in answer.json["error"]["message"]
        assert running.get("/v1/model").json == before
        assert running.post("/v1/classify", {"rows": X[:1].tolist()}, Authorization=BEARER).status == 200
        assert b'mercer_reloads_total{outcome="failed"} 1.0' in running.get("/metrics").body


@pytest.mark.parametrize("mmap", [False, True])
def test_under_load_no_request_fails_and_each_is_answered_by_one_model(files, place, mmap):
    """Raw rows are answered by whichever model is present; its scores must be those of the model it names."""
    models = {}
    for seed in (1, 2):
        path = files / f"{seed}.mercer"
        from mercer._base.files.models import describe

        models[describe(path)["sha256"]] = mercer.load(path).predict(X[:8]).tolist()
    with Running(place, token=TOKEN, mmap=mmap) as running, ThreadPoolExecutor(6) as pool:
        stop, found = threading.Event(), []

        def ask(_):
            while not stop.is_set():
                found.append(running.post("/v1/classify", {"rows": X[:8].tolist()}, Authorization=BEARER))

        asking = [pool.submit(ask, i) for i in range(6)]
        for turn in range(6):
            replace(place, files / f"{2 - turn % 2}.mercer")
            assert running.post("/v1/reload", {}, Authorization=BEARER).status == 200
            n = len(found)
            until(lambda n=n: len(found) > n + 5)
        stop.set()
        for one in asking:
            one.result()
    assert {answer.status for answer in found} == {200}
    for answer in found:
        assert answer.json["labels"] == models[answer.json["model"]]
    assert {answer.json["model"] for answer in found} == set(models)


def test_codes_of_the_old_embedding_are_refused_after_it_has_gone(files, place):
    old = mercer.load(place).map_
    body = pack_message(old.transform(X[:3]), 128, old.specification_.fingerprint)
    with Running(place, token=TOKEN) as running:
        assert running.post("/v1/classify", body, Authorization=BEARER).status == 200
        replace(place, files / "2.mercer")
        running.post("/v1/reload", {}, Authorization=BEARER)
        assert running.post("/v1/classify", body, Authorization=BEARER).code == "other-embedding"


def test_a_model_from_no_file_cannot_be_reloaded():
    with Running(bits_model(1), token=TOKEN) as running:
        assert running.post("/v1/reload", {}, Authorization=BEARER).code == "no-file"


def test_before_the_model_is_loaded_the_service_lives_but_is_not_ready(place, monkeypatch):
    from mercer.serving.process import state

    may_load, load = threading.Event(), state.load_served

    def held(path, mmap):
        may_load.wait(20)
        return load(path, mmap)

    monkeypatch.setattr(state, "load_served", held)
    running = Running(place)
    running._thread.start()
    try:
        until(lambda: running.server.started)
        assert running.get("/health/live").status == 200
        for answer in (running.get("/health/ready"), running.post("/v1/classify", {"rows": X[:1].tolist()})):
            assert (answer.status, answer.code) == (503, "not-ready")
        may_load.set()
        until(lambda: running.get("/health/ready").status == 200)
    finally:
        may_load.set()
        running.__exit__()


def test_a_first_file_that_cannot_be_used_is_told_to_probes(files):
    running = Running(files / "broken.mercer")
    running._thread.start()
    try:
        until(lambda: running.server.started and running.service.slot.failure)
        answer = running.get("/health/ready")
        assert answer.status == 503
        assert "broken.mercer" in answer.json["error"]["message"]
        assert running.get("/health/live").status == 200
    finally:
        running.__exit__()
