"""A browser, and a tab in it that fails the test if the page complains."""

import shutil

import pytest

CHROMIUM = shutil.which("chromium")


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("the page is not tested: chromium is not installed (Debian: apt-get install chromium)")
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="the page is not tested: playwright is not installed"
    )
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def only_tab(browser):
    page = browser.new_page()
    page.complaints, page.messages = [], []
    page.on("console", lambda message: page.complaints.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("request", lambda request: page.messages.append(request) if request.method == "POST" else None)
    page.set_default_timeout(20_000)
    return page


@pytest.fixture
def tab(only_tab):
    """A tab that fails the test if the page complains in its console or breaks its content policy."""
    only_tab.set_viewport_size({"width": 1280, "height": 900})
    only_tab.goto("about:blank")
    only_tab.complaints.clear()
    only_tab.messages.clear()
    yield only_tab
    only_tab.unroute_all(behavior="ignoreErrors")
    assert not only_tab.complaints
