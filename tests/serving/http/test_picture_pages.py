"""The page in a real browser: pictures, whole tables, several models, the last answers, and code to copy."""

import base64
import csv
import io
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import mercer
from tests.detection.scenes import scenes
from tests.serving.running import served
from tests.serving.samples import chi2_model, detector, digits, picture, pictures_model, striped

TOKEN = "open sesame"
NOISE = np.random.default_rng(5).integers(256, size=(40, 48), dtype=np.uint8)
WIDTHS = [(1280, 900), (390, 800)]


@pytest.fixture(scope="module")
def flowers():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((150, 3)).round(3), columns=["width", "height", "depth"])
    return X, np.where(X["height"] > X["depth"], "tall", "flat")


@pytest.fixture(scope="module")
def url(flowers):
    X, y = flowers
    models = {"kinds": pictures_model(), "bars": detector(), "flowers": mercer.KernelClassifier("linear").fit(X, y)}
    alone = mercer.KernelIndex("chi2", random_state=0).fit(X).add(X, data={"kind": y})
    with served(models, {"alone": alone}, max_body_bytes=60_000) as address:
        yield address


def opened(tab, url, model=None):
    tab.goto(url if model is None else f"{url}?model={model}")
    tab.wait_for_selector("#main:not([hidden])")
    return tab


def given(tab, content, name="photo.png", media="image/png", field="#file"):
    """Give a file to the page, and wait for what it answers."""
    tab.set_input_files(field, {"name": name, "mimeType": media, "buffer": content})
    if field == "#file":
        tab.wait_for_selector(f"#sent:has-text('{name}')")  # after which the page is asking
    return answered(tab)


def answered(tab):
    tab.wait_for_selector("main[data-state=answered]")
    return tab.inner_text("#verdict")


HAND = """([selector, kind, name, type, base64]) => {
    const bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    const data = new DataTransfer();
    data.items.add(new File([bytes], name, { type }));
    const event = kind === "paste" ? new ClipboardEvent("paste", { clipboardData: data, bubbles: true })
        : new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true });
    document.querySelector(selector).dispatchEvent(event); }"""


def hand(tab, selector, kind, content, name="photo.png", media="image/png"):
    tab.evaluate(HAND, [selector, kind, name, media, base64.b64encode(content).decode()])


def test_an_uploaded_picture_gets_its_class_and_what_speaks_for_it(tab, url):
    opened(tab, url)
    assert given(tab, picture(striped())) == "stripes"
    assert tab.evaluate("document.getElementById('overlay').decode().then(() => true)")
    assert tab.locator("#overlay").is_visible()
    assert tab.inner_text("#bars .best th") == "stripes"
    photo, overlay = (tab.locator(each).bounding_box() for each in ("#photo", "#overlay"))
    assert all(abs(photo[key] - overlay[key]) < 1 for key in photo)
    tab.get_by_label("Show the explanation on the picture").uncheck()
    assert not tab.locator("#overlay").is_visible()


def test_another_class_can_be_explained(tab, url):
    opened(tab, url)
    given(tab, picture(striped()))
    with tab.expect_response("**/v1/classify?*label=noise*"):
        tab.get_by_label("Explain the class").select_option("noise")
    tab.get_by_text("of noise").wait_for()
    assert tab.inner_text("#verdict") == "stripes"


@pytest.mark.parametrize(("selector", "kind"), [("#drop", "drop"), ("body", "drop"), ("body", "paste")])
def test_a_picture_is_dropped_or_pasted(tab, url, selector, kind):
    opened(tab, url)
    hand(tab, selector, kind, picture(NOISE))
    assert answered(tab) == "noise"
    assert len(tab.messages) == 1  # a drop on the field is not one on the page as well


def test_a_file_that_is_no_picture_is_refused_and_nothing_is_sent(tab, url):
    opened(tab, url)
    hand(tab, "#drop", "drop", b"width,height\n1,2\n", "table.csv", "text/csv")
    tab.get_by_role("alert").get_by_text("table.csv is not a picture").wait_for()
    hand(tab, "#drop", "drop", picture(striped())[:60])
    tab.get_by_role("alert").get_by_text("photo.png is not a picture").wait_for()
    assert not tab.messages
    assert given(tab, picture(striped())) == "stripes"
    assert not tab.get_by_role("alert").is_visible()


def test_a_picture_of_another_format_or_too_many_bytes_is_made_smaller(tab, url):
    opened(tab, url)
    assert given(tab, picture(striped(), "GIF"), "photo.gif", "image/gif") == "stripes"
    assert "as JPEG: photo.gif" in tab.inner_text("#sent")
    large = np.random.default_rng(0).integers(256, size=(300, 300, 3), dtype=np.uint8)
    given(tab, picture(large), "large.png")
    told = re.fullmatch(r"Sent ([\d,]+) bytes, made smaller for the service: large.png", tab.inner_text("#sent"))
    assert int(told[1].replace(",", "")) <= 60_000


def test_a_small_picture_is_shown_larger_in_its_proportions(tab, url):
    opened(tab, url)
    given(tab, picture(striped()))
    photo = tab.locator("#photo").bounding_box()
    assert photo["width"] == pytest.approx(320, abs=1)
    assert photo["height"] == pytest.approx(320 * 40 / 48, abs=1)


def test_objects_get_boxes_that_lie_on_the_picture(tab, url):
    opened(tab, url, "bars")
    image = scenes(1)[0][0]
    wanted = detector().detect(np.dstack([image] * 3))
    assert given(tab, picture(image)) == f"{len(wanted)} object" + "s" * (len(wanted) != 1)
    photo = tab.locator("#photo").bounding_box()
    scale = photo["width"] / image.shape[1]
    for box, drawn in zip(wanted.boxes, tab.locator("#boxes .object").all(), strict=True):
        shown = drawn.bounding_box()
        place = [shown["x"] - photo["x"], shown["y"] - photo["y"]]
        np.testing.assert_allclose(place, box[:2] * scale, atol=4)
        np.testing.assert_allclose([shown["width"], shown["height"]], (box[2:] - box[:2]) * scale, atol=6)
    assert tab.locator("#boxes .part").count() == 2 * len(wanted)


def test_the_threshold_is_that_of_the_detector_until_another_is_said(tab, url):
    opened(tab, url, "bars")
    given(tab, picture(scenes(1)[0][0]))
    assert tab.get_attribute("#threshold", "placeholder") == "-0.250"
    assert tab.messages[-1].url.endswith("/v1/models/bars/detect")
    with tab.expect_response("**/detect?threshold=50.*"):
        tab.get_by_label("Minimum score").fill("50")
    tab.get_by_text("No object has a higher score").wait_for()
    assert tab.inner_text("#verdict") == "no objects"


def test_a_whole_table_comes_back_as_a_file_with_all_its_labels(tab, url, flowers):
    X, y = flowers
    opened(tab, url, "flowers")
    assert given(tab, X.to_csv(index=False).encode(), "flowers.csv", "text/csv", "#numbers-file") == "150 rows"
    counts = dict(
        zip(tab.locator("#bars th").all_inner_texts(), tab.locator("#bars .score").all_inner_texts(), strict=True)
    )
    with tab.expect_download() as download:
        tab.get_by_role("link", name="Save flowers-labeled.csv").click()
    heading, *rows = csv.reader(io.StringIO(download.value.path().read_text()))
    assert download.value.suggested_filename == "flowers-labeled.csv"
    assert heading == [*X.columns, "predicted"]
    labels = [row[-1] for row in rows]
    assert {name: str(labels.count(name)) for name in set(y)} == counts
    assert tab.locator("#table tbody tr").count() == 20
    assert "first 20 of 150" in tab.inner_text("#table-count")
    assert tab.locator("#table tbody tr").first.locator("td").last.inner_text() == labels[0]


def test_a_table_that_the_service_refuses_names_the_line(tab, url, flowers):
    opened(tab, url, "flowers")
    tab.get_by_label("One row of numbers").fill("width,height,depth\n1,2,3\n1,x,3\n4,5,6\n")
    tab.get_by_role("alert").get_by_text('Line 3 has no finite number in column "height"').wait_for()
    tab.complaints.clear()  # 422, as wanted


def test_a_table_is_searched_in_an_index_under_a_condition(tab, url, flowers):
    X, _ = flowers
    opened(tab, url, "alone")
    tab.get_by_label("One row of numbers").fill(X[:5].to_csv(index=False))
    tab.wait_for_selector("#table-card:not([hidden])")
    assert tab.locator("#table tbody tr").count() == 20  # of 5 x 8
    with tab.expect_response("**/v1/models/alone/neighbors?*where*"):
        tab.get_by_label("Only rows that meet").fill("kind = 'flat'")
    tab.wait_for_selector("#table tbody tr:has-text('tall')", state="detached")
    assert set(tab.locator("#table tbody td:last-child").all_inner_texts()) == {"flat"}


def test_a_table_may_be_dropped_beside_its_field(tab, url, flowers):
    opened(tab, url, "flowers")
    hand(tab, "body", "drop", flowers[0].head(30).to_csv(index=False).encode(), "some.csv", "text/csv")
    assert answered(tab) == "30 rows"


def test_a_file_that_is_no_text_is_refused_as_a_table(tab, url):
    opened(tab, url, "flowers")
    file = {"name": "photo.png", "mimeType": "image/png", "buffer": picture(striped())}
    tab.set_input_files("#numbers-file", file)
    tab.get_by_role("alert").get_by_text("photo.png is not a text file. Choose a csv file.").wait_for()
    assert not tab.input_value("#numbers")
    assert not tab.messages


def test_an_address_with_an_unknown_model_leads_to_the_first(tab, url):
    tab.goto(f"{url}?model=flours")
    tab.get_by_role("alert").get_by_text('There is no model "flours"').wait_for()
    tab.complaints.clear()  # the browser notes every answer that is a refusal
    tab.get_by_role("button", name="Open the first").click()
    tab.wait_for_selector("#main:not([hidden])")
    assert tab.input_value("#model") == "kinds"


def test_another_model_is_chosen_by_name(tab, url):
    opened(tab, url)
    assert tab.locator("#model option").all_inner_texts() == ["kinds", "bars", "flowers", "alone"]
    for name, title in (("bars", "Find objects"), ("flowers", "Enter numbers"), ("kinds", "Show it a picture")):
        tab.get_by_label("Model", exact=True).select_option(name)
        tab.get_by_role("heading", level=1).get_by_text(title).wait_for()
        tab.wait_for_selector("#main:not([hidden])")
        assert tab.input_value("#model") == name


def test_the_last_answers_are_kept_and_come_back_by_keyboard(tab, url):
    opened(tab, url)
    given(tab, picture(striped()), "first.png")
    given(tab, picture(NOISE), "second.png")
    assert tab.locator("#history strong").all_inner_texts() == ["noise", "stripes"]
    assert tab.locator("#history canvas").count() == 2
    tab.locator("#history button").nth(1).focus()
    with tab.expect_response("**/v1/classify?*"):
        tab.keyboard.press("Enter")
    tab.get_by_role("status").get_by_text("stripes").wait_for()
    answered(tab)
    for i in range(12):
        given(tab, picture(striped(i)), f"{i}.png")
    assert tab.locator("#history li").count() == 8


def test_a_table_comes_back_from_the_last_answers(tab, url, flowers):
    opened(tab, url, "flowers")
    given(tab, flowers[0].to_csv(index=False).encode(), "flowers.csv", "text/csv", "#numbers-file")
    tab.get_by_label("One row of numbers").fill("0.1, 0.9, 0.2")
    tab.get_by_role("status").get_by_text("tall").wait_for()
    assert not tab.is_visible("#table-card")
    tab.locator("#history button", has_text="150 rows").click()
    tab.get_by_role("status").get_by_text("150 rows").wait_for()
    assert tab.is_visible("#table-card")


def test_the_page_is_used_by_keyboard_alone(tab, url):
    opened(tab, url)
    tab.locator("#file").focus()
    with tab.expect_file_chooser() as chooser:
        tab.evaluate("0")  # the browser hands choosers over from here on
        tab.keyboard.press("Enter")
    chooser.value.set_files({"name": "a.png", "mimeType": "image/png", "buffer": picture(striped())})
    answered(tab)
    reached = []
    for _ in range(12):
        tab.keyboard.press("Tab")
        reached.append(tab.evaluate("document.activeElement.id || document.activeElement.className"))
    assert {"explained", "overlaid", "past"} <= set(reached)


def test_a_picture_waits_for_its_token(tab):
    with served(pictures_model(), token=TOKEN) as address:
        opened(tab, address)
        tab.set_input_files("#file", {"name": "a.png", "mimeType": "image/png", "buffer": picture(striped())})
        tab.wait_for_selector("#token:focus")
        tab.locator("#token").fill(TOKEN)
        tab.keyboard.press("Enter")
        assert answered(tab) == "stripes"
    tab.complaints.clear()  # 401, as wanted


def test_a_slow_answer_is_waited_for_and_an_old_one_dropped(tab, url):
    opened(tab, url)
    held = []
    tab.route("**/v1/classify?*", lambda route: held.append(route))
    for content in (NOISE, striped()):
        tab.set_input_files("#file", {"name": "a.png", "mimeType": "image/png", "buffer": picture(content)})
        tab.wait_for_selector("#busy:visible")
        tab.wait_for_timeout(100)
    for route in held[::-1]:  # the first question is answered last
        route.continue_()
        tab.wait_for_timeout(200)
    assert answered(tab) == "stripes"
    assert not tab.is_visible("#busy")


def test_a_service_that_does_not_answer_in_time_says_so(tab, url):
    opened(tab, url)
    message = "The request was not answered within 10 s. Send a smaller picture."
    answer = {"error": {"code": "timeout", "message": message}}
    tab.route("**/v1/classify?*", lambda route: route.fulfill(status=504, json=answer))
    tab.set_input_files("#file", {"name": "a.png", "mimeType": "image/png", "buffer": picture(striped())})
    tab.get_by_role("alert").get_by_text("Send a smaller picture").wait_for()
    tab.unroute("**/v1/classify?*")
    tab.get_by_role("button", name="Try again").click()
    assert answered(tab) == "stripes"
    tab.complaints.clear()  # 504, as wanted


@pytest.mark.parametrize("model", ["kinds", "bars", "flowers", "alone"])
def test_nothing_sticks_out_and_text_can_be_read_at_two_widths_in_both_schemes(tab, url, flowers, model):
    opened(tab, url, model)
    tab.locator("#code-card summary").click()
    if model in ("kinds", "bars"):
        given(tab, picture(scenes(1)[0][0]))
    else:
        tab.get_by_label("One row of numbers").fill(flowers[0].to_csv(index=False))
        tab.wait_for_selector("#table-card:not([hidden])")
    for width, height in WIDTHS:
        tab.set_viewport_size({"width": width, "height": height})
        for scheme in ("light", "dark"):
            tab.emulate_media(color_scheme=scheme)
            assert tab.evaluate("document.documentElement.scrollWidth") == width
            small = """[...document.querySelectorAll("button, a.button, select, summary")].filter((e) => {
                const box = e.getBoundingClientRect(); return box.height && box.height < 24; }).length"""
            assert tab.evaluate(small) == 0
    tab.emulate_media(color_scheme="light")


@pytest.mark.parametrize("model", ["kinds", "bars", "flowers", "alone"])
def test_the_code_on_the_page_runs_as_it_is(tab, url, model, tmp_path):
    opened(tab, url, model)
    tab.locator("#code-card summary").click()
    codes = dict(
        zip(tab.locator("#code h3").all_inner_texts(), tab.locator("#code pre").all_inner_texts(), strict=True)
    )
    image = scenes(1)[0][0] if model == "bars" else striped()
    (tmp_path / "photo.jpg").write_bytes(picture(np.dstack([image] * 3), "JPEG"))
    (tmp_path / "table.csv").write_text("width,height,depth\n0.1,0.9,0.2\n")
    for language, command in (("curl", ["bash", "-c"]), ("Python", [sys.executable, "-c"])):
        done = subprocess.run([*command, codes[language]], cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip()
        assert '"error"' not in done.stdout
    if "curl, for a table" in codes:
        subprocess.run(["bash", "-c", codes["curl, for a table"]], cwd=tmp_path, check=True, timeout=60)
        assert re.match("width,height,depth,predicted|row,rank,id", (tmp_path / "answers.csv").read_text())
    assert tab.evaluate(in_browser(codes["JavaScript"]))


def in_browser(script):
    """The code for Node as a function of a page: a file and what is printed are others there."""
    client, _, rest = script.partition('import { Client } from "./mercer-client.js";')
    picture = 'await openAsBlob("photo.jpg", { type: "image/jpeg" })'
    rest = rest.replace(picture, 'await (await fetch("/static/example.png")).blob()').replace("console.log", "return")
    assert client in ("", 'import { openAsBlob } from "node:fs";\n')
    return f'async () => {{ const {{ Client }} = await import("/static/mercer-client.js");{rest} }}'


def test_bits_and_rows_are_offered_as_code_too(tab):
    with served(chi2_model()) as address:
        opened(tab, address)
        tab.locator("#code-card summary").click()
        text = tab.locator("#code").inner_text()
        assert "raw=True" in text
        assert str([1] * len(digits()[0][0])).replace(" ", "") in text.replace(" ", "")
