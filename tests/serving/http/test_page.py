"""The page in a real browser, served by the real service: what a visitor draws, reads, and what leaves the browser."""

import base64
import copy
import functools
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

from mercer import KernelClassifier, KernelIndex, UniversalEmbedding
from mercer.serving import WireClassifier, client
from mercer.serving.client import Embedding
from mercer.serving.wire.messages import unpack_message
from tests.serving.client.test_oracle import specification
from tests.serving.running import served

FOLDER = Path(client.__file__).parent / "page"
RATES = [32, 64, 128, 256, 512, 1024]
INDEXED = 400
DRAWING = {"type": "drawing", "height": 8, "width": 8, "maximum": 16}


@functools.cache
def rows_and_labels():
    """The digits in a random order."""
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    return digits.data[order], digits.target[order]


def rows():
    return rows_and_labels()[0]


def looking_at(model, **input_):
    """The same model, that says another thing of its rows."""
    other = copy.copy(model)
    other.input_, other.other_columns_ = input_, ["digit"]
    return other


@pytest.fixture(scope="module")
def model():
    X, y = rows_and_labels()
    embedding = UniversalEmbedding(RATES[-1], delta=120.0, random_state=0)
    return WireClassifier(embedding, rates=RATES, Cs=[1.0], cv=2, input=DRAWING).fit(X[:1200], y[:1200])


@pytest.fixture(scope="module")
def index():
    return KernelIndex("intersection", random_state=0).fit(rows()[:INDEXED]).add(rows()[:INDEXED])


@pytest.fixture(scope="module")
def url(model, index):
    with served(model, index, show_rows=True) as address:
        yield address


SEVEN = [[(0.3, 0.15), (0.75, 0.15), (0.42, 0.85)]]
ONE = [[(0.5, 0.1), (0.5, 0.9)]]
ZERO = [[(0.5 + 0.22 * np.sin(a), 0.5 - 0.38 * np.cos(a)) for a in np.linspace(0, 2 * np.pi, 14)]]


def draw(tab, strokes):
    box = tab.locator("#pad").bounding_box()
    for stroke in strokes:
        points = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in stroke]
        tab.mouse.move(*points[0])
        tab.mouse.down()
        for point in points[1:]:
            tab.mouse.move(*point)
        tab.mouse.up()
    tab.wait_for_selector("main:not([data-state=empty])")


def verdict_after(tab, strokes):
    draw(tab, strokes)
    return settled(tab)


def cleared(tab):
    tab.get_by_role("button", name="Clear").click()
    tab.wait_for_selector("main[data-state=empty]")


def settled(tab):
    # a change is noticed with the next picture on the screen
    tab.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    tab.wait_for_selector("main[data-state=answered]")
    return tab.inner_text("#verdict")


def last_message(tab, path="/v1/classify"):
    (*_, request) = [each for each in tab.messages if path in each.url]
    assert request.headers["content-type"] == "application/octet-stream"
    return request.post_data_buffer


def assert_sent(tab, model, row):
    """Asserts that the last message is the code of a row; returns its number of bits."""
    message = unpack_message(last_message(tab))
    s = model.specification(message.n_bits).to_dict()
    np.testing.assert_array_equal(message.codes, Embedding(s).encode([row]))
    return message.n_bits


def opened(tab, url):
    tab.goto(url)
    tab.wait_for_selector("#main:not([hidden])")
    return tab


def seen_row(tab):
    """The numbers in the small picture: its opacity is the share of 16."""
    alpha = tab.evaluate("""() => { const c = document.getElementById("preview");
        return Array.from(c.getContext("2d").getImageData(0, 0, 8, 8).data).filter((_, i) => i % 4 === 3); }""")
    return [round(a * 16 / 255) for a in alpha]


def test_a_drawn_digit_is_recognised_from_its_bits_alone(tab, url, model):
    opened(tab, url)
    for strokes, digit in ((ZERO, "0"), (ONE, "1"), (SEVEN, "7")):
        assert verdict_after(tab, strokes) == digit
        bits = assert_sent(tab, model, seen_row(tab))
        assert tab.inner_text("#bytes") == f"Sent {28 + bits // 8} bytes instead of 256"
        assert len(last_message(tab)) == 28 + bits // 8
        cleared(tab)
    assert {request.headers["content-type"] for request in tab.messages} == {"application/octet-stream"}


def test_a_drawing_becomes_a_row_like_those_of_the_digits(tab, url, model):
    verdict_after(opened(tab, url), SEVEN)
    row = np.array(seen_row(tab)).reshape(8, 8)
    digits = rows().reshape(-1, 8, 8)
    # all rows of the bitmap are used, its left and right columns are not, and there is as much ink
    assert row.any(axis=1).all()
    assert not row[:, [0, 7]].any()
    assert np.quantile(digits.sum(axis=(1, 2)), 0.05) < row.sum() < np.quantile(digits.sum(axis=(1, 2)), 0.95)


def test_where_and_how_large_one_draws_does_not_matter(tab, url):
    verdict_after(opened(tab, url), SEVEN)
    row = seen_row(tab)
    cleared(tab)
    verdict_after(tab, [[(x / 2 + 0.4, y / 2 + 0.1) for x, y in stroke] for stroke in SEVEN])
    assert np.abs(np.subtract(seen_row(tab), row)).max() <= 3  # dots of the mouse are rounded to pixels


def test_the_slider_chooses_how_many_bits_are_sent(tab, url):
    verdict_after(opened(tab, url), ONE)
    slider = tab.locator("#rate")
    for key, bits in (("Home", 32), ("ArrowRight", 64), ("End", 1024)):
        slider.press(key)
        settled(tab)
        assert unpack_message(last_message(tab)).n_bits == bits
        assert slider.get_attribute("aria-valuetext").startswith(f"{bits} bits, accuracy")
        assert tab.locator("#curve .chosen").text_content() == str(bits)
        assert tab.locator("#bits").get_attribute("aria-label").startswith(f"{bits} bits, ")


def test_the_mark_on_the_curve_stands_above_the_handle_of_the_slider(tab, url):
    opened(tab, url)
    for width in (1280, 390):
        tab.set_viewport_size({"width": width, "height": 800})
        for key in ("Home", "End"):
            tab.locator("#rate").press(key)
            tab.wait_for_timeout(100)
            mark, slider = tab.locator("#curve .now").bounding_box(), tab.locator("#rate").bounding_box()
            handle = slider["x"] + 8 if key == "Home" else slider["x"] + slider["width"] - 8
            assert abs(mark["x"] + mark["width"] / 2 - handle) < 2


def test_the_most_similar_examples_are_drawn(tab, url, model):
    verdict_after(opened(tab, url), ZERO)
    tab.wait_for_selector("#near li")
    assert tab.locator("#near canvas").count() == 8
    message = unpack_message(last_message(tab, "/v1/neighbors"))
    codes = Embedding(model.specification(message.n_bits).to_dict()).encode(rows()[:INDEXED])
    agree = 1 - np.unpackbits(codes ^ message.codes, axis=1).sum(axis=1) / message.n_bits
    shown = [int(re.match(r"\d+", text)[0]) for text in tab.locator("#near .hint").all_inner_texts()]
    np.testing.assert_allclose(shown, 100 * np.sort(agree)[::-1][:8], atol=0.51)


def test_examples_that_the_service_keeps_to_itself_are_named(tab, model, index):
    with served(model, index) as url:
        verdict_after(opened(tab, url), ZERO)
        tab.wait_for_selector("#near .id")
        assert tab.locator("#near canvas").count() == 0
    tab.complaints.clear()  # the browser notes that rows were refused once


def test_one_can_draw_by_keyboard(tab, url):
    opened(tab, url)
    tab.focus("#pad")
    for key in ("Space", *["Shift+ArrowDown"] * 4, "Space"):
        tab.keyboard.press(key)
    assert settled(tab) == "1"
    tab.keyboard.press("Delete")
    tab.wait_for_selector("#answer-empty:visible")
    assert tab.locator("#undo").is_disabled()


def test_undo_takes_the_last_stroke_away(tab, url, model):
    verdict_after(opened(tab, url), ONE)
    row = seen_row(tab)
    verdict_after(tab, [[(0.1, 0.1), (0.9, 0.1)]])
    assert seen_row(tab) != row
    tab.get_by_role("button", name="Undo").click()
    settled(tab)
    assert_sent(tab, model, row)


def test_a_service_that_is_away_is_asked_again(tab, url):
    opened(tab, url)
    tab.route("**/v1/classify", lambda route: route.abort())
    draw(tab, ONE)
    tab.get_by_role("alert").get_by_text("cannot be reached").wait_for()
    tab.unroute("**/v1/classify")
    tab.get_by_role("button", name="Ask now").click()
    tab.wait_for_selector("#verdict:not(:empty)")
    tab.wait_for_selector("#notice", state="hidden")
    tab.complaints.clear()  # the browser notes what was cut off


def test_a_slow_answer_is_waited_for_visibly(tab, url):
    opened(tab, url)
    held = []
    tab.route("**/v1/classify", lambda route: held.append(route))
    draw(tab, ONE)
    tab.wait_for_selector("#busy:visible")
    for route in held:
        route.continue_()
    tab.wait_for_selector("#busy", state="hidden")
    assert tab.inner_text("#verdict") == "1"


def test_a_model_that_changed_asks_for_a_new_page(tab, url):
    verdict_after(opened(tab, url), ONE)
    other = Embedding(specification())
    answer = {"specification": other.specification, "fingerprint": other.fingerprint}
    tab.route("**/v1/embedding*", lambda route: route.fulfill(json=answer))
    tab.route("**/v1/classify", lambda route: route.fulfill(status=409, json={"error": {"message": "Another."}}))
    draw(tab, ONE)
    tab.get_by_role("alert").get_by_text("has changed").wait_for()
    assert tab.get_by_role("button", name="Load again").is_visible()
    tab.complaints.clear()  # 409, as wanted


def test_a_password_is_asked_for_and_used(tab, model):
    with served(model, token="open sesame") as url:
        opened(tab, url)
        for password in ("sesame, open", "open sesame"):
            tab.locator("#token").fill(password)
            tab.get_by_role("button", name="Use it").click()
            if password == "sesame, open":
                draw(tab, ONE)
                tab.get_by_text("did not accept").wait_for()
        assert settled(tab) == "1"
    tab.complaints.clear()  # 401, as wanted


def csv_file(lines):
    return {"name": "rows.csv", "mimeType": "text/csv", "buffer": "\n".join(lines).encode()}


def test_a_row_of_numbers_is_read_from_text_and_from_a_file(tab, model):
    names = [f"pixel {i}" for i in range(64)]
    with served(looking_at(model, type="vector", names=names)) as url:
        opened(tab, url)
        box = tab.get_by_label("One row of numbers")
        box.fill("1, 2, x")
        tab.get_by_role("alert").get_by_text("\u201cx\u201d is not a number").wait_for()
        box.fill("1 " * 65)
        tab.get_by_role("alert").get_by_text("These are 65 numbers; the model takes 64").wait_for()
        for row, text in zip(rows(), ("\t".join, ",".join), strict=False):
            box.fill(text(map(str, row)))
            assert settled(tab) == str(model.predict([row])[0])
        row = rows()[7]
        cells = [["digit", *names], ["seven", *map(str, row)], ["one", *map(str, rows()[1])]]
        lines = [",".join(line) for line in cells]
        with tab.expect_response("**/v1/classify"):
            tab.set_input_files("#numbers-file", csv_file(lines[:2]))
        settled(tab)
        assert_sent(tab, model, row)
        assert tab.inner_text("#numbers-count") == "64 of 64 numbers; ignored: digit"
        tab.set_input_files("#numbers-file", csv_file(lines))
        tab.wait_for_selector("#table tbody tr")
        predicted = tab.locator("#table tbody tr td:last-child").all_inner_texts()
        assert predicted == [str(label) for label in model.predict([row, rows()[1]])]
        assert tab.inner_text("#numbers-count") == "2 rows of 64 numbers; ignored: digit"


def test_the_file_chooser_is_reached_and_opened_by_keyboard(tab, model):
    with served(looking_at(model, type="vector")) as url:
        opened(tab, url)
        button = tab.get_by_text("Open a file")
        tab.locator("#numbers").focus()
        assert button.evaluate("each => getComputedStyle(each).outlineStyle") == "none"
        tab.keyboard.press("Tab")
        assert button.evaluate("each => getComputedStyle(each).outlineStyle") == "solid"
        for key in ("Enter", "Space"):
            with tab.expect_file_chooser():
                tab.evaluate("0")  # the browser hands choosers over from here on
                tab.keyboard.press(key)


def test_columns_of_a_table_are_matched_by_name_or_refused(tab, model):
    X, y = rows_and_labels()
    names = ["a, b", 'the "c"', *(f"pixel {i}" for i in range(62))]
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    plain = KernelClassifier("linear").fit(pd.DataFrame(X[:300], columns=names), y[:300])
    plain.other_columns_ = ["digit"]
    row, order = X[7], np.random.default_rng(0).permutation(64)
    mixed = f"digit,{','.join(quoted[i] for i in order)}\nseven,{','.join(str(row[i]) for i in order)}\n"
    expected = str(plain.predict(pd.DataFrame([row], columns=names))[0])
    assert expected == str(model.predict([row])[0])
    for served_model in (looking_at(model, type="vector", names=names), plain):
        with served(served_model) as url:
            opened(tab, url)
            box = tab.get_by_label("One row of numbers")
            box.fill(mixed)
            assert settled(tab) == expected
            if served_model is plain:
                assert tab.messages[-1].post_data_json == {"rows": [row.tolist()], "columns": names}
            else:
                assert_sent(tab, model, row)
            assert tab.inner_text("#numbers-count") == "64 of 64 numbers; ignored: digit"
            box.fill(mixed.replace("pixel 5,", "pixel five,").replace('"pixel 5"', '"pixel five"'))
            tab.get_by_role("alert").get_by_text('missing: "pixel 5".').wait_for()
            box.fill(mixed.replace("digit", "name"))
            tab.get_by_role("alert").get_by_text('Unknown columns: "name".').wait_for()
            box.fill(mixed.replace("digit", "pixel 5"))
            tab.get_by_role("alert").get_by_text('repeated: "pixel 5".').wait_for()


def test_ids_and_labels_that_do_not_show_are_escaped(tab):
    X, y = rows_and_labels()
    index = KernelIndex("intersection", random_state=0).fit(X[:50]).add(X[:2], ids=["\x1b[2J", "\u202eabc"])
    plain = KernelClassifier("linear").fit(X[:300], np.array(["bell\x07", "half\ud83d"])[y[:300] % 2])
    with served(plain, index) as url:
        opened(tab, url)
        tab.get_by_label("One row of numbers").fill(" ".join(map(str, X[0])))
        assert settled(tab) in ("bell\\u{7}", "half\\u{d83d}")
        assert sorted(tab.locator("#bars th").all_inner_texts()) == ["bell\\u{7}", "half\\u{d83d}"]
        tab.wait_for_selector("#near .id")
        assert tab.locator("#near .id").all_inner_texts() == ["\\u{1b}[2J", "\\u{202e}abc"]


RED = """() => { const canvas = document.createElement("canvas"); canvas.width = canvas.height = 80;
    const context = canvas.getContext("2d"); context.fillStyle = "rgb(255, 0, 0)"; context.fillRect(0, 0, 80, 80);
    return canvas.toDataURL("image/png").split(",")[1]; }"""


def test_an_image_is_read_and_a_file_that_is_none_is_refused(tab, model, index):
    with served(looking_at(model, type="image", height=8, width=8, maximum=16), index, show_rows=True) as url:
        opened(tab, url)
        png = base64.b64decode(tab.evaluate(RED))
        tab.set_input_files("#image-file", {"name": "a.png", "mimeType": "image/png", "buffer": png})
        settled(tab)
        assert_sent(tab, model, [76 * 16 / 255] * 64)  # 76 of 255 is the grey of red
        tab.wait_for_selector("#near canvas")
        greys = tab.locator("#near canvas").first.evaluate(
            "(c) => Array.from(c.getContext('2d').getImageData(0, 0, 8, 8).data).filter((_, i) => i % 4 === 1)"
        )
        similar = rows()[int(tab.locator("#near canvas").first.get_attribute("aria-label").split()[-1])]
        np.testing.assert_allclose(greys, 255 * similar / 16, atol=0.5)
        tab.set_input_files("#image-file", {"name": "b.png", "mimeType": "image/png", "buffer": png[:60]})
        tab.get_by_role("alert").get_by_text("b.png is not an image").wait_for()
        assert not tab.is_visible("#image-seen")


def test_a_model_of_raw_rows_works_without_bits(tab, index):
    digits = load_digits()
    plain = KernelClassifier("linear").fit(digits.data[:300], digits.target[:300])
    with served(plain, index) as url:
        opened(tab, url)
        tab.get_by_label("One row of numbers").fill(" ".join(map(str, digits.data[0])))
        assert settled(tab) == str(plain.predict(digits.data[:1])[0])
        assert not tab.is_visible("#rate-card")
        assert {message.headers["content-type"] for message in tab.messages} == {"application/json"}
        tab.wait_for_selector("#near .id")
        ids, similarity = index.search(digits.data[:1], 8)
        assert tab.locator("#near .id").all_inner_texts() == [str(i) for i in ids[0]]
        shown = [float(text) for text in tab.locator("#near .hint").all_inner_texts()]
        np.testing.assert_allclose(shown, similarity[0], rtol=5e-3)


def test_nothing_sticks_out_at_any_width(tab, url):
    verdict_after(opened(tab, url), ONE)
    for width in (320, 390, 800, 1600):
        tab.set_viewport_size({"width": width, "height": 800})
        assert tab.evaluate("document.documentElement.scrollWidth") == width


def test_the_colours_follow_the_system(tab, url):
    opened(tab, url)
    colours = []
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)
        colours.append(tab.evaluate("getComputedStyle(document.body).backgroundColor"))
    tab.emulate_media(color_scheme="light")
    assert colours == ["rgb(247, 246, 243)", "rgb(19, 23, 26)"]


# ------------------------------------------------------------------------------------------------- without a browser


@pytest.mark.parametrize("page", sorted(path.name for path in FOLDER.glob("*.html")))
def test_the_page_has_nothing_inline_and_nothing_from_outside(page):
    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            found.extend((tag, name, value or "") for name, value in attrs)

    found = []
    Reader().feed((FOLDER / page).read_text(encoding="utf-8"))
    assert not [each for each in found if each[1] == "style" or each[1].startswith("on")]
    links = [value for tag, name, value in found if name in ("src", "href") and value != "#"]
    assert links
    assert all(value.startswith("static/") and (FOLDER / value.partition("/")[2]).is_file() for value in links)
    scripts = [attributes for attributes in found if attributes[0] == "script"]
    assert ("script", "type", "module") in scripts
    assert not [tag for tag, *_ in found if tag in ("style", "iframe", "object")]


def test_the_files_of_the_pages_name_no_other_place():
    for file in FOLDER.iterdir():
        addresses = set(re.findall(rb"https?://[^\s\"'`)]+", file.read_bytes()))
        assert addresses <= {b"http://www.w3.org/2000/svg", b"http://localhost:8321"}, file.name


def test_text_has_enough_contrast_in_both_schemes():
    sheet = (FOLDER / "page.css").read_text(encoding="utf-8")
    light, dark = (dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", part)) for part in sheet.split("@media", 2)[:2])
    assert set(light) == set(dict(light) | dark)
    for colours in (light, {**light, **dark}):
        for text in ("text", "soft", "accent"):
            for ground in ("paper", "card"):
                assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
        assert contrast(colours["warn"], colours["warn-pale"]) >= 4.5


def contrast(one, other):
    """The contrast ratio of WCAG 2."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


# ------------------------------------------------------------------------------------------ an index without a model


def test_an_index_alone_is_searched_under_a_condition(tab):
    X = rows()[:INDEXED]
    made = KernelIndex("intersection", random_state=0).fit(X)
    made.add(X, data={"n": np.arange(INDEXED), "mode": ["even", "odd"] * (INDEXED // 2)})
    with served(None, made) as address:
        tab.goto(address)
        tab.wait_for_selector("main:not([hidden])")
        assert not tab.is_visible("#answer-card")
        assert "n (integer), mode (text). As in: n >= 1 and mode = 'abc'." in tab.inner_text("#where-help")
        tab.fill("#numbers", " ".join(map(str, X[7])))
        tab.wait_for_selector("#near li")
        tab.wait_for_selector("main[data-state=answered]")
        assert tab.locator("#near li .id").first.inner_text() == "7"
        assert "mode: odd" in tab.locator("#near li").first.inner_text()
        tab.fill("#where", "mode = 'even' and n < 6")
        tab.wait_for_selector("#near li:nth-child(3):last-child")
        assert sorted(tab.locator("#near li .id").all_inner_texts()) == ["0", "2", "4"]
        tab.fill("#where", "n < 0")
        tab.wait_for_selector("#near-empty:has-text('No example meets the condition.')")
        tab.fill("#where", "moed = 1")
        tab.wait_for_selector("#near-empty:has-text('Did you mean')")
        tab.complaints.clear()  # the browser notes every answer that is a refusal
