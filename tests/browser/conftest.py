"""A page of the report in a real browser, without a network."""

import shutil

import pytest
from playwright.sync_api import sync_playwright
from tests.report.conftest import build

from rooflint_report.report import render_html

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


@pytest.fixture(scope="session")
def browser():
    """Chromium or Chrome from the PATH; without one these tests fail, as they check nothing."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    assert found, f"want one of {', '.join(NAMES)} on the PATH"
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def page_file(tmp_path_factory):
    """`page_file(red=True, devices=10)`: a rendered report of that many devices."""

    def write(**settings):
        file = tmp_path_factory.mktemp("page") / "report.html"
        file.write_text(render_html(build(**settings)), encoding="utf-8")
        return file

    return write


@pytest.fixture
def view(browser, page_file):
    """`view(hash, red=True, scheme="light", width=1280)`: the page, opened; an error in its script fails the test."""
    contexts, errors = [], []

    def show(address="", *, file=None, red=True, scheme="light", width=1280, script=True):
        context = browser.new_context(
            color_scheme=scheme,
            viewport={"width": width, "height": 900},
            java_script_enabled=script,
            bypass_csp=False,
            permissions=["clipboard-read", "clipboard-write"],
        )
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
        page.goto(f"{(file or page_file(red=red)).as_uri()}{address}")
        return page

    yield show
    for context in contexts:
        context.close()
    assert errors == []
