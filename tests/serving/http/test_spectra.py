"""A library of spectra behind HTTP: hits as JSON, what is refused, and the page in a real browser."""

import json
import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

from mercer import InputError
from mercer.serving import create_app
from mercer.spectra import Spectra, SpectrumIndex
from tests.serving.running import JSON, Running

pytestmark = pytest.mark.process
PEAKS = [[50.01, 10.0], [80.0, 99.0], [94.02, 40.0]]
HOSTILE = '<img src=x onerror="alert(1)">'


@pytest.fixture(scope="module")
def library():
    moved = np.add(PEAKS, [14.01, 0])
    return Spectra.from_peaks(
        [PEAKS, moved, [[300.0, 1.0]]], name=["first", HOSTILE, None], precursor_mz=[200.1, 214.11, None],
        formula=["C6H6O4", "C7H8O4", None], ion_mode=["positive", "negative", None],
    )  # fmt: skip


@pytest.fixture(scope="module")
def service(library, tmp_path_factory):
    place = tmp_path_factory.mktemp("spectra") / "index"
    SpectrumIndex().add(library).persist(place).close()
    with Running(None, spectra=place, max_rows=3, max_neighbors=5, max_body_bytes=4000) as running:
        yield running


def asked(service, body, query=""):
    body = body if isinstance(body, (str, bytes)) else json.dumps(body)
    return service.ask("POST", f"/v1/spectra{query}", body, content_type=JSON)


def test_hits_over_http_are_those_of_the_index(service, library):
    body = {"spectra": [{"peaks": PEAKS, "precursor_mz": 200.1, "name": "asked"}, {"peaks": "94.02 1\n80.0\t2"}]}
    answer = asked(service, body, "?k=2&mode=open")
    assert answer.status == 200, answer.body
    wanted = SpectrumIndex().add(library).search([PEAKS, [[94.02, 1.0], [80.0, 2.0]]], 2)
    for query, hits in enumerate(answer.json["hits"]):
        ids, scores, matched = wanted.of(query)
        assert [hit["id"] for hit in hits] == ids.tolist()
        assert [hit["score"] for hit in hits] == pytest.approx(scores.tolist())
        assert [hit["matched_peaks"] for hit in hits] == matched.tolist()
    assert answer.json["hits"][0][0]["name"] == "first"
    assert answer.json["hits"][0][0]["formula"] == "C6H6O4"
    assert answer.json["hits"][0][0]["query_name"] == "asked"
    hybrid = {"spectra": [{"peaks": PEAKS, "precursor_mz": 200.1}]}
    found = asked(service, hybrid, "?mode=hybrid&mirrors=1&where=ion_mode%20%3D%20'negative'").json["hits"][0]
    assert [hit["name"] for hit in found] == [HOSTILE]
    picture = ElementTree.fromstring(found[0]["mirror"])  # well formed, and the name is text in it
    assert HOSTILE in [node.text for node in picture.iter("{http://www.w3.org/2000/svg}text")]
    card = service.get("/v1/model").json
    assert (card["task"], card["library"]["spectra"], card["limits"]["max_rows"]) == ("spectra", 3, 3)
    assert "/v1/spectra" in service.get("/openapi.json").json["paths"]


ONE = {"peaks": PEAKS}


@pytest.mark.parametrize(("body", "query", "status", "code"), [
    ("{", "", 400, "json"), ([], "", 422, "shape"), ({"spectra": []}, "", 422, "shape"),
    ({"spectra": [ONE], "more": 1}, "", 422, "shape"), ({"spectra": [ONE] * 4}, "", 413, "too-many-rows"),
    ({"spectra": [{}]}, "", 422, "keys"), ({"spectra": [ONE | {"mz": 1}]}, "", 422, "keys"),
    ({"spectra": [ONE | {"precursor_mz": -1}]}, "", 422, "precursor"),
    ({"spectra": [ONE | {"precursor_mz": True}]}, "", 422, "precursor"),
    ({"spectra": [ONE | {"name": 5}]}, "", 422, "name"), ({"spectra": [{"peaks": [[1]]}]}, "", 422, "peaks"),
    ({"spectra": [{"peaks": [[1, True]]}]}, "", 422, "peaks"), ({"spectra": [{"peaks": "a b"}]}, "", 422, "peaks"),
    ({"spectra": [{"peaks": [[1, -1]]}]}, "", 422, "peaks"), ({"spectra": [{"peaks": 5}]}, "", 422, "peaks"),
    ({"spectra": [{"peaks": [[10**400, 1]]}]}, "", 422, "peaks"),
    ({"spectra": [ONE]}, "?k=6", 422, "k"), ({"spectra": [ONE]}, "?mode=near", 422, "mode"),
    ({"spectra": [ONE]}, "?kk=6", 422, "parameters"), ({"spectra": [ONE]}, "?min_score=2", 422, "min_score"),
    ({"spectra": [ONE]}, "?where=colour%20%3D%205", 422, "spectra-refused"),
    ({"spectra": [ONE, ONE]}, "?mirrors=1", 422, "mirrors"), (" " * 5000, "", 413, "body-too-long"),
])  # fmt: skip
def test_requests_that_are_not_right_are_refused_by_code(service, body, query, status, code):
    answer = asked(service, body, query)
    assert (answer.status, answer.code) == (status, code), answer.body


def test_other_paths_say_where_to_ask(service):
    for path, code in (("/v1/classify", "no-model"), ("/v1/neighbors", "no-index")):
        answer = service.ask("POST", path, "{}", content_type=JSON)
        assert (answer.status, answer.code) == (404, code)
    assert service.ask("POST", "/v1/spectra", "x", content_type="text/plain").status == 415


def test_a_library_without_spectra_is_refused_before_it_is_served():
    with pytest.raises(InputError, match="no spectra"):
        create_app(spectra=SpectrumIndex())


def test_a_visitor_pastes_peaks_and_sees_named_hits_with_mirror_plots(service, browser):
    tab = browser.new_page()
    complaints = []
    tab.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.set_default_timeout(20_000)
    tab.goto(service.url)
    tab.get_by_text("Searches 3 spectra").wait_for()
    tab.get_by_label("Peaks").fill("50.01 10\n80.0 99\n94.02 40\n")
    tab.get_by_label("Search", exact=True).select_option("hybrid")
    tab.get_by_role("button", name="Search").click()
    tab.get_by_text("needs the m/z of the precursor").wait_for()
    tab.get_by_label("Precursor").fill("200.1")
    tab.get_by_role("button", name="Search").click()
    tab.locator(".hits li").nth(1).wait_for()
    assert tab.locator(".hits h3").all_text_contents() == ["first", HOSTILE]  # shown as text
    assert "score 1.0000 · 3 matched peaks" in tab.locator(".hits li").first.text_content()
    assert tab.evaluate("() => Promise.all([...document.querySelectorAll('.hits img')].map(each => each.decode()"
                        ".then(() => each.naturalWidth > 0)))") == [True, True]  # fmt: skip
    tab.locator("#where").fill("no_such = 5")
    tab.get_by_role("button", name="Search").click()
    tab.get_by_text("no_such").wait_for()
    assert [each for each in complaints if "422" not in each] == []
    code = tab.locator("pre[aria-label=Python]").text_content()
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "'matched_peaks': 3" in said
    tab.set_viewport_size({"width": 390, "height": 800})
    assert tab.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    tab.close()
