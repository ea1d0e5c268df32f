"""The Python that the pages show runs, and prints what they show; the files that a page names are there."""

import doctest
import functools
import re
import tomllib
from pathlib import Path

import pytest

import rooflint
from pytest_rooflint.suite.judge import judge
from pytest_rooflint.suite.suite import Suite
from rooflint.cli.main import COMMANDS

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


LINK = re.compile(r"\]\((?!https?:)([^)\s#]*)(?:#([^)\s]+))?\)")


@functools.cache
def anchors(page: Path) -> set[str]:
    """What links may name in a page: its headings, as GitHub spells them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_links_of_the_documents_lead_somewhere():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    links = [(page, *link) for page in pages for link in LINK.findall(page.read_text(encoding="utf-8"))]
    assert len(links) > 300
    broken = []
    for page, path, anchor in links:
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            broken.append(f"{page.relative_to(ROOT)}: {path}#{anchor}")
    assert broken == []


def test_the_index_of_commands_has_a_line_for_each():
    text = (ROOT / "docs/commands/README.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| \[`([\w-]+)", text, re.MULTILINE)
    assert set(named) == set(COMMANDS)


def test_the_readme_has_the_number_of_figures_that_may_be_unguarded():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    row = f"list the figures that no claim guards (at most {settings['rooflint_unguarded_ceiling']} without a reason)"
    assert row in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_for_your_repository_passes_and_has_a_time_and_an_energy(tmp_path, monkeypatch):
    page = (ROOT / "docs/in-your-repository.md").read_text(encoding="utf-8")
    settings, spec, golden, *_ = re.findall(r"```(?:toml|yaml)\n(.*?)```", page, re.DOTALL)
    files = {"pyproject.toml": settings, "specs/hardware/acme/npu-1.yaml": spec, "golden/npu-1.yaml": golden}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    suite = Suite.of([tmp_path / "golden"], [tmp_path / "specs"])
    assert [judge(claim, claim.id, suite).outcome for claim in suite.claims()] == ["pass"] * 3
    found = rooflint.predict("resnet50", rooflint.device("npu-1"), precision="int8")
    assert found.latency_s > 0
    assert found.energy_j > 0
