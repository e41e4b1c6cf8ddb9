"""Several models and indexes behind one address, and a description whose examples run."""

import urllib.parse

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import InputError
from mercer.serving import create_app
from mercer.serving.client import Client
from mercer.serving.process.shelf import Source, sources_of
from mercer.spectra import Spectra, SpectrumIndex
from tests.serving.running import Running
from tests.serving.samples import bits_model, chi2_model, detector, digits, index, pictures_model

X, _ = digits()
PEAKS = [[50.01, 10.0], [80.0, 99.0], [94.02, 40.0]]
TOKEN = "a-token-of-the-tests"


@pytest.fixture(scope="module")
def service():
    rows = pd.DataFrame(np.random.default_rng(0).random((30, 2)), columns=["width", "height"])
    named = mercer.KernelClassifier("linear").fit(rows, rows["width"] > rows["height"])
    models = {"bits": bits_model(), "chi2": chi2_model(), "named": named, "kinds": pictures_model(), "bars": detector()}
    library = SpectrumIndex().add(Spectra.from_peaks([PEAKS], name=["first"]))
    with Running(models, {"chi2": index(), "alone": index()}, {"peaks": library}, token=TOKEN) as running:
        yield running


def test_each_name_is_asked_under_its_own_path_and_the_first_without(service):
    names = ["bits", "chi2", "named", "kinds", "bars", "alone", "peaks"]
    told = service.get("/v1/models").json
    assert [each["name"] for each in told["models"]] == names
    assert told["default"] == "bits"
    assert [each["task"] for each in told["models"][3:]] == ["images", "detection", "search", "spectra"]
    assert service.get("/v1/model").json == service.get("/v1/models/bits/model").json
    for name, model in (("bits", bits_model()), ("chi2", chi2_model())):
        client = Client(service.url, token=TOKEN, model=name, raw=True)
        np.testing.assert_array_equal(client.classify(X[:300]).labels, model.predict(X[:300]))
        assert client.model()["served_as"] == name
    assert Client(service.url, token=TOKEN, model="bits").embedding.n_bits == 128
    near = [Client(service.url, token=TOKEN, model=name, raw=True).neighbors(X[:5], 3) for name in ("chi2", "alone")]
    assert near[0].ids.tolist() == near[1].ids.tolist()


def test_a_name_that_is_not_there_is_refused_with_those_that_are(service):
    answer = service.get("/v1/models/%22x%0A/model")
    assert (answer.status, answer.code) == (404, "no-such-model")
    assert answer.json["error"]["message"].endswith("There are: bits, chi2, named, kinds, bars, alone, peaks.")
    assert "\n" not in answer.json["error"]["message"]


def test_without_a_name_the_only_one_that_can_answers_and_of_several_the_routes_are_named(service):
    said = {"Authorization": f"Bearer {TOKEN}"}
    asked = {"spectra": [{"peaks": PEAKS}]}
    assert service.post("/v1/spectra", asked, **said).json["hits"][0][0]["name"] == "first"
    picture = service.get("/static/example.png").body
    assert service.ask("POST", "/v1/detect", picture, Content_Type="image/png", **said).status == 200
    rows = {"rows": X[:1].tolist()}
    for path, body, code, message in (
        ("/v1/neighbors", rows, "no-index", '"bits" does not answer this. Ask /v1/models/chi2/neighbors or '
            "/v1/models/alone/neighbors."),
        ("/v1/models/chi2/spectra", asked, "no-spectra", '"chi2" does not answer this. Ask /v1/models/peaks/spectra.'),
    ):  # fmt: skip
        answer = service.post(path, body, **said)
        assert (answer.status, answer.code) == (404, code)
        assert answer.json["error"]["message"] == message


def test_bits_of_the_only_classifier_are_taken_without_its_name():
    with Running({"bars": detector(), "bits": bits_model()}, {"near": index()}) as running:
        client = Client(running.url)
        np.testing.assert_array_equal(client.classify(X[:20]).labels, bits_model().predict(X[:20]))
        assert running.post("/v1/neighbors?k=2", {"rows": X[:1].tolist()}).status == 200
        paths = running.get("/openapi.json").json["paths"]
        assert {"/v1/classify", "/v1/neighbors", "/v1/embedding", "/v1/detect"} <= set(paths)
        assert "/v1/spectra" not in paths


def test_the_spelling_of_before_is_still_accepted(service):
    asked = {"rows": X[:2].tolist()}
    for start in ("/v1/models/chi2", "/v1/models/alone"):
        new, old = (service.post(f"{start}/{word}?k=2", asked, Authorization=f"Bearer {TOKEN}") for word in
                    ("neighbors", "neighbours"))  # fmt: skip
        assert new.status == 200
        assert new.json == old.json
    client = Client(service.url, token=TOKEN, model="chi2", raw=True)
    assert client.neighbours(X[:2], 2).ids.tolist() == client.neighbors(X[:2], 2).ids.tolist()


def test_metrics_tell_of_each_model(service):
    text = service.get("/metrics").body.decode()
    for name in ("bits", "bars", "alone"):
        assert f'served="{name}"' in text
    assert "mercer_ready 1.0" in text


def posts_of(service):
    """(path, media type, body) of every example of the description."""
    described = service.get("/openapi.json").json
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            name = {each["name"]: each["example"] for each in operation.get("parameters", ()) if each["in"] == "path"}
            for media, content in operation.get("requestBody", {}).get("content", {}).items():
                examples = content.get("examples", {"": {"value": content["example"]}} if "example" in content else {})
                for example in examples.values():
                    body = example.get("value")
                    if body is None:
                        place = urllib.parse.urljoin("/", example["externalValue"])
                        body = service.get(place).body
                    yield method, path.format(**name), media, body


def test_every_example_of_the_description_is_answered(service):
    asked = set()
    for method, path, media, body in posts_of(service):
        headers = {"Content_Type": media, "Authorization": f"Bearer {TOKEN}"}
        if isinstance(body, dict):
            answer = service.post(path, body, **headers)
        else:
            answer = service.ask(method.upper(), path, body, **headers)
        assert answer.status == 200, (path, media, answer.body)
        asked.add((path.rsplit("/", 1)[1], media))
    assert {path for path, _ in asked} == {"classify", "neighbors", "detect", "spectra"}
    assert {media for _, media in asked} == {"application/json", "text/csv", "image/png"}


@pytest.mark.parametrize(
    ("models", "indexes"), [(named, indexes) for named in ("chi2", "kinds", None) for indexes in (None, "chi2")][:-2]
)
def test_a_description_has_what_its_models_answer(models, indexes):
    known = {"chi2": chi2_model, "kinds": pictures_model, None: lambda: None}
    other = None if indexes is None else {"others": index()}
    with Running(None if models is None else {"one": known[models]()}, other) as running:
        paths = running.get("/openapi.json").json["paths"]
        assert ("/v1/models/{name}/neighbors" in paths) == (indexes is not None)
        assert "/v1/detect" not in paths
        media = paths["/v1/classify"]["post"]["requestBody"]["content"]
        assert ("image/png" in media) == (models == "kinds")
        assert ("text/csv" in media) == (models == "chi2")


def test_sources_are_brought_together_by_their_names(tmp_path):
    found = sources_of("a/digits.mercer", "b/other.index", None, "labels.csv")
    assert found == {"digits": Source("a/digits.mercer", "b/other.index", None, "labels.csv")}
    found = sources_of({"x": 1, "y": 2}, {"y": 3, "z": 4}, "some/sp ectra", {"z": "l.csv"})
    assert found == {
        "x": Source(1),
        "y": Source(2, 3),
        "z": Source(None, 4, None, "l.csv"),
        "sp-ectra": Source(spectra="some/sp ectra"),
    }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "nothing to serve"),
        ({"model": {"a": 1, "b": 2}, "index": 3}, "The service has several models"),
        ({"model": {"../a": 1}}, "must start with a letter or digit"),
        ({"model": {"a": 1}, "spectra": {"a": 2}}, "library of spectra another name"),
        ({"model": {"a": 1}, "labels": {"b": 2}}, 'labels for "b", but no index'),
        ({"index": {"a": 1, "b": 2}, "labels": "c"}, "index_labels must name its index"),
    ],
)
def test_names_that_do_not_fit_are_refused(arguments, words):
    with pytest.raises(InputError, match=words):
        sources_of(**arguments)


def test_one_model_that_is_broken_leaves_the_others_as_they_are(tmp_path):
    mercer.save(chi2_model(), tmp_path / "one.mercer")
    mercer.save(bits_model(), tmp_path / "two.mercer")
    with Running({name: tmp_path / f"{name}.mercer" for name in ("one", "two")}, token=TOKEN) as running:
        before = running.get("/v1/models").json
        (tmp_path / "one.mercer").write_bytes(b"broken")
        mercer.save(bits_model(7), tmp_path / "two.mercer")
        answer = running.post("/v1/reload", {}, Authorization=f"Bearer {TOKEN}")
        assert (answer.status, answer.code) == (409, "reload-failed")
        after = running.get("/v1/models").json
        assert after["models"][0] == before["models"][0]
        assert after["models"][1]["sha256"] != before["models"][1]["sha256"]
        mercer.save(chi2_model(), tmp_path / "one.mercer")
        answer = running.post("/v1/reload", {}, Authorization=f"Bearer {TOKEN}").json
        assert answer["models"] == {each["name"]: each["sha256"] for each in running.get("/v1/models").json["models"]}


def test_a_single_index_belongs_to_the_only_model():
    app = create_app({"digits": chi2_model()}, index=index())
    assert list(app.state.shelf.services) == ["digits"]
    assert app.state.shelf.first.slot.present.neighbors is not None
