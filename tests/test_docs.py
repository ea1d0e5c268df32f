"""The Python that the pages show runs, and prints what they show."""

import doctest
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("page", ["api.md", "tutorial.md"])
def test_the_python_of_a_page_prints_what_the_page_shows(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    options = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL | doctest.NORMALIZE_WHITESPACE
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    # a fence is no output
    examples = doctest.DocTestParser().get_doctest(text.replace("\n```\n", "\n\n"), {}, page, page, 0)
    assert len(examples.examples) > 10
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=options)
    runner.run(examples, out=said.append)
    assert "".join(said) == ""
