"""How long a browser needs for the report, beside pages of the same text and of the same number of tests.

`python benchmarks/page.py` after `rooflint check --mutate --report`, where rooflint, playwright and pytest-html are
installed and Chromium or Chrome is on the PATH. `--evidence FILE` takes the page of another run.
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Mapping
from html import escape
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.peers import CLAIMS, PASSING, PYTEST, VERDICTS, cpu_s, installed, module, repository
from playwright.sync_api import Browser, sync_playwright

from rooflint_report.evidence import load_evidence
from rooflint_report.report import EVIDENCE, render_html

LOADED = "() => performance.getEntriesByType('navigation')[0].loadEventEnd"
PAINTED = "() => new Promise(done => requestAnimationFrame(() => setTimeout(() => done(performance.now()))))"


def loads(browser: Browser, files: Mapping[str, Path], rounds: int) -> dict[str, list[float]]:
    """Milliseconds from the start of the navigation until the page is loaded and a frame is painted, in turn."""
    found: dict[str, list[float]] = {name: [] for name in files}
    for number in range(rounds + 1):
        for name, file in files.items():
            page = browser.new_page()
            page.goto(file.as_uri())
            page.wait_for_load_state("load")
            spent = max(page.evaluate(PAINTED), page.evaluate(LOADED))
            page.close()
            if number:  # the first round fills caches
                found[name].append(spent)
    return found


def elements(browser: Browser, file: Path) -> int:
    """Nodes of the page that are elements, as loaded."""
    page = browser.new_page()
    page.goto(file.as_uri())
    count = int(page.evaluate("document.querySelectorAll('*').length"))
    page.close()
    return count


def plain(browser: Browser, file: Path, to: Path) -> Path:
    """A static page with the text that can be seen on another, a paragraph a line."""
    page = browser.new_page(bypass_csp=True)
    page.goto(file.as_uri())
    page.add_style_tag(content="main > section { content-visibility: visible !important }")
    text = page.evaluate("document.body.innerText")
    page.close()
    lines = "\n".join(f"<p>{escape(line)}</p>" for line in text.splitlines() if line.strip())
    to.write_text(f"<!doctype html><html lang=en><meta charset=utf-8><title>text</title>{lines}", encoding="utf-8")
    return to


def shown(title: str, browser: Browser, files: Mapping[str, Path], rounds: int) -> None:
    """Print a row for each page; ratios are of medians, to the last page."""
    print(f"\n{title}, load {os.getloadavg()[0]:.1f}")
    times = loads(browser, files, rounds)
    last = statistics.median(times[list(files)[-1]])
    for name, file in files.items():
        spent = statistics.median(times[name])
        size = file.stat().st_size / 1e6
        print(f"{name:36} {spent:7.0f} ms, {spent / last:5.2f}; {size:5.2f} MB, {elements(browser, file):7} elements")


def many(folder: Path) -> dict[str, Path]:
    """The pages of 10 000 claims and of 10 000 tests in pytest-html."""
    place = repository(folder / "many", VERDICTS // CLAIMS, bare=False)
    cpu_s((*PYTEST, "golden", "--rooflint-evidence=evidence.json"), place)
    ours = folder / "claims.html"
    ours.write_text(render_html(load_evidence(place / "evidence.json")), encoding="utf-8")
    passing = module(folder, "passing", PASSING.format(number=VERDICTS))
    cpu_s((*PYTEST, "--html=page.html", "--self-contained-html"), passing)
    return {"10 000 claims": ours, "pytest-html, 10 000 tests": passing / "page.html"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evidence", type=Path, default=EVIDENCE)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        folder = Path(name)
        report = folder / "report.html"
        report.write_text(render_html(load_evidence(options.evidence)), encoding="utf-8")
        text = plain(browser, report, folder / "text.html")
        shown("shipped suite", browser, {"report": report, "static page of its text": text}, options.rounds)
        if installed("pytest_html"):
            shown("10 000", browser, many(folder), options.rounds)
        browser.close()


if __name__ == "__main__":
    main()
