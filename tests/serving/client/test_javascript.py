"""The JavaScript client: the same bits, fingerprints and messages as the Python client, and the same manners.

It runs in Node if there is one, else in chromium.
"""

import base64
import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from mercer.serving import client
from mercer.serving.client import Embedding, pack_message
from tests.serving.client.test_bits import EDGES, rows_at_thresholds
from tests.serving.client.test_oracle import KNOWN, T, doubles, entries, specification
from tests.serving.client.test_requests import Service, running

FILE = Path(client.__file__).parent / "page" / "mercer-client.js"
NODE = shutil.which("node")
CHROMIUM = shutil.which("chromium")


def run_in_node(function, payload, folder):
    """The value of an async function of the client and the payload."""
    (folder / "client.mjs").write_bytes(FILE.read_bytes())
    main = f"""
        import * as client from "./client.mjs";
        import {{ readFileSync, writeSync }} from "node:fs";
        const answer = await ({function})(client, JSON.parse(readFileSync(0, "utf8")));
        for (let rest = Buffer.from(JSON.stringify(answer)); rest.length; ) rest = rest.subarray(writeSync(1, rest));
    """
    (folder / "main.mjs").write_text(main, encoding="utf-8")
    done = subprocess.run([NODE, "main.mjs"], cwd=folder, input=json.dumps(payload), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def run_in_chromium(function, payload):
    playwright = pytest.importorskip("playwright.sync_api", reason="neither node nor playwright is installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        page.route(
            "http://mercer.test/client.js", lambda route: route.fulfill(path=FILE, content_type="text/javascript")
        )
        page.route("http://mercer.test/", lambda route: route.fulfill(body="", content_type="text/html"))
        page.goto("http://mercer.test/")
        script = f"async (payload) => ({function})(await import('/client.js'), payload)"
        answer = page.evaluate(script, payload)
        browser.close()
    return answer


@pytest.fixture
def javascript(tmp_path):
    """Runs a function of (client, payload) in JavaScript."""
    if NODE:
        return lambda function, payload=None: run_in_node(function, payload, tmp_path)
    if CHROMIUM:
        return run_in_chromium
    pytest.skip("JavaScript is not tested: neither node nor chromium is installed")


ENCODE = """
(client, cases) => cases.map(({ specification, rows, columns }) => {
    const bytes = Uint8Array.from(atob(rows), (c) => c.charCodeAt(0));
    const numbers = new Float64Array(bytes.buffer);
    const split = [];
    for (let i = 0; i < numbers.length; i += columns) split.push(numbers.subarray(i, i + columns));
    const embedding = new client.Embedding(specification);
    const codes = embedding.encode(split);
    const text = (part) => btoa(Array.from(part, (byte) => String.fromCharCode(byte)).join(""));
    const message = client.packMessage(codes.subarray(0, 3 * embedding.nBytes), embedding.nBits, embedding.fingerprint);
    return [text(codes), embedding.fingerprint, text(message)];
})
"""


def compare(javascript, cases):
    """Asserts that both clients agree on cases (specification, rows); returns the number of bits."""
    payload = [{"specification": s, "rows": doubles(X), "columns": X.shape[1]} for s, X in cases]
    n_bits = 0
    for (s, X), (codes, fingerprint, message) in zip(cases, javascript(ENCODE, payload), strict=True):
        embedding = Embedding(s)
        mine = embedding.encode(X)
        np.testing.assert_array_equal(np.frombuffer(base64.b64decode(codes), dtype=np.uint8).reshape(mine.shape), mine)
        assert fingerprint == embedding.fingerprint
        assert base64.b64decode(message) == pack_message(mine[:3], embedding.n_bits, fingerprint)
        n_bits += len(X) * embedding.n_bits
    return n_bits


KINDS = [("universal", 1), ("qjl", 1), ("qjl", 4), ("sigma-delta", 1), ("sigma-delta", 3)]


def test_a_million_bits_are_those_of_python(javascript, rng):
    cases, at_thresholds = [], 0
    for kind, bits in KINDS:
        for matrix, d in (("dense", 13), ("structured", 13), ("structured", 64), ("learned", 13)):
            s = specification(
                kind=kind, matrix=matrix, features=d, projections=211, bits=bits, blocks=2, exponent=None,
                step=61 if matrix == "structured" else 997, dither=bool(kind == "universal" or d == 13),
                seed=f"{rng.integers(2**63):016x}",
                scale=doubles(rng.uniform(0.1, 9, d)), center=doubles(rng.normal(size=d)),
                offsets=None if kind == "universal" else doubles(rng.integers(-999, 999, 211)),
            )  # fmt: skip
            if matrix == "learned":
                s["entries"] = entries(rng.integers(-32767, 32768, (211, d)))
            X = rng.normal(size=(120, 2 * d)) * 5
            cases.append((s, X))
            at_thresholds += count_at_thresholds(s, X)
    n_bits = compare(javascript, cases)
    assert n_bits >= 1_000_000
    assert at_thresholds > 1000


def count_at_thresholds(s, X):
    """How many projections are at a threshold of the quantiser, or one below it."""
    embedding = Embedding(s)
    Z = embedding._whole(X, 0)
    P = embedding._structured(Z) if s["matrix"] == "structured" else embedding._dense(Z)
    return int(np.isin((P + embedding._shift) % s["step"], (0, s["step"] - 1)).sum())


def test_values_exactly_at_a_threshold(javascript, rng):
    cases = []
    for step in (2**15, 2**20):
        s = specification(features=2, projections=24, step=step)
        cases.append((s, rows_at_thresholds(s, rng)[0].astype(float)))
    compare(javascript, cases)


def offsets_beyond_doubles(D, below):
    """Offsets that lead a row of zeros (sigma-delta, 8 bits) to odd t > 2^53, and next to a threshold or one below."""
    e, t, offsets = 0, 0, []
    for _ in range(40):
        beyond = t > 2**53 and t % 2 and e < 256 * D
        offsets.append(e - 120 * D + below if beyond else 1 - 2**52 + len(offsets))
        t = e - offsets[-1]
        q = min(max(t // D + 128, 0), 255)
        e = min(max(t - (q - 128) * D - D // 2, -256 * D), 256 * D)
    return offsets


def test_numbers_that_doubles_cannot_hold(javascript, rng):
    cases = []
    for step in (2**44 + 2**43 + 1, 2**44 + 2**43 + 2**42 + 5):
        for below in (0, 1):
            offsets = offsets_beyond_doubles(step, below)
            assert len({offset for offset in offsets if offset > 0}) > 1
            s = specification(
                kind="sigma-delta", bits=8, step=step, dither=False, projections=40, offsets=doubles(offsets)
            )
            cases.append((s, np.zeros((3, 3))))
    for kind in ("universal", "qjl", "sigma-delta"):
        offsets = None if kind == "universal" else doubles(rng.integers(1 - 2**52, 2**52, 60))
        s = specification(kind=kind, step=2**50 - 1, projections=60, offsets=offsets)
        cases.append((s, rng.normal(size=(20, 3)) * 30000))
    compare(javascript, cases)


def test_edges_of_the_rounding(javascript):
    # halves, clipped values, the largest and the smallest factors, differences that overflow
    factors = doubles([1e308, 1e-308, 1.0])
    cases = [(specification(exponent=e), EDGES) for e in (0, 1, -1, 1023, -1022)]
    cases.append((specification(exponent=None, scale=factors, center=doubles([-1e308, 1e308, 0.1])), EDGES))
    compare(javascript, cases)


def test_the_generator_and_the_table_are_those_of_the_page(javascript):
    words = [[int(word, 16) for word in line] for line in KNOWN]
    function = """(client, words) => [Array.from(client.TABLE), words.map(([k0, k1, c0, c1]) =>
        Array.from(client.threefry([k0, k1, 0x1bd11bda ^ k0 ^ k1], c0, c1, new Uint32Array(2))))]"""
    table, answers = javascript(function, words)
    assert table == T
    assert answers == [line[4:] for line in words]
    text = "".join(re.findall(r'^  "([\w+/=]+)"', FILE.read_text(encoding="utf-8"), re.MULTILINE))
    assert text == client.TEXT


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("version", 2),
        ("seed", "x"),
        ("features", 1.5),
        ("dither", 1),
        ("step", 0),
        ("center", "?"),
        ("offsets", "AAAA"),
    ],
)
def test_what_python_refuses_is_refused_by_name(javascript, name, value):
    function = "(client, s) => { try { new client.Embedding(s); return ''; } catch (error) { return error.message; } }"
    assert name in javascript(function, specification(**{name: value}))
    with pytest.raises(ValueError, match=name):
        Embedding(specification(**{name: value}))


@pytest.mark.parametrize("given", ["AAAA", entries([-32768] * 60)])
def test_a_learned_matrix_that_is_none_is_refused(javascript, given):
    function = "(client, s) => { try { new client.Embedding(s); return ''; } catch (error) { return error.message; } }"
    assert '"entries"' in javascript(function, specification(matrix="learned", entries=given))


def test_rows_without_a_code_are_refused(javascript):
    function = """(client, s) => [[1, 2], [1, 2, null], [1, 2, "3"], [NaN, 1, 2], [1, -Infinity, 2]].map((row) => {
        try { return new client.Embedding(s).encode([[1, 2, 3], row]); } catch (error) { return error.message; } })"""
    assert all("row 1" in message for message in javascript(function, specification()))


REQUESTS = """
async (client, { url, options, rows }) => {
    const told = [];
    const one = new client.Client(url, options);
    for (const step of ["classify", "neighbors", "change", "classify", "refresh", "classify"]) {
        try {
            if (step === "change") await one.request("POST", "/change");
            else if (step === "refresh") told.push(await one.refresh().then(() => "new"));
            else told.push(await one[step](rows, ...(step === "neighbors" ? [3] : [])));
        } catch (error) { told.push([error.name, error.status, error.code ?? null]); }
    }
    return told;
}
"""


NAMED = """
async (client, { url, rows }) => {
    const one = new client.Client(url);
    const [names, mixed] = [["a", "b", "c"], ["c", "label", "a", "b"]];
    const objects = rows.map(([a, b, c]) => ({ c, label: "x", b, a }));
    const told = [(await one.classify(rows)).labels, (await one.classify(objects)).labels];
    told.push((await one.classify(rows.map(([a, b, c]) => [c, "x", a, b]), mixed)).labels);
    const wrong = [[[{ a: 1, b: 2 }], null], [[[1, 2, 3]], ["a", "b", "b"]], [[[1, 2]], names]];
    for (const [given, columns] of [...wrong, [[{ a: 1, b: 2, c: 3, label: 4, size: 5 }], null]]) {
        try { told.push(await one.classify(given, columns)); } catch (error) { told.push(error.message); }
    }
    return told;
}
"""


class Named(Service):
    """A service that tells the names of its columns."""

    def answer(self, method, path, headers, body, peer):
        status, extra, content = super().answer(method, path, headers, body, peer)
        if path.startswith("/v1/embedding"):
            content |= {"columns": ["a", "b", "c"], "other_columns": ["label"], "model": "ff"}
        return status, extra, content


def test_named_columns_are_brought_into_the_order_of_the_model(javascript, rng):
    if javascript is run_in_chromium:
        pytest.skip("a page of another origin may not ask the service: this needs node")
    with running(Named()) as url:
        rows = (rng.normal(size=(20, 3)) * 100).tolist()
        *answers, missing, twice, short, unknown = javascript(NAMED, {"url": url, "rows": rows})
    assert answers[0] == answers[1] == answers[2]
    assert missing == 'Required columns are missing: "c".'
    assert twice == 'Column names must be unique; repeated: "b".'
    assert short == "A row needs a value for each of the 3 columns, got 2."
    assert unknown == 'Unknown columns: "size". Remove them.'


class Changing(Service):
    """A service that takes another embedding when it is told to."""

    def answer(self, method, path, headers, body, peer):
        if path == "/change":
            self.embedding = Embedding(specification(seed="f" * 16))
            return 200, {}, {}
        return super().answer(method, path, headers, body, peer)


def test_requests_are_repeated_and_a_changed_embedding_is_refused_until_refresh(javascript, rng):
    if not NODE:
        pytest.skip("a page of another origin may not ask the service: this needs node")
    service = Changing()
    service.most_rows = 100  # fewer than the client sends at first
    service.faults = [(503, {"Retry-After": "0"}), (502, {})]
    rows = (rng.normal(size=(300, 3)) * 100).tolist()
    with running(service) as url:
        first, near, refused, refreshed, again = javascript(
            REQUESTS, {"url": url, "options": {"token": "t0"}, "rows": rows}
        )
    ones = [int(row.sum()) for row in np.unpackbits(Embedding(specification()).encode(rows), axis=1)]
    assert (first["labels"], first["bits"], len(near["ids"]), len(near["ids"][0])) == (ones, 20, 300, 3)
    assert refused == ["FingerprintError", None, None]
    assert refreshed == "new"
    assert again["labels"] != first["labels"]
    assert {request[2]["Authorization"] for request in service.requests} == {"Bearer t0"}


def test_a_refusal_is_final(javascript):
    if not NODE:
        pytest.skip("a page of another origin may not ask the service: this needs node")
    service = Service()
    service.faults = [(429, {"Retry-After": "1"})]
    function = "(client, url) => new client.Client(url).model().catch((e) => [e.name, e.status, e.code, e.requestId])"
    with running(service) as url:
        assert javascript(function, url) == ["ServiceError", 429, "scripted", "r-1"]
    assert len(service.requests) == 1
