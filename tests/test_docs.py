"""The Python that the pages show runs, and prints what they show; the files that a page names are there."""

import doctest
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.parametrize("page", ["api.md", "tutorial.md"])
def test_the_python_of_a_page_prints_what_the_page_shows(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    options = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL | doctest.NORMALIZE_WHITESPACE
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    # a fence is no output
    examples = doctest.DocTestParser().get_doctest(text.replace("\n```\n", "\n\n"), {}, page, page, 0)
    assert len(examples.examples) > 10
    message: list[str] = []
    runner = doctest.DocTestRunner(optionflags=options)
    runner.run(examples, out=message.append)
    assert "".join(message) == ""


def test_the_files_that_the_page_on_growing_names_are_there():
    text = (ROOT / "docs/growing.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:model|validation|reports|golden|tests)/[^`\s<]+)`", text)
    assert len(named) > 15
    assert [one for one in named if not (ROOT / one).exists()] == []


def test_the_rows_that_the_page_on_growing_shows_stand_in_the_source():
    page = (ROOT / "docs/growing.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(?:python|yaml)\n(.*?)```", page, re.DOTALL)
    sources = "".join(
        one.read_text(encoding="utf-8")
        for folder in ("model/rooflint", "golden/precisions")
        for one in (ROOT / folder).rglob("*")
        if one.suffix in (".py", ".yaml") and "specs" not in one.parts
    )
    lines = [line.strip() for block in blocks for line in block.splitlines() if line.strip()]
    assert len(lines) > 8
    assert [line for line in lines if line not in sources] == []


def test_the_files_that_tox_names_are_there():
    named = re.findall(r"\b(?:tests|golden|validation|docs)/[\w/.]+", (ROOT / "tox.ini").read_text(encoding="utf-8"))
    assert len(named) > 5
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_readme_has_the_number_of_figures_that_may_be_unguarded():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    row = f"see which figures no claim guards ({settings['rooflint_unguarded_ceiling']} without a reason)"
    assert row in (ROOT / "README.md").read_text(encoding="utf-8")
